"""Durations are read exactly, or refused with the reason."""

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.durations import LONGEST, microseconds_of, spelled
from panjoin.errors import ParameterError

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("duration", "micros"),
    [
        ("10 minutes", 600 * SECOND),
        ("1.5 hours", 5400 * SECOND),
        ("1 hour 30 minutes", 5400 * SECOND),
        ("1h30min", 5400 * SECOND),
        ("250 ms", 250_000),
        ("0 seconds", 0),
        ("0.000001 s", 1),
        (".5 seconds", SECOND // 2),
        ("  INTERVAL 2 Days ", 2 * 86_400 * SECOND),
        ("1 week", 7 * 86_400 * SECOND),
        ("7 us", 7),
        ("7 µs", 7),
        ("3000 ns", 3),
        ("1 hour - 30 minutes", 1800 * SECOND),
        (timedelta(days=1, microseconds=5), 86_400 * SECOND + 5),
        (np.timedelta64(90, "s"), 90 * SECOND),
        (np.timedelta64(2000, "ns"), 2),
        (pd.Timedelta("1 min"), 60 * SECOND),
        ("9223372036854775807 us", LONGEST),
    ],
)
def test_durations_are_whole_microseconds(duration, micros):
    assert microseconds_of(duration, "length") == micros


@pytest.mark.parametrize(
    ("duration", "message"),
    [
        (10, "length is 10, which has no unit; write for example '10 minutes'"),
        (1.5, "length is 1.5, which has no unit"),
        (None, "length is None, which has no unit"),
        ("10", "length is '10', which has no unit; write for example"),
        ("1 hour 30", "length is '1 hour 30', which has no unit"),
        ("", "length is '', which is not a duration; write for example '10 minutes'"),
        ("ten minutes", "length is 'ten minutes', which is not a duration"),
        ("5 minutes!", "length is '5 minutes!', which is not a duration"),
        ("5 parsecs", "'parsecs' is no unit of time"),
        ("3 months", "length is '3 months', but months and years differ in length; use days, such as '30 days'"),
        ("1 YEAR", "length is '1 YEAR', but months and years differ in length"),
        ("5 m", "where 'm' could be minutes or months; write 'min'"),
        ("-5 minutes", "length must not be negative: '-5 minutes'"),
        (timedelta(seconds=-1), "length must not be negative: datetime.timedelta"),
        ("0.5 us", "length is '0.5 us', which is not a whole number of microseconds; round it"),
        (pd.Timedelta(1500, "ns"), "which is not a whole number of microseconds"),
        (np.timedelta64(1500, "ns"), "which is not a whole number of microseconds"),
        (np.timedelta64(1, "M"), "months and years differ in length; use days"),
        (np.timedelta64("NaT"), "length is NaT, which is no duration"),
        (np.timedelta64(5), "which is not in microseconds; write for example"),
        (np.timedelta64(5, "as"), "which is not in microseconds; write for example"),
        ("300000000 days", "which does not fit 64-bit microseconds; use at most 292000 years"),
    ],
)
def test_what_is_no_duration_is_refused_with_the_reason(duration, message):
    with pytest.raises(ParameterError, match=message):
        microseconds_of(duration, "length")


@given(st.integers(0, LONGEST))
def test_what_is_spelled_is_read_back(micros):
    assert microseconds_of(spelled(micros), "length") == micros


def test_durations_are_spelled_for_people():
    assert spelled(0) == "0 seconds"
    assert spelled(5_400 * SECOND) == "1 hour 30 minutes"
    assert spelled(86_400 * SECOND + 1) == "1 day 1 microsecond"
    assert spelled(14 * 86_400 * SECOND) == "14 days"
