"""Range sums, minima and maxima: compared with visiting every value of the range, in exact arithmetic."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from panjoin.kernels.fold import FANOUT, MAX, MIN, SUM, difference, fold_pairs, fold_ranges, neutral, tree

SIZES = st.one_of(st.integers(0, 40), st.sampled_from([FANOUT**2 - 1, FANOUT**2, FANOUT**2 + 1, FANOUT**3 + 5]))


def folded(values: np.ndarray, ranges: list[tuple[int, int]], operation: int) -> np.ndarray:
    nodes, begins = tree(values, operation)
    out = np.full(len(ranges), neutral(operation, values.dtype), values.dtype)
    starts, ends = (np.array(column, np.int64) for column in zip(*ranges, strict=True))
    fold_ranges(nodes, begins, starts, ends, operation, np.arange(len(ranges)), out)
    return out


@given(SIZES, st.integers(0, 2**32 - 1), st.data())
def test_a_range_of_whole_numbers_folds_like_its_values(size: int, seed: int, data: st.DataObject) -> None:
    values = np.random.default_rng(seed).integers(-(2**40), 2**40, size)
    cut = st.tuples(st.integers(0, size), st.integers(0, size))
    ranges = [*data.draw(st.lists(cut, max_size=6)), (0, size)]
    inside = [values[first:last].tolist() for first, last in ranges]
    assert folded(values, ranges, SUM).tolist() == [sum(each) for each in inside]
    assert folded(values, ranges, MIN).tolist() == [min(each, default=2**63 - 1) for each in inside]
    assert folded(values, ranges, MAX).tolist() == [max(each, default=-(2**63)) for each in inside]


def test_nan_is_the_greatest_value_and_makes_only_its_own_ranges_nan() -> None:
    values = np.array([3.0, math.nan, 1.0, math.inf] * 20)
    ranges = [(0, 1), (0, 2), (1, 2), (2, 4), (4, 80)]
    assert folded(values, ranges, MIN).tolist()[:2] == [3.0, 3.0]
    assert math.isnan(folded(values, ranges, MIN)[2])
    assert [math.isnan(each) for each in folded(values, ranges, MAX)] == [False, True, True, False, True]
    assert [math.isnan(each) for each in folded(values, ranges, SUM)] == [False, True, True, False, True]


def test_a_sum_of_floats_is_not_spoiled_by_a_large_value_outside_of_its_range() -> None:
    values = np.ones(1000)
    values[10] = 1e300
    assert folded(values, [(11, 1000)], SUM).tolist() == [989.0]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=30))
def test_pairs_fold_like_their_values(pairs: list[tuple[int, int]]) -> None:
    values = np.arange(10) * 7 % 10 - 4
    for operation, reference in ((SUM, sum), (MIN, min), (MAX, max)):
        out = np.full(5, neutral(operation, np.int64))
        positions, ids = np.array(pairs, np.int32).reshape(-1, 2).T
        fold_pairs(positions, values[ids], operation, out)
        for at in range(5):
            mine = [int(values[i]) for p, i in pairs if p == at]
            assert out[at] == (reference(mine) if mine else neutral(operation, np.int64))


def test_differences_of_prefix_sums_are_the_sums_even_where_the_prefix_wraps_around() -> None:
    values = np.array([2**62, 2**62, 2**62, -5, 7])
    prefix = np.concatenate([[0], np.cumsum(values)])
    out = np.zeros(4, np.int64)
    difference(prefix, np.array([3, 2, 4, 3]), np.array([5, 4, 4, 2]), np.array([0, 1, 2, 3]), out)
    assert out.tolist() == [2, 2**62 - 5, 0, 0]
