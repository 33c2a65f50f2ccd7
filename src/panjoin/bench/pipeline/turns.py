"""A process with a Spark session: each line it reads is a request, each line it writes an answer.

    request    contestants, their windows, micro-batches to fill these, and to measure
    turn       the same two files become one micro-batch of the first query, then of the second one, ...
    answer     per contestant and measured micro-batch: seconds, by Spark's clock and by the workers' own; bytes that
               went through the shuffle; pairs that were found

All queries run all the time and take turns, so a ratio of theirs is one of neighbours in time. A query looks for files
at the beginning of each INTERVAL, and files come while it rests: so both sides' are in the same micro-batch.

`seconds` are Spark's `triggerExecution`: everything of a micro-batch, from looking for files to the commit.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from panjoin.bench.pipeline.feed import REACH, SIDES, Feed
from panjoin.bench.pipeline.queries import made
from panjoin.errors import StateError
from panjoin.spark import session
from panjoin.spark.meter import STEPS
from panjoin.spark.metrics import progress_of

#: Seconds between two looks for files.
INTERVAL = 0.5
#: What stands before the cause of a failed query in Spark's own words.
_CAUSE = "terminated with exception: "
_APART = "micro-batches instead of one"
#: What happens on a busy machine alone, and all begins anew: Spark gives a Python worker of the driver ten seconds to
#: start, and a trigger may come between the files of the two sides.
_BUSY, PATIENCE = ("Python worker failed to connect back", _APART), 3


class Lane:
    """One contestant: a running query and its directories."""

    def __init__(self, spark: SparkSession, place: Path, what: Mapping[str, Any]) -> None:
        self.spark, self.what, self.place = spark, what, place
        self.window = int(what["window"])
        for side in SIDES:
            (place / side).mkdir(parents=True)
        spark.conf.set("spark.sql.shuffle.partitions", str(what["workers"]))
        frame = made(spark, what, {side: str(place / side) for side in SIDES})
        self.found: dict[int, int] = {}
        writer = frame.writeStream.foreachBatch(self._add).option("checkpointLocation", str(place / "checkpoint"))
        if what["query"] == "count":
            writer = writer.outputMode("update")
        self.query = writer.trigger(processingTime=f"{INTERVAL} seconds").start()
        self._batch = -1

    def _add(self, rows: DataFrame, batch: int) -> None:
        if "id_left" in rows.columns:
            rows = rows.agg(sf.count("*").alias("count"))
        self.found[batch] = sum(row["count"] for row in rows.collect())

    def turn(self, files: Mapping[str, Path], count: int) -> dict[str, Any]:
        """One micro-batch of these files, of `count` tuples each."""
        while not self._resting():
            time.sleep(INTERVAL / 20)
        before = shuffled(self.spark)
        for side in SIDES:
            (self.place / side / files[side].name).hardlink_to(files[side])
        self.query.processAllAvailable()
        fresh = [each for each in self.query.recentProgress if each.batchId > self._batch and each.numInputRows]
        if len(fresh) != 1:
            raise StateError(f"{self.what['name']} took {len(fresh)} {_APART}")
        self._batch = fresh[0].batchId
        workers = [worker for each in progress_of(fresh[0]) for worker in each.workers]
        return {
            "seconds": fresh[0].durationMs["triggerExecution"] / 1e3,
            "steps": {step: max((each.seconds[step] for each in workers), default=0.0) for step in STEPS},
            "phases": fresh[0].durationMs,
            "shuffled": shuffled(self.spark) - before,
            "received": sum(sum((each.taken if each.placement == "key" else each.tuples).values()) for each in workers),
            "held": [sum(part.size for part in each.subwindows) for each in workers],
            "found": self.found[self._batch],
            "rows": len(SIDES) * count,
        }

    def _resting(self) -> bool:
        if self.query.exception() is not None:
            raise StateError(f"{self.what['name']} failed: {self.query.exception()}")
        return INTERVAL / 5 < time.time() % INTERVAL < INTERVAL / 2 and not self.query.status["isTriggerActive"]


def shuffled(spark: SparkSession) -> int:
    """Bytes that all tasks so far have written for a shuffle."""
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(True)  # noqa: SLF001  (no Python name)
    return sum(executors.apply(number).totalShuffleWrite() for number in range(executors.size()))


def run(spark: SparkSession, request: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Per contestant what was seen in each measured micro-batch."""
    contestants, batch = request["contestants"], request["batch"]
    widest = max(each["window"] for each in contestants)
    lanes: list[Lane] = []
    seen: dict[str, list[dict[str, Any]]] = {each["name"]: [] for each in contestants}
    with TemporaryDirectory(prefix="panjoin-turns-") as place:
        values = request["window"] * (1 if request.get("kind") == "equi" else 2 * REACH + 1)
        keys, timed = request.get("keys", "uniform"), request.get("timed", False)
        feed = Feed(Path(place) / "feed", values, keys, request["seed"], timed)
        try:
            lanes += [Lane(spark, Path(place) / str(number), each) for number, each in enumerate(contestants)]
            left = widest
            while left > 0:
                size = min(left, request["fill"])
                files = feed.draw(size, widest + batch)
                for lane in lanes:
                    if left - size < lane.window:
                        lane.turn(files, size)
                left -= size
            for number in range(request["unmeasured"] + request["batches"]):
                files = feed.draw(batch, widest + batch)
                for lane in lanes:
                    told = lane.turn(files, batch)
                    if number >= request["unmeasured"]:
                        seen[lane.what["name"]].append(told)
                        _check(lane, told, feed, batch)
                if timed and len({told[-1]["found"] for told in seen.values() if told}) > 1:
                    raise StateError(
                        f"contestants differ: { {name: told[-1]['found'] for name, told in seen.items()} }"
                    )
        finally:
            for lane in lanes:
                lane.query.stop()
    return seen


def _check(lane: Lane, told: Mapping[str, Any], feed: Feed, batch: int) -> None:
    if lane.what["query"] == "join" and lane.window % batch == 0:
        expected = feed.pairs(lane.window)
        if told["found"] != expected:
            raise StateError(f"{lane.what['name']} finds {told['found']} pairs where there are {expected}")


def _answered(spark: SparkSession, request: Mapping[str, Any], patience: int) -> dict[str, Any]:
    try:
        return {"seen": run(spark, request)}
    except Exception as error:  # noqa: BLE001  (whatever it is, the parent must hear of it)
        if patience and any(sign in str(error) for sign in _BUSY):
            return _answered(spark, request, patience - 1)
        return {"failed": f"{type(error).__name__}: {str(error).split(_CAUSE)[-1]}"}


def main() -> None:
    """Requests until there are no more."""
    settings = json.loads(sys.stdin.readline())
    with TemporaryDirectory(prefix="panjoin-session-") as place:
        settings |= {"spark.local.dir": f"{place}/local", "spark.sql.warehouse.dir": f"{place}/warehouse"}
        spark = session("panjoin-bench", master="local[2]", settings=settings)
        spark.sparkContext.setLogLevel("ERROR")
        for line in sys.stdin:
            answer = _answered(spark, json.loads(line), PATIENCE)
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
        spark.stop()


if __name__ == "__main__":
    main()
