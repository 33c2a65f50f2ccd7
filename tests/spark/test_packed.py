"""Packed sources and sinks on real Spark: the same rows as the oracle's, whatever is packed, also after a restart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from panjoin.spark import packed, sources, stream_join
from panjoin.spark.metrics import read
from panjoin.window import CountWindow
from tests import registry
from tests.oracle import nested
from tests.spark.questions import NO, answer_of, spark_window
from tests.spark.test_stream_join import Pipeline, handed_out

JAVA_COLUMNS = "`arrival no` long, x int"


class PackedPipeline(Pipeline):
    """Files are read packed; what is packed is written packed."""

    form = "parquet"

    def source(self, side: str, delay: str | None = None):
        stream = packed.read(self.spark, self.directory / side, max_files_per_trigger=1)
        return stream if delay is None else stream.withWatermark("ts", delay)

    def into(self, joined: DataFrame) -> None:
        if joined.columns != ["payload"]:
            super().into(joined)
            return
        writer = packed.write(joined, self.directory / "out", format=self.form)
        self.query = query = (
            writer.option("checkpointLocation", str(self.directory / "checkpoint")).trigger(availableNow=True).start()
        )
        try:
            query.awaitTermination()
        finally:
            query.stop()

    def rows(self) -> list[dict]:
        if not (self.directory / "out" / "_query.json").exists():
            return super().rows()
        form = "ipc" if self.form == "arrow" else "parquet"
        return ds.dataset(self.directory / "out", format=form).to_table().to_pylist()


def test_packed_sources_give_the_rows_of_the_oracle_and_go_on_after_a_restart(spark, tmp_path, monkeypatch):
    question = registry.question("band", "last_7_and_20", size=40, batch=10)
    pipeline = PackedPipeline(spark, tmp_path, question)
    pipeline.write(2)
    pipeline.run(workers=2)
    pipeline.write()
    monkeypatch.setattr(sources, "_pickled", lambda known: repr(known).encode())
    pipeline.run(workers=2)
    assert pipeline.answer() == nested.join(question)
    told = read(pipeline.query)
    assert sum(each.tuples("left") for each in told) == 20


@pytest.mark.slow
def test_a_packed_time_window_has_the_watermark_of_rows_and_its_sink_has_every_row_once(spark, tmp_path):
    question = registry.question("equal", "seconds", "left", size=60, batch=10)
    pipeline = PackedPipeline(spark, tmp_path, question)
    pipeline.write(3)
    pipeline.run(delay="2 seconds", packed=True)
    before = sorted(path.name for path in (tmp_path / "out").glob("batch=*"))
    _forget_the_commit(tmp_path / "checkpoint" / "commits")  # the last micro-batch comes again
    pipeline.write()
    pipeline.run(delay="2 seconds", packed=True)
    expected, waiting, late = handed_out(question, pipeline.batches, 2_000_000)
    assert pipeline.answer() == expected
    assert waiting
    assert late
    assert before < sorted(path.name for path in (tmp_path / "out").glob("batch=*"))


def _forget_the_commit(commits: Path) -> None:
    """As if the driver had died between the sink's commit and Spark's."""
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdecimal())
    (commits / f"{last}").unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize("placement", ["arrival", "key"])
def test_counts_of_several_workers_come_out_packed_and_one_side_may_be_rows(spark, tmp_path, placement):
    question = registry.question("band", "last_7_and_20", size=40, batch=20)
    pipeline = PackedPipeline(spark, tmp_path, question)
    pipeline.form = "arrow"
    pipeline.write()
    left, right = pipeline.source("left"), Pipeline.source(pipeline, "right")
    pipeline.into(
        stream_join(
            left,
            right,
            on=question.on,
            window=spark_window(question),
            workers=2,
            emit="counts",
            placement=placement,
            packed=True,
        )
    )
    found = {(row["side"], row["id"]): row["count"] for row in pipeline.rows()}
    assert found == nested.counts(question)


@pytest.mark.slow
def test_a_packed_stream_beside_a_table(spark, tmp_path):
    question = registry.question("band", "everything", size=40, batch=10)
    pipeline = PackedPipeline(spark, tmp_path, question)
    pipeline.write()
    table = spark.read.parquet(str(tmp_path / "right"))
    pipeline.into(stream_join(pipeline.source("left"), table, on=question.on, window=CountWindow(1000), packed=True))
    assert pipeline.answer() == nested.join(question._replace(window=registry.WINDOWS["everything"]))


@pytest.mark.slow
def test_what_is_wrong_with_a_file_is_said_by_the_query_with_its_name(spark, tmp_path):
    question = registry.question("band", "last_7_and_20", size=20, batch=10)
    pipeline = PackedPipeline(spark, tmp_path, question)
    pipeline.write()
    pipeline.run(workers=2)
    whole = (tmp_path / "left" / "000.parquet").read_bytes()
    bad = tmp_path / "left" / "bad.parquet"
    bad.write_bytes(whole[: len(whole) // 2])

    def fails(message):
        with pytest.raises(StreamingQueryException, match=message):
            pipeline.run(workers=2)

    fails(r"left/bad.parquet cannot be read: .*Mend it")
    bad.write_bytes(whole)
    fails(r"left/bad.parquet has changed since the micro-batch took it")
    bad.unlink()
    fails(r"left/bad.parquet is gone, and a micro-batch that took it is not done; put it back")


@pytest.mark.slow
def test_files_of_another_shape_and_a_directory_that_went_away_are_named(spark, tmp_path):
    question = registry.question("band", "last_7_and_20", size=20, batch=10)
    pipeline = PackedPipeline(spark, tmp_path, question)
    pipeline.write()
    other = pa.table({"x": pa.array([1.5]), NO: pa.array([1], pa.int64())})
    pq.write_table(other, tmp_path / "left" / "other.parquet")
    with pytest.raises(StreamingQueryException, match=r"left/other.parquet: column 'x' is double, and the schema of"):
        pipeline.run(workers=2)
    source = packed.read(spark, tmp_path / "left", schema="x int")
    shutil.rmtree(tmp_path / "left")
    joined = stream_join(source, source, on="left.x = right.x", window=CountWindow(5))
    query = joined.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "other")).start()
    with pytest.raises(StreamingQueryException, match=r"left of a packed source is missing; make it before the query"):
        query.awaitTermination()


def test_what_cannot_be_packed_is_refused_at_the_call(spark, tmp_path):
    def refused(message, call, *args, **options):
        with pytest.raises(ValueError, match=message):
            call(*args, **options)

    refused("/nowhere is not a directory; make it", packed.read, spark, tmp_path / "nowhere")
    refused("has no files yet to take a schema from; give schema=", packed.read, spark, tmp_path)
    refused("format='csv' is not read packed, only parquet and arrow", packed.read, spark, tmp_path, format="csv")
    refused("max_files_per_trigger must be at least 1, not 0", packed.read, spark, tmp_path, max_files_per_trigger=0)
    refused("s3://b/c is not in a file system of the host.*mount it", packed.read, spark, "s3://b/c")
    refused("schema must be a DDL string, a Spark or an Arrow schema, not 5", packed.read, spark, tmp_path, schema=5)
    refused("max_file_age is 5, which has no unit", packed.read, spark, tmp_path, schema="x int", max_file_age=5)
    source = packed.read(spark, f"file:{tmp_path}", schema=JAVA_COLUMNS)
    assert (source.columns, source.isStreaming) == ([NO, "x"], True)
    how = {"on": "left.x = right.x", "window": CountWindow(5), "packed": True}
    joined = stream_join(source, source, **how)
    assert joined.columns == ["payload"]
    assert packed.unpack(joined).columns == [f"{NO}_left", "x_left", f"{NO}_right", "x_right"]
    refused(r"columns \['id'\] is no packed result; give what stream_join", packed.write, spark.range(1), tmp_path)
    refused("format='csv' is not written packed", packed.write, joined, tmp_path, format="csv")
    refused("packed=True is for streams: two static sides", stream_join, spark.range(1), spark.range(1), **how)
    refused("the left side has no column 'y'", stream_join, source, source, **how | {"on": "left.y = right.x"})
    timed = packed.read(spark, tmp_path, schema="x int, ts timestamp").withWatermark("ts", "1 minute")
    over = how | {"window": spark_window(registry.question("equal", "seconds"))}
    refused(
        "'at' is a column of rows, and packed=True gives blocks", stream_join, timed, timed, **over, event_time="at"
    )
    bare = packed.read(spark, tmp_path, schema="x int, ts timestamp")
    refused("the right side has no watermark on 'ts'", stream_join, timed, bare, **over)


def test_answers_of_packed_results_are_those_of_rows(spark, tmp_path):
    """`unpack` gives rows again, for sinks that need them."""
    question = registry.question("band", "last_7_and_20", size=20, batch=10)
    pipeline = PackedPipeline(spark, tmp_path, question)
    pipeline.write()
    frames = pipeline.source("left"), pipeline.source("right")
    joined = stream_join(*frames, on=question.on, window=spark_window(question), workers=1, packed=True)
    pipeline.into(packed.unpack(joined))
    assert answer_of(pipeline.rows()) == nested.join(question)
