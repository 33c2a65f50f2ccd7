"""A listener that keeps what all joins of a session have told: their history, and sums over their lives.

    spark.streams.addListener(watch) ──> onQueryProgress ──> Watch   history of the last micro-batches
                                                               │     totals since it listens
                                            exporter.py reads ─┘     gone when their query ends: what is held now

Spark calls it from a thread of its own; readers may be others.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from panjoin.spark.metrics import SIDES, Progress, progress_of

#: Micro-batches kept per join.
KEPT = 1000


@dataclass
class Watched:
    """One join of one run of a query."""

    history: deque[Progress]
    totals: dict[tuple[str, str], float] = field(default_factory=dict)  #: by what is counted, and of which side or step
    running: bool = True

    def add(self, progress: Progress) -> None:
        """One more micro-batch."""
        self.history.append(progress)
        self._count("micro_batches", "", 1)
        self._count("pairs", "", progress.pairs)
        self._count("rows", "", progress.rows)
        for side in SIDES:
            self._count("tuples", side, progress.tuples(side))
            self._count("late", side, progress.late(side))
            self._count("quarantined", side, progress.quarantined(side))
        for step in {step for worker in progress.workers for step in worker.seconds}:
            self._count("seconds", step, progress.seconds(step))

    def _count(self, what: str, which: str, amount: float) -> None:
        self.totals[what, which] = self.totals.get((what, which), 0) + amount


class Watch(StreamingQueryListener):
    """Listens to every query of a session."""

    def __init__(self, keep: int = KEPT) -> None:
        self._keep = keep
        self._lock = Lock()
        self._watched: dict[tuple[str, str], Watched] = {}

    def onQueryStarted(self, event: Any) -> None:
        """Nothing is known yet."""

    def onQueryProgress(self, event: Any) -> None:
        """A micro-batch has been committed."""
        with self._lock:
            for progress in progress_of(event.progress):
                key = (progress.run, progress.join)
                if key not in self._watched:
                    self._watched[key] = Watched(deque(maxlen=self._keep))
                self._watched[key].add(progress)

    def onQueryIdle(self, event: Any) -> None:
        """Nothing has changed."""

    def onQueryTerminated(self, event: Any) -> None:
        """Its history stays, until many other queries have come."""
        with self._lock:
            for (run, _), watched in self._watched.items():
                if run == str(event.runId):
                    watched.running = False
            over = [key for key, watched in self._watched.items() if not watched.running]
            for key in over[: -self._keep]:
                del self._watched[key]

    def joins(self) -> list[Watched]:
        """All that there are, as of now."""
        with self._lock:
            return [Watched(deque(each.history), dict(each.totals), each.running) for each in self._watched.values()]

    def history(self, join: str | None = None) -> list[Progress]:
        """Of all joins, or of those with this name; each join's oldest micro-batch first."""
        return [progress for each in self.joins() for progress in each.history if join is None or progress.join == join]
