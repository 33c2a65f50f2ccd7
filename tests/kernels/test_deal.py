"""Dealing by cells against its definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from panjoin.kernels.deal import MANY, deal

ENDS = st.one_of(st.integers(-50, 50), st.sampled_from([-(2**63), -(2**62), 2**62, 2**63 - 1]))


def one(cell: int, workers: int) -> int:
    dealt = deal(np.array([cell]), np.array([cell]), workers)
    (worker,) = [number for number, own in enumerate(dealt) if len(own)]
    return worker


@given(st.lists(st.tuples(ENDS, ENDS).map(sorted), max_size=20), st.integers(1, 9))
def test_a_tuple_goes_to_the_workers_of_its_cells_and_to_all_when_there_are_many(intervals, workers):
    low, high = (np.array([each[end] for each in intervals], np.int64) for end in (0, 1))
    dealt = deal(low, high, workers)
    for number, (first, last) in enumerate(intervals):
        holders = {worker for worker, own in enumerate(dealt) if number in own}
        few = last - first < MANY * workers
        assert holders == ({one(cell, workers) for cell in range(first, last + 1)} if few else set(range(workers)))
    assert all((np.diff(own) > 0).all() for own in dealt)


def test_neighbours_and_multiples_of_any_stride_spread_alike():
    for stride in (1, 2, 7, 64, 1000, 1 << 20, 1 << 40):
        cells = np.arange(-5000, 5000, dtype=np.int64) * stride
        sizes = [len(own) for own in deal(cells, cells, 8)]
        assert max(sizes) < 1.1 * 10_000 / 8, stride
