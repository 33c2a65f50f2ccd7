"""A job as a user would submit it: `spark-submit tests/spark/program.py JOB.json`, also by `python`, also to Connect.

The job says where the files are, what to join, and which Spark to ask (`master` or `remote`; neither: as submitted). It
leaves Parquet files in DIRECTORY/out, and what it saw of itself in DIRECTORY/seen.json.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from panjoin.spark import operator, packed, session, stream_join
from panjoin.spark.java import use_java
from panjoin.spark.metrics import read
from panjoin.spark.processor import JoinProcessor
from panjoin.window import CountWindow, TimeWindow


def main(path: str) -> None:
    """Run the job to its end."""
    job = json.loads(Path(path).read_text())
    directory = Path(job["directory"])
    if job.get("poison"):
        operator.JoinProcessor = _poisoned(Path(job["poison"]))
    spark = _spark(job)
    try:
        joined = stream_join(
            _source(spark, directory, "left", job), _source(spark, directory, "right", job), **_asked(job)
        )
        writer = joined.writeStream.format("parquet").option("path", str(directory / "out"))
        query = writer.option("checkpointLocation", str(directory / "state")).trigger(availableNow=True).start()
        query.awaitTermination()
        seen = {
            "spark": type(spark).__module__,
            "progress": [asdict(each) for each in read(query)],
            "static": _static(spark, directory, job),
        }
    finally:
        spark.stop()
    (directory / "seen.json").write_text(json.dumps(seen))


def _spark(job: dict[str, Any]) -> Any:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if "remote" not in job:
        return session("panjoin-program", master=job.get("master"), settings=job["settings"])
    use_java()
    spark = SparkSession.builder.remote(job["remote"]).getOrCreate()
    for name, value in job["settings"].items():
        spark.conf.set(name, value)
    return spark


def _source(spark: Any, directory: Path, side: str, job: dict[str, Any]) -> Any:
    path, schema = str(directory / side), _table(spark, directory, side).schema
    if side in job.get("packed", ()):
        stream = packed.read(spark, path, schema=schema, max_files_per_trigger=1)
    else:
        stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(path)
    return stream if "delay" not in job else stream.withWatermark("ts", job["delay"])


def _static(spark: Any, directory: Path, job: dict[str, Any]) -> int:
    """Batch reads give files in another order: so all tuples are in the window."""
    asked = _asked(job) | {"window": CountWindow(1 << 40)}
    return stream_join(_table(spark, directory, "left"), _table(spark, directory, "right"), **asked).count()


def _table(spark: Any, directory: Path, side: str) -> Any:
    return spark.read.parquet(str(directory / side))


def _asked(job: dict[str, Any]) -> dict[str, Any]:
    windows = {"tuples": lambda size: CountWindow(**size), "time": lambda length: TimeWindow(length, on="ts")}
    ((kind, value),) = job["window"].items()
    return {"on": job["on"], "window": windows[kind](value), **job["options"]}


class ExecutorKiller(JoinProcessor):
    """Kills the executor that it runs in, once: when left tuple 15 comes, and the poison is there."""

    def __init__(self, plan: Any, poison: Path) -> None:
        super().__init__(plan)
        self._poison = poison

    def init(self, handle: Any) -> None:
        """As ever, but appending to the state may be the end."""
        super().init(handle)
        append = self._record.append

        def dying(side: Any, subwindow: int, parts: int, chunk: Any) -> int:
            if chunk.first_no >= 15 and self._poison.exists():
                self._poison.unlink()
                os.kill(_executor(), signal.SIGKILL)
                signal.pause()
            return append(side, subwindow, parts, chunk)

        self._record.append = dying


def _executor() -> int:
    """The nearest ancestor that is a Java process."""
    process = os.getpid()
    while "java" not in Path(f"/proc/{process}/exe").readlink().name:
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return process


def _poisoned(poison: Path) -> Any:
    return lambda plan: ExecutorKiller(plan, poison)


if __name__ == "__main__":
    main(sys.argv[1])
