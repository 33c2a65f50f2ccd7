"""What a stream has shown: batch sizes, matches, drift of its keys, fit of its splitters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.observation import SAMPLE, Observation, distance

RNG = np.random.default_rng(7)


def keys(low: int, high: int, count: int = 1000) -> np.ndarray:
    return np.sort(RNG.integers(low, high, count, dtype=np.int32))


def fed(*batches: np.ndarray, capacity: int = 4000) -> Observation:
    observed = Observation()
    for batch in batches:
        observed.took(batch, len(batch), capacity)
    return observed


def test_nothing_is_known_at_first():
    seen = Observation().seen
    assert (seen.batch, seen.selectivity, seen.drift, seen.overflow) == (0.0, 0.0, None, None)


def test_the_mean_batch_is_that_of_the_last_subwindows():
    assert fed(*[keys(0, 9, 10)] * 4).batch == 10
    assert fed(*[keys(0, 9, 4000)] * 4, *[keys(0, 9, 40)] * 300).batch == pytest.approx(40, rel=0.01)


def test_tuples_without_a_key_count_for_the_batch_and_not_for_the_sample():
    observed = Observation()
    observed.took(np.empty(0, np.int32), 50, 100)
    assert observed.batch == 50
    assert observed.drift is None


def test_the_same_keys_again_are_no_drift():
    assert fed(*[keys(0, 10**6) for _ in range(9)]).drift < 0.05


def test_increasing_keys_drift_as_far_as_keys_can():
    assert fed(*[keys(start, start + 1000) for start in range(0, 12_000, 1000)]).drift > 0.9


def test_increasing_keys_are_seen_within_the_first_subwindow_already():
    assert fed(*[keys(start, start + 1000) for start in range(0, 3000, 1000)]).drift > 0.8


def test_a_single_batch_says_nothing_about_drift():
    assert fed(keys(0, 1000)).drift is None


def test_values_that_move_a_tenth_of_their_range_drift_by_about_a_tenth():
    moved = fed(*[keys(0, 10_000)] * 4, *[keys(1000, 11_000)] * 4)
    assert 0.02 < moved.drift < 0.15


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_sample_stays_small_and_spreads_over_the_subwindow(size):
    observed = fed(*[keys(0, 10**6, size) for _ in range(20_000 // size)], capacity=20_000)
    sample = observed._pages[-1].keys
    assert 0.8 * SAMPLE < len(sample) < 1.3 * SAMPLE
    assert distance(sample, keys(0, 10**6, 5000)) < 0.05


def test_matches_are_counted_per_tuple_and_subwindow():
    observed = Observation()
    observed.probed(0, 0)
    assert observed.selectivity == 0
    observed.probed(100, 250)
    assert observed.selectivity == 2.5


def test_what_overflows_even_partitions_is_a_share_of_the_tuples():
    observed = Observation()
    observed.sealed((100,) * 8)
    assert observed.overflow == 0
    observed.sealed((800, 0, 0, 0, 0, 0, 0, 0))
    assert observed.overflow == pytest.approx((800 - 125) / 800)
    observed.sealed((0, 0))
    assert observed.overflow == pytest.approx((800 - 125) / 800), "an empty subwindow teaches nothing"


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=60), st.lists(st.integers(-9, 9), min_size=1, max_size=60))
def test_the_distance_is_symmetric_within_0_and_1_and_that_of_the_definition(one, other):
    a, b = np.array(one, np.int32), np.array(other, np.int32)
    chance = 1.63 * ((len(a) + len(b)) / (len(a) * len(b))) ** 0.5
    by_hand = max(
        abs(sum(x <= v for x in one) / len(one) - sum(x <= v for x in other) / len(other)) for v in range(-9, 10)
    )
    assert distance(a, b) == distance(b, a) == pytest.approx(max(0, by_hand - chance))
