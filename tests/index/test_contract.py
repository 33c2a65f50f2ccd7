"""The contract by example, for every structure: what is answered, and what is refused with which words."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from panjoin.errors import DataError, PanJoinError, ParameterError, StateError
from panjoin.index import Index, create
from panjoin.index.contract import names, structure_class
from tests.index.model import Model, ask, extremes
from tests.index.structures import CONTRACTORS, KNOBS, SORTED, STRUCTURES

pytestmark = pytest.mark.parametrize("name", CONTRACTORS)

TYPES = pytest.mark.parametrize("dtype", [np.int32, np.int64])


def make(name: str, capacity: int = 8, partitions: int = 4, dtype: Any = np.int32, **more: Any) -> Index:
    return create(name, capacity=capacity, partitions=partitions, dtype=dtype, **(KNOBS[name][-1] | more))


def keys(*values: int, dtype: Any = np.int32) -> Any:
    return np.array(values, dtype)


# ---- what is answered ----


def test_each_probing_tuple_gets_the_ids_of_the_keys_in_its_interval(name: str) -> None:
    index = make(name)
    index.insert(keys(7, 2, 9, 4), [0, 1, 2, 3])
    index.insert(keys(4, 1, 8), [4, 5, 6])
    probe = index.probe(keys(0, 2, 4, 10), keys(1, 7, 7, 12))
    assert probe.counts.tolist() == [1, 4, 3, 0]
    assert probe.total == 8
    assert ask(index, keys(0, 2, 4, 10), keys(1, 7, 7, 12)) == [[5], [0, 1, 3, 4], [0, 3, 4], []]
    assert ask(index, keys(2, 4), keys(4, 7), negate=True) == [[0, 2, 5, 6], [1, 2, 5, 6]]


def test_an_empty_index_matches_nothing_not_even_negated(name: str) -> None:
    index = make(name)
    for _ in range(2):
        for negate in (False, True):
            assert ask(index, keys(-5, 3), keys(3, 3), negate=negate) == [[], []]
        assert (index.size, index.min_key, index.max_key) == (0, None, None)
        index.seal()


def test_a_probe_of_no_tuples_has_no_counts_and_no_pairs(name: str) -> None:
    index = make(name)
    index.insert(keys(1, 2), [0, 1])
    probe = index.probe([], [])
    assert probe.counts.shape == (0,)
    assert probe.total == 0
    assert [len(part) for part in probe.pairs()] == [0, 0]
    assert list(probe.chunks(10)) == []


def test_low_above_high_is_an_empty_interval_whose_complement_is_everything(name: str) -> None:
    index = make(name)
    index.insert(keys(1, 2, 3), [0, 1, 2])
    low, high = keys(2, 3, 3), keys(1, 1, 2)
    assert ask(index, low, high) == [[], [], []]
    assert ask(index, low, high, negate=True) == [[0, 1, 2]] * 3


@TYPES
def test_every_interval_between_two_extremes_is_answered(name: str, dtype: Any) -> None:
    values, model = extremes(dtype), Model()
    index = make(name, capacity=2 * len(values), partitions=5, dtype=dtype)
    for half in (values[::2], values[1::2]):
        batch = keys(*half, *half, dtype=dtype)
        ids = np.arange(len(model.tuples), len(model.tuples) + len(batch))
        index.insert(batch, ids)
        model.insert(batch, ids)
    for sealed in (False, True):
        for distance in range(len(values)):  # low = values[i], high = values[i + distance]: both ascend
            low = keys(*values[: len(values) - distance], dtype=dtype)
            high = keys(*values[distance:], dtype=dtype)
            for negate in (False, True):
                assert ask(index, low, high, negate) == model.probe(low, high, negate)
                assert ask(index, high, high, negate) == model.probe(high, high, negate)
        if not sealed:
            index.seal()
    index.check()


@TYPES
def test_a_large_window_agrees_with_numpy_on_one_and_on_two_threads(name: str, dtype: Any) -> None:
    """Past every small threshold: several blocks, partitions and leaves, batches of all sizes, two threads."""
    rng = np.random.default_rng(7)
    capacity = 20_000
    window = (rng.zipf(1.3, capacity) % 5_000).astype(dtype)
    window[::3] = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, len(window[::3]), dtype=dtype)
    indexes = [create(name, capacity=capacity, partitions=300, dtype=dtype, threads=threads) for threads in (1, 2)]
    at = 0
    for size in (1, 7, 2_000, 5_000, 12_000, 992):
        for index in indexes:
            index.insert(window[at : at + size], np.arange(at, at + size))
        at += size
    assert at == capacity
    order = np.argsort(window, kind="stable")
    in_order = window[order]
    low = np.sort(np.concatenate([rng.choice(window, 500), rng.integers(0, 6_000, 500).astype(dtype)]))
    info = np.iinfo(dtype)
    high = np.where(low > info.max - 10, info.max, low + dtype(10))
    first, last = np.searchsorted(in_order, low, "left"), np.searchsorted(in_order, high, "right")
    for index in indexes:
        for _ in range(2):
            index.check()
            found = index.probe(low, high)
            assert (found.counts == last - first).all()
            assert (index.probe(low, high, negate=True).counts == capacity - (last - first)).all()
            probe_no, ids = found.pairs()
            assert (probe_no == np.repeat(np.arange(len(low)), last - first)).all()
            expected = np.concatenate([np.sort(order[a:b]) for a, b in zip(first, last, strict=True)])
            assert (ids[np.lexsort((ids, probe_no))] == expected).all()
            index.seal()


def test_counts_go_past_two_to_the_31_and_pairs_still_come_in_bounded_chunks(name: str) -> None:
    hot = 50_000
    index = create(name, capacity=hot, partitions=16)
    index.insert(np.full(hot, 5, np.int32), np.arange(hot))
    probe = index.probe(np.full(hot, 5, np.int32), np.full(hot, 5, np.int32))
    assert probe.total == hot * hot > 2**31
    pieces = probe.chunks(100_000)
    for first in (0, 2):
        probe_no, ids = next(pieces)
        assert (probe_no == np.repeat([first, first + 1], hot)).all()
        assert (np.sort(ids[:hot]) == np.arange(hot)).all()


def test_two_probes_live_side_by_side_and_outlive_the_seal(name: str) -> None:
    """A probe is valid until the next insert: no buffer of one belongs to the other, and a seal keeps what it names."""
    index = make(name)
    index.insert(keys(7, 2, 9, 4), [0, 1, 2, 3])
    index.insert(keys(4, 1, 8), [4, 5, 6])
    first, second = index.probe(keys(1, 4), keys(2, 4)), index.probe(keys(7, 8, 8), keys(9, 9, 9))
    index.seal()
    third = index.probe(keys(0), keys(1))
    assert [sorted(probe.pairs()[1].tolist()) for probe in (first, second, third)] == [
        [1, 3, 4, 5],
        [0, 2, 2, 2, 6, 6, 6],
        [5],
    ]
    assert [probe.counts.tolist() for probe in (first, second, third)] == [[2, 2], [3, 2, 2], [1]]


def test_threads_probe_one_index_at_the_same_time(name: str) -> None:
    index = create(name, capacity=4_000, partitions=50)
    index.insert(np.arange(4_000, dtype=np.int32) // 4, np.arange(4_000))
    index.seal()
    together = Barrier(4)

    def probe(thread: int) -> bool:
        low = np.arange(thread, 1_000, 7, dtype=np.int32)
        expected = (4 * low[:, None] + np.arange(4)).tolist()
        together.wait()
        return all(
            np.sort(index.probe(low, low).pairs()[1].reshape(-1, 4), axis=1).tolist() == expected for _ in range(30)
        )

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(probe, range(4))) == [True] * 4


def test_arrays_may_be_strided_read_only_or_lists_of_ids(name: str) -> None:
    index = make(name)
    batch = keys(6, 0, 4, 0, 2, 0)
    batch.flags.writeable = False
    index.insert(batch[::2], [0, 1, 2])
    index.insert(batch[4::-2][:2], np.array([3, 4], np.uint8))
    low, high = keys(2, 9, 4, 9), keys(4, 9, 6, 9)
    low.flags.writeable = high.flags.writeable = False
    assert ask(index, low[::2], high[::2]) == [[1, 2, 3, 4], [0, 1, 4]]
    assert batch.tolist() == [6, 0, 4, 0, 2, 0]


# ---- the life of an index ----


def test_the_next_subwindow_takes_size_and_type_from_the_last(name: str) -> None:
    previous = make(name, capacity=9, partitions=3, dtype=np.int64)
    previous.insert(keys(5, 5, 5, dtype=np.int64), [0, 1, 2])
    for after_seal in (False, True):
        following = create(name, like=previous)
        assert (following.capacity, following.partitions, following.dtype) == (9, 3, np.dtype(np.int64))
        assert (following.size, following.sealed) == (0, False)
        following.check()
        smaller = create(name, like=previous, capacity=2)
        assert (smaller.capacity, smaller.partitions) == (2, 2)
        smaller.insert(keys(5, 6, dtype=np.int64), [0, 1])
        smaller.check()
        if not after_seal:
            previous.seal()
    assert previous.size == 3


@pytest.mark.parametrize("other", STRUCTURES)
def test_a_chain_may_change_its_structure(name: str, other: str) -> None:
    previous = make(other)
    previous.insert(keys(1, 2, 2, 3), [0, 1, 2, 3])
    previous.seal()
    index = create(name, like=previous)
    assert (index.name, index.capacity, index.partitions) == (name, 8, 4)
    index.insert(keys(2), [0])
    assert ask(index, keys(2), keys(2)) == [[0]]


@TYPES
@pytest.mark.parametrize("filled", [0, 1, 8])
def test_a_sealed_index_opens_from_read_only_arrays_without_copies(name: str, dtype: Any, filled: int) -> None:
    index = make(name, dtype=dtype)
    index.insert(np.arange(filled, dtype=dtype)[::-1] // 2, np.arange(filled))
    index.seal()
    stored = {key: array.copy() for key, array in index.arrays().items()}
    for array in stored.values():
        array.flags.writeable = False
    opened = structure_class(name).open(stored)
    opened.check()
    assert (opened.name, opened.size, opened.dtype, opened.sealed) == (name, filled, np.dtype(dtype), True)
    assert ask(opened, keys(0, 1, dtype=dtype), keys(0, 9, dtype=dtype)) == ask(
        index, keys(0, 1, dtype=dtype), keys(0, 9, dtype=dtype)
    )
    if filled == 8:
        held = [value for value in _arrays_in(vars(opened)) if value.nbytes >= 8 * 4]
        assert any(np.shares_memory(array, value) for array in stored.values() for value in held)
    with pytest.raises(StateError, match="is sealed"):
        opened.insert(keys(1, dtype=dtype), [0])


def _arrays_in(value: Any) -> list[Any]:
    if isinstance(value, np.ndarray):
        return [value]
    if type(value).__module__.startswith("panjoin."):  # a structure may be made of objects of its own
        value = vars(value) if hasattr(value, "__dict__") else value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else []
    return [array for part in parts for array in _arrays_in(part)]


def test_every_structure_says_its_name(name: str) -> None:
    assert name in names()
    assert structure_class(name).name == name == make(name).name


# ---- what is refused ----


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"capacity": 0}, "capacity must be at least 1, not 0"),
        ({"capacity": -3}, "capacity must be at least 1, not -3"),
        ({"partitions": 0}, "partitions must be between 1 and the capacity 8, not 0"),
        ({"partitions": 9}, "partitions must be between 1 and the capacity 8, not 9"),
        ({"capacity": True}, "capacity must be a whole number, not True"),
        ({"capacity": 8.0}, "capacity must be a whole number, not 8.0"),
        ({"capacity": "8"}, "capacity must be a whole number, not '8'"),
        ({"capacity": 1 << 31}, r"capacity must be below 2\^31, not 2147483648: .* use more subwindows"),
        ({"partitions": 2.5}, "partitions must be a whole number, not 2.5"),
        ({"threads": 0}, "threads must be at least 1, not 0"),
        ({"threads": 1.5}, "threads must be a whole number, not 1.5"),
        ({"dtype": "number"}, "dtype must be int32 or int64, not 'number'"),
        ({"like": [1, 2]}, "like must be an index, such as that of the last subwindow, not list"),
        ({"dtype": np.float64}, "dtype must be int32 or int64, not float64"),
        ({"dtype": np.uint32}, "dtype must be int32 or int64, not uint32"),
        ({"dtype": np.dtype(">i4")}, "dtype must be int32 or int64, not >i4"),
        ({"colour": "red"}, "has no such option: .*colour"),
    ],
)
def test_a_wrong_parameter_is_refused(name: str, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make(name, **wrong)


def test_capacity_is_needed_when_there_is_no_predecessor(name: str) -> None:
    with pytest.raises(ParameterError, match="capacity is needed"):
        create(name)


BAD_BATCHES: list[tuple[Any, Any, str]] = [
    (np.zeros(1, np.int64), [0], r"keys must be int32 like the index, not int64; convert with .astype\(np.int32\)"),
    (np.zeros(1, np.uint32), [0], "keys must be int32 like the index, not uint32"),
    (np.zeros(1, np.float32), [0], "keys must be int32 like the index, not float32"),
    (np.zeros((1, 1), np.int32), [[0]], "keys must have one dimension, not 2"),
    (np.zeros(2, np.int32), [0], r"keys and ids must have the same length, not 2 and \(1,\)"),
    (np.zeros(0, np.int32), [0], r"keys and ids must have the same length, not 0 and \(1,\)"),
    (np.zeros(1, np.int32), [-1], r"ids must be whole numbers in 0..2\^31-1, not int64 in -1..-1"),
    (np.zeros(1, np.int32), [2**31], r"ids must be whole numbers in 0..2\^31-1, not int64 in 2147483648"),
    (np.zeros(1, np.int32), [0.5], r"ids must be whole numbers in 0..2\^31-1, not float64"),
    (
        np.zeros(9, np.int32),
        np.arange(9),
        "cannot insert 9 tuples: 3 of capacity 8 are taken; insert at most 5, then seal",
    ),
    (
        np.zeros(6, np.int32),
        np.arange(6),
        "cannot insert 6 tuples: 3 of capacity 8 are taken; insert at most 5, then seal",
    ),
]
BAD_PROBES: list[tuple[Any, Any, str]] = [
    (keys(3, 2), keys(3, 3), "low must ascend, but 3 is followed by 2 at 1; sort the batch"),
    (keys(1, 1, 2), keys(3, 5, 4), "high must ascend, but 5 is followed by 4 at 2; sort the batch"),
    (keys(1, 2), keys(1), "low and high must have the same length, not 2 and 1"),
    (np.zeros(1, np.int64), keys(1), "low must be int32 like the index, not int64"),
    (keys(1), np.zeros(1, np.float64), "high must be int32 like the index, not float64"),
    (np.zeros((1, 1), np.int32), keys(1), "low must have one dimension, not 2"),
]


def test_a_refused_call_leaves_the_index_as_it_was(name: str) -> None:
    index, model = make(name), Model()
    batch, ids = keys(6, 2, 4), np.arange(3)
    index.insert(batch, ids)
    model.insert(batch, ids)
    whole = keys(-9), keys(9)
    for sealed in (False, True):
        for bad_keys, bad_ids, message in BAD_BATCHES:
            with pytest.raises(PanJoinError, match=None if sealed else message) as refusal:
                index.insert(bad_keys, bad_ids)
            assert sealed or isinstance(refusal.value, DataError)
        for low, high, message in BAD_PROBES:
            with pytest.raises(DataError, match=message):
                index.probe(low, high)
        with pytest.raises(ParameterError, match="max_pairs must be at least 1, not 0"):
            next(index.probe(*whole).chunks(0))
        assert (index.size, index.min_key, index.max_key) == (3, 2, 6)
        assert ask(index, *whole) == model.probe(*whole)
        index.check()
        index.seal()
    with pytest.raises(StateError, match=f"cannot insert 1 tuples: this {name} index is sealed; create a new one"):
        index.insert(keys(1), [3])


def test_only_a_structure_that_keeps_order_gives_ranges(name: str) -> None:
    index = make(name)
    index.insert(keys(1), [0])
    if name not in SORTED:
        with pytest.raises(StateError, match="only a bi-sort index answers with ranges"):
            index.probe(keys(1), keys(1)).ranges()
    else:
        assert index.probe(keys(1), keys(1)).ranges() is not None


def test_partition_sizes_are_told_in_key_order_also_when_it_is_opened_again(name: str) -> None:
    index = make(name, capacity=64, partitions=8)
    values = np.random.default_rng(3).normal(0, 1000, 40).astype(np.int32)
    for part in np.array_split(values, 5):
        index.insert(part, np.arange(len(part)))
    index.seal()
    for one in (index, type(index).open(index.arrays())):
        if name not in ("rap-table", "wib-tree"):  # the others cut no keys into partitions
            assert one.partition_sizes is None
        else:
            assert one.partition_sizes is not None
            assert one.partition_sizes.tolist() == _sizes(one)
            assert one.partition_sizes.sum() == 40


def _sizes(index: Any) -> list[int]:
    """By the structure's own books: what lies between two splitters, or in the leaves from left to right."""
    if index.name == "wib-tree":
        return [len(index._tree.llat.tuples_of(leaf)[0]) for leaf in index._leaves()]
    return [len(index._llat.tuples_of(partition)[0]) for partition in range(index.partitions)]
