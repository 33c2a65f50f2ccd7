"""The adjustment algorithm: exact, ordered, and converging as the paper says; and what its printed formula does."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.index.splitters import adjust, even, from_sample

LIMITS = {np.dtype(t): np.iinfo(t) for t in (np.int32, np.int64)}


def histogram(keys: np.ndarray, splitters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts, mins, maxs of the partitions, by numpy alone; empty partitions get nonsense on purpose."""
    keys = np.sort(keys)
    at = np.searchsorted(splitters, keys, side="left")
    counts = np.bincount(at, minlength=len(splitters) + 1).astype(np.int64)
    mins, maxs = np.full(len(counts), 77, keys.dtype), np.full(len(counts), -77, keys.dtype)
    some = np.flatnonzero(counts)
    ends = np.cumsum(counts)
    mins[some], maxs[some] = keys[(ends - counts)[some]], keys[ends[some] - 1]
    return counts, mins, maxs


def naive(counts: list[int], mins: list[int], maxs: list[int], partitions: int) -> list[int]:
    """The formula of the erratum in exact fractions: each j looks for its partition anew."""
    sums = [0]
    for count in counts:
        sums.append(sums[-1] + count)
    splitters = []
    for j in range(1, partitions):
        balance = Fraction(j * sums[-1], partitions)
        i = next(i for i in range(len(counts)) if sums[i] < balance <= sums[i + 1])
        splitters.append(math.floor(mins[i] + (balance - sums[i]) / counts[i] * (maxs[i] - mins[i])))
    return splitters


def imbalance(keys: np.ndarray, splitters: np.ndarray) -> float:
    counts = np.bincount(np.searchsorted(splitters, keys), minlength=len(splitters) + 1)
    return float(np.abs(counts - len(keys) / len(counts)).mean() / (len(keys) / len(counts)))


def rounds(keys: np.ndarray, splitters: np.ndarray, count: int) -> list[np.ndarray]:
    generations = [splitters]
    for _ in range(count):
        now = generations[-1]
        generations.append(adjust(*histogram(keys, now), len(now) + 1, now))
    return generations


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("partitions", [1, 2, 3, 4, 5, 7, 1000, 1024])
def test_even_splitters_cut_the_type_into_equal_parts(dtype: np.dtype, partitions: int):
    limits = LIMITS[dtype]
    edges = [limits.min - 1, *even(dtype, partitions).tolist(), limits.max]
    sizes = [b - a for a, b in itertools.pairwise(edges)]
    assert even(dtype, partitions).dtype == dtype
    assert sum(sizes) == 1 << limits.bits
    assert max(sizes) - min(sizes) <= 1


def test_a_sample_gives_its_quantiles():
    assert from_sample(np.array([40, 10, 30, 20], np.int32), 4).tolist() == [10, 20, 30]
    assert from_sample(np.array([5, 5, 5], np.int64), 4).tolist() == [5, 5, 5]
    assert from_sample(np.empty(0, np.int32), 4).tolist() == even(np.int32, 4).tolist()
    keys = np.random.default_rng(1).normal(0, 1e6, 1 << 14).astype(np.int32)
    assert imbalance(keys, from_sample(keys, 64)) < 0.01


def test_the_example_at_the_head_of_the_file():
    counts, mins, maxs = (
        np.array([5, 5, 1, 5]),
        np.array([0, 11, 25, 31], np.int32),
        np.array([10, 20, 25, 41], np.int32),
    )
    assert adjust(counts, mins, maxs, 4).tolist() == [8, 16, 33]


def test_the_printed_formula_without_min_does_not_even_ascend():
    counts, mins, maxs = [5, 5, 5, 1], [0, 11, 22, 31], [10, 20, 29, 40]

    def printed(j: int) -> float:
        i = next(i for i in range(4) if sum(counts[:i]) < 4 * j <= sum(counts[: i + 1]))
        return (4 * j - sum(counts[:i])) / counts[i] * (maxs[i] - mins[i])

    assert [printed(j) for j in (1, 2, 3)] == pytest.approx([8, 5.4, 2.8])
    ours = adjust(np.array(counts), np.array(mins, np.int32), np.array(maxs, np.int32), 4).tolist()
    assert ours == sorted(ours) == [8, 16, 24]


@given(st.data(), st.sampled_from(list(LIMITS)), st.integers(1, 9), st.integers(1, 9))
def test_adjustment_agrees_with_exact_fractions_on_any_histogram(
    data: st.DataObject, dtype: np.dtype, old: int, new: int
):
    limits = LIMITS[dtype]
    key = st.one_of(st.integers(limits.min, limits.max), st.integers(-4, 4), st.sampled_from([limits.min, limits.max]))
    edges = sorted(data.draw(st.lists(key, min_size=2 * old, max_size=2 * old)))
    counts = data.draw(st.lists(st.sampled_from([0, 1, 2, 3, 100, 2**30]), min_size=old, max_size=old))
    mins, maxs = np.array(edges[::2], dtype), np.array(edges[1::2], dtype)
    if sum(counts) == 0:
        counts[0] = 1
    new_splitters = adjust(np.array(counts, np.int32), mins, maxs, new)
    assert new_splitters.dtype == dtype
    assert new_splitters.tolist() == naive(counts, edges[::2], edges[1::2], new)
    assert new_splitters.tolist() == sorted(new_splitters.tolist())


def test_a_subwindow_without_tuples_keeps_the_old_splitters():
    old = np.array([1, 5, 5], np.int32)
    nothing = np.zeros(4, np.int32)
    assert adjust(nothing, nothing, nothing, 4, old).tolist() == [1, 5, 5]
    assert adjust(nothing, nothing, nothing, 4).tolist() == even(np.int32, 4).tolist()


@pytest.mark.parametrize("dtype", LIMITS)
def test_a_subwindow_without_tuples_keeps_the_old_ranges_when_the_number_of_partitions_changes(dtype: np.dtype):
    limits = LIMITS[dtype]
    nothing = np.zeros(4, dtype)
    old = np.array([0, 100, 200], dtype)
    halved = adjust(nothing, nothing, nothing, 2, old).tolist()
    assert halved == [100]
    doubled = adjust(nothing, nothing, nothing, 8, old).tolist()
    assert doubled[1:6:2] == [0, 100, 200]
    assert doubled[2] in (50, 51)
    assert doubled == sorted(doubled)
    for crowded in ([7, 7, 7], [limits.max] * 3, [limits.min] * 3):
        recut = adjust(nothing, nothing, nothing, 6, np.array(crowded, dtype)).tolist()
        assert recut == sorted(recut)
        assert len(recut) == 5


def test_one_constant_key_never_spreads_and_pulls_every_splitter_onto_itself():
    keys = np.full(100, 42, np.int32)
    for splitters in rounds(keys, even(np.int32, 8), 3)[1:]:
        assert splitters.tolist() == [42] * 7


def test_empty_partitions_are_passed_over():
    counts, mins, maxs = (
        np.array([0, 4, 0, 0]),
        np.array([99, 10, 99, 99], np.int32),
        np.array([-9, 50, -9, -9], np.int32),
    )
    assert adjust(counts, mins, maxs, 4).tolist() == [20, 30, 40]


def test_a_partly_filled_predecessor_teaches_as_well():
    keys = np.random.default_rng(2).normal(1e6, 1e4, 1 << 15).astype(np.int32)
    learnt_from_half = rounds(keys[::2], even(np.int32, 64), 3)[-1]
    assert imbalance(keys, learnt_from_half) < 0.12


def test_fewer_tuples_than_partitions():
    keys = np.array([3, 1000, 70_000], np.int32)
    for splitters in rounds(keys, even(np.int32, 16), 4)[1:]:
        assert len(splitters) == 15
        assert splitters.tolist() == sorted(splitters.tolist())


@pytest.mark.parametrize("modes", [1, 3])
@pytest.mark.parametrize("share", [0.01, 0.1])
@pytest.mark.parametrize("shape", ["normal", "uniform"])
def test_balance_is_reached_in_three_rounds(shape: str, share: float, modes: int):
    rng = np.random.default_rng(3)
    centres = np.linspace(-1.5e9, 1.5e9, modes + 2)[1:-1]
    spread = share * 2**32 / (modes if shape == "uniform" else 4 * modes)
    draw = rng.normal(0, spread, 1 << 16) if shape == "normal" else rng.uniform(-spread / 2, spread / 2, 1 << 16)
    keys = (draw + centres[rng.integers(0, modes, 1 << 16)]).clip(-(2**31), 2**31 - 1).astype(np.int32)
    course = [imbalance(keys, splitters) for splitters in rounds(keys, even(np.int32, 64), 3)]
    assert course[-1] < 0.1
    assert course[-1] < course[0] / 5


def test_a_narrow_normal_distribution_balances_in_two_rounds_at_256_partitions():
    keys = np.random.default_rng(4).normal(0, 0.01 * 2**32, 1 << 20).astype(np.int32)
    course = [imbalance(keys, splitters) for splitters in rounds(keys, even(np.int32, 256), 2)]
    assert course[0] > 1.5
    assert course[2] < 0.06


def test_rank_size_data_stalls_at_its_heaviest_key_and_no_sooner():
    rng = np.random.default_rng(5)
    keys = (1e4 / np.arange(1, (1 << 16) + 1)).astype(np.int32) + rng.integers(0, 2, 1 << 16).astype(np.int32)
    last = rounds(keys, even(np.int32, 64), 4)[-1]
    counts = np.bincount(np.searchsorted(last, keys), minlength=64)
    heaviest = int(np.bincount(keys).max())
    assert heaviest <= counts.max() <= heaviest + 2 * len(keys) // 64


@pytest.mark.parametrize("partitions", [16, 256, 1024, 65536])
def test_the_papers_worst_case_settles_in_the_promised_rounds(partitions: int):
    promised = next(k for k in range(1, 40) if partitions**k >= 2**32)
    assert promised == {16: 8, 256: 4, 1024: 4, 65536: 2}[partitions]
    top = 2**31 - 1
    tail = [top // partitions**k for k in range(40) if top // partitions**k > 0]
    keys = np.array(tail + [0] * (partitions - len(tail)), np.int32)
    start = np.full(partitions - 1, top, np.int32)  # all in the first partition, as in the paper's figure
    course = rounds(keys, start, promised)
    places = {key: bisect_left(course[-1].tolist(), key) for key in {0, *tail}}
    assert len(set(places.values())) == len(places), "every distinct value has a partition of its own"
