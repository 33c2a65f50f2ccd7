"""The LLVM operations against the plain ones that stand in for them without the compiler."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from panjoin.kernels import lanes
from panjoin.kernels.jit import kernel

TYPES = pytest.mark.parametrize("dtype", [np.int32, np.int64])


@kernel
def counts_of(keys: Any, at: int, bounds: Any, out: Any) -> None:
    """Both counts for each bound."""
    for i in range(len(bounds)):
        lanes.prefetch(keys, at + 10**9)  # an address outside of every array must do no harm
        out[0, i] = lanes.smaller(keys, at, bounds[i])
        out[1, i] = lanes.not_larger(keys, at, bounds[i])


@kernel
def moved(keys: Any, to: int, at: int, length: int) -> None:
    """One lane, or `length` elements."""
    if length < 0:
        lanes.copy_lane(keys, to, keys, at)
    else:
        lanes.move(keys, to, keys, at, length)


@TYPES
def test_counts_of_a_lane_are_those_of_numpy_at_every_offset_and_at_the_ends_of_the_type(dtype: Any) -> None:
    info = np.iinfo(dtype)
    edges = np.array([info.min, info.min + 1, -1, 0, 1, info.max - 1, info.max], dtype)
    keys = np.sort(np.concatenate([edges, edges, np.arange(-9, 9, dtype=dtype)]))
    for at in range(len(keys) - lanes.LANE):
        out = np.empty((2, len(edges)), np.int64)
        counts_of(keys, at, edges, out)
        lane = keys[at : at + lanes.LANE]
        assert out[0].tolist() == [sum(key < bound for key in lane) for bound in edges]
        assert out[1].tolist() == [sum(key <= bound for key in lane) for bound in edges]


@TYPES
@pytest.mark.parametrize("length", [-1, 0, 1, 5, 40])
@pytest.mark.parametrize(("to", "at"), [(0, 3), (3, 0), (7, 7), (30, 2)])
def test_moving_onto_itself_reads_everything_before_it_writes(dtype: Any, length: int, to: int, at: int) -> None:
    keys = np.arange(80, dtype=dtype)
    expected, size = keys.copy(), lanes.LANE if length < 0 else length
    expected[to : to + size] = keys[at : at + size].copy()
    moved(keys, to, at, length)
    assert keys.tolist() == expected.tolist()
