"""The condition evaluator on values whose result follows from SQL's rules; Spark is asked in test_spark_agrees.py."""

import math
from decimal import Decimal

import pytest

from tests.oracle.condition import compile_condition
from tests.oracle.values import NotUnderstoodError, compare, to_float32

_KINDS = {
    "i": "exact",
    "n": "exact",
    "d": "double",
    "f": "float",
    "t": "timestamp",
    "dt": "date",
    "s": "string",
    "b": "boolean",
}
_COLUMNS = {name: (at, kind) for at, (name, kind) in enumerate([*_KINDS.items(), ("a b", "exact"), ("c`d", "exact")])}
_DAY = 86_400_000_000


def holds(text, left=None, right=None):
    """The condition's value over two rows given by name; what is not given is NULL."""
    rows = [tuple((row or {}).get(name) for name in _COLUMNS) for row in (left, right)]
    return compile_condition(text, _COLUMNS, _COLUMNS)(*rows)


@pytest.mark.parametrize("sign", ["=", "!=", "<>", "<", "<=", ">", ">="])
def test_null_under_a_comparison_is_unknown_on_either_side(sign):
    assert holds(f"left.i {sign} right.i", {}, {"i": 1}) is None
    assert holds(f"left.i {sign} right.i", {"i": 1}, {}) is None
    assert holds(f"left.i {sign} right.i") is None


def test_null_safe_equality_is_never_unknown():
    assert holds("left.i <=> right.i") is True
    assert holds("left.i <=> right.i", {"i": 1}, {}) is False
    assert holds("left.d <=> right.d", {"d": math.nan}, {"d": math.nan}) is True


def test_unknown_goes_through_and_or_not_as_in_sql():
    unknown, true, false = "left.i = 1", "1 = 1", "1 = 2"
    assert holds(f"{unknown} AND {false}") is False
    assert holds(f"{false} AND {unknown}") is False
    assert holds(f"{unknown} AND {true}") is None
    assert holds(f"{unknown} OR {true}") is True
    assert holds(f"{true} OR {unknown}") is True
    assert holds(f"{unknown} OR {false}") is None
    assert holds(f"NOT {unknown}") is None


def test_and_binds_closer_than_or_and_not_closer_than_and():
    assert holds("1 = 1 OR 1 = 1 AND 1 = 2") is True
    assert holds("NOT 1 = 2 AND 1 = 2") is False
    assert holds("(1 = 1 OR 1 = 1) AND 1 = 2") is False
    assert holds("NOT (1 = 2 AND 1 = 2)") is True


def test_between_includes_both_ends_and_is_false_when_one_known_end_excludes():
    for value, inside in ((4, False), (5, True), (7, True), (8, False)):
        assert holds("left.i BETWEEN 5 AND 7", {"i": value}) is inside
        assert holds("left.i NOT BETWEEN 5 AND 7", {"i": value}) is not inside
    assert holds("left.i BETWEEN right.i AND 7", {"i": 8}) is False
    assert holds("left.i BETWEEN right.i AND 7", {"i": 6}) is None


def test_nan_equals_nan_and_is_above_infinity_and_minus_zero_is_zero():
    assert holds("left.d = right.d", {"d": math.nan}, {"d": math.nan}) is True
    assert holds("left.d > right.d", {"d": math.nan}, {"d": math.inf}) is True
    assert holds("left.d < right.d", {"d": math.nan}, {"d": math.inf}) is False
    assert holds("left.d <= right.d", {"d": math.inf}, {"d": math.nan}) is True
    assert holds("left.d = right.d", {"d": -0.0}, {"d": 0.0}) is True
    assert holds("left.d < right.d", {"d": -0.0}, {"d": 0.0}) is False
    assert holds("abs(left.d - right.d) <= 1", {"d": math.nan}, {"d": 1.0}) is False


def test_integers_have_no_end():
    top = 2**63 - 1
    assert holds("left.i + 1 > right.i", {"i": top}, {"i": top}) is True
    assert holds("left.i - 1 < right.i", {"i": -top - 1}, {"i": -top - 1}) is True
    assert holds("abs(left.i) = 9223372036854775808", {"i": -top - 1}) is True
    assert holds("left.i = right.i", {"i": 2**53 + 1}, {"i": 2**53}) is False


def test_an_integer_beside_a_double_becomes_a_double_and_beside_a_decimal_stays_exact():
    assert holds("left.i = right.d", {"i": 2**53 + 1}, {"d": 2.0**53}) is True
    assert holds("left.i = right.n", {"i": 2**53 + 1}, {"n": Decimal(2**53)}) is False
    assert holds("left.i + 0.5 = right.n", {"i": 2**53 + 1}, {"n": Decimal(2**53) + Decimal("1.5")}) is True
    assert holds("left.i + 0.5D = right.n", {"i": 2**53 + 1}, {"n": Decimal(2**53)}) is True


def test_decimals_are_exact_where_doubles_round():
    assert holds("left.n + 0.1 = 0.3", {"n": Decimal("0.2")}) is True
    assert holds("left.d + 0.1 = 0.3", {"d": 0.2}) is False  # 0.30000000000000004
    assert (
        holds(
            "left.n - 0.1 = right.n",
            {"n": Decimal("12345678901234567890123456789.3")},
            {"n": Decimal("12345678901234567890123456789.2")},
        )
        is True
    )


def test_float32_with_float32_rounds_to_float32_and_with_all_others_to_double():
    tenth = to_float32(0.1)
    assert tenth == 0.100000001490116119384765625
    assert holds("left.f = 0.1", {"f": tenth}) is False
    assert holds("left.f = 0.1F", {"f": tenth}) is True
    # 16777216 + 1 needs 25 bits: float32 keeps 16777216, double does not lose it
    assert holds("left.f + right.f = 16777216", {"f": 16777216.0}, {"f": 1.0}) is True
    assert holds("left.f + 1 = 16777217", {"f": 16777216.0}) is True
    assert holds("left.f + right.f > 1E300", {"f": 3e38}, {"f": 3e38}) is True  # infinity in float32


def test_dates_are_days_and_timestamps_microseconds():
    assert holds("left.dt + 1 = right.dt", {"dt": 0}, {"dt": _DAY}) is True
    assert holds("left.dt - right.dt = INTERVAL 2 DAYS", {"dt": 3 * _DAY}, {"dt": _DAY}) is True
    assert holds("left.dt + INTERVAL 1 HOUR > right.t", {"dt": 0}, {"t": 3_599_999_999}) is True
    assert holds("left.dt + INTERVAL 1 HOUR > right.t", {"dt": 0}, {"t": 3_600_000_000}) is False
    assert holds("left.t - right.t <= INTERVAL '5' SECOND", {"t": 5_000_000}, {"t": 0}) is True
    assert holds("left.t - right.t <= INTERVAL '5' SECOND", {"t": 5_000_001}, {"t": 0}) is False


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("INTERVAL 5 SECONDS", 5_000_000),
        ("interval '5' second", 5_000_000),
        ("INTERVAL '5 seconds'", 5_000_000),
        ("INTERVAL -1 MINUTE", -60_000_000),
        ("INTERVAL '1 day 2 hours'", 26 * 3_600_000_000),
        ("INTERVAL 1 HOUR 30 MINUTES", 5_400_000_000),
        ("INTERVAL 1.5 MILLISECONDS", 1_500),
        ("INTERVAL 1 WEEK", 7 * _DAY),
    ],
)
def test_an_interval_is_its_length_in_microseconds(text, microseconds):
    assert holds(f"left.t + {text} = right.t", {"t": 7}, {"t": 7 + microseconds}) is True
    assert holds(f"left.t + {text} = right.t", {"t": 7}, {"t": 8 + microseconds}) is False


def test_names_may_be_quoted_and_ignore_case():
    assert holds("left.`a b` = Right.`c``d` AND LEFT.I = 1", {"a b": 3, "i": 1}, {"c`d": 3}) is True


def test_strings_and_booleans_compare_with_their_own_kind():
    assert holds("left.s = 'it\\'s' AND NOT left.b", {"s": "it's", "b": False}) is True
    assert holds("left.s IN ('a', right.s)", {"s": "x"}, {"s": "x"}) is True
    assert holds("left.s NOT IN ('a', NULL)", {"s": "x"}) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "left.i",
        "left.i =",
        "left.i = right.nowhere",
        "left.i = right.i right",
        "left.i = right.s",
        "left.t + 1 = right.t",
        "left.dt - right.dt <= 5",
        "left.i < 5 < 7",
        "left.b + 1 = 2",
        "left.i AND right.i",
        "x = 1",
        "left.t < right.t + INTERVAL 1 MONTH",
        "left.i ; right.i",
        "left.i NOT right.i",
        "abs(left.s) = 1",
        "left.i * 2 = right.i",
    ],
)
def test_what_is_outside_of_the_grammar_or_of_sparks_types_is_refused(text):
    with pytest.raises(NotUnderstoodError):
        holds(text)


def test_compare_orders_as_spark_does():
    ordered = [-math.inf, -1.0, -0.0, 5e-324, 1.0, math.inf, math.nan]
    for at, value in enumerate(ordered):
        assert [compare(value, other) for other in ordered] == [(at > o) - (at < o) for o in range(len(ordered))]
