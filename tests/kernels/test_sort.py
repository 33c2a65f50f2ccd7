"""Sorting a batch: stable, for every width of keys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.kernels.sort import sort_by_key


def assert_sorted_stably(keys: np.ndarray) -> None:
    ascending, order = sort_by_key(keys)
    expected = sorted(range(len(keys)), key=lambda i: keys[i])
    assert order.tolist() == expected
    assert ascending.tolist() == keys[expected].tolist()
    assert ascending.dtype == keys.dtype


@given(st.lists(st.one_of(st.integers(-3, 3), st.integers(-(2**31), 2**31 - 1)), max_size=40))
def test_int32_keys_are_sorted_and_equal_keys_keep_their_order(values: list[int]) -> None:
    assert_sorted_stably(np.array(values, np.int32))


@given(st.lists(st.sampled_from([-(2**63), -(2**63) + 1, -1, 0, 1, 5, 2**62, 2**63 - 1]), max_size=40))
def test_int64_keys_too_far_apart_to_be_packed_are_sorted_stably_too(values: list[int]) -> None:
    assert_sorted_stably(np.array(values, np.int64))


@pytest.mark.parametrize("bits", range(57, 64))
def test_both_ways_agree_around_the_range_where_packing_ends(bits: int) -> None:
    keys = np.array([2**bits - 1, 0, 2**bits - 1, 1, 0] * 7, np.int64) - 2 ** (bits - 1)
    assert_sorted_stably(keys)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_large_batch_agrees_with_numpys_stable_sort(dtype: type) -> None:
    keys = np.random.default_rng(1).integers(np.iinfo(dtype).min, np.iinfo(dtype).max, 70_000).astype(dtype)
    keys[::7] = 42
    ascending, order = sort_by_key(keys)
    expected = np.argsort(keys, kind="stable")
    assert np.array_equal(order, expected)
    assert np.array_equal(ascending, keys[expected])
