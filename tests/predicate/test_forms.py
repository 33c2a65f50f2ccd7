"""Every form of condition that is understood, one by one: Spark's batch inner join, DuckDB's and ours give the same pairs.

`test_against_spark.py` asks Spark about hundreds of texts as boolean columns; here each form is a whole join with the
text in its ON, and each is also written with objects where there are objects for it.
"""

import datetime as dt
from collections import Counter
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import functions as sf

import panjoin as pj
from tests.oracle import duck
from tests.oracle.question import Question, at_once
from tests.oracle.runtimes import connection

NAN, INF = float("nan"), float("inf")
NOON = dt.datetime(2024, 3, 30, 12, tzinfo=dt.UTC)
DAY = dt.date(2024, 3, 30)
MINUTE = dt.timedelta(minutes=1)


def rows(k, s, x, y, f, n, minutes, days):
    """One side's rows; `ts` and `day` are given as distances from a noon and its date."""
    ts = [None if minute is None else NOON + minute * MINUTE for minute in minutes]
    day = [None if count is None else DAY + dt.timedelta(days=count) for count in days]
    kinds = {
        "k": pa.int16(),
        "s": pa.string(),
        "x": pa.int32(),
        "y": pa.int64(),
        "f": pa.float64(),
        "n": pa.decimal128(9, 2),
    }
    columns = {
        name: pa.array(values, kind) for (name, kind), values in zip(kinds.items(), (k, s, x, y, f, n), strict=True)
    }
    return pa.table({**columns, "ts": pa.array(ts, pa.timestamp("us", "UTC")), "day": pa.array(day, pa.date32())})


LEFT = rows(
    k=[1, 1, 2, 2, 3, None, 1, 4],
    s=["a", "b", "", "a", None, "é", "a", "a "],
    x=[0, 3, -3, 10, None, 7, 2**29, -(2**29)],
    y=[1, 5, 2**53 + 1, None, -4, 7, 2**60, 0],
    f=[0.0, -0.0, NAN, INF, -INF, None, 0.3, 7.25],
    n=[0, None, 3, 10, -2, 7, 1, 5],
    minutes=[0, 5, 10, -10, None, 11, 1440, 1441],
    days=[0, 1, -1, 2, None, 7, 8, 365],
)
RIGHT = rows(
    k=[1, 2, 2, None, 3, 9],
    s=["a", "", None, "b", "é", "A"],
    x=[0, 5, -3, None, 2**29, 8],
    y=[1, 4, 2**53, 7, None, 2**60 - 5],
    f=[0.0, NAN, 0.1, None, INF, 7.0],
    n=[0, 5, None, 10, 2, -2],
    minutes=[0, 10, 10, None, -1430, 16],
    days=[0, 2, None, 1, -7, 9],
)


class Form(NamedTuple):
    """What a user may write, the same with objects, and whether an index finds its pairs (or a scan does)."""

    text: str
    objects: Any = None
    scans: bool = False


FORMS = {
    "=": Form("left.k = right.k", pj.equal("k")),
    "= of strings": Form("left.s = right.s", pj.equal("s")),
    "= of several columns": Form("left.k = right.k AND left.s = right.s", pj.equal("k") & pj.equal("s")),
    "!=": Form("left.x != right.x", pj.not_equal("x")),
    "<>": Form("left.k <> right.x", pj.not_equal("k", "x")),
    "!= of strings": Form("left.s != right.s", pj.not_equal("s"), scans=True),
    "<": Form("left.x < right.x", pj.less("x")),
    "<=": Form("left.f <= right.f", pj.less_equal("f")),
    ">": Form("left.n > right.n", pj.greater("n")),
    ">=": Form("left.ts >= right.ts", pj.greater_equal("ts")),
    "< of int and float": Form("left.x < right.f", pj.less("x", "f")),
    "BETWEEN": Form("left.x BETWEEN right.x - 5 AND right.x + 5", pj.band("x", -5, 5)),
    "BETWEEN of two columns": Form("left.x BETWEEN right.x AND right.y", pj.greater_equal("x") & pj.less_equal("x", "y")),
    "NOT BETWEEN": Form("left.x NOT BETWEEN right.x - 5 AND right.x + 5"),
    "abs <=": Form("abs(left.x - right.y) <= 4", pj.band("x", -4, 4, "y")),
    "abs < of doubles": Form("abs(right.f - left.f) < 0.25D"),
    "difference BETWEEN": Form("left.x - right.x BETWEEN -5 AND 5", pj.band("x", -5, 5)),
    "difference, other side first": Form("right.y - left.x >= 2 - 7", pj.band("x", None, 5, "y")),
    "sum with a literal on the left": Form("left.x + 3 > right.y"),
    "literal before the column": Form("3 + right.x <= left.x"),
    "literals on both sides": Form("left.f - 0.1D <= right.f + 0.2D"),
    "signs": Form("-left.x + 1 < -(right.x - 1) + 3"),
    "decimal offset": Form("left.n >= right.n - 2.5 AND left.n < right.n", pj.band("n", -2.5, None) & pj.less("n")),
    "interval on timestamps": Form(
        "left.ts BETWEEN right.ts - INTERVAL 10 MINUTES AND right.ts + INTERVAL '5' MINUTE",
        pj.band("ts", -10 * MINUTE, 5 * MINUTE),
    ),
    "difference of timestamps": Form("left.ts - right.ts <= INTERVAL '1 day 1 minute'"),
    "interval on dates": Form("left.day <= right.day + INTERVAL '1' DAY", pj.band("day", None, dt.timedelta(days=1))),
    "hours on dates": Form("left.day + INTERVAL 36 HOURS > right.day"),
    "days on dates": Form("left.day BETWEEN right.day - 1 AND right.day + 7", pj.band("day", -1, 7)),
    "date and timestamp": Form("left.day < right.ts", pj.less("day", "ts")),
    "OR of bands that overlap": Form(
        "left.x BETWEEN right.x - 5 AND right.x OR left.x BETWEEN right.x - 2 AND right.x + 4",
        pj.band("x", -5, 0) | pj.band("x", -2, 4),
    ),
    "OR of bands apart": Form(
        "left.y = right.y - 4 OR left.y BETWEEN right.y + 3 AND right.y + 9",
        pj.band("y", -4, -4) | pj.band("y", 3, 9),
    ),
    "OR of other columns": Form("left.k = right.k OR left.s = right.s", pj.equal("k") | pj.equal("s"), scans=True),
    "AND of equality and band": Form(
        "left.k = right.k AND left.x BETWEEN right.x - 5 AND right.x + 5", pj.equal("k") & pj.band("x", -5, 5)
    ),
    "AND of equality, bands and a residual": Form(
        "left.s = right.s AND left.f <= right.f AND left.y >= right.y - 1 AND left.x + right.x >= 0"
    ),
    "open and closed ends": Form("left.x > right.x - 5 AND left.x <= right.x + 5"),
    "IN": Form("left.x IN (right.x, right.x - 5, right.x + 3)"),
    "NOT": Form("NOT (left.x >= right.x OR left.k = right.k)"),
    "<=>": Form("left.k <=> right.k", scans=True),
    "nothing to index": Form("left.x + right.x > 3", scans=True),
}  # fmt: skip


@pytest.fixture(scope="module")
def by_spark(spark):
    """The pairs of every form: one job over the union of all joins."""
    frames = [
        spark.createDataFrame(table.append_column("no", pa.array(range(table.num_rows), pa.int64()))).alias(name)
        for name, table in (("left", LEFT), ("right", RIGHT))
    ]
    joins = [
        frames[0].join(frames[1], sf.expr(form.text)).select(sf.lit(name).alias("form"), "left.no", "right.no")
        for name, form in FORMS.items()
    ]
    found = reduce(lambda one, other: one.union(other), joins).toArrow()
    pairs = {name: Counter() for name in FORMS}
    for name, left, right in zip(*(column.to_pylist() for column in found.columns), strict=True):
        pairs[name][left, right] += 1
    return pairs


def ours(on):
    with pj.StreamJoin(on=on, window=pj.CountWindow(100)) as join:
        join.push("right", RIGHT)
        pairs = Counter(zip(*(numbers.tolist() for numbers in join.push("left", LEFT).pairs()), strict=True))
    with pj.StreamJoin(on=on, window=pj.CountWindow(100)) as join:  # and with the other side probing
        join.push("left", LEFT)
        assert Counter(zip(*(numbers.tolist() for numbers in join.push("right", RIGHT).pairs()), strict=True)) == pairs
    return pairs


@pytest.mark.parametrize("name", FORMS)
def test_a_form_of_condition_joins_as_spark_and_duckdb_do(by_spark, name):
    form = FORMS[name]
    expected = by_spark[name]
    assert 0 < len(expected) < LEFT.num_rows * RIGHT.num_rows
    assert ours(form.text) == expected
    question = Question(LEFT, RIGHT, at_once(LEFT, RIGHT), form.text)
    assert duck.join(question, connection()) == expected
    if form.objects is not None:
        assert ours(form.objects) == expected


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_found_by_an_index_where_one_can_and_a_scan_says_so(name):
    with pj.StreamJoin(on=FORMS[name].text, window=pj.CountWindow(100), schemas=(LEFT.schema, RIGHT.schema)) as join:
        assert ("every pair" in join.explain()) == FORMS[name].scans, join.explain()
