"""What is BI-Sort's own: its flush boundaries, its records, its order, and the bound on the work of one insert."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from panjoin.errors import ParameterError, StateError
from panjoin.index import create
from panjoin.index.bi_sort import BiSort
from panjoin.index.sorted_run import SortedRun
from tests.index.model import Model, ask


def make(capacity: int = 100, partitions: int = 7, dtype: Any = np.int32, **knobs: Any) -> BiSort:
    index = create("bi-sort", capacity=capacity, partitions=partitions, dtype=dtype, **knobs)
    assert isinstance(index, BiSort)
    return index


def keys(*values: int) -> Any:
    return np.array(values, np.int32)


def matches_of_records(index: BiSort, low: Any, high: Any, negate: bool) -> list[list[int]]:
    """What a reader makes of the range records, with the main array beside them and nothing else."""
    records, ids = index.probe(low, high, negate=negate).ranges(), index.main_ids.tolist()
    assert (records.version, records.size) == (index.version, len(ids))
    answer = []
    for i in range(len(low)):
        a, b = int(records.start[i]), int(records.end[i])
        assert 0 <= a <= b <= len(ids)
        found = ids[:a] + ids[b:] if records.negate else ids[a:b]
        found += records.pending_ids[records.pending_probe_no == i].tolist()
        answer.append(sorted(found))
    return answer


# ---- the drawing, and the life of the buffer ----


def test_the_drawing_at_the_head_of_the_file_is_true() -> None:
    index = make(capacity=9, partitions=3, buffer=2, middle=0)
    index.insert(keys(3, 5, 17, 7, 2, 11, 13), [0, 1, 2, 3, 4, 5, 6])
    index.insert(keys(6), [7])
    assert index.main_keys.tolist() == [2, 3, 5, 7, 11, 13, 17]
    assert index.main_ids.tolist() == [4, 0, 1, 3, 5, 6, 2]
    records = index.probe(keys(5), keys(7)).ranges()
    assert (records.start.tolist(), records.end.tolist()) == ([2], [4])
    assert (records.pending_probe_no.tolist(), records.pending_ids.tolist()) == ([0], [7])
    assert ask(index, keys(5), keys(7)) == [[1, 3, 7]]


@pytest.mark.parametrize("middle", [0, 8])
@pytest.mark.parametrize("waiting", [0, 1, 3])
@pytest.mark.parametrize("arriving", [3, 4, 5, 40])  # B - 1, B, B + 1, 10 B
def test_a_batch_around_the_buffers_size_is_found_whatever_waits_in_the_buffer(
    arriving: int, waiting: int, middle: int
) -> None:
    rng, model, index = np.random.default_rng(arriving), Model(), make(buffer=4, middle=middle)
    for size in (30, waiting, arriving, 2):
        batch = rng.integers(0, 12, size).astype(np.int32)
        ids = np.arange(len(model.tuples), len(model.tuples) + size)
        index.insert(batch, ids)
        model.insert(batch, ids)
        index.check()
        low = np.arange(-1, 13, dtype=np.int32)
        assert ask(index, low, low + np.int32(2)) == model.probe(low, low + 2)
        assert matches_of_records(index, low, low, True) == model.probe(low, low, True)


def test_the_buffer_waits_until_it_is_full_and_then_goes_with_the_batch_that_fills_it() -> None:
    index = make(buffer=4, middle=0)
    merged = []
    for batch in ([5], [9, 1], [3], [7], [2, 2, 2, 2, 2]):
        index.insert(keys(*batch), np.arange(index.size, index.size + len(batch)))
        merged.append(len(index.main_ids))
    assert merged == [0, 0, 4, 4, 10]
    assert index.main_keys.tolist() == [1, 2, 2, 2, 2, 2, 3, 5, 7, 9]


# ---- order: what a mirror must reproduce ----


@pytest.mark.parametrize("middle", [0, 16])
def test_equal_keys_lie_in_the_order_of_arrival_however_they_came_into_the_main_array(middle: int) -> None:
    rng = np.random.default_rng(5)
    index, arrived = make(capacity=2_000, partitions=16, buffer=4, middle=middle), []
    while index.size < 1_500:
        size = int(rng.choice([1, 2, 3, 5, 17, 60]))
        batch = rng.integers(0, 20, size).astype(np.int32)
        index.insert(batch, np.arange(index.size, index.size + size))
        arrived += batch.tolist()
        main = index.main_keys.tolist()
        assert all(arrived[number] == key for key, number in zip(main, index.main_ids.tolist(), strict=True))
        pairs = list(zip(main, index.main_ids.tolist(), strict=True))
        assert pairs == sorted(pairs)
    index.seal()
    assert index.main_ids.tolist() == np.argsort(arrived, kind="stable").tolist()


# ---- records and versions ----


def test_a_merge_changes_the_version_and_a_wait_in_the_buffer_does_not() -> None:
    index = make(buffer=4, middle=0)
    index.insert(keys(*range(10)), np.arange(10))
    before = index.version
    index.insert(keys(3), [10])
    assert index.version == before
    index.insert(keys(3, 4, 5), [11, 12, 13])
    assert index.version == before + 1
    index.seal()
    assert index.version == before + 1


def test_a_probe_of_a_changed_index_refuses_pairs_and_ranges_and_keeps_its_counts() -> None:
    index = make(buffer=4)
    index.insert(keys(1, 2, 3), [0, 1, 2])
    probe = index.probe(keys(1), keys(2))
    index.insert(keys(2), [3])
    assert probe.counts.tolist() == [2]
    for late in (probe.pairs, probe.ranges, lambda: list(probe.chunks(5))):
        with pytest.raises(StateError, match=r"at version 0 and the index has changed since.*probe again"):
            late()
    assert index.probe(keys(1), keys(2)).total == 3


def test_records_of_a_probe_outlive_the_seal() -> None:
    index = make(buffer=4, middle=0)
    index.insert(keys(*range(0, 20, 2)), np.arange(10))
    index.insert(keys(1, 3), [10, 11])
    probe = index.probe(keys(1), keys(4))
    index.seal()
    assert sorted(probe.pairs()[1].tolist()) == [1, 2, 10, 11]


@pytest.mark.parametrize("middle", [0, 4])
def test_one_key_over_all_partitions_is_one_range(middle: int) -> None:
    index = make(capacity=50, partitions=11, buffer=3, middle=middle)
    for batch in (30, 1, 1, 2, 16):
        index.insert(np.full(batch, 7, np.int32), np.arange(index.size, index.size + batch))
        index.check()
    low = keys(6, 7, 7, 8)
    assert ask(index, low, low) == [[], list(range(50)), list(range(50)), []]
    index.seal()
    records = index.probe(low, low).ranges()
    assert (records.start.tolist(), records.end.tolist()) == ([0, 0, 0, 50], [0, 50, 50, 50])


# ---- bounded insertion ----


def test_no_insert_moves_more_than_its_share_of_the_main_array(monkeypatch: pytest.MonkeyPatch) -> None:
    index, buffer, middle = make(capacity=20_000, partitions=64, buffer=8, middle=400), 8, 400
    rng, work = np.random.default_rng(3), []
    advance, merge = SortedRun.advance, SortedRun.merge

    def watched_advance(run: SortedRun, most: int) -> None:
        if run.pending is not None:
            work.append(min(most, run.left) + min(most, run.gap))
        advance(run, most)

    def watched_merge(run: SortedRun, batch: Any, ids: Any, threads: int = 1) -> None:
        work.append(run.size + len(batch))
        merge(run, batch, ids, threads)

    monkeypatch.setattr(SortedRun, "advance", watched_advance)
    monkeypatch.setattr(SortedRun, "merge", watched_merge)
    at = 0
    while at < index.capacity:
        size = min(int(rng.integers(1, 20)), index.capacity - at)
        work.clear()
        index.insert(rng.integers(0, 10**6, size).astype(np.int32), np.arange(at, at + size))
        at += size
        share = (size + buffer) * (index.capacity + middle) // middle + 1
        assert sum(work) <= 2 * 2 * share + 3 * middle, (at, size)
    index.seal()
    assert (np.diff(index.main_keys) >= 0).all() and np.bincount(index.main_ids).tolist() == [1] * index.capacity


def test_a_full_window_weighs_little_more_than_its_keys_and_ids() -> None:
    for capacity in (100_000, 1 << 20, 1 << 22):
        index = create("bi-sort", capacity=capacity)
        for size in (1, 2_000, 1, capacity // 2):
            index.insert(np.zeros(size, np.int32), np.arange(size))
        assert index.memory_bytes <= 1.1 * 8 * capacity, capacity
    index.seal()
    assert index.memory_bytes <= 1.1 * 8 * index.size


# ---- knobs ----


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"buffer": 0}, "buffer must be at least 1, not 0"),
        ({"buffer": 4, "middle": 3}, "middle must be 0 .* or at least the buffer's 4, not 3"),
        ({"middle": -1}, "middle must be 0 .* not -1"),
        ({"sigma": 2}, "'bi-sort' has no such option"),
    ],
)
def test_wrong_knobs_are_named(knobs: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make(**knobs)


# ---- one state machine at sizes where lanes, blocks and gaps are wide ----


class Flushes(RuleBasedStateMachine):
    """Batches around every boundary; counts and records against numpy on all that arrived."""

    @initialize(
        buffer=st.sampled_from([1, 2, 20]),
        middle=st.sampled_from([0, 20, 64, 300]),
        partitions=st.sampled_from([1, 7, 50, 1_999]),
        threads=st.sampled_from([1, 2]),
        dtype=st.sampled_from([np.int32, np.int64]),
    )
    def create(self, buffer: int, middle: int, partitions: int, threads: int, dtype: Any) -> None:
        self.index = make(3_000, partitions, dtype, buffer=buffer, middle=middle, threads=threads)
        self.arrived = np.empty(0, dtype)

    @precondition(lambda self: not self.index.sealed)
    @rule(
        size=st.sampled_from([1, 2, 19, 20, 21, 60, 200, 700]),
        seed=st.integers(0, 999),
        kind=st.sampled_from([5, 300, 10**6, 0]),
    )
    def insert(self, size: int, seed: int, kind: int) -> None:
        size = min(size, self.index.capacity - self.index.size)
        drawn = np.random.default_rng(seed).integers(-kind, kind + 1, size)
        batch = (drawn + (self.index.size if kind == 0 else 0)).astype(self.arrived.dtype)  # 0: keys that increase
        self.index.insert(batch, np.arange(self.index.size, self.index.size + size))
        self.arrived = np.concatenate([self.arrived, batch])

    @rule(size=st.sampled_from([1, 5, 33, 150]), seed=st.integers(0, 999), width=st.sampled_from([0, 3, 10**5]))
    def probe(self, size: int, seed: int, width: int) -> None:
        rng, info = np.random.default_rng(seed), np.iinfo(self.arrived.dtype)
        near = rng.choice(self.arrived, size) if len(self.arrived) else np.zeros(size, np.int64)
        low = np.sort(near.astype(np.int64) - rng.integers(0, width + 1, size))
        low[: size // 10] = info.min
        high = np.maximum.accumulate(low + width)
        high[size - size // 10 :] = info.max
        low, high = low.astype(self.arrived.dtype), np.clip(high, info.min, info.max).astype(self.arrived.dtype)
        inside = (self.arrived[None, :] >= low[:, None]) & (self.arrived[None, :] <= high[:, None])
        for negate in (False, True):
            wanted = [np.flatnonzero(row != negate).tolist() for row in inside]
            probe = self.index.probe(low, high, negate=negate)
            assert probe.counts.tolist() == [len(row) for row in wanted]
            probe_no, ids = probe.pairs()
            order = np.lexsort((ids, probe_no))
            assert ids[order].tolist() == [number for row in wanted for number in row]
            assert matches_of_records(self.index, low, high, negate) == wanted

    @rule()
    def seal(self) -> None:
        self.index.seal()

    @invariant()
    def sound(self) -> None:
        if hasattr(self, "index"):
            self.index.check()


TestFlushes = Flushes.TestCase
