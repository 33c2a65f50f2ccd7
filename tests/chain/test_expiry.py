"""Verdicts are compared with the window rule applied to every pair of times."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from panjoin.chain.expiry import Reach, Verdict, count_verdict, is_past

TIMES = st.integers(-12, 12)
BOUND = st.one_of(st.none(), st.integers(-8, 8))


def inside(reach: Reach, probing: int, stored: int) -> bool:
    apart = probing - stored
    return (reach.low is None or reach.low <= apart) and (reach.high is None or apart <= reach.high)


@given(BOUND, BOUND, st.tuples(TIMES, TIMES).map(sorted), st.tuples(TIMES, TIMES).map(sorted))
def test_a_time_verdict_skips_only_what_no_pair_can_reach_and_trusts_only_what_all_pairs_do(low, high, stored, probing):
    reach = Reach(low, high)
    pairs = [inside(reach, p, s) for p in range(probing[0], probing[1] + 1) for s in range(stored[0], stored[1] + 1)]
    verdict = reach.verdict(tuple(stored), tuple(probing))
    if verdict is Verdict.WHOLE:
        assert all(pairs)
    if verdict is Verdict.SKIP:
        assert not any(pairs)
    if all(pairs):
        assert verdict is Verdict.WHOLE


@given(BOUND, BOUND, st.lists(st.tuples(TIMES, TIMES), max_size=20))
def test_the_rule_per_pair_is_the_window_rule(low, high, pairs):
    reach = Reach(low, high)
    probing, stored = np.array(pairs, np.int64).reshape(-1, 2).T
    assert reach.holds(probing, stored).tolist() == [inside(reach, p, s) for p, s in pairs]


@given(st.integers(0, 9), st.integers(0, 9), st.integers(-3, 20))
def test_a_count_verdict_is_that_of_the_numbers(first_no, size, live_from):
    live = [number >= live_from for number in range(first_no, first_no + size)]
    verdict = count_verdict(first_no, first_no + size, live_from)
    if live and all(live):
        assert verdict is Verdict.WHOLE
    elif live and any(live):
        assert verdict is Verdict.FILTER
    elif live:
        assert verdict is Verdict.SKIP


def test_a_subwindow_is_past_one_microsecond_after_its_newest_tuple_can_match():
    assert not is_past(newest=100, extent=10, watermark=110)
    assert is_past(newest=100, extent=10, watermark=111)


def test_verdicts_at_the_ends_of_64_bits_do_not_overflow():
    reach = Reach(-(2**62), 2**62)
    assert reach.verdict((-(2**63), -(2**63)), (2**63 - 1, 2**63 - 1)) is Verdict.SKIP
