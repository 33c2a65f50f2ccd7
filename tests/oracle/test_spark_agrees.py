"""The condition evaluator against Spark itself: many conditions as boolean columns of one cross join, in one job."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from tests.conditions import conditions
from tests.oracle import nested
from tests.oracle.condition import compile_condition
from tests.oracle.question import HOWS, Question, at_once
from tests.oracle.rows import columns_of, rows_of
from tests.strategies import COLUMNS, EXTREMES, tables

_TYPES = [name for name in COLUMNS if name != "ts"]
_SIGNS = ("=", "!=", "<", ">=", "<=>")


def by_spark(spark: SparkSession, left: pa.Table, right: pa.Table, texts: list[str]) -> list[list[bool | None]]:
    """For each pair of rows, left by left, the value of each condition."""
    sides = []
    for name, table in (("left", left), ("right", right)):
        numbered = table.append_column("no", pa.array(range(table.num_rows), pa.int64()))
        sides.append(spark.createDataFrame(numbered).coalesce(1).alias(name))
    columns = [sf.expr(text).alias(f"c{at}") for at, text in enumerate(texts)]
    table = sides[0].crossJoin(sides[1]).select("left.no", sf.col("right.no").alias("other"), *columns).toArrow()
    rows = sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return [list(row[2:]) for row in rows]


def by_us(left: pa.Table, right: pa.Table, texts: list[str]) -> list[list[bool | None]]:
    functions = [compile_condition(text, columns_of(left.schema), columns_of(right.schema)) for text in texts]
    return [[function(*pair) for function in functions] for pair in product(rows_of(left), rows_of(right))]


def disagreements(spark: SparkSession, left: pa.Table, right: pa.Table, texts: list[str]) -> list[object]:
    """(condition, rows, Spark's value, ours) wherever they differ."""
    both = zip(
        product(left.to_pylist(), right.to_pylist()),
        by_spark(spark, left, right, texts),
        by_us(left, right, texts),
        strict=True,
    )
    return [
        (text, pair, theirs, ours)
        for pair, row, our_row in both
        for text, theirs, ours in zip(texts, row, our_row, strict=True)
        if theirs is not ours
    ]


def _extremes() -> pa.Table:
    """Every column with its extremes and a NULL; shorter lists start again."""
    size = max(len(values) for values in EXTREMES.values()) + 1
    known = {name: [*EXTREMES[name], None] for name in _TYPES}
    return pa.table(
        {name: pa.array([known[name][at % len(known[name])] for at in range(size)], COLUMNS[name]) for name in _TYPES}
    )


def test_every_comparison_of_every_pair_of_types_agrees_at_the_extremes_of_the_types(spark):
    numbers = [(a, b) for a in "ildfn" for b in "ildfn"]
    pairs = [*numbers, ("t", "t"), ("dt", "dt"), ("t", "dt"), ("dt", "t"), ("s", "s")]
    texts = [f"left.{a} {sign} right.{b}" for a, b in pairs for sign in _SIGNS]
    assert disagreements(spark, _extremes(), _extremes(), texts) == []


def test_arithmetic_of_types_that_do_not_overflow_agrees_at_the_extremes(spark):
    texts = [
        f"left.{a} {plus} {literal} {sign} right.{b}"
        for a in "dfn"
        for b in "ildfn"
        for plus in "+-"
        for literal in ("1", "0.1", "0.25D", "3L", "0.1F", "1E300")
        for sign in ("<=", ">")
    ]
    texts += [f"abs(left.{a} - right.{b}) <= {c}" for a in "dfn" for b in "df" for c in ("0.1", "0.1F", "1", "1E308")]
    texts += [f"left.{a} - right.{b} BETWEEN -0.1 AND 5" for a in "dfn" for b in "dfn"]
    assert disagreements(spark, _extremes(), _extremes(), texts) == []


def test_the_grammar_around_comparisons_agrees(spark):
    texts = [
        "left.i = 1 OR left.i = 0 AND right.i = 1",
        "NOT left.i = right.i AND left.i < 3",
        "NOT (left.i = right.i AND left.i < 3)",
        "NOT NOT left.i = right.i",
        "! (left.i = right.i)",
        "left.i == right.i OR left.d IS NULL",
        "(left.i < right.i) = (left.d < right.d)",
        "left.i IS NOT NULL AND right.i IS NULL",
        "left.i NOT BETWEEN right.i AND 1",
        "left.i IN (right.i, 1, -1)",
        "left.i NOT IN (0, NULL)",
        "left.i IN (0, NULL)",
        "NULL OR left.i = right.i",
        "NULL AND left.i = right.i",
        "left.i BETWEEN NULL AND right.i",
        "left.i BETWEEN right.i AND NULL",
        "NOT (left.i = NULL)",
        "left.i <=> NULL",
        "left.s = 'a' AND right.s <> 'a '",
        "-left.d < + right.d",
        "LEFT.I = Right.i and left.`l` = right.`l`",
        "left.d - 1 - 2 = right.d - (1 - 2)",
        "TRUE",
        "left.i = right.i OR FALSE",
    ]
    assert disagreements(spark, _extremes(), _extremes(), texts) == []


def test_temporal_arithmetic_and_every_way_to_write_an_interval_agree(spark):
    day = 86_400_000_000
    times = [0, 1, -1, 5, 5_000_000, day, day + 1, day - 1, -day, 26 * day // 24, 7 * day, None]
    days = [0, 1, -1, 2, 5, 7, 8, -7, 14, 19_000, None, None]
    table = pa.table({"t": pa.array(times, pa.timestamp("us", "UTC")), "dt": pa.array(days, pa.date32())})
    intervals = [
        "INTERVAL 5 SECONDS",
        "INTERVAL '5' SECOND",
        "INTERVAL '5 seconds'",
        "INTERVAL -5 SECONDS",
        "INTERVAL '-5' SECOND",
        "INTERVAL 1.5 SECONDS",
        "INTERVAL 1 MICROSECOND",
        "INTERVAL 5 MILLISECONDS",
        "INTERVAL '1 day 2 hours'",
        "INTERVAL 1 HOUR 30 MINUTES",
        "INTERVAL 1 WEEK",
        "INTERVAL '1' DAY",
        "INTERVAL '24' HOUR",
        "- INTERVAL 1 DAY",
    ]
    texts = [
        text.format(interval)
        for interval in intervals
        for text in (
            "left.t + {} >= right.t",
            "left.t - {} < right.t",
            "left.t - right.t = {}",
            "abs(left.t - right.t) <= {}",
            "left.dt - right.dt < {}",
            "left.dt + {} <= right.t",
            "{} + left.t = right.t",
            "left.t - right.t + {} > INTERVAL 0 SECONDS",
        )
    ]
    texts += [
        "left.dt + INTERVAL '1' DAY = right.dt",
        "left.dt - INTERVAL 1 WEEK <= right.dt",
        "left.dt + 1 = right.dt",
    ]
    texts += ["left.dt - 7 >= right.dt", "1 + left.dt < right.dt", "left.dt = right.t"]
    texts += ["left.dt BETWEEN right.dt - 5 AND right.dt + 5"]
    assert disagreements(spark, table, table, texts) == []


@settings(max_examples=max(3, settings().max_examples // 10), phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    tables(_TYPES, max_size=10, extremes=False),
    tables(_TYPES, max_size=10, extremes=False),
    st.lists(conditions(), min_size=30, max_size=30),
)
def test_drawn_conditions_agree_where_integers_do_not_overflow(spark, left, right, drawn):
    texts = [text for text, *_ in drawn if str(2**31 - 1) not in text and str(2**63 - 1) not in text]
    assert disagreements(spark, left, right, texts) == []


@pytest.mark.parametrize("on", ["left.i BETWEEN right.i - 1 AND right.i + 2 AND left.d != right.d", "left.d = right.d"])
def test_with_endless_windows_every_join_type_is_sparks_batch_join(spark, on):
    # The equality takes Spark's hash or sort-merge join, which has its own care of NaN and -0.0.
    left = pa.table({"i": pa.array([1, 2, None, 4, 9], pa.int32()), "d": [math.nan, -0.0, 1.0, None, 7.0]})
    right = pa.table({"i": pa.array([2, 0, 5, 1, None], pa.int32()), "d": [0.0, math.nan, None, 1.0, 1.0]})
    sides = [
        spark.createDataFrame(side.append_column("no", pa.array(range(5), pa.int64()))).alias(name)
        for name, side in (("left", left), ("right", right))
    ]
    for how in HOWS:
        numbers = ["left.no"] if how in ("left_semi", "left_anti") else ["left.no", "right.no"]
        rows = sides[0].join(sides[1], sf.expr(on), how).select(*numbers).collect()
        question = Question(left, right, at_once(left, right), on, how=how)
        assert nested.join(question) == Counter((row[0], row[1] if len(row) == 2 else None) for row in rows)
