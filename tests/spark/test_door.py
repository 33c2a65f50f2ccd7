"""What is refused at the call, with the value and the remedy; and that a call runs nothing and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from panjoin.errors import ParameterError
from panjoin.spark import door, stream_join
from panjoin.window import CountWindow, TimeWindow

WINDOW = TimeWindow("1 minute", on="ts")


def frames(spark):
    """A stream and a table of the same columns."""
    stream = spark.readStream.format("rate").load().selectExpr("value AS x", "timestamp AS ts")
    return stream.withWatermark("ts", "1 second"), spark.range(5).selectExpr("id AS x", "timestamp_seconds(id) AS ts")


@contextmanager
def setting(spark, name: str, value: str) -> Iterator[None]:
    """A setting for a while."""
    before = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, before)


def test_a_call_runs_no_job_and_changes_no_setting(spark):
    stream, table = frames(spark)
    before = dict(spark.conf.getAll)
    context = spark.sparkContext
    context.setJobGroup("the call", "nothing may run in it")
    try:
        for left, right in ((stream, stream), (stream, table), (table, stream), (table, table)):
            for emit in ("rows", "total", "counts") if left.isStreaming is right.isStreaming else ("rows", "total"):
                joined = stream_join(left, right, on="left.x < right.x", window=WINDOW, emit=emit)
                assert joined.isStreaming == (left.isStreaming or right.isStreaming)
                assert joined.select(joined.columns[0]).schema.fields[0].name == joined.columns[0]
        assert context.statusTracker().getJobIdsForGroup("the call") == []
        stream_join(table, table, on="left.x < right.x", window=WINDOW).count()
        assert len(context.statusTracker().getJobIdsForGroup("the call")) > 0  # jobs would have been seen
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)
    assert spark.conf.getAll == before


def test_a_state_store_other_than_rocksdb_is_refused_for_two_streams_alone(spark):
    stream, table = frames(spark)
    other = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    with setting(spark, door.PROVIDER_KEY, other):
        with pytest.raises(
            ParameterError,
            match=r"state store is HDFSBackedStateStoreProvider, .* needs RocksDB; use panjoin.spark.session\(\), or set .*RocksDB",
        ):
            stream_join(stream, stream, on="left.x = right.x", window=WINDOW)
        assert stream_join(stream, table, on="left.x = right.x", window=WINDOW).isStreaming
        assert stream_join(table, table, on="left.x = right.x", window=WINDOW).count() == 5


@pytest.mark.parametrize("version", ["3.5.4", "4.0.1", "4.2.0.dev1"])
def test_a_spark_that_is_too_old_is_refused(version):
    with pytest.raises(ParameterError, match=f"needs Spark 4.3 or newer, this session runs {version}; upgrade pyspark"):
        door.refuse_session(SimpleNamespace(version=version), streaming=True)


@pytest.mark.parametrize("version", ["4.3.0", "4.10.0-SNAPSHOT", "5.0.0"])
def test_newer_ones_are_not(version):
    conf = SimpleNamespace(get=lambda name, default: door.ROCKSDB)
    door.refuse_session(SimpleNamespace(version=version, conf=conf), streaming=True)


def test_workers_are_as_many_as_cores_and_shuffle_partitions_allow(spark):
    stream, _ = frames(spark)
    for partitions, refused, remedy in (("1", 2, 1), ("2", 3, 2)):
        with setting(spark, door.PARTITIONS_KEY, partitions):
            message = f"{refused} workers need as many shuffle partitions, and .* is {partitions}; .* or use workers={remedy}$"
            with pytest.raises(ParameterError, match=message):
                stream_join(stream, stream, on="left.x = right.x", window=WINDOW, workers=refused)
            assert stream_join(stream, stream, on="left.x = right.x", window=WINDOW).isStreaming


def test_a_missing_column_is_refused_with_the_nearest_one(spark):
    stream, table = frames(spark)
    for left, right in ((stream, stream), (stream, table), (table, table)):
        with pytest.raises(ValueError, match=r"the right side has no column 'xx'; .*'x'"):
            stream_join(left, right, on="left.x = right.xx", window=CountWindow(5))
        with pytest.raises(ValueError, match="the left side has no column 'time'"):
            stream_join(left, right, on="left.x = right.x", window=TimeWindow("1 minute", on=("time", "ts")))


def test_a_resident_directory_that_cannot_hold_a_count_window_is_refused(spark):
    stream, table = frames(spark)
    how = {"on": "left.x = right.x", "resident_limit": "1m"}
    with pytest.raises(
        ParameterError, match="resident_limit is 1048576 bytes, and windows of 200000 tuples take at leas"
    ):
        stream_join(stream, stream, window=CountWindow(100_000), **how)
    with pytest.raises(
        ParameterError, match=r"has \d+ bytes left, and windows of 2000000000000 tuples take at least 16"
    ):
        stream_join(stream, stream, window=CountWindow(10**12), on="left.x = right.x", resident="/dev/shm")
    for right, window in ((stream, CountWindow(1 << 40)), (stream, WINDOW), (table, CountWindow(100_000))):
        assert stream_join(stream, right, window=window, **how).isStreaming


def test_a_table_needs_no_watermark(spark):
    stream, table = frames(spark)
    bare = spark.readStream.format("rate").load().selectExpr("value AS x", "timestamp AS ts")
    assert stream_join(bare, table, on="left.x = right.x", window=WINDOW).isStreaming
    with pytest.raises(ParameterError, match="the left side has no watermark on 'ts'"):
        stream_join(bare, stream, on="left.x = right.x", window=WINDOW)
