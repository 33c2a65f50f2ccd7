"""Windows: what they take, what they contain, what they say."""

import pickle
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin import CountWindow, MixedWindow, TimeWindow
from panjoin.errors import DataError, ParameterError
from panjoin.window import Extent

MIN, MAX = -(2**63), 2**63 - 1
MINUTE = 60_000_000
moments = st.one_of(st.integers(MIN, MAX), st.integers(-20, 20), st.integers(MAX - 20, MAX), st.integers(MIN, MIN + 20))
lengths = st.one_of(st.integers(0, MAX), st.integers(0, 20))


def micros(n):
    return f"{n} us"


# ---- what is taken, and how it is normalised ----


def test_count_windows_have_one_size_per_side():
    assert CountWindow(5) == CountWindow(left=5, right=5)
    window = CountWindow(left=np.int64(3), right=7)
    assert (window.extent("left"), window.extent("right")) == (Extent(tuples=3), Extent(tuples=7))
    assert not window.timed
    assert window.on is None
    assert repr(window) == "CountWindow(left=3, right=7)"
    assert CountWindow(1).left == 1


def test_time_windows_have_one_length_and_one_column_per_side():
    window = TimeWindow("10 minutes", on="ts")
    assert window == TimeWindow(left=timedelta(minutes=10), right="600 s", on=("ts", "ts"))
    assert window.extent("right") == Extent(micros=10 * MINUTE)
    assert window.timed
    assert window.lateness is None
    other = TimeWindow(left="1 hour", right="0 seconds", on=("a", "b"), lateness="90 seconds")
    assert (other.left, other.right, other.on, other.lateness) == (60 * MINUTE, 0, ("a", "b"), 90_000_000)
    assert eval(repr(other)) == other
    assert eval(repr(window)) == window


def test_mixed_windows_take_one_of_each():
    timed = TimeWindow("1 hour", on=("a", "b"), lateness="1 s")
    window = MixedWindow(left=CountWindow(9), right=timed)
    assert window.extent("left") == Extent(tuples=9)
    assert window.extent("right") == Extent(micros=60 * MINUTE)
    assert (window.on, window.lateness, window.timed) == (("a", "b"), 1_000_000, True)
    assert MixedWindow(left=timed, right=CountWindow(2)).extent("left").by_time
    assert eval(repr(window)) == window


def test_windows_are_frozen_hashable_and_travel():
    timed = TimeWindow("1 hour", on="ts")
    for window in (CountWindow(5), timed, MixedWindow(left=CountWindow(2), right=timed)):
        assert pickle.loads(pickle.dumps(window)) == window
        assert len({window, pickle.loads(pickle.dumps(window))}) == 1
        with pytest.raises(AttributeError, match="cannot assign to field 'left'"):
            window.left = 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CountWindow(0), "a window of 0 tuples joins nothing; use at least 1"),
        (lambda: CountWindow(left=5, right=0), "a window of 0 tuples joins nothing; use at least 1"),
        (lambda: CountWindow(-3), r"a count window must be between 1 and 2\^62 tuples, not -3"),
        (lambda: CountWindow(2**63), r"between 1 and 2\^62 tuples, not 9223372036854775808"),
        (lambda: CountWindow(True), "a count window is a whole number of tuples, not True"),
        (lambda: CountWindow(5.0), "a count window is a whole number of tuples, not 5.0"),
        (lambda: CountWindow("5"), "a count window is a whole number of tuples, not '5'"),
        (CountWindow, r"CountWindow needs its length; write CountWindow\(1000\) or CountWindow\(left=1000"),
        (lambda: CountWindow(left=5), "CountWindow needs right="),
        (lambda: CountWindow(5, left=5), "CountWindow takes one length for both sides, or left= and right=, not all"),
        (lambda: TimeWindow(on="ts"), r"TimeWindow needs its length; write TimeWindow\('10 minutes'\)"),
        (lambda: TimeWindow(right="1 s", on="ts"), "TimeWindow needs left="),
        (lambda: TimeWindow("1 s", right="1 s", on="ts"), "TimeWindow takes one length for both sides, or left="),
        (lambda: TimeWindow("1 s"), "a time window needs the event-time column, such as on='ts', or one for each side"),
        (lambda: TimeWindow("1 s", on=("a", "b", "c")), r"on must be the event-time column.*, not \('a', 'b', 'c'\)"),
        (lambda: TimeWindow("1 s", on=5), "on must be the event-time column.*, not 5"),
        (lambda: TimeWindow("-1 s", on="ts"), "the window's length must not be negative: '-1 s'"),
        (lambda: TimeWindow(left="-1 s", right="1 s", on="ts"), "the window's left must not be negative"),
        (lambda: TimeWindow("1 month", on="ts"), "months and years differ in length; use days"),
        (lambda: TimeWindow(600, on="ts"), "the window's length is 600, which has no unit"),
        (lambda: TimeWindow("1 s", on="ts", lateness="-1 s"), "lateness must not be negative"),
        (lambda: TimeWindow("1 s", on="ts", lateness=5), "lateness is 5, which has no unit"),
        (
            lambda: MixedWindow(left=CountWindow(1), right=CountWindow(2)),
            r"two windows of one kind are no mixed window; use CountWindow\(left=\.\.\., right=\.\.\.\)",
        ),
        (
            lambda: MixedWindow(left=CountWindow(left=1, right=2), right=TimeWindow("1 s", on="ts")),
            "left is one side's window, so it has one length, not two as in CountWindow",
        ),
        (
            lambda: MixedWindow(left=5, right=TimeWindow("1 s", on="ts")),
            "left must be a CountWindow or a TimeWindow, not 5",
        ),
    ],
)
def test_what_is_no_window_is_refused_with_the_remedy(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


# ---- what a time window contains ----


def contains(left_ts, right_ts, left, right):
    """The rule of the design in Python's integers, which do not overflow."""
    if left_ts <= right_ts:
        return right_ts - left_ts <= left
    return left_ts - right_ts <= right


@given(st.lists(st.tuples(moments, moments), min_size=1), lengths, lengths)
def test_a_pair_is_in_the_window_by_its_two_event_times_alone(pairs, left, right):
    window = TimeWindow(left=micros(left), right=micros(right), on="ts")
    left_ts, right_ts = (np.array(ts, np.int64) for ts in zip(*pairs, strict=True))
    expected = [contains(a, b, left, right) for a, b in pairs]
    assert window.in_window(left_ts, right_ts).tolist() == expected
    assert bool(window.in_window(*pairs[0])) == expected[0]


def test_both_ends_of_a_time_window_are_inside_to_the_microsecond():
    window = TimeWindow(left="10 us", right="3 us", on="ts")
    right_ts = np.array([96, 97, 98, 100, 101, 110, 111])
    assert window.in_window(100, right_ts).tolist() == [False, True, True, True, True, True, False]
    same = TimeWindow("0 seconds", on="ts")
    assert same.in_window(np.array([5, 5, 5]), np.array([4, 5, 6])).tolist() == [False, True, False]
    widest = TimeWindow(micros(MAX), on="ts")
    assert widest.in_window(np.array([MIN, -1, MIN]), np.array([MAX, MAX, -1])).tolist() == [False, False, True]


@given(moments, moments, lengths, lengths)
def test_visible_event_times_are_those_in_the_window(ts, other, left, right):
    window = TimeWindow(left=micros(left), right=micros(right), on="ts")
    for side, pair in (("left", (ts, other)), ("right", (other, ts))):
        earliest, latest = window.visible(side, np.array([ts]))
        assert (earliest[0] <= other <= latest[0]) == contains(*pair, left, right)


@given(moments, moments, lengths)
def test_in_a_mixed_window_the_waiting_side_is_bounded_below_alone(ts, other, length):
    window = MixedWindow(left=CountWindow(4), right=TimeWindow(micros(length), on="ts"))
    earliest, latest = window.visible("left", np.array([ts]))
    assert (earliest[0] <= other <= latest[0]) == (ts - other <= length)
    assert [bound.tolist() for bound in window.visible("right", np.array([ts]))] == [[MIN], [MAX]]


# ---- binding to columns ----


def batch(kind, numbers=(0, 1, None)):
    storage = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    return pa.record_batch({"ts": pa.array(numbers, storage).view(kind)})


@pytest.mark.parametrize(
    ("kind", "factor"),
    [
        (pa.timestamp("s"), 1_000_000),
        (pa.timestamp("ms", "UTC"), 1_000),
        (pa.timestamp("us"), 1),
        (pa.date32(), 86_400_000_000),
        (pa.date64(), 1_000),
    ],
)
def test_event_times_are_microseconds_with_nulls_apart(kind, factor):
    arrived = batch(kind)
    bound = TimeWindow("1 s", on="ts").bind(arrived.schema, arrived.schema)
    ts, valid = bound.time("right", arrived)
    assert ts.dtype == np.int64
    assert ts[valid].tolist() == [0, factor]
    assert valid.tolist() == [True, True, False]
    ts, valid = bound.time("left", arrived.slice(1, 1))
    assert (ts.tolist(), valid) == ([factor], None)


def test_nanoseconds_are_event_times_when_they_are_whole_microseconds():
    kind = pa.timestamp("ns")
    bound = TimeWindow("1 s", on="ts").bind(batch(kind).schema, batch(kind).schema)
    assert bound.time("left", batch(kind, [3000]))[0].tolist() == [3]
    with pytest.raises(DataError, match=r"column 'left.ts': 3001 ns at row 0 is not a whole number of microseconds"):
        bound.time("left", batch(kind, [3001]))


@pytest.mark.parametrize(("kind", "number"), [(pa.date32(), 2**31 - 1), (pa.date64(), -(2**62))])
def test_dates_beyond_64_bit_microseconds_are_refused(kind, number):
    bound = TimeWindow("1 s", on="ts").bind(batch(kind).schema, batch(kind).schema)
    with pytest.raises(DataError, match=rf"column 'right.ts': {number} at row 0 is too far for an event time"):
        bound.time("right", batch(kind, [number]))


def test_count_windows_bind_to_anything_and_have_no_event_times():
    empty = pa.schema([])
    bound = CountWindow(5).bind(empty, empty)
    assert bound.window == CountWindow(5)
    with pytest.raises(ParameterError, match=r"a count window has no event times; ask `window.timed` first"):
        bound.time("left", batch(pa.date32()))


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (
            {"tss": pa.date32()},
            {"ts": pa.date32()},
            "the left side has no event-time column 'ts'; .*'tss'; did you mean",
        ),
        ({"ts": pa.date32()}, {}, "the right side has no event-time column 'ts'; there are none"),
        (
            {"ts": pa.int64()},
            {"ts": pa.date32()},
            "left.ts is int64, but event time must be a timestamp or a date; convert",
        ),
        ({"ts": pa.date32()}, {"ts": pa.string()}, "right.ts is string, but event time must be a timestamp or a date"),
        (
            {"ts": pa.timestamp("us", "UTC")},
            {"ts": pa.timestamp("us")},
            "left.ts is timestamp.us, tz=UTC. and right.ts is timestamp.us.; give both a time zone, or neither",
        ),
        ({"ts": pa.date32()}, {"ts": pa.timestamp("us", "UTC")}, "give both a time zone, or neither"),
    ],
)
def test_columns_without_event_time_are_refused_with_the_remedy(left, right, message):
    with pytest.raises(DataError, match=message):
        TimeWindow("1 s", on="ts").bind(pa.schema(left), pa.schema(right))


def test_zones_may_differ_because_moments_do_not():
    left, right = pa.schema({"ts": pa.timestamp("us", "UTC")}), pa.schema({"ts": pa.timestamp("ms", "Asia/Tokyo")})
    assert TimeWindow("1 s", on="ts").bind(left, right).window.timed
    assert TimeWindow("1 s", on="ts").bind(pa.schema({"ts": pa.date32()}), pa.schema({"ts": pa.timestamp("us")}))


def test_windows_describe_themselves():
    assert CountWindow(left=1000, right=1).describe() == (
        "the last 1,000 left tuples can be joined; the last right tuple can be joined"
    )
    timed = TimeWindow(left="90 min", right="0 s", on=("a", "b"), lateness="1 s")
    assert timed.describe() == (
        "a left tuple can be joined for 1 hour 30 minutes of event time after it; a right tuple can be joined for "
        "0 seconds of event time after it; event time is left.a and right.b, at most 1 second late"
    )
    assert MixedWindow(left=CountWindow(9), right=TimeWindow("1 s", on="ts")).describe() == (
        "the last 9 left tuples can be joined; a right tuple can be joined for 1 second of event time before the "
        "newcomer; event time is left.ts and right.ts"
    )
