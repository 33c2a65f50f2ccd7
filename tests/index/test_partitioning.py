"""The partition phase agrees with numpy's search, for sparse and dense batches and at the ends of the type."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.index.partitioning import DENSE, cut_into_runs, find_targets, find_targets_plain
from panjoin.kernels.lanes import LANE

DTYPES = [np.dtype(np.int32), np.dtype(np.int64)]


def pad(splitters: np.ndarray) -> np.ndarray:
    return np.append(splitters, np.full(LANE, np.iinfo(splitters.dtype).max, splitters.dtype))


def targets(splitters: np.ndarray, low: np.ndarray, high: np.ndarray, plain: bool) -> tuple[list[int], list[int]]:
    low_target, high_target = np.full(len(low), -1, np.int32), np.full(len(low), -1, np.int32)
    if plain:
        find_targets_plain(splitters, low, high, low_target, high_target)
    else:
        find_targets(pad(splitters), low, high, low_target, high_target)
    return low_target.tolist(), high_target.tolist()


@given(st.data(), st.sampled_from(DTYPES))
def test_runs_and_targets_agree_with_numpy(data: st.DataObject, dtype: np.dtype):
    info = np.iinfo(dtype)
    key = st.one_of(
        st.integers(-3, 3), st.integers(-60, 60), st.sampled_from([info.min, info.min + 1, info.max - 1, info.max])
    )
    splitters = np.array(sorted(data.draw(st.lists(key, max_size=40))), dtype)
    keys = np.array(sorted(data.draw(st.lists(key, min_size=1, max_size=60))), dtype)
    expected = np.searchsorted(splitters, keys).tolist()

    partitions, starts = np.full(len(keys), -1, np.int32), np.full(len(keys) + 1, -1, np.int64)
    runs = cut_into_runs(splitters, keys, partitions, starts)
    assert runs <= min(len(keys), len(splitters) + 1)
    assert starts[runs] == len(keys)
    assert np.repeat(partitions[:runs], np.diff(starts[: runs + 1])).tolist() == expected

    high = np.maximum.accumulate(
        np.array([min(k + data.draw(st.integers(0, 9)), info.max) for k in keys.tolist()], dtype)
    )
    both = expected, np.searchsorted(splitters, high).tolist()
    assert targets(splitters, keys, high, plain=True) == both
    assert targets(splitters, keys, high, plain=False) == both


@pytest.mark.parametrize("tuples", [7, DENSE * (1000 + LANE) - 1, 40_000])
def test_sparse_and_dense_batches_over_many_partitions(tuples: int):
    rng = np.random.default_rng(tuples)
    splitters = np.sort(rng.integers(-(2**31), 2**31, 1000)).astype(np.int32)
    low = np.sort(rng.integers(-(2**31), 2**31 - 10**8, tuples)).astype(np.int32)
    high = low + np.int32(10**7)
    assert targets(splitters, low, high, plain=False) == targets(splitters, low, high, plain=True)


def test_an_empty_interval_does_not_disturb_its_neighbours():
    splitters, low, high = (
        np.array([10, 20, 30], np.int32),
        np.array([5, 25, 26], np.int32),
        np.array([5, 5, 35], np.int32),
    )
    low_target, high_target = targets(splitters, low, high, plain=False)
    assert low_target == [0, 2, 2]
    assert high_target[0] == 0
    assert high_target[2] == 3
