"""Both ways through a run against a count of smaller keys, at sizes past every threshold of theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.kernels.lanes import LANE
from panjoin.kernels.search_run import (
    BLOCK,
    CHUNK,
    PADDING,
    SCAN,
    Run,
    lower_merge,
    search_prefetch,
    search_run,
    upper_merge,
)


def a_run(keys: Any, before: int, step: int) -> Run:
    """`keys` from position `before` on, after smaller ones, and with an index over all."""
    info = np.iinfo(keys.dtype)
    room = np.full(before + len(keys) + PADDING, info.max, keys.dtype)
    room[:before], room[before : before + len(keys)] = info.min, keys
    samples = room[: before + len(keys) : step]
    index = np.concatenate([samples, np.full(LANE, info.max, keys.dtype)])
    for array in (room, index):
        array.flags.writeable = False
    return Run(room, before, before + len(keys), index, step)


def a_batch(rng: Any, keys: Any, size: int, spread: int) -> tuple[Any, Any]:
    """Ascending bounds on, beside and beyond the keys; some intervals are empty or inverted."""
    info = np.iinfo(keys.dtype)
    near = rng.choice(keys, size).astype(np.int64) + rng.integers(-spread, spread + 1, size)
    near[: size // 8] = rng.choice([info.min, info.max], size // 8)
    low = np.sort(near)
    high = np.sort(near + rng.integers(-spread, 2 * spread + 1, size))
    low, high = (np.clip(bound, info.min, info.max).astype(keys.dtype) for bound in (low, high))
    for bound in (low, high):
        bound.flags.writeable = False
    return low, high


def smaller(keys: Any, bounds: Any) -> Any:
    return np.array([(keys < bound).sum() for bound in bounds], np.int32)


def not_larger(keys: Any, bounds: Any) -> Any:
    return np.array([(keys <= bound).sum() for bound in bounds], np.int32)


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.sampled_from([1, 2, LANE - 1, LANE, LANE + 1, SCAN - 1, SCAN, SCAN + 1, 700]),
    before=st.sampled_from([0, 1, 5, 200]),
    step=st.sampled_from([1, 3, LANE, SCAN, SCAN + 1, 300, 1000]),
    asked=st.sampled_from([0, 1, 2, 3, 5, BLOCK - 1, BLOCK, BLOCK + 1, 150]),
    values=st.sampled_from([1, 3, 50, 10**6]),
    dtype=st.sampled_from([np.int32, np.int64]),
)
def test_prefetch_and_merge_agree_with_counting(
    seed: int, size: int, before: int, step: int, asked: int, values: int, dtype: Any
) -> None:
    rng = np.random.default_rng(seed)
    keys = np.sort(rng.integers(-values, values + 1, size).astype(dtype))
    run, (low, high) = a_run(keys, before, step), a_batch(rng, keys, asked, max(1, values // 4))
    starts, ends = np.full(asked, -1, np.int32), np.full(asked, -1, np.int32)
    scratch = np.empty(2 * BLOCK, np.int64)
    expected = smaller(keys, low).tolist(), not_larger(keys, high).tolist()
    search_prefetch(run, low, high, starts, ends, scratch)
    assert (starts.tolist(), ends.tolist()) == expected
    starts[:], ends[:] = -1, -1
    lower_merge(run.keys, run.first, run.end, low, starts)
    upper_merge(run.keys, run.first, run.end, high, ends)
    assert (starts.tolist(), ends.tolist()) == expected
    for negate in (False, True):
        counts = np.full(asked, 10, np.int64)
        search_run(run, low, high, negate, starts, ends, counts, scratch)
        matches = [int(((keys >= a) & (keys <= b)).sum()) for a, b in zip(low, high, strict=True)]
        assert counts.tolist() == [10 + (size - count if negate else count) for count in matches]
        assert np.maximum(ends - starts, 0).tolist() == matches
        inside = ends > starts
        assert (starts[inside] == np.array(expected[0])[inside]).all()


@pytest.mark.parametrize("asked", [CHUNK - 1, CHUNK + 1, 3 * CHUNK])
@pytest.mark.parametrize("size", [5_000, 2_000_000])
def test_chunks_of_a_large_batch_join_without_a_seam(asked: int, size: int) -> None:
    rng = np.random.default_rng(asked)
    keys = np.sort(rng.integers(-(10**6), 10**6, size).astype(np.int32))
    run, (low, high) = a_run(keys, 0, 128), a_batch(rng, keys, asked, 3)
    starts, ends, counts = np.empty(asked, np.int32), np.empty(asked, np.int32), np.zeros(asked, np.int64)
    search_run(run, low, high, False, starts, ends, counts, np.empty(2 * BLOCK, np.int64))
    histogram = np.bincount(keys.astype(np.int64) + 10**6, minlength=2 * 10**6 + 10)
    below = np.concatenate([[0], np.cumsum(histogram)])  # below[k] = keys smaller than k - 10^6
    first = below[np.clip(low.astype(np.int64) + 10**6, 0, 2 * 10**6)]
    last = below[np.clip(high.astype(np.int64) + 10**6 + 1, 0, 2 * 10**6)]
    assert (counts == np.maximum(last - first, 0)).all()
