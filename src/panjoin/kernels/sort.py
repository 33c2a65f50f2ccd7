"""Sorting a batch by key, stably: the manager's preprocessing step.

The order must be a function of the data alone (a mirror and a replay have to reproduce it), so equal keys stay in
arrival order. `np.argsort(kind="stable")` does that at 9M keys/s. Faster: put key and position into one int64 and
sort values instead of positions (numpy sorts plain integers with vector instructions):

    key     7  3  7  1        key - min    position         sorted     ->  order  3 1 0 2
    packed  6:0 2:1 6:2 0:3   high bits    low bits         0:3 2:1 6:0 6:2

Measured on 8M random int32 keys: stable argsort 0.88 s, argsort 0.29 s, packed sort 0.06 s. A key range too wide to
leave room for the position falls back on argsort, with ties put in order afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from panjoin.kernels.jit import kernel

Array = npt.NDArray[Any]


def sort_by_key(keys: Array) -> tuple[Array, Array]:
    """(ascending keys, int32 position of each in the input); equal keys keep their order."""
    count = len(keys)
    if count == 0:
        return keys, np.empty(0, np.int32)
    low, high = int(keys.min()), int(keys.max())
    position_bits = max(1, (count - 1).bit_length())
    if (high - low) >> (63 - position_bits) == 0:
        packed = np.empty(count, np.int64)
        _pack(keys, low, position_bits, packed)
        packed.sort()
        ascending, order = np.empty(count, keys.dtype), np.empty(count, np.int32)
        _unpack(packed, low, position_bits, ascending, order)
        return ascending, order
    by_key: Array = np.argsort(keys)
    sorted_keys = keys[by_key]
    return sorted_keys, _ties_in_order(sorted_keys, by_key, position_bits)


def _ties_in_order(ascending: Array, order: Array, position_bits: int) -> Array:
    """Positions of equal keys in ascending order: the packed sort again, with ranks, which always leave room."""
    rank = np.zeros(len(order), np.int64)
    np.cumsum(ascending[1:] != ascending[:-1], out=rank[1:])
    packed = (rank << position_bits) | order
    packed.sort()
    positions: Array = (packed & ((1 << position_bits) - 1)).astype(np.int32)
    return positions


@kernel
def _pack(keys: Array, low: int, bits: int, packed: Array) -> None:
    for i in range(len(keys)):
        packed[i] = ((np.int64(keys[i]) - low) << bits) | i


@kernel
def _unpack(packed: Array, low: int, bits: int, ascending: Array, order: Array) -> None:
    mask = (np.int64(1) << bits) - 1
    for i in range(len(packed)):
        ascending[i] = (packed[i] >> bits) + low
        order[i] = packed[i] & mask
