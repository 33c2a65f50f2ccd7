"""The join on real Spark: streams of small Parquet files, one file of each side per micro-batch, into Parquet."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from panjoin.spark import operator, stream_join
from panjoin.spark.metrics import last, read
from panjoin.spark.processor import JoinProcessor
from panjoin.spark.worker_keys import worker_key
from panjoin.window import CountWindow, TimeWindow
from tests import registry
from tests.oracle import nested
from tests.oracle.question import Question, at_once
from tests.spark.questions import NO, answer_of, micro_batches, spark_window

OLD = 1_700_000_000  #: seconds since 1970: files are read in the order of their times


class Pipeline:
    """Files in, a join, files out; it can be stopped and started again."""

    def __init__(self, spark: SparkSession, directory: Path, question: Question) -> None:
        self.spark, self.directory, self.question = spark, directory, question
        self.batches = micro_batches(question)
        self.written = 0
        for side in ("left", "right"):
            (directory / side).mkdir()

    def write(self, until: int | None = None) -> None:
        """The files of the next micro-batches."""
        for number, tables in enumerate(self.batches[self.written : until], start=self.written):
            for side, table in zip(("left", "right"), tables, strict=True):
                path = self.directory / side / f"{number:03}.parquet"
                hidden = path.with_name(f"_{path.name}")
                pq.write_table(table, hidden)
                os.utime(hidden, (OLD + number, OLD + number))
                hidden.rename(path)
            self.written = number + 1

    def source(self, side: str, delay: str | None = None):
        """A stream of one side's files."""
        path = str(self.directory / side)
        schema = self.spark.read.parquet(f"{path}/000.parquet").schema
        stream = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(path)
        return stream if delay is None else stream.withWatermark("ts", delay)

    def run(self, *, delay: str | None = None, on: str | None = None, **options) -> None:
        """Process all files that are there."""
        options = {"window": spark_window(self.question), "how": self.question.how, "subwindow": 8, **options}
        frames = self.source("left", delay), self.source("right", delay)
        self.into(stream_join(*frames, on=on or self.question.on, **options))

    def into(self, joined: DataFrame) -> None:
        """All there is of a join, into the sink."""
        columns = [f"`{name}`" for name in joined.columns if name.startswith(NO)]
        writer = (
            joined.select(*(columns or ["*"])).writeStream.format("parquet").option("path", str(self.directory / "out"))
        )
        self.query = query = (
            writer.option("checkpointLocation", str(self.directory / "checkpoint")).trigger(availableNow=True).start()
        )
        try:
            query.awaitTermination()
        finally:
            query.stop()

    def rows(self) -> list[dict]:
        """What the sink has."""
        return self.spark.read.parquet(str(self.directory / "out")).toArrow().to_pylist()

    def answer(self) -> Counter:
        """The multiset of arrival numbers in it."""
        return answer_of(self.rows())


class MurderedProcessor(JoinProcessor):
    """Its Python process is killed once, between two writes of state: when left tuple 15 comes, and `poison` exists."""

    poison = Path("nowhere")

    def init(self, handle):
        super().init(handle)
        append = self._record.append

        def dying(side, subwindow, parts, chunk):
            parts = append(side, subwindow, parts, chunk)
            if chunk.first_no >= 15 and self.poison.exists():
                self.poison.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
            return parts

        self._record.append = dying


def test_a_band_join_survives_kill_9_and_restarts_also_with_another_structure_but_not_with_another_condition(
    spark, tmp_path, monkeypatch
):
    question = registry.question("band", "last_7_and_20", size=50, batch=10)
    pipeline = Pipeline(spark, tmp_path, question)
    pipeline.write(3)
    poison = tmp_path / "poison"
    poison.touch()
    monkeypatch.setattr(operator, "JoinProcessor", _poisoned(poison))
    with pytest.raises(StreamingQueryException):
        pipeline.run(workers=2)
    assert not poison.exists()
    pipeline.run(workers=2)
    pipeline.write()
    pipeline.run(workers=2, index="rap-table", partitions=2, subwindow=5)
    assert pipeline.answer() == nested.join(question)

    pq.write_table(pipeline.batches[0][0], tmp_path / "left" / "more.parquet")
    with pytest.raises(StreamingQueryException, match=r"condition was .* and is now .*Give it the condition"):
        pipeline.run(workers=2, on="left.x = right.x")


def _poisoned(poison: Path):
    def make(plan):
        processor = MurderedProcessor(plan)
        processor.poison = poison
        return processor

    return make


def test_an_outer_join_over_time_drops_what_is_late_and_hands_out_unmatched_rows_when_the_watermark_has_passed(
    spark, tmp_path
):
    question = registry.question("equal", "seconds", "left", size=60, batch=10)
    pipeline = Pipeline(spark, tmp_path, question)
    pipeline.write()
    pipeline.run(delay="2 seconds")

    expected, waiting, late = handed_out(question, pipeline.batches, 2_000_000)
    assert pipeline.answer() == expected
    assert [pair for pair in expected if pair[1] is None]
    assert waiting
    assert late


def handed_out(question: Question, batches, delay: int) -> tuple[Counter, list, object]:
    """Rows of an outer join over time that are there when all data is; unmatched ones that still wait; who was late."""
    marks = _watermarks(batches, delay)
    expected = nested.join(question, [mark for mark in marks[:-1] for _ in range(2)])
    times = [table["ts"].cast(pa.int64()).to_pylist() for table in (question.left, question.right)]
    lengths, waiting = (question.window.left.length, question.window.right.length), []
    for pair in [pair for pair in expected if None in pair]:
        side = int(pair[0] is None)
        time = times[side][pair[side]]
        if time is not None and time + lengths[side] >= marks[-1]:
            waiting.append(pair)
            del expected[pair]
    return expected, waiting, nested.look(question, [mark for mark in marks[:-1] for _ in range(2)]).late


def _watermarks(batches, delay: int) -> list[int | None]:
    """Spark's watermark before each micro-batch and at the end: the lesser side's newest time so far, less the delay."""
    newest = {0: 0, 1: 0}
    marks: list[int | None] = []
    for tables in [*batches, None]:
        mark = max(0, min(newest.values()) - delay) // 1000 * 1000
        marks.append(mark or None)
        for side, table in enumerate(tables or ()):
            times = [time for time in table["ts"].cast(pa.int64()).to_pylist() if time is not None]
            newest[side] = max([newest[side], *times])
    return marks


@pytest.mark.parametrize("how", ["inner", "full"])
def test_static_dataframes_give_the_join_of_one_micro_batch(spark, how):
    question = registry.question("equal_and_band", "everything", how)
    question = question._replace(batches=at_once(question.left, question.right))
    left, right = (spark.createDataFrame(table) for table in micro_batches(question)[0])
    joined = stream_join(left, right, on=question.on, window=spark_window(question), how=how)
    assert answer_of(joined.toArrow().to_pylist()) == nested.join(question)


def test_the_hash_that_spark_gives_to_a_worker_key_is_the_workers_number(spark):
    workers = [0, 1, 2, 3, 199, 10_000]
    row = spark.range(1).selectExpr(*[f"hash(int({worker_key(worker)}))" for worker in workers]).first()
    assert list(row) == workers


def test_result_columns_have_sparks_types_and_names_with_suffixes(spark):
    left = spark.range(1).selectExpr("id", "int(id) k", "timestamp_micros(id) ts", "named_struct('a', id) `a b`")
    right = spark.range(1).selectExpr("id AS ID", "string(id) s", "int(id) k")
    joined = stream_join(left, right, on="left.k = right.k", window=CountWindow(5), suffixes=("_l", "_r"))
    assert [(field.name, field.dataType.simpleString()) for field in joined.schema] == [
        ("id_l", "bigint"),
        ("k_l", "int"),
        ("ts", "timestamp"),
        ("a b", "struct<a:bigint>"),
        ("ID_r", "bigint"),
        ("s", "string"),
        ("k_r", "int"),
    ]
    assert joined.count() == 1


def test_a_time_window_without_a_watermark_on_its_column_is_refused(spark):
    stream = spark.readStream.format("rate").load().selectExpr("value AS x", "timestamp AS ts", "timestamp AS other")
    marked, wrong = stream.withWatermark("ts", "1 second"), stream.withWatermark("other", "1 second")
    window = TimeWindow("1 minute", on="ts")
    with pytest.raises(ValueError, match=r"the right side has no watermark on 'ts'.*add .withWatermark\('ts'"):
        stream_join(marked, stream, on="left.x = right.x", window=window)
    with pytest.raises(ValueError, match="its watermark is on 'other'"):
        stream_join(wrong, marked, on="left.x = right.x", window=window)
    with pytest.raises(ValueError, match="leave lateness out of the window"):
        stream_join(marked, marked, on="left.x = right.x", window=TimeWindow("1 minute", on="ts", lateness="1 second"))


def test_what_cannot_be_joined_is_refused_at_the_call(spark):
    stream, table = spark.readStream.format("rate").load().selectExpr("value AS x"), spark.range(3).toDF("x")
    window = CountWindow(5)

    def refused(message, left=stream, right=stream, on="left.x = right.x", **options):
        with pytest.raises(ValueError, match=message):
            stream_join(left, right, on=on, window=window, **options)

    refused("how='full' .* the left side, which is static: .* use how='inner' or 'right'$", left=table, how="full")
    refused("how='left_semi' .* the left side", left=table, how="left_semi")
    refused("how='right' .* use how='inner' or 'left' or 'left_semi' or 'left_anti'$", right=table, how="right")
    refused("emit='counts' .* group the rows by a column of the left side", right=table, emit="counts")
    refused("workers=2 is for two streams", right=table, workers=2)
    refused("left must be a Spark DataFrame, not a list", left=[1])
    refused("the right side has no column 'y'", on="left.x = right.y")
    refused("3 workers need as many shuffle partitions, and spark.sql.shuffle.partitions is 2", workers=3)
    refused(
        r"how='full' without an equality needs what all workers have found.*; use workers=1 instead of 2",
        on="left.x < right.x",
        how="full",
        workers=2,
    )
    refused(
        r"placement='arrival' needs .*use placement='key', or workers=1", how="left", workers=2, placement="arrival"
    )
    refused("placement='keys' does not exist", placement="keys")
    refused("emit='ranges' names tuples by their place", emit="ranges")
    refused("no index structure is called 'b-tree'", index="b-tree")
    refused("more than one column 'x'", left=spark.readStream.format("rate").load().selectExpr("value x", "value X"))


def test_a_query_tells_its_progress_through_sparks_own(spark, tmp_path):
    question = registry.question("band", "last_7_and_20", size=40, batch=20)
    pipeline = Pipeline(spark, tmp_path, question)
    pipeline.write()
    pipeline.run(workers=2, name="orders: quotes")
    told = read(pipeline.query)
    assert {each.join for each in told} == {"orders: quotes"}
    assert sum(each.tuples("left") for each in told) == question.left.num_rows
    assert sum(each.pairs for each in told) == sum(nested.join(question).values())
    assert len(last(pipeline.query).workers) == 2


def test_counts_and_aggregates_of_two_workers_are_added_up(spark, tmp_path):
    question = registry.question("band", "last_7_and_20", size=40, batch=20)
    pipeline = Pipeline(spark, tmp_path, question)
    pipeline.write()
    pipeline.run(workers=2, emit=["count", "sum(x) as s", "max(right.x) as b"])
    found = {(row["side"], row["id"]): (row["count"], row["s"]) for row in pipeline.rows()}
    expected = nested.aggregates(question, {"left": "x", "right": "x"})
    assert found == {who: (one.matches, one.sum) for who, one in expected.items()}
    assert len(pipeline.rows()) == len(expected)


def test_static_dataframes_are_counted_by_several_workers(spark):
    question = registry.question("band", "everything")
    question = question._replace(batches=at_once(question.left, question.right))
    left, right = (spark.createDataFrame(table) for table in micro_batches(question)[0])
    joined = stream_join(left, right, on=question.on, window=spark_window(question), emit="counts", workers=2)
    found = {(row["side"], row["id"]): row["count"] for row in joined.toArrow().to_pylist()}
    assert found == nested.counts(question)
