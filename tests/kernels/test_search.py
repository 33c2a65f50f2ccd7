"""Searches against a count of smaller keys, which needs no order and shares no code with them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from panjoin.kernels import search

INT32 = np.iinfo(np.int32)
EDGES = [INT32.min, INT32.min + 1, -1, 0, 1, INT32.max - 1, INT32.max]
keys_with_edges = st.one_of(st.sampled_from(EDGES), st.integers(-4, 4), st.integers(INT32.min, INT32.max))
arrays = hnp.arrays(np.int32, st.integers(0, 40), elements=keys_with_edges).map(np.sort)


def smaller(keys, bounds):
    """How many keys are smaller than each bound: the lower bound, without searching."""
    return (keys[None, :] < bounds[:, None]).sum(axis=1)


def not_larger(keys, bounds):
    return (keys[None, :] <= bounds[:, None]).sum(axis=1)


@settings(deadline=None)
@given(arrays, arrays)
def test_one_bound_at_a_time_finds_the_first_of_equals_and_the_end_of_equals(keys, bounds):
    assert [search.lower_bound(keys, bound) for bound in bounds] == smaller(keys, bounds).tolist()
    assert [search.upper_bound(keys, bound) for bound in bounds] == not_larger(keys, bounds).tolist()


@settings(deadline=None)
@given(arrays, arrays)
def test_rebounding_search_agrees_with_counting(keys, bounds):
    lower, upper = np.full(len(bounds), -1, np.int32), np.full(len(bounds), -1, np.int32)
    search.rebound_lower(keys, bounds, lower)
    search.rebound_upper(keys, bounds, upper)
    assert lower.tolist() == smaller(keys, bounds).tolist()
    assert upper.tolist() == not_larger(keys, bounds).tolist()


def test_the_drawing_at_the_head_of_the_file_is_true():
    keys, out = np.array([2, 3, 5, 7, 11, 13, 17, 19], np.int32), np.empty(2, np.int32)
    search.rebound_lower(keys, np.array([3, 17], np.int32), out)
    assert out.tolist() == [1, 6]


@pytest.mark.parametrize("bound", EDGES)
def test_bounds_at_the_ends_of_the_type_do_not_overflow(bound):
    keys, bounds, out = np.array(EDGES, np.int32), np.array([bound], np.int32), np.empty(1, np.int32)
    search.rebound_upper(keys, bounds, out)
    assert out[0] == EDGES.index(bound) + 1
