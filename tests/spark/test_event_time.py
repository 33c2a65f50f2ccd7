"""A windowed aggregation behind the join, on real Spark: windows that are over come out, with all their pairs."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from pyspark.sql import functions as sf

from panjoin.errors import ParameterError
from panjoin.spark import stream_join
from panjoin.window import CountWindow, TimeWindow
from tests import registry
from tests.oracle import nested
from tests.spark.questions import spark_window
from tests.spark.test_door import frames
from tests.spark.test_stream_join import Pipeline, _watermarks

WIDTH = 5_000_000


def test_windows_that_the_watermark_has_passed_come_out_with_the_pairs_of_the_nested_loop(spark, tmp_path):
    question = registry.question("equal", "seconds", size=60, batch=10)
    pipeline = Pipeline(spark, tmp_path, question)
    pipeline.write()
    frames = pipeline.source("left", "2 seconds"), pipeline.source("right", "2 seconds")
    joined = stream_join(*frames, on=question.on, window=spark_window(question), event_time="at", workers=2)
    counted = joined.groupBy(sf.window("at", "5 seconds")).agg(sf.count("*").alias("n"))
    pipeline.into(counted.selectExpr("unix_micros(window.start) AS start", "n"))

    marks = _watermarks(pipeline.batches, 2_000_000)
    sides = [table["ts"].cast(pa.int64()).to_pylist() for table in (question.left, question.right)]
    expected: Counter[int] = Counter()
    for (left, right), times in nested.join(question, [mark for mark in marks[:-1] for _ in range(2)]).items():
        expected[max(sides[0][left], sides[1][right]) // WIDTH * WIDTH] += times
    over = {start: n for start, n in expected.items() if start + WIDTH <= marks[-1]}
    assert {row["start"]: row["n"] for row in pipeline.rows()} == over
    assert 0 < len(over) < len(expected)


def test_beside_a_table_the_later_time_of_a_pair_carries_the_watermark_of_the_stream(spark):
    stream, table = frames(spark)
    window = TimeWindow("1 minute", on="ts")
    joined = stream_join(stream, table, on="left.x = right.x", window=window, how="left", event_time="at")
    assert joined.schema["at"].metadata == {"spark.watermarkDelayMs": 0}
    alone = stream_join(stream, table, on="left.x = right.x", window=window, how="left_anti", event_time="at")
    assert alone.columns == ["x", "ts", "at"]
    both = stream_join(table, table, on="left.x = right.x", window=window, event_time="at")
    assert both.where("at != ts_left").count() == 0 < both.count()


def test_where_no_column_keeps_up_with_the_watermark_it_is_refused(spark):
    stream, _ = frames(spark)
    window = TimeWindow("1 minute", on="ts")

    def refused(message, left=stream, right=stream, window=window, **options):
        with pytest.raises(ParameterError, match=message):
            stream_join(left, right, on="left.x = right.x", window=window, **options)

    refused(
        "event_time='at' needs event times, which CountWindow.* use a TimeWindow",
        window=CountWindow(5),
        event_time="at",
    )
    refused("event_time='at' is for how='inner': with how='left' .* foreachBatch", event_time="at", how="left")
    refused("event_time='at' is a column of rows, which emit='counts' does not give", event_time="at", emit="counts")
    refused("event_time='TS_left' is a column of the result already", event_time="TS_left")
