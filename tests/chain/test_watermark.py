"""The watermark without any join around it: clocks and times are arguments."""

import numpy as np

from panjoin.chain.batch import NO_TIME
from panjoin.chain.watermark import Watermark


def times(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_it_is_unknown_until_both_sides_have_spoken():
    watermark = Watermark(lateness=5)
    watermark.observe("left", times(100, 90), now=0)
    assert watermark.value is None
    watermark.observe("right", times(70), now=0)
    assert watermark.value == 65


def test_it_never_goes_back():
    watermark = Watermark()
    watermark.observe("left", times(100), now=0)
    watermark.observe("right", times(100), now=0)
    watermark.observe("left", times(50), now=0)
    watermark.advance(40)
    assert watermark.value == 100


def test_a_tuple_at_the_watermark_is_in_time_and_one_microsecond_before_is_late():
    watermark = Watermark()
    watermark.advance(100)
    assert watermark.late(times(100, 99, 101, NO_TIME)).tolist() == [False, True, False, False]


def test_tuples_without_a_time_do_not_move_it():
    watermark = Watermark()
    watermark.observe("left", times(NO_TIME), now=0)
    watermark.observe("right", times(10), now=0)
    assert watermark.value is None


def test_a_side_silent_for_an_hour_does_not_hold_state_for_ever():
    watermark = Watermark(idle_timeout=3600)
    watermark.observe("left", times(100), now=0)
    watermark.observe("right", times(10), now=0)
    watermark.observe("left", times(200), now=3599)
    assert watermark.value == 10
    watermark.observe("left", times(300), now=3600)
    assert watermark.value == 300


def test_a_side_that_never_came_counts_as_idle_after_the_timeout_too():
    watermark = Watermark(idle_timeout=60)
    watermark.observe("left", times(100), now=1000)
    assert watermark.value is None
    watermark.observe("left", times(110), now=1060)
    assert watermark.value == 110


def test_a_side_that_wakes_up_finds_its_old_tuples_late():
    watermark = Watermark(idle_timeout=60)
    watermark.observe("left", times(100), now=0)
    watermark.observe("left", times(500), now=60)
    assert watermark.late(times(499, 500)).tolist() == [True, False]


def test_one_event_from_2038_is_put_in_quarantine():
    watermark = Watermark(max_advance=1000)
    watermark.observe("left", times(100), now=0)
    assert watermark.too_far(times(1100, 1101, 2**40, NO_TIME)).tolist() == [False, True, True, False]


def test_in_the_first_batch_the_median_tells_what_is_far():
    watermark = Watermark(max_advance=10)
    assert watermark.too_far(times(5, 6, 2**40)).tolist() == [False, False, True]
    assert watermark.too_far(times(7)).tolist() == [False]


def test_without_a_bound_every_time_is_taken():
    assert not Watermark().too_far(times(0, 2**60)).any()
