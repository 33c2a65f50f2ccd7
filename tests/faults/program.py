"""The driver of queries that are hit by faults: `python -m tests.faults.program DIRECTORY`.

    DIRECTORY/job.json          master, settings, names of the queries in order
    DIRECTORY/NAME/query.json   what is joined and how, into which sink, with which faults
    DIRECTORY/NAME/left, right  Parquet files, one of each side per micro-batch
    DIRECTORY/NAME/done         made when the query has come to its end: it is not run again

It runs the queries that are not done, one after another. A query that fails is started again here, from its checkpoint,
as often as the job allows; its errors go to NAME/errors.jsonl. When the whole program is killed, it is started again
from outside.

Sinks: "files" is Spark's own, "batches" writes one file per micro-batch under another name and renames it: what comes a
second time is kept beside the first, so that both can be compared. The driver's points are in the second.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from panjoin.spark import operator, session, stream_join
from panjoin.window import CountWindow, MixedWindow, TimeWindow
from tests.faults import disks
from tests.faults.injected import InjectedProcessor, Injection
from tests.faults.points import reach
from tests.spark.questions import NO

WINDOWS = {"CountWindow": CountWindow, "TimeWindow": TimeWindow, "MixedWindow": MixedWindow}


def main(path: str) -> int:
    """Run all that is not done; 3 when a query failed more often than the job allows."""
    directory = Path(path)
    job = json.loads((directory / "job.json").read_text())
    spark = session("panjoin-faults", master=job["master"], settings=job["settings"])
    spark.sparkContext.setLogLevel("ERROR")
    for name in job["queries"]:
        query = directory / name
        for _ in range(job["starts"]):
            if (query / "done").exists() or _came_to_its_end(spark, query):
                break
        else:
            return 3
    spark.stop()
    return 0


#: Spark gives a Python worker of the driver ten seconds to start; a machine that is too busy for that is no fault of ours.
_BUSY = "Python worker failed to connect back"


def _came_to_its_end(spark: SparkSession, directory: Path, patience: int = 20) -> bool:
    asked = json.loads((directory / "query.json").read_text())
    injection = Injection(str(directory), os.getpgid(0), asked.get("chance", 0.0), asked["seed"])
    operator.JoinProcessor = lambda plan: InjectedProcessor(plan, injection)
    disks.clear(directory)
    try:
        query = started(spark, directory, asked)
        while not query.awaitTermination(0.05):
            if (directory / "stop").exists():
                query.stop()
                (directory / "stop").rename(directory / "stop done")
                return False
            if (directory / "second start").exists():
                _start_again(spark, directory, asked)
    except PySparkException as error:
        if _BUSY in str(error) and patience:
            return _came_to_its_end(spark, directory, patience - 1)
        _note(directory, error)
        return False
    (directory / "done").touch()
    return True


def _start_again(spark: SparkSession, directory: Path, asked: dict[str, Any]) -> None:
    """While it runs."""
    try:
        started(spark, directory, asked)
    except Exception as error:  # noqa: BLE001  (Spark's refusal is Java's IllegalStateException, which Py4J leaves as it is)
        _note(directory, error)
    (directory / "second start").rename(directory / "second start done")


def _note(directory: Path, error: Exception) -> None:
    with (directory / "errors.jsonl").open("a") as file:
        file.write(json.dumps(str(error)) + "\n")


def started(spark: SparkSession, directory: Path, asked: dict[str, Any]) -> Any:
    """The query, running."""
    joined = stream_join(
        *(_source(spark, directory / side, asked.get("delay")) for side in ("left", "right")),
        on=asked["on"],
        window=eval(asked["window"], WINDOWS),
        **asked["options"],
    )
    kept = [f"`{name}`" for name in joined.columns if name.startswith(NO)] or ["*"]
    writer = joined.select(*kept).writeStream
    if asked["sink"] == "files":
        writer = writer.format("parquet").option("path", str(directory / "out"))
    else:
        writer = writer.foreachBatch(Batches(directory))
    return writer.option("checkpointLocation", asked["checkpoint"]).trigger(availableNow=True).start()


def _source(spark: SparkSession, path: Path, delay: str | None) -> DataFrame:
    schema = spark.read.parquet(str(path)).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(path))
    return stream if delay is None else stream.withWatermark("ts", delay)


class Batches:
    """A sink that is exactly once because a micro-batch has one name."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(self, frame: DataFrame, number: int) -> None:
        """Write what the micro-batch gives, once; what a replay gives is kept beside it."""
        self._reach("offsets logged", number)
        out = self.directory / "out"
        hidden = out / f".{number:05}-{os.getpid()}"
        frame.write.mode("overwrite").parquet(str(hidden))
        self._reach("state committed", number)
        known = out / f"{number:05}"
        try:
            hidden.rename(known)
        except OSError:  # it is there
            again = self.directory / "again"
            again.mkdir(exist_ok=True)
            hidden.rename(again / f"{number:05}-{len(list(again.iterdir()))}-{os.getpid()}")
        self._reach("sink written", number)

    def _reach(self, point: str, number: int) -> None:
        reach(self.directory, point, number, None, os.getpgid(0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
