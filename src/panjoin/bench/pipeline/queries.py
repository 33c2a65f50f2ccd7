"""The contestants: each makes a streaming DataFrame of the two sides, whose rows are few.

join     stream_join, matches counted
empty    the same pipeline, whose workers receive their tuples and discard them: every subwindow is empty
idle     a transformWithState in Python over the same rows that does nothing but be called
count    Spark's own streaming count, all of it inside the JVM
timed    stream_join in a time window, pairs of numbers handed out and counted
sparks   Spark's own stream-stream join, the same pairs; a band goes through buckets
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from unittest.mock import patch

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType

import panjoin as pj
from panjoin.bench.peers.spark_engine import sparks_own
from panjoin.bench.pipeline.feed import REACH, SIDES
from panjoin.spark import operator, packed, stream_join
from panjoin.spark.processor import Answer, JoinProcessor

CONDITION = f"left.k BETWEEN right.k - {REACH} AND right.k + {REACH}"


class Discard(JoinProcessor):
    """Receives, and does nothing else; header, files and progress are written as ever."""

    def _join(self, resident: Any, watermark: int, messages: Mapping[Any, Any]) -> Iterator[Answer]:  # noqa: ARG002
        meter = resident.crew.meter
        for side in SIDES:
            for message in messages[side]:
                meter.heard[side] += message.piece().heard
        return iter(())


class Idle(StatefulProcessor):
    """Remembers how often it was called."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """One small value."""
        self._turns = handle.getValueState("turns", StructType([StructField("turns", LongType())]))

    def handleInputRows(self, key: Any, rows: Iterable[Any], timerValues: Any) -> Iterator[Any]:  # noqa: ARG002
        """Nothing comes of them."""
        for _ in rows:
            pass
        known = self._turns.get()
        self._turns.update((1 + (0 if known is None else known[0]),))
        return iter(())


def made(spark: SparkSession, what: Mapping[str, Any], paths: Mapping[str, str]) -> DataFrame:
    """The query of one contestant."""
    if what["query"] in ("timed", "sparks"):
        return _timed(spark, what, paths)
    if what["query"] in ("join", "empty"):
        return _counted(spark, what, paths)
    left, right = (_rows(spark, "k int", paths[side]) for side in SIDES)
    rows = left.unionAll(right).withColumn("worker", sf.col("k") % what["workers"])
    if what["query"] == "idle":
        return rows.groupBy("worker").transformWithState(Idle(), "side string, count long", "Append", "None")
    return rows.groupBy("worker").count().select("count")


def _rows(spark: SparkSession, columns: str, path: str) -> DataFrame:
    return spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).parquet(path)


def _counted(spark: SparkSession, what: Mapping[str, Any], paths: Mapping[str, str]) -> DataFrame:
    left, right = (
        packed.read(spark, paths[side], schema="k int", max_files_per_trigger=1)
        if what["source"] == "packed"
        else _rows(spark, "k int", paths[side])
        for side in SIDES
    )
    asked = {
        "on": CONDITION,
        "window": pj.CountWindow(what["window"]),
        "emit": "total",
        "workers": what["workers"],
        "placement": what.get("placement", "auto"),
        "index": what.get("index", "bi-sort"),
        "subwindow": what.get("subwindow"),
    }
    if what["query"] == "empty":  # everything is the join's own but what its workers do with their tuples
        with patch.object(operator, "JoinProcessor", Discard):
            return stream_join(left, right, **asked)
    return stream_join(left, right, **asked)


def _timed(spark: SparkSession, what: Mapping[str, Any], paths: Mapping[str, str]) -> DataFrame:
    files = (_rows(spark, "id long, k int, ts timestamp", paths[side]) for side in SIDES)
    left, right = (each.withWatermark("ts", "0 seconds") for each in files)
    reach = 0 if what["kind"] == "equi" else REACH
    if what["query"] == "sparks":
        return sparks_own(left, right, reach, what["window"])
    within = pj.TimeWindow(f"{what['window']} milliseconds", on="ts")
    on = CONDITION if reach else "left.k = right.k"
    joined = stream_join(left, right, on=on, window=within, workers=what["workers"], index="bi-sort")
    return joined.select("id_left", "id_right")
