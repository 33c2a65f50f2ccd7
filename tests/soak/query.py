"""The query of the soak: first as fast as it can, which gives its peak, then restarted at a part of that.

flat out ──> seconds per micro-batch, at full windows ──stop──> same checkpoint, one micro-batch every so often
                                                                rows of each into a file of its own
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from panjoin.bench.machine import commit, machine
from panjoin.spark import session, stream_join
from panjoin.spark.metrics import SIDES, progress_of
from panjoin.window import TimeWindow
from tests.soak.stream import BAND, WINDOW, Stream
from tests.soak.watch import Sample, look

#: Micro-batches flat out: until windows are full, and as many again to measure; before any side falls silent.
FULL, MEASURED = WINDOW + 2, 26
SAMPLE_EVERY = 10  #: micro-batches between two looks

_KEPT = "10"  #: what Spark keeps of the past; its defaults of a thousand would grow all through the run

SETTINGS = {
    "spark.driver.memory": "1g",
    # Spark 4.3 looks for a word in the error of a sink that was stopped with an expression that recurses per letter
    "spark.driver.extraJavaOptions": "-Xss16m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": _KEPT,
    "spark.ui.retainedStages": _KEPT,
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": _KEPT,
    "spark.sql.streaming.minBatchesToRetain": _KEPT,
    "spark.sql.streaming.numRecentProgressUpdates": "50",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}


class Turn(NamedTuple):
    """A micro-batch, as Spark and the join tell of it."""

    batch: int
    seconds: float
    pairs: int
    late: dict[str, int]
    held: dict[str, int]  #: tuples in the window after it
    bytes_resident: int
    bytes_state: int

    @classmethod
    def of(cls, told: Any) -> Turn:
        """From Spark's StreamingQueryProgress."""
        seconds = float(told.durationMs["triggerExecution"]) / 1000
        for each in progress_of(told):
            held = {side: sum(info.size + info.late for info in each.chain(side)) for side in SIDES}
            late = {side: each.late(side) for side in SIDES}
            return cls(each.batch, seconds, each.pairs, late, held, each.bytes_resident, each.bytes_state)
        return cls(told.batchId, seconds, 0, dict.fromkeys(SIDES, 0), {}, 0, 0)


class Soak:
    """One query on one checkpoint; `turns` are what Spark said of each micro-batch."""

    def __init__(self, directory: Path, rows: int) -> None:
        self.directory, self.stream = directory, Stream(rows)
        self.resident, self.checkpoint = directory / "resident", directory / "checkpoint"
        self.out = directory / "out"
        self.out.mkdir(parents=True)
        self.resident.mkdir(mode=0o700)
        os.environ["PANJOIN_RESIDENT_DIR"] = str(self.resident)
        places = {"spark.local.dir": "local", "spark.sql.warehouse.dir": "warehouse"}
        self.spark = session(
            "soak", master="local[2]", settings=SETTINGS | {key: str(directory / at) for key, at in places.items()}
        )
        self.spark.sparkContext.setLogLevel("ERROR")
        self.turns: dict[int, Turn] = {}
        self.samples: list[Sample] = []
        self.interval = 0.0

    def peak(self, batches: int = FULL + MEASURED) -> float:
        """Tuples of both sides per second, flat out, in the last of so many micro-batches."""
        self._run("0 seconds", lambda: len(self.turns) >= batches)
        measured = range(batches - min(MEASURED, batches // 2), batches)
        self.seconds_at_peak = median(self.turns[batch].seconds for batch in measured)
        return 2 * self.stream.rows / self.seconds_at_peak

    def paced(self, share: float, enough: Callable[[float, int], bool]) -> None:
        """At `share` of the peak, until (seconds, micro-batches) of it are enough, or a file says so."""
        self.interval, before, began = self.seconds_at_peak / share, len(self.turns), time.monotonic()

        def done() -> bool:
            now, batches = time.monotonic() - began, len(self.turns)
            if batches >= (self.samples[-1].batch if self.samples else before) + SAMPLE_EVERY:
                self.samples.append(look(batches, now, self.spark, self.resident, self.checkpoint))
            return enough(now, batches - before) or (self.directory / "enough").exists()

        self.first = before
        self._run(f"{self.interval * 1000:.0f} milliseconds", done)

    def leave(self, share: float, seconds: float) -> None:
        """Write down what was seen, for who judges."""
        turns = [self.turns[batch] for batch in sorted(self.turns)]
        seen = {
            "rows": self.stream.rows,
            "share": share,
            "seconds_at_peak": self.seconds_at_peak,
            "interval": self.interval,
            "first": self.first,
            "took": round(seconds, 1),
            "commit": commit(),
            "machine": machine(),
            "turns": [turn._asdict() for turn in turns],
            "samples": [sample._asdict() for sample in self.samples],
        }
        (self.directory / "seen.json").write_text(json.dumps(seen))

    def close(self) -> None:
        """Spark ends."""
        self.spark.stop()

    def _run(self, trigger: str, done: Callable[[], bool]) -> None:
        joined = stream_join(
            self.stream.frame(self.spark, "left"),
            self.stream.frame(self.spark, "right"),
            on=f"left.x BETWEEN right.x - {BAND} AND right.x + {BAND}",
            window=TimeWindow(f"{WINDOW} seconds", on="ts"),
            workers=2,
            name="soak",
        )
        writer = joined.select("n_left", "n_right").writeStream.foreachBatch(self._keep)
        query = writer.option("checkpointLocation", str(self.checkpoint)).trigger(processingTime=trigger).start()
        try:
            while query.isActive:
                self._collect(query)
                if done():
                    break
                time.sleep(0.5)
            failure = query.exception()
            if failure is not None:
                raise failure
        finally:
            query.stop()
        self._collect(query)

    def _keep(self, rows: Any, batch: int) -> None:
        """The sink: one file per micro-batch, renamed into place; a repeated one replaces the same rows."""
        table = rows.toArrow()
        pairs = np.stack([table[name].to_numpy() for name in ("n_left", "n_right")], axis=1)
        path = self.out / f"{batch:06}.npy"
        with path.with_suffix(".part").open("wb") as file:
            np.save(file, pairs)
        path.with_suffix(".part").rename(path)

    def _collect(self, query: Any) -> None:
        for each in query.recentProgress:
            if (
                "addBatch" in each.durationMs and each.batchId not in self.turns
            ):  # triggers without one are told as well
                self.turns[each.batchId] = Turn.of(each)
