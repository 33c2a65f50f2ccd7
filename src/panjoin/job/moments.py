"""A running query as people look at it: one `Moment` per micro-batch, for the terminal, the page and `--json`.

    query.recentProgress ──> Moments.new() ──> Moment: tuples, matches, times, both chains of subwindows

Invariant: each micro-batch with work in it comes once, in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from panjoin.spark.metrics import Progress, Query, SubwindowProgress, progress_of

#: How the time of a micro-batch is split; what the join does not account for is Spark's.
STEPS: Mapping[str, tuple[str, ...]] = {
    "probe": ("prepare", "probe", "emit"),
    "insert": ("insert",),
    "state": ("state", "rebuild"),
}


@dataclass(frozen=True)
class Moment:
    """One micro-batch."""

    batch: int
    at: float  #: seconds since 1970, when it began
    seconds: float
    left: int  #: tuples that came in
    right: int
    pairs: int
    rows: int
    late: int  #: dropped, for they came behind the watermark
    split: Mapping[str, float]  #: seconds by step: spark, probe, insert, state
    watermark: int | None  #: microseconds since 1970
    state_bytes: int
    resident_bytes: int
    chains: Mapping[str, tuple[SubwindowProgress, ...]]  #: oldest first

    @property
    def tuples(self) -> int:
        """Of both sides."""
        return self.left + self.right

    @property
    def rate(self) -> float:
        """Tuples per second while it ran."""
        return self.tuples / self.seconds if self.seconds else 0.0

    def fill(self, side: str) -> float:
        """Tuples over capacity of a side's subwindows."""
        room = sum(each.capacity for each in self.chains[side])
        return sum(each.size for each in self.chains[side]) / room if room else 0.0

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"rate": self.rate}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Moment:
        """From what `as_json` gave."""
        held = {each.name: plain[each.name] for each in fields(cls)}
        held["chains"] = {side: tuple(map(SubwindowProgress.of, chain)) for side, chain in plain["chains"].items()}
        return cls(**held)


class Moments:
    """The moments of a query."""

    def __init__(self, query: Query) -> None:
        self._query, self._last = query, -1

    def new(self) -> Iterator[Moment]:
        """Those that have come since the last call."""
        for progress in self._query.recentProgress:
            if progress.batchId > self._last and "addBatch" in progress.durationMs:
                self._last = progress.batchId
                yield moment_of(progress)


def moment_of(progress: Any) -> Moment:
    """From Spark's progress of one micro-batch."""
    ours = next(progress_of(progress), None) or Progress("", progress.batchId, progress.timestamp, "", "")
    seconds = progress.durationMs["triggerExecution"] / 1000
    split = {name: sum(ours.seconds(step) for step in steps) for name, steps in STEPS.items()}
    return Moment(
        batch=progress.batchId,
        at=datetime.fromisoformat(progress.timestamp).timestamp(),
        seconds=seconds,
        left=ours.tuples("left"),
        right=ours.tuples("right"),
        pairs=ours.pairs,
        rows=ours.rows,
        late=ours.late("left") + ours.late("right"),
        split={"spark": max(0.0, seconds - sum(split.values())), **split},
        watermark=ours.watermark,
        state_bytes=ours.bytes_state,
        resident_bytes=ours.bytes_resident,
        chains={"left": ours.chain("left"), "right": ours.chain("right")},
    )
