"""Counting the living by prefix: compared with looking at every id."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from panjoin.kernels.live import count_live, live_prefix, total_live


@given(st.permutations(range(12)), st.integers(-1, 13), st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12))))
def test_living_tuples_in_ranges_are_counted(ids, first_live, ranges):
    prefix = np.empty(13, np.int32)
    live_prefix(np.array(ids, np.int32), first_live, prefix)
    starts, ends = np.array(ranges, np.int32).reshape(-1, 2).T
    counts = np.zeros(len(ranges), np.int64)
    count_live(prefix, starts, ends, np.arange(len(ranges), dtype=np.int32), counts)
    expected = [sum(number >= first_live for number in ids[start:end]) for start, end in ranges]
    assert counts.tolist() == expected
    assert total_live(prefix, starts, ends) == sum(expected)
