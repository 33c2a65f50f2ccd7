"""The demo's answer beside Spark's own: a batch join of the same files, without what Spark's watermark had passed.

    orders/017.parquet ── newest time ──┐ the watermark after each file, by Spark's rule: the smaller of both sides'
    quotes/017.parquet ── newest time ──┘ newest times, less the delay, in whole milliseconds, never back
           │
           ├── older than the watermark when their file came ──> late: counted, per micro-batch
           └── the others ──> bucket and explode, batch join ──> the same rows as in matches/, or the demo fails

A band has no equality that Spark could hash, so it gets the workaround that PanJoin saves: prices in buckets, quotes
copied into every bucket that they can match in. The condition itself still decides: a wrong bucket could only lose
pairs, and that would show.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from panjoin.cli.demo_place import BAND, LATENESS, WINDOW, Place
from panjoin.cli.market import MINUTE

#: Cents in a bucket: a quote is copied into 1.2 of them on average.
BUCKET = 50
_MILLI = 1000
_NUMBERS, _COUNTS = ("order_id", "quote_id"), ("expected", "found")
_CONDITION = f"""
    orders.symbol = quotes.symbol AND orders.bucket = quotes.bucket
    AND orders.price BETWEEN quotes.price - {BAND} AND quotes.price + {BAND}
    AND orders.ts BETWEEN quotes.ts - INTERVAL {WINDOW} MINUTES AND quotes.ts + INTERVAL {WINDOW} MINUTES
"""


@dataclass(frozen=True)
class Verdict:
    """What Spark's batch join says."""

    expected: int  #: pairs
    found: int
    different: int  #: rows that are in one of the two only, or more often
    late: Mapping[int, tuple[int, int]]  #: by micro-batch: orders, quotes
    seconds: float


def verdict(spark: SparkSession, place: Place) -> Verdict:
    """Join the same files again, and compare."""
    began = time.perf_counter()
    orders, quotes = (_arrived(spark, place, name) for name in ("orders", "quotes"))
    passed = watermarks(_newest(orders), _newest(quotes))
    orders, quotes = (_judged(frame, passed) for frame in (orders, quotes))
    counts = _late(orders), _late(quotes)
    late = {file: (counts[0].get(file, 0), counts[1].get(file, 0)) for file in range(len(passed))}
    found = spark.read.parquet(str(place.root / "matches"))
    expected = joined(orders.where("NOT late"), quotes.where("NOT late")).select(*found.columns)
    told = _compared(expected, found)
    return Verdict(told["expected"], told["found"], told["different"], late, time.perf_counter() - began)


def _compared(expected: DataFrame, found: DataFrame) -> Any:
    """How many rows there are in each, and in one of them only; a row is its two numbers and a hash of all columns."""
    content = sf.xxhash64(*found.columns).alias("content")
    ours = expected.select(*_NUMBERS, content, sf.lit(1).alias("expected"), sf.lit(0).alias("found"))
    theirs = found.select(*_NUMBERS, content, sf.lit(0).alias("expected"), sf.lit(1).alias("found"))
    rows = ours.unionAll(theirs).groupBy(*_NUMBERS, "content").agg(*[sf.sum(name).alias(name) for name in _COUNTS])
    rows = rows.withColumn("different", sf.abs(sf.col("expected") - sf.col("found")))
    return rows.agg(*[sf.coalesce(sf.sum(name), sf.lit(0)).alias(name) for name in (*_COUNTS, "different")]).head()


def joined(orders: DataFrame, quotes: DataFrame) -> DataFrame:
    """The batch join, under the names of the stream join's columns."""
    inside = [f"CAST(FLOOR((price {sign} {BAND}) / {BUCKET}) AS INT)" for sign in "-+"]
    orders = orders.withColumn("bucket", sf.expr(f"CAST(FLOOR(price / {BUCKET}) AS INT)")).alias("orders")
    quotes = quotes.withColumn("bucket", sf.expr(f"EXPLODE(SEQUENCE({', '.join(inside)}))")).alias("quotes")
    both = orders.join(quotes, sf.expr(_CONDITION))
    shared = [
        sf.col(f"{side}.{name}").alias(f"{name}_{suffix}")
        for side, suffix in (("orders", "left"), ("quotes", "right"))
        for name in ("ts", "symbol", "price")
    ]
    return both.select("order_id", "quote_id", *shared)


def watermarks(orders: Sequence[int], quotes: Sequence[int]) -> list[int]:
    """The watermark before each micro-batch, from the newest times in the files of each; microseconds."""
    passed, newest = [0], (0, 0)
    for order, quote in zip(orders, quotes, strict=True):
        newest = max(newest[0], order), max(newest[1], quote)
        millis = min(newest) // _MILLI - LATENESS * MINUTE // _MILLI
        passed.append(max(passed[-1], millis * _MILLI))
    return passed[:-1]


def _arrived(spark: SparkSession, place: Place, name: str) -> DataFrame:
    """A stream with the number of the file that each tuple came in, which is that of its micro-batch."""
    number = sf.regexp_extract("_metadata.file_name", r"(\d+)", 1).cast("int")
    return spark.read.parquet(str(place.root / name)).withColumn("file", number)


def _newest(frame: DataFrame) -> list[int]:
    rows = frame.groupBy("file").agg(sf.unix_micros(sf.max("ts")).alias("newest")).orderBy("file").collect()
    return [row["newest"] for row in rows]


def _judged(frame: DataFrame, passed: Sequence[int]) -> DataFrame:
    """With a column that says who came late."""
    limits = sf.array(*[sf.lit(micros).cast("long") for micros in passed])
    return frame.withColumn("late", sf.unix_micros("ts") < limits[sf.col("file")])


def _late(frame: DataFrame) -> dict[int, int]:
    return {row["file"]: row["count"] for row in frame.where("late").groupBy("file").count().collect()}
