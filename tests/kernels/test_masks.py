"""Masks of 32 keys agree with one comparison per key, at the ends of the type too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.kernels.jit import kernel
from panjoin.kernels.masks import WIDTH, first, low_bits, ones, within


@kernel
def positions(keys: np.ndarray, count: int, low: int, high: int, out: np.ndarray) -> int:
    found = 0
    for at in range(0, count, WIDTH):
        mask = within(keys, at, low, high) & low_bits(count - at)
        before = found
        while mask != 0:
            out[found] = at + first(mask)
            mask &= mask - np.uint64(1)
            found += 1
        if found - before != ones(within(keys, at, low, high) & low_bits(count - at)):
            return -1
    return found


@given(st.data(), st.sampled_from([np.dtype(np.int32), np.dtype(np.int64)]))
def test_masks_find_what_a_comparison_per_key_finds(data: st.DataObject, dtype: np.dtype):
    info = np.iinfo(dtype)
    key = st.one_of(st.integers(-5, 5), st.sampled_from([info.min, info.min + 1, info.max - 1, info.max]))
    keys = data.draw(st.lists(key, max_size=100))
    low, high = data.draw(key), data.draw(key)
    padded = np.array([*keys, *[data.draw(key)] * WIDTH], dtype)
    out = np.zeros(len(keys), np.int64)
    found = positions(padded, len(keys), dtype.type(low), dtype.type(high), out)
    assert out[:found].tolist() == [i for i, key in enumerate(keys) if low <= key <= high]


@pytest.mark.parametrize("count", [1, 2, WIDTH - 1, WIDTH, WIDTH + 1, 1000])
def test_low_bits_keep_what_is_ours(count: int):
    assert int(low_bits(count)) == (1 << min(count, WIDTH)) - 1
