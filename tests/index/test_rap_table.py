"""RaP-Table: its own doors and traps; what it shares with all structures is tested by the suites beside this file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.errors import ParameterError, StateError
from panjoin.index import create
from panjoin.index import rap_probe as probing
from panjoin.index.llat import entry_capacity
from panjoin.index.rap_table import RapTable
from panjoin.index.splitters import adjust
from tests.index.model import KINDS, ask, clip, keys_of


def table(capacity: int = 8, partitions: int = 4, dtype: type = np.int32, **knobs: object) -> RapTable:
    index = create("rap-table", capacity=capacity, partitions=partitions, dtype=dtype, **knobs)
    assert isinstance(index, RapTable)
    return index


def fill(index: RapTable, keys: np.ndarray, batch: int = 1 << 30) -> RapTable:
    keys = keys.astype(index.dtype)
    for begin in range(0, len(keys), batch):
        part = keys[begin : begin + batch]
        index.insert(part, np.arange(begin, begin + len(part)))
    index.check()
    return index


def agrees(index: RapTable, keys: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    low, high = low.astype(index.dtype), high.astype(index.dtype)
    hits = (keys >= low[:, None]) & (keys <= high[:, None])
    for negate in (False, True):
        assert ask(index, low, high, negate, 1000) == [np.flatnonzero(row != negate).tolist() for row in hits]


def test_the_drawing_at_the_head_of_the_file():
    index = fill(table(splitters=np.array([20, 30, 40], np.int32)), np.array([12, 15, 27, 21, 24, 22, 29, 48]), batch=5)
    assert index.histogram.counts.tolist() == [2, 5, 0, 1]
    assert index.histogram.mins[[0, 1, 3]].tolist() == [12, 21, 48]
    assert index.histogram.maxs[[0, 1, 3]].tolist() == [15, 29, 48]
    assert index._llat.entries_of(1) == [1, 4]
    assert index.probe(np.array([24], np.int32), np.array([45], np.int32)).counts.tolist() == [3]


@pytest.mark.parametrize("sigma", [1, 1.0, 0.5, 0, -1, float("nan"), float("inf"), "2", True])
def test_sigma_must_be_greater_than_one(sigma: float):
    with pytest.raises(ParameterError, match=f"sigma must be greater than 1 .* not {sigma!r}"):
        table(sigma=sigma)


def test_a_subwindow_with_more_places_than_a_probe_can_tell_apart_is_refused():
    with pytest.raises(ParameterError, match=r"must be below 2\^32, not 2147483647 \* 2.25; use more subwindows"):
        table(2**31 - 1)


def test_splitters_are_checked_at_the_door():
    for wrong, message in (
        (np.array([1, 2], np.int32), "splitters must be 3 numbers for 4 partitions, not of shape"),
        (np.array([1, 2, 3], np.int64), "splitters must be int32 like the keys, not int64"),
        (np.array([1, 3, 2], np.int32), "splitters must ascend, but 3 is followed by 2 at 2"),
    ):
        with pytest.raises(ParameterError, match=message):
            table(splitters=wrong)


def test_the_caller_may_change_the_splitters_that_it_gave():
    given = np.array([1, 2, 3], np.int32)
    index = table(splitters=given)
    given[:] = 9
    assert index.splitters.tolist() == [1, 2, 3]


def test_splitters_of_keys_of_another_type_are_not_learnt():
    with pytest.raises(ParameterError, match="cannot learn int64 splitters from an index of int32 keys"):
        create("rap-table", dtype=np.int64, like=table())


def test_knobs_that_are_not_given_are_those_of_the_predecessor():
    following = create("rap-table", like=table(sigma=1.1, threads=3))
    assert (following.sigma, following.threads, following.capacity, following.partitions) == (1.1, 3, 8, 4)
    assert create("rap-table", like=following, sigma=1.5).sigma == 1.5


def test_only_a_sealed_table_gives_its_arrays():
    with pytest.raises(StateError, match="seal this rap-table first"):
        table().arrays()


@pytest.mark.parametrize(("capacity", "partitions", "sigma"), [(15, 8, 1.05), (100, 64, 1.1), (1000, 768, 1.25)])
def test_a_fill_that_wants_the_most_entries_fits_where_floor_capacity_overflows(
    capacity: int, partitions: int, sigma: float
):
    splitters = np.arange(partitions - 1, dtype=np.int32)
    room = entry_capacity(capacity, partitions, sigma)
    keys = np.repeat(np.arange(partitions), room + 1)[:capacity]
    for batch in (1, 7, capacity):
        index = fill(table(capacity, partitions, sigma=sigma, splitters=splitters), keys, batch)
        assert index.size == capacity
        assert index._llat.entries <= 2 * partitions


@pytest.mark.parametrize("capacity", [1, 4, 5, 6, 7, 8, 10, 12, 14, 16])
def test_one_constant_key_stays_correct_over_generations(capacity: int):
    for partitions in {1, capacity // 2 + 1, capacity}:
        keys = np.full(capacity, 42)
        index = table(capacity, partitions)
        for _ in range(3):
            fill(index, keys, batch=3)
            agrees(index, keys, np.array([41, 42, 42, 43]), np.array([41, 42, 42, 50]))
            index = create("rap-table", like=index)
        assert index.splitters.tolist() == [42] * (partitions - 1)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_bounds_and_keys_at_the_ends_of_the_type(dtype: type):
    info = np.iinfo(dtype)
    corners = np.array([info.min, info.min, info.min + 1, -1, 0, 1, info.max - 1, info.max, info.max], dtype)
    for splitters in (None, np.array([info.min, info.min, info.max], dtype), np.array([info.max] * 3, dtype)):
        index = fill(table(9, 4, dtype, splitters=splitters), corners, batch=4)
        pairs = sorted((a, b) for a in set(corners.tolist()) for b in set(corners.tolist()))
        low, high = np.array(pairs, dtype).T
        for bound in np.unique(high):
            agrees(index, corners, low[high == bound], high[high == bound])


def test_a_heavy_value_pulls_several_splitters_onto_itself_and_nothing_is_lost():
    rng = np.random.default_rng(1)
    keys = np.where(rng.random(300) < 0.7, 5, rng.integers(-50, 50, 300))
    index = fill(table(300, 16), keys)
    for _ in range(3):
        index = fill(create("rap-table", like=index), keys, batch=90)
    assert (index.splitters == 5).sum() > 5
    low = np.repeat(np.arange(-52, 52), 2)
    agrees(index, keys, low, low + 3)
    agrees(index, keys, low, low)


def test_whole_partitions_inside_the_band_are_counted_between_insertions_too():
    rng = np.random.default_rng(2)
    keys = rng.integers(0, 1000, 400)
    index = table(400, 20, splitters=np.arange(50, 1000, 50, dtype=np.int32)[:19])
    low = np.arange(-20, 900, 7)
    for begin in range(0, 400, 80):
        index.insert(keys[begin : begin + 80].astype(np.int32), np.arange(begin, begin + 80))
        agrees(index, keys[: begin + 80], low, low + 333)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(threads: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(probing, "WORTH_THREADS", 1 << 10)
    rng = np.random.default_rng(3)
    keys = rng.normal(0, 1000, 3000).astype(np.int32)
    one, many = (fill(table(3000, 64, threads=t), keys, batch=1000) for t in (1, threads))
    for width in (0, 5, 900):
        low = np.sort(np.repeat(rng.integers(-3000, 3000, 150), 3)).astype(np.int32)
        for negate in (False, True):
            first, second = (index.probe(low, low + np.int32(width), negate=negate) for index in (one, many))
            assert len(second._pieces(0, len(low))) > 1
            assert first.counts.tolist() == second.counts.tolist()
            for a, b in zip(first.pairs(), second.pairs(), strict=True):
                assert (a == b).all()


def test_fewer_than_128_probing_tuples_or_little_to_scan_take_one_thread(monkeypatch: pytest.MonkeyPatch):
    index = fill(table(threads=2), np.arange(8))
    low = np.zeros(5000, np.int32)
    assert index.probe(low, low)._pieces(0, 5000) == [(0, 5000)]
    monkeypatch.setattr(probing, "WORTH_THREADS", 1)
    assert len(index.probe(low, low)._pieces(0, 5000)) == 2
    assert index.probe(low, low)._pieces(0, 127) == [(0, 127)]


@given(st.data())
def test_splitters_that_travel_through_generations_of_any_keys_and_any_p_stay_correct(data: st.DataObject):
    dtype, old = data.draw(st.sampled_from([np.int32, np.int64])), None
    for _ in range(data.draw(st.integers(2, 5))):
        capacity = data.draw(st.sampled_from([4, 5, 6, 7, 8, 12, 16, 20]))
        partitions = data.draw(st.integers(1, capacity))
        size = data.draw(st.integers(0, capacity))
        keys = clip(data.draw(keys_of(data.draw(st.sampled_from(KINDS)), dtype, size)), dtype)
        splitters = None if old is None else adjust(*old.histogram, partitions, old.splitters)
        index = fill(table(capacity, partitions, dtype, splitters=splitters), keys, batch=3)
        if old is not None:
            learnt = create("rap-table", capacity=capacity, partitions=partitions, like=old)
            assert learnt.splitters.tolist() == index.splitters.tolist()
        edges = np.unique(np.append(keys, index.splitters)).astype(dtype)
        agrees(index, keys, edges, edges)
        old = index


def test_balance_improves_over_generations_and_like_and_travelling_splitters_agree():
    rng = np.random.default_rng(4)
    keys = rng.normal(1e6, 1e4, 1 << 14).astype(np.int32)
    index, worst = table(1 << 14, 64), []
    for _ in range(4):
        fill(index, keys)
        worst.append(int(index.histogram.counts.max()))
        travelled = adjust(*index.histogram, 64, index.splitters)
        following = create("rap-table", like=index)
        assert following.splitters.tolist() == travelled.tolist()
        assert create("rap-table", like=index, splitters=travelled[::-1][::-1]).splitters.tolist() == travelled.tolist()
        index = following
    assert worst[0] == 1 << 14
    assert worst[-1] < 2 * (1 << 14) // 64


def test_an_empty_predecessor_hands_its_splitters_on():
    given = np.array([1, 2, 3], np.int32)
    assert create("rap-table", like=table(splitters=given)).splitters.tolist() == [1, 2, 3]
    assert create("rap-table", like=table(splitters=given), partitions=2).splitters.tolist() == [2]


def test_a_memory_mapped_table_answers_with_code_that_is_compiled_already(tmp_path: Path):
    keys = np.random.default_rng(5).integers(0, 500, 200)
    index = fill(table(256, 16), keys)
    index.seal()
    low = np.arange(0, 500, 3)
    agrees(index, keys, low, low + 40)
    kernels = probing.count_matches, probing.emit_matches, probing.emit_others
    compiled = [list(getattr(kernel, "signatures", [])) for kernel in kernels]  # (without the compiler there are none)
    stored = {name: tmp_path / f"{name}.npy" for name in index.arrays()}
    for name, array in index.arrays().items():
        np.save(stored[name], array)
    mapped = RapTable.open({name: np.load(path, mmap_mode="r") for name, path in stored.items()})
    mapped.check()
    agrees(mapped, keys, low, low + 40)
    assert [list(getattr(kernel, "signatures", [])) for kernel in kernels] == compiled
    assert np.shares_memory(mapped._llat.keys, mapped._view.keys)
    assert not mapped._llat.keys.flags.writeable


def test_memory_is_at_most_twice_sigma_of_keys_and_ids():
    index = table(1 << 20, 1 << 13)
    assert index.memory_bytes <= 2 * 1.25 * (1 << 20) * (4 + 4)


def test_a_million_equal_keys_against_ten_thousand_probes_count_past_2_to_the_31():
    index = table(1 << 20, 1 << 10)
    index.insert(np.full(1 << 20, 7, np.int32), np.arange(1 << 20))
    probe = index.probe(np.full(10_000, 7, np.int32), np.full(10_000, 7, np.int32))
    assert probe.total == 10_000 << 20
    first_no, first_ids = next(probe.chunks(1 << 20))
    assert (first_no == 0).all()
    assert (np.sort(first_ids) == np.arange(1 << 20)).all()
