"""Fitting a condition to two schemas: names, types at the door, and what candidate pairs are told."""

import datetime as dt
import pickle
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.bounds import JoinKeys
from panjoin.errors import ConditionError, DataError
from panjoin.predicate import band, equal, parse
from panjoin.vectors import doubles
from tests.predicate.agreement import assert_keys_agree, candidates

HOUR = dt.timedelta(hours=1)


def schema(**kinds):
    return pa.schema(list(kinds.items()))


INTS = schema(x=pa.int32(), y=pa.int32())


def full(on, left, right, **options):
    return parse(on).bind(left.schema, right.schema, **options).full(left, right).tolist()


# ---- names ----


def test_names_are_found_in_exact_case_first_and_in_any_case_then():
    left = pa.table({"Price": [1], "price": [2]})
    right = pa.table({"PRICE": [2]})
    bound = parse("left.price = right.pRice").bind(left.schema, right.schema)
    assert (bound.columns("left"), bound.columns("right")) == (["price"], ["PRICE"])
    assert bound.full(left, right).tolist() == [True]


def test_odd_names_are_names_like_any_other():
    names = ["a b", "a.b", "_x", "class", "left", "a`b", "größe", "1st", "select"]
    table = pa.table({name: [at] for at, name in enumerate(names)})
    for name in names:
        quoted = name.replace("`", "``")
        for condition in (parse(f"left.`{quoted}` = right.`{quoted}`"), equal(name)):
            bound = condition.bind(table.schema, table.schema)
            assert bound.columns("left") == [name]
            assert bound.full(table, table).tolist() == [True]
            assert JoinKeys(bound).encode("left", table)[0].tolist() == [names.index(name)]


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("left.z = right.x", "there is no column left.z; the left side has 'x', 'X2', 'x2'"),
        ("left.X2 = right.z", "there is no column right.z"),
        ("left.x = right.`x x`", "there is no column right.`x x`"),
    ],
)
def test_a_column_that_does_not_exist_is_named_with_those_that_do(on, message):
    with pytest.raises(ConditionError) as refused:
        parse(on).bind(schema(x=pa.int32(), X2=pa.int32(), x2=pa.int32()), INTS)
    assert message in str(refused.value)


def test_a_name_that_fits_two_columns_is_refused():
    ambiguous = schema(aB=pa.int32(), Ab=pa.int32())
    with pytest.raises(ConditionError, match=r"left.ab is ambiguous: the left side has 'aB', 'Ab'"):
        parse("left.ab = right.x").bind(ambiguous, INTS)


# ---- types at the door ----

TYPES = schema(
    i=pa.int32(), l=pa.int64(), f=pa.float32(), g=pa.float64(), d=pa.date32(), t=pa.timestamp("us", "UTC"), n=pa.timestamp("us"),
    s=pa.string(), b=pa.bool_(), y=pa.binary(), m=pa.decimal128(38, 10), q=pa.decimal128(38, 2), u=pa.uint64(),
    a=pa.list_(pa.int32()), z=pa.null(), w=pa.duration("us"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("left.s < right.s", "cannot order a string and a string in 'left.s < right.s'"),
        ("left.y >= right.y", "compared for equality only"),
        ("left.s = right.i", "cannot compare a string with a integer in 'left.s = right.i'; Spark would parse each string"),
        ("left.b = right.i", "cannot compare a boolean with a integer"),
        ("left.d = right.i", "cannot compare a date with a integer"),
        ("left.t + 5 > right.t", "cannot compute 'left.t + 5': Spark has no timestamp + integer; give the offset as an interval"),
        ("left.t - right.t < 5", "cannot compare a interval with a integer"),
        ("(left.d + INTERVAL 5 HOURS) - 1 > right.d", "Spark has no timestamp - integer; give the offset as an interval"),
        ("left.d + right.l > right.d", "INT days to a date, not BIGINT"),
        ("left.s + 1 < right.i", "Spark has no string + integer"),
        ("-left.s < right.i", "cannot take '-left.s' of a string"),
        ("abs(left.d) < right.d", "cannot take 'abs(left.d)' of a date"),
        ("left.i AND right.i = 1", "'left.i' is a integer, not a condition"),
        ("left.m = right.q", "cannot compare a decimal(38,10) with a decimal(38,2)"),
        ("left.m - right.m < 3", "Spark rounds to 38"),
        ("left.i < right.i + 1" + "0" * 40, "more than 38 digits"),
        ("left.u = right.i", "left.u is uint64, which a condition cannot compare; cast it"),
        ("left.a = right.a", "left.a is list<"),
    ],
)  # fmt: skip
def test_types_that_do_not_go_together_are_refused_with_the_reason(on, message):
    with pytest.raises(ConditionError) as refused:
        parse(on).bind(TYPES, TYPES)
    assert message in str(refused.value)


def test_a_column_of_nulls_matches_nothing_and_breaks_nothing():
    left, right = pa.table({"x": pa.nulls(2)}), pa.table({"x": [1, 2]})
    assert full("left.x <=> right.x", left, right) == [False, False]
    assert full("left.x <=> right.x", left, left) == [True, True]
    strings = pa.table({"x": ["a", None]})
    assert full("left.x = right.x OR right.x <=> NULL", left, strings) == [False, True]
    for on in ("left.x = right.x", "left.x < right.x + 1", "left.x != right.x"):
        assert full(on, left, right) == [False, False]
        assert_keys_agree(on, left, right)


def test_unsigned_and_dictionary_columns_are_read_as_their_values():
    left = pa.table({"x": pa.array([1, 255], pa.uint8()), "s": pa.array(["a", None]).dictionary_encode()})
    right = pa.table({"x": pa.array([1, 256], pa.uint32()), "s": pa.array(["a", "b"], pa.large_string())})
    for on in ("left.x = right.x", "left.x < right.x", "left.s = right.s", "left.s = right.s AND left.x <= right.x"):
        assert_keys_agree(on, left, right)
    assert full("left.s = right.s", left, right) == [True, False]


# ---- evaluation ----


def test_residual_is_what_equality_and_band_leave_open():
    table = pa.table({"x": pa.array([1, 2], pa.int32()), "y": pa.array([1, None], pa.int32())})
    bound = parse("left.x = right.x AND left.y + right.y > 1").bind(table.schema, table.schema)
    assert bound.residual(table, table).tolist() == [True, False]
    assert bound.residual_columns("left") == ["y"]
    assert parse("left.x = right.x").bind(table.schema, table.schema).residual(table, table) is None


def test_what_verifies_is_the_whole_condition_where_keys_hide_differences():
    table = pa.table({"s": ["a", "b"], "x": pa.array([1, 2], pa.int32())})
    keys = JoinKeys(parse("left.s = right.s AND left.x + right.x > 3").bind(table.schema, table.schema))
    assert (keys.exact, keys.verified_columns("left")) == (False, ["s", "x"])
    assert keys.verify(table, table).tolist() == [False, True]
    keys = JoinKeys(parse("left.x = right.x").bind(table.schema, table.schema))
    assert (keys.exact, keys.verified_columns("left"), keys.verify(table, table)) == (True, [], None)


def test_rows_may_come_as_batches_tables_and_mappings():
    bound = band("x", -1, 1).bind(INTS, INTS)
    rows = {"x": pa.array([1, 5], pa.int32())}
    table = pa.table({**rows, "y": rows["x"]})
    for form in (rows, table, table.to_batches()[0], {"x": np.array([1, 5], np.int32)}):
        assert bound.full(form, table).tolist() == [True, True]


def test_a_constant_part_holds_for_every_row_or_for_none():
    table = pa.table({"x": [1, 2], "y": [3, 4]})
    assert full("left.x = right.x AND 1 = 1", table, table) == [True, True]
    assert full("left.x = right.x AND 1 = 0", table, table) == [False, False]
    bound = parse("left.x = right.x AND NULL").bind(table.schema, table.schema)
    assert bound.residual(table, table).tolist() == [False, False]


def test_in_brings_all_its_values_to_one_type_and_between_types_each_bound_apart():
    left = pa.table({"x": pa.array([2**53 + 1], pa.int64())})
    right = pa.table({"x": pa.array([2**53], pa.int64()), "f": [0.5]})
    for choices, wanted in (("right.x, right.x - 9", False), ("right.x, right.f", True), ("right.x, 0.5D", True)):
        assert full(f"left.x IN ({choices})", left, right) == [wanted], choices
        assert full(f"left.x NOT IN ({choices})", left, right) == [not wanted], choices
    assert full("left.x = right.x OR left.x = right.f", left, right) == [False]
    assert full("left.x BETWEEN right.f AND right.x", left, right) == [False]
    assert full("left.x BETWEEN right.x AND right.f + 1e300", left, right) == [True]
    for on in (
        "left.x IN (right.x, 0.5D)",
        "left.x NOT IN (right.x, right.x - 9D)",
        "left.x NOT IN (right.x, right.f)",
    ):
        assert_keys_agree(on, left, right)


def test_values_of_in_that_have_no_type_together_are_refused():
    with pytest.raises(ConditionError, match=r"cannot compare a integer with a date in 'left.i = right.i'"):
        parse("left.i IN (right.i, right.d)").bind(TYPES, TYPES)


def test_sums_past_64_bits_are_computed_in_longer_numbers():
    high = 2**63 - 1
    left = pa.table({"x": pa.array([high, high, -high - 1, None], pa.int64())})
    right = pa.table({"x": pa.array([high, -high - 1, high, high], pa.int64())})
    assert full("left.x + right.x > 18446744073709551613", left, right) == [True, False, False, False]
    assert full("abs(left.x - right.x) = 18446744073709551615", left, right) == [False, True, True, False]
    assert full("-left.x - 1 = left.x + right.x - left.x AND right.x = right.x", left, right) == [
        False,
        True,
        True,
        False,
    ]


def test_a_timestamp_in_nanoseconds_counts_where_it_is_whole_microseconds():
    right = pa.table({"t": pa.array([1_000, 5_000], pa.timestamp("us"))})
    left = pa.table({"t": pa.array([1_000_000, 4_000_000], pa.timestamp("ns"))})
    assert_keys_agree("left.t <= right.t - INTERVAL 1 MILLISECOND", left, right)
    odd = pa.table({"t": pa.array([1_000_001, 0], pa.timestamp("ns"))})
    with pytest.raises(DataError, match="1000001 ns at row 0 is not a whole number of microseconds"):
        full("left.t <= right.t", odd, right)


@given(st.lists(st.integers(-(10**38) + 1, 10**38 - 1), max_size=5), st.integers(0, 38))
def test_decimals_become_the_nearest_double(unscaled, scale):
    # Python rounds the quotient of a fraction correctly: the oracle goes through Fraction, not through division.
    held = np.array([*unscaled, 1], object)[:-1]
    assert doubles(held, scale).tolist() == [float(Fraction(number) / 10**scale) for number in unscaled]
    small = np.array([number % 2**60 for number in unscaled], np.int64)
    assert doubles(small, scale).tolist() == [float(Fraction(int(number)) / 10**scale) for number in small]


@pytest.mark.parametrize(
    "on",
    [
        "left.x BETWEEN right.x - 5 AND right.x + 5",
        "left.x != right.x",
        "left.x < right.x AND left.y >= right.y",
        "left.x + 1 <= right.x OR left.y = right.y",
        "abs(left.y - right.y) <= 0.25 AND left.x IS NOT NULL",
    ],
)
def test_duckdb_agrees_on_whole_numbers_and_doubles(on):
    values = pa.table({"x": pa.array([1, 6, -6, None, 2**40], pa.int64()), "y": pa.array([0.5, 0.75, -0.0, 0.0, None])})
    with duckdb.connect() as database:
        database.register("values", values)
        rows = "(SELECT row_number() OVER () AS row, * FROM values)"
        text = on.replace("left.", "l.").replace("right.", "r.")
        found = database.sql(f"SELECT l.row - 1, r.row - 1 FROM {rows} AS l JOIN {rows} AS r ON {text}").fetchall()
    count = values.num_rows
    left, right = values.take(np.repeat(np.arange(count), count)), values.take(np.tile(np.arange(count), count))
    assert sorted(found) == [divmod(int(at), count) for at in np.flatnonzero(full(on, left, right))]


def test_conditions_and_keys_survive_a_pickle_between_processes():
    table = pa.table({"x": pa.array([1, 2], pa.int32()), "y": [0.5, 1.5]})
    condition = parse("left.X = right.x AND left.y < right.y + 1")
    bound = condition.bind(table.schema, table.schema, timezone="+01:00")
    keys = pickle.loads(pickle.dumps(JoinKeys(bound)))
    assert pickle.loads(pickle.dumps(condition)) == condition
    assert keys.bound.full(table, table).tolist() == [True, True]
    assert keys.describe() == JoinKeys(bound).describe()
    assert keys.encode("left", table)[0].tolist() == JoinKeys(bound).encode("left", table)[0].tolist()


# ---- time zones ----

INSTANTS = pa.table({"t": pa.array([dt.datetime(2024, 3, 31, tzinfo=dt.UTC)], pa.timestamp("us", "UTC"))})


@pytest.mark.parametrize(
    ("zone", "midnight"),
    [("UTC", 0), ("+02:00", -2), ("-0530", 5.5), ("GMT+1", -1), ("Etc/GMT-3", -3), ("Z", 0), ("Etc/UTC", 0)],
)
def test_a_date_beside_a_timestamp_is_midnight_in_the_session_zone(zone, midnight):
    days = pa.table({"d": pa.array([dt.date(2024, 3, 31)], pa.date32())})
    start = pa.table({"t": pa.array([INSTANTS["t"][0].as_py() + midnight * HOUR], pa.timestamp("us", "UTC"))})
    for left, right, on in ((days, start, "left.d = right.t"), (start, days, "left.t = right.d")):
        bound = parse(on).bind(left.schema, right.schema, timezone=zone)
        assert bound.full(left, right).tolist() == [True]
        shifted = parse(on.replace("=", "<=")).bind(left.schema, right.schema, timezone=zone)
        keys = JoinKeys(shifted)
        ((low, _, _),) = keys.bounds("left", left)
        assert low[0] == keys.encode("right", right)[0][0]


@pytest.mark.parametrize(("zone", "midnight"), [("UTC", 0), ("+02:00", -2), ("-0530", 5.5)])
def test_a_date_with_hours_added_is_a_timestamp_that_counts_from_midnight_in_the_session_zone(zone, midnight):
    days = pa.table({"d": pa.array([dt.date(2024, 3, 31)], pa.date32())})
    start = INSTANTS["t"][0].as_py() + midnight * HOUR
    moments = pa.table(
        {
            "t": pa.array([start + 24 * HOUR], pa.timestamp("us", "UTC")),
            "n": pa.array([dt.datetime(2024, 4, 1)], pa.timestamp("us")),
            "d": pa.array([dt.date(2024, 4, 1)], pa.date32()),
        }
    )
    for column in moments.column_names:
        for on, wanted in (
            (f"left.d + INTERVAL 24 HOURS = right.{column}", True),
            (f"left.d + INTERVAL '1 day 0 seconds' < right.{column}", False),
            (f"left.d >= right.{column} - INTERVAL '23:59:59.999999' HOUR TO SECOND", False),
        ):
            bound = parse(on).bind(days.schema, moments.schema, timezone=zone)
            assert bound.full(days, moments).tolist() == [wanted], on
            keys = JoinKeys(bound)
            assert keys.exact
            assert candidates(keys, "left", days, moments).tolist() == [[wanted]], on
            assert candidates(keys, "right", moments, days).tolist() == [[wanted]], on


@pytest.mark.parametrize(
    "on",
    [
        "left.t - right.t < INTERVAL 5 MINUTES",
        "left.t < right.t + INTERVAL 1 DAY",
        "left.t < right.t - INTERVAL '24' HOURS",
        "left.t = right.d",
        "left.t = right.n",
        "left.d + INTERVAL 1 HOUR < right.d",
        "left.d - INTERVAL '24' HOURS < right.t",
        "left.n > right.w + right.d",
    ],
)
def test_where_clocks_change_conditions_on_local_time_are_refused(on):
    with pytest.raises(ConditionError, match=r"(?s)Europe/Berlin.*spark.sql.session.timeZone to UTC"):
        parse(on).bind(TYPES, TYPES, timezone="Europe/Berlin")


def test_where_clocks_change_offsets_below_a_day_are_elapsed_time():
    left = pa.table({"t": pa.array([INSTANTS["t"][0].as_py() + 2 * HOUR], pa.timestamp("us", "UTC"))})
    assert full("left.t <= right.t + INTERVAL 2 HOURS", left, INSTANTS, timezone="Europe/Berlin") == [True]
    assert full("left.t < right.t + INTERVAL 2 HOURS", left, INSTANTS, timezone="Europe/Berlin") == [False]
    assert full("left.t = right.t", left, left, timezone="America/New_York") == [True]


def test_where_clocks_change_whole_days_on_dates_are_calendar_days():
    left, right = (pa.table({"d": pa.array([dt.date(2024, 3, day)], pa.date32())}) for day in (31, 30))
    assert full("left.d = right.d + INTERVAL 1 DAY", left, right, timezone="Europe/Berlin") == [True]
    assert full("left.d - right.d = INTERVAL 24 HOURS", left, right, timezone="Europe/Berlin") == [True]


def test_a_zone_that_is_not_known_is_named():
    with pytest.raises(ConditionError, match="'Mars/Olympus' is not known"):
        parse("left.x = right.x").bind(INTS, INTS, timezone="Mars/Olympus")


def test_decimal_literals_keep_all_of_their_38_digits():
    long, cut = "12345678901234567890123456789012345.678", "12345678901234567890123456789012345.67"
    table = pa.table({"x": pa.array([Decimal(long), Decimal(cut)], pa.decimal128(38, 3))})
    for literal in (long, f"{long}BD"):
        assert full(f"left.x = {literal} AND right.x = right.x", table, table) == [True, False]


def test_decimal_offsets_on_whole_numbers_are_exact():
    left, right = pa.table({"x": [2**62]}), pa.table({"x": [2**62 - 1]})
    assert full("left.x - right.x <= 0.9", left, right) == [False]
    assert full("left.x - right.x <= 1.0", left, right) == [True]
    condition = band("x", Decimal("0.5"), Decimal("1.5"))
    assert condition.bind(left.schema, right.schema).full(left, right).tolist() == [True]
    assert_keys_agree(condition, left, right, exact=True)
