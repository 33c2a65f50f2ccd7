"""What a user may write, as text and as objects, and what is refused: never guessed, always quoted."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.errors import ConditionError
from panjoin.normal import MAX_INTERVALS
from panjoin.predicate import (
    Condition,
    band,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    not_equal,
    parse,
)

MINUTE = dt.timedelta(minutes=1)


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ("left.k = right.k", equal("k")),
        ("left.a == right.b", equal("a", "b")),
        ("left.x BETWEEN right.x - 5 AND right.x + 5", band("x", -5, 5)),
        ("left.x BETWEEN right.y + -5 AND right.y + 5", band("x", -5, 5, "y")),
        ("left.x >= right.x + 1.5 AND left.x <= right.x + 2", band("x", Decimal("1.5"), 2)),
        ("left.x BETWEEN right.x - 0.1 AND right.x + 1e-9", band("x", -0.1, 1e-9)),
        ("left.x <= right.x + 3", band("x", None, 3)),
        ("left.x >= right.x - 3", band("x", np.int64(-3), None)),
        ("left.x < right.x", less("x")),
        ("left.x <= right.y", less_equal("x", "y")),
        ("left.x > right.x", greater("x")),
        ("left.x >= right.x", greater_equal("x")),
        ("left.x <> right.x", not_equal("x")),
        ("NOT left.x = right.x", not_equal("x")),
        ("! (left.x >= right.x)", less("x")),
        ("left.ts BETWEEN right.ts - INTERVAL 10 MINUTES AND right.ts", band("ts", -10 * MINUTE, None) & less_equal("ts")),
        ("left.ts >= right.ts - INTERVAL '90' SECOND", band("ts", -1.5 * MINUTE, None)),
        ("left.d <= right.d + INTERVAL '1' DAY", band("d", None, dt.timedelta(days=1))),
        ("left.k = right.k AND left.x BETWEEN right.x - 5 AND right.x + 5", equal("k") & band("x", -5, 5)),
        ("left.x < right.x OR left.x > right.x", less("x") | greater("x")),
        ("left.`a b` = right.`c.d`", equal("a b", "c.d")),
        ("left.`a``b` = right._x", equal("a`b", "_x")),
        ("LEFT.class = Right.`left`", equal("class", "left")),
    ],
)  # fmt: skip
def test_text_and_objects_give_the_same_condition(text, objects):
    assert parse(text) == parse(objects)
    assert hash(parse(text)) == hash(objects)


@pytest.mark.parametrize(
    "text",
    [
        "left.k = right.k",
        "left.x + 0.5 < right.`a b` AND (left.s = 'it\\'s' OR left.b)",
        "left.x IN (right.x - 1, 0.5D, NULL) AND NOT (left.x IN (1, right.y))",
        "left.x < right.x + 3BD AND left.x > right.x - 1e2BD AND left.y - right.y < 1.50BD",
    ],
)
def test_the_text_of_a_condition_reads_back_as_the_same_condition(text):
    assert parse(str(parse(text))) == parse(text)


def offsets(text):
    found = parse(text).band
    return None if found is None else [
        (part.low and (part.low.offset, part.low.closed), part.high and (part.high.offset, part.high.closed))
        for part in found.intervals
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "intervals"),
    [
        ("left.x - right.x BETWEEN -5 AND 5", [((-5, True), (5, True))]),
        ("abs(left.x - right.x) <= 5", [((-5, True), (5, True))]),
        ("5 > abs(right.x - left.x)", [((-5, False), (5, False))]),
        ("abs(left.x - right.x) >= 5", [(None, (-5, True)), ((5, True), None)]),
        ("abs(left.x - right.x) = 5", [((-5, True), (-5, True)), ((5, True), (5, True))]),
        ("left.x + 3 > right.x", [((-3, False), None)]),
        ("5 <= left.x - right.x", [((5, True), None)]),
        ("right.x - left.x <= 2 - 7", [((5, True), None)]),
        ("-left.x + 1 < -(right.x - 1) + 3", [((-3, False), None)]),
        ("left.x = right.x + 1", [((1, True), (1, True))]),
        ("left.x != right.x + 1", [(None, (1, False)), ((1, False), None)]),
        ("-left.x != 1 - right.x", [(None, (-1, False)), ((-1, False), None)]),
        ("left.x > right.x - 5 AND left.x < right.x + 5 AND left.x != right.x", [((-5, False), (0, False)), ((0, False), (5, False))]),
        ("left.x >= right.x - 5 AND left.x > right.x - 5", [((-5, False), None)]),
        ("left.x NOT BETWEEN right.x - 5 AND right.x", [(None, (-5, False)), ((0, False), None)]),
        ("left.x - right.x BETWEEN 1 AND 2 OR left.x - right.x BETWEEN -2 AND -1", [((-2, True), (-1, True)), ((1, True), (2, True))]),
        ("left.x - right.x <= 0.1", [(None, (Fraction(1, 10), True))]),
        ("left.x IN (right.x + 3, right.x - 1, right.x)", [((-1, True), (-1, True)), ((0, True), (0, True)), ((3, True), (3, True))]),
        ("left.x IN (right.x, 3)", None),
        ("left.t - right.t <= INTERVAL 1 MINUTE", [(None, (60_000_000, True))]),
        ("left.x + right.x > 3", None),
        ("left.x - left.y > right.x", None),
        ("abs(left.x) < right.x", None),
        ("left.x + 'a' < right.x", None),
        ("left.x + 1 + INTERVAL 1 DAY < right.x", None),
        ("left.x < right.x OR left.y < right.y", None),
        ("left.x < right.x OR NOT (left.x <=> right.x)", None),
    ],
)  # fmt: skip
def test_any_arrangement_of_sums_and_differences_is_a_band(text, intervals):
    assert offsets(text) == intervals


@pytest.mark.parametrize(
    ("text", "band_text", "residual"),
    [
        ("left.a < right.a AND left.x BETWEEN right.x - 1 AND right.x", "left.x - right.x in [-1, 0]", "left.a < right.a"),
        ("left.a != right.a AND left.x < right.x", "left.x - right.x in (-inf, 0)", "left.a != right.a"),
        ("left.t BETWEEN right.t - INTERVAL 1 SECOND AND right.t", "left.t - right.t in [-1000000, 0] microseconds", None),
        ("left.t < right.t AND left.a > 3 AND left.t >= right.t - INTERVAL 1 SECOND", "left.t - right.t in [-1000000, 0) microseconds", "left.a > 3"),
        ("left.t > right.t OR left.t < right.t - INTERVAL 1 SECOND", "left.t - right.t in (-inf, -1000000) or (0, inf) microseconds", None),
        ("left.t = right.t OR left.t < right.t OR left.t > right.t + INTERVAL 1 SECOND", "left.t - right.t in (-inf, 0) or [0, 0] or (1000000, inf) microseconds", None),
        ("left.t + 0 < right.t AND left.t >= right.t - INTERVAL 1 SECOND", "left.t - right.t in (-inf, 0)", "left.t >= right.t - INTERVAL '1' SECOND"),
        ("left.ts BETWEEN right.start AND right.end", "left.ts - right.start in [0, inf)", "left.ts <= right.end"),
        ("left.k = right.k AND left.x != right.x", None, "left.x != right.x"),
        ("left.k = right.k AND left.k < right.k + 5", None, "left.k < right.k + 5"),
        ("left.k = right.k AND left.x = right.x + 1", "left.x - right.x in [1, 1]", None),
        ("left.x < right.x AND left.a > 3 AND NOT (left.b <=> right.b)", "left.x - right.x in (-inf, 0)", "left.a > 3 AND NOT (left.b <=> right.b)"),
        ("left.x < right.x + INTERVAL 1 DAY AND left.x > right.x - 3", "left.x - right.x in (-inf, 86400000000) microseconds", "left.x > right.x - 3"),
    ],
)  # fmt: skip
def test_the_best_part_is_indexed_and_the_rest_is_residual(text, band_text, residual):
    condition = parse(text)
    assert (
        str(condition.band) if condition.band else None,
        str(condition.residual) if condition.residual else None,
    ) == (
        band_text,
        residual,
    )


def test_several_equalities_are_all_kept_once():
    condition = parse("left.a = right.a AND right.b = left.b AND right.a = left.a")
    assert [str(part) for part in condition.equalities] == ["left.a = right.a", "left.b = right.b"]
    assert condition.residual is None


def test_explain_says_what_is_indexed_and_what_is_not():
    text = "left.k = right.k AND left.x BETWEEN right.x - 0.5 AND right.x + 5 AND left.a + right.a > 3"
    assert parse(text).explain().splitlines()[1:] == [
        "equality   left.k = right.k",
        "band       left.x - right.x in [-0.5, 5] (two-sided)",
        "residual   left.a + right.a > 3 (evaluated on candidate pairs)",
    ]


def test_explain_says_when_nothing_can_be_indexed():
    condition = parse("left.x + right.x > 3")
    assert condition.scans
    assert condition.explain().splitlines()[-1] == (
        "index      none: nothing here can be indexed, so every pair in the window is tried (scan)"
    )


def test_a_union_of_too_many_bands_is_residual():
    text = " OR ".join(f"left.x = right.x + {10 * n}" for n in range(MAX_INTERVALS + 1))
    assert parse(text).band is None
    assert len(parse(text.split(" OR ", 1)[1]).band.intervals) == MAX_INTERVALS


@pytest.mark.parametrize(
    ("interval", "micros"),
    [
        ("INTERVAL '10' MINUTES", 600_000_000),
        ("INTERVAL 10 MINUTE", 600_000_000),
        ("INTERVAL '10 minutes 30 seconds'", 630_000_000),
        ("INTERVAL '1 day'", 86_400_000_000),
        ("INTERVAL 1 DAY 2 HOURS", 93_600_000_000),
        ("INTERVAL 2 WEEKS", 14 * 86_400_000_000),
        ("INTERVAL 1.5 SECONDS", 1_500_000),
        ("INTERVAL -5 MILLISECONDS", -5_000),
        ("- INTERVAL '3' MICROSECONDS", -3),
        ("INTERVAL '-1 day 5 hours'", -19 * 3_600_000_000),
        ("INTERVAL '1 02:03:04.000005' DAY TO SECOND", 93_784_000_005),
        ("INTERVAL '-02:03' HOUR TO MINUTE", -7_380_000_000),
        ("INTERVAL 5 MINUTES - INTERVAL 3 SECONDS", 297_000_000),
    ],
)
def test_interval_literals_are_read_as_spark_reads_them(interval, micros):
    assert offsets(f"left.t - right.t <= {interval}") == [(None, (micros, True))]


@pytest.mark.parametrize(
    ("text", "quoted", "remedy"),
    [
        ("", "the condition is empty", "left.k = right.k"),
        ("left.x", "'left.x' does not mention the right side", "filter one stream before the join"),
        ("1 = 0", "'1 = 0' does not mention the left side", "compare a column of left"),
        ("left.a > 3", "does not mention the right side", "filter"),
        ("x = right.x", "'x'", "left.x or right.x"),
        ("l.x = right.x", "'l.x'", "left.x or right.x"),
        ("left.a.b = right.c", "'left.a.b'", "left.`a.b`"),
        ("left.x * 2 = right.x", "'left.x * 2'", "compute anything else as a column"),
        ("left.s LIKE right.s", "'left.s LIKE right.s'", "compute anything else"),
        ("substr(left.s, 1) = right.s", "left.s, 1", "compute anything else"),
        ("left.x < right.x + CAST(1.5 AS DECIMAL)", "'CAST(1.5 AS DECIMAL)'", "compute the cast as a column"),
        ("left.x < right.x + 1e40BD", "1e40", "38 digits"),
        ("cast(left.x AS INT) = right.x", "'CAST(left.x AS INT)'", "compute the cast as a column"),
        ("left.x < right.x < 3", "'left.x < right.x'", "AND, OR and NOT"),
        ("left.x = (SELECT 1)", "'(SELECT 1)'", "only columns"),
        ("left.x IN (SELECT right.y)", "SELECT right.y", "a list of values"),
        ("left.t < right.t + INTERVAL 1 MONTH", "INTERVAL '1' MONTH", "no fixed length"),
        ("left.t < right.t + INTERVAL '1-2' YEAR TO MONTH", "YEAR TO MONTH", "fixed length"),
        ("left.t < right.t + INTERVAL 1.5 HOURS", "INTERVAL '1.5' HOUR", "only seconds take a fraction"),
        ("left.t < right.t + INTERVAL 3 FORTNIGHTS", "FORTNIGHT", "no unit of time"),
        ("left.t - INTERVAL 1 DAY + 2 HOURS < right.t", "'+ 2' after an interval", "say INTERVAL again"),
        ("left.t < right.t + INTERVAL 'soon'", "soon", "numbers with units"),
        ("left.t < right.t + INTERVAL '25:00' HOUR TO MINUTE AND left.t < right.t + INTERVAL '1:70' HOUR TO MINUTE", "1:70", "unit's end"),
        ("left.s = +right.s", "the sign in '+right'", "leave it out"),
        ("left.x < right.x + 1e999", "1e999", "largest DOUBLE"),
        ("left.x < right.x + 0." + "1" * 39, "0.111", "38 digits"),
        ("left.x BETWEEN SYMMETRIC 5 AND right.x", "left.x", "smaller bound first"),
        ("left.x + 3 AND right.x = 1", "'left.x + 3'", "compare it with something"),
        ("left.x = right.x AND", "left.x = right.x AND", "syntax error near 'AND', line 1"),
        ("left.x = right.x; DROP TABLE t", "DROP", "syntax error near 'DROP'"),
        ("left.x = 'abc", "left.x = 'abc", "Missing '"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_quoted_with_a_remedy(text, quoted, remedy):
    with pytest.raises(ConditionError) as refused:
        parse(text)
    assert quoted in str(refused.value)
    assert remedy in str(refused.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: band("x", None, None), "no bound"),
        (lambda: band("x", "5", 6), "not '5'"),
        (lambda: band("x", float("nan"), 6), "finite, not nan"),
        (lambda: band("x", 0, float("inf")), "(None) for no bound"),
        (lambda: band("x", True, 6), "not True"),
        (lambda: equal(""), "not ''"),
        (lambda: equal("x", 3), "not 3"),
        (lambda: equal("x") & "left.y = right.y", "not 'left.y = right.y'"),
        (lambda: parse(3), "not 3"),
    ],
)
def test_objects_refuse_what_they_cannot_mean(make, message):
    with pytest.raises(ConditionError) as refused:
        make()
    assert message in str(refused.value)


TOKENS = ["left.x", "right.x", "left.`a b`", "x", "5", "0.1", "1e9", "-", "+", "*", "(", ")", "=", "<", ">=", "!=", "<=>", "AND",
          "OR", "NOT", "BETWEEN", "IN", "IS", "NULL", "abs(", "INTERVAL", "'10'", "MINUTES", "DAY TO SECOND", "CASE", "SELECT",
          "'", "`", ";", "--", "/*", ",", "::int", "TRUE", "!", "$", "\x00", "left", "@", "[", "{{", "DATE '2020-01-01'"]  # fmt: skip


@given(st.text(max_size=40) | st.lists(st.sampled_from(TOKENS), max_size=14).map(" ".join))
def test_random_text_is_a_condition_or_a_condition_error(text):
    try:
        understood = parse(text)
    except ConditionError:
        return
    assert isinstance(understood, Condition)
    assert understood.explain()


def test_a_condition_nested_too_deeply_is_refused():
    with pytest.raises(ConditionError):
        parse("(" * 5000 + "left.x = right.x" + ")" * 5000)
