"""What a running query tells of itself: one `Progress` per join and micro-batch, read from Spark's own progress.

    worker ── JSON row beside its payloads ── observe(collect_list) ──> StreamingQueryProgress.observedMetrics
                                                                         │                │
                                                read(query), last(query) ┘                └ any listener (listener.py)

Nothing is asked of the cluster: Spark brings the observed rows with the micro-batch, also over Spark Connect.

Invariant: a turn of a worker counts once, however often Spark has repeated its task.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Protocol

from panjoin.expression import Side

#: Begins the name of each of our observed metrics; behind it a token that keeps several joins of one query apart.
PREFIX = "panjoin"
#: The observed column: a list of texts, one per turn of a worker.
COLUMN = "turns"

SIDES: tuple[Side, Side] = ("left", "right")


@dataclass(frozen=True)
class SubwindowProgress:
    """One subwindow, as its worker sees it; times are microseconds since 1970."""

    side: Side
    number: int
    structure: str
    size: int  #: tuples in it, without
    late: int  #: those in the buffer beside it
    capacity: int
    sealed: bool
    oldest: int | None
    newest: int | None
    balance: float | None  #: fullest partition over the mean one, 1 is perfect; None where nothing is partitioned
    bytes: int
    partitions: tuple[int, ...] = ()  #: the fullest in each of a few stretches of them, in percent of the mean one
    worker: int = 0

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> SubwindowProgress:
        """From plain values; fields of a newer version are left out."""
        held = _known(cls, plain)
        return cls(**{**held, "partitions": tuple(held.get("partitions", ()))})

    @property
    def fill(self) -> float:
        """Of its capacity."""
        return self.size / self.capacity


@dataclass(frozen=True)
class WorkerProgress:
    """What one worker did in one micro-batch, and what it holds after it."""

    worker: int
    turn: int  #: how many times it has been called since the query's first start
    tuples: Mapping[Side, int]  #: heard of: the same in every worker
    taken: Mapping[Side, int]  #: put into its own subwindows
    late: Mapping[Side, int]  #: behind the watermark, dropped
    quarantined: Mapping[Side, int]  #: dated too far ahead, set aside
    candidates: int  #: index answers, before they are checked on real values
    pairs: int  #: matches
    rows: int  #: rows of result
    watermark: int | None  #: microseconds since 1970
    bytes_resident: int
    bytes_state: int
    seconds: Mapping[str, float]  #: by step: rebuild, prepare, probe, insert, emit, state, files, total
    placement: str = "arrival"
    subwindows: tuple[SubwindowProgress, ...] = ()

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def of(cls, line: str) -> WorkerProgress:
        """From what `to_json` gave; fields of a newer version are left out."""
        held = _known(cls, json.loads(line))
        held["subwindows"] = tuple(map(SubwindowProgress.of, held.get("subwindows", ())))
        return cls(**held)

    def after(self, other: WorkerProgress) -> WorkerProgress:
        """This turn, and one before it in the same micro-batch: messages first, then a timer."""
        counts = {name: _added(getattr(other, name), getattr(self, name)) for name in _PER_SIDE}
        totals = {name: getattr(other, name) + getattr(self, name) for name in ("candidates", "pairs", "rows")}
        seconds = _added(other.seconds, self.seconds)
        return WorkerProgress(**{**_shallow(self), **counts, **totals, "seconds": seconds})


_PER_SIDE = ("tuples", "taken", "late", "quarantined")


@dataclass(frozen=True)
class Progress:
    """One join in one micro-batch. Workers that were not called are not there."""

    join: str
    batch: int
    timestamp: str  #: of the trigger, as Spark writes it
    query: str  #: Spark's id, the same after a restart
    run: str
    name: str | None = None  #: of the query, where it was given one
    workers: tuple[WorkerProgress, ...] = field(default=())

    def tuples(self, side: Side) -> int:
        """That came in, each counted once."""
        return self._most("tuples", side)

    def late(self, side: Side) -> int:
        """That were behind the watermark, and dropped."""
        return self._once("late", side)

    def quarantined(self, side: Side) -> int:
        """That were dated too far ahead, and set aside."""
        return self._once("quarantined", side)

    @property
    def pairs(self) -> int:
        """Matches."""
        return sum(worker.pairs for worker in self.workers)

    @property
    def rows(self) -> int:
        """Rows that the workers gave."""
        return sum(worker.rows for worker in self.workers)

    @property
    def selectivity(self) -> float | None:
        """Matches per tuple that came in; None when none came."""
        came = sum(self.tuples(side) for side in SIDES)
        return self.pairs / came if came else None

    @property
    def watermark(self) -> int | None:
        """Microseconds since 1970."""
        return max((worker.watermark for worker in self.workers if worker.watermark is not None), default=None)

    @property
    def bytes_resident(self) -> int:
        """In the memory of all workers."""
        return sum(worker.bytes_resident for worker in self.workers)

    @property
    def bytes_state(self) -> int:
        """In Spark's state store."""
        return sum(worker.bytes_state for worker in self.workers)

    def chain(self, side: Side) -> tuple[SubwindowProgress, ...]:
        """The subwindows of a side, oldest first."""
        found = [
            replace(each, worker=worker.worker)
            for worker in self.workers
            for each in worker.subwindows
            if each.side == side
        ]
        return tuple(sorted(found, key=lambda each: (each.number, each.worker)))

    def structures(self, side: Side) -> dict[str, int]:
        """Subwindows by the structure of their index."""
        names = [each.structure for each in self.chain(side)]
        return {name: names.count(name) for name in sorted(set(names))}

    def seconds(self, step: str) -> float:
        """Of the slowest worker: that one the micro-batch waited for."""
        return max((worker.seconds.get(step, 0.0) for worker in self.workers), default=0.0)

    def _once(self, what: str, side: Side) -> int:
        """By arrival every worker has counted all. By key, each those that came to no worker before it."""
        keyed = any(worker.placement == "key" for worker in self.workers)
        return self._sum(what, side) if keyed else self._most(what, side)

    def _sum(self, what: str, side: Side) -> int:
        return sum(getattr(worker, what)[side] for worker in self.workers)

    def _most(self, what: str, side: Side) -> int:
        return max((getattr(worker, what)[side] for worker in self.workers), default=0)


class Query(Protocol):
    """As much of Spark's StreamingQuery as is asked."""

    @property
    def recentProgress(self) -> Iterable[Any]:
        """Spark's StreamingQueryProgress, oldest first."""


def read(query: Query) -> list[Progress]:
    """The progress that Spark still holds (the last 100 micro-batches, by default), oldest first."""
    return [each for spark in query.recentProgress for each in progress_of(spark)]


def last(query: Query) -> Progress | None:
    """Of the last micro-batch in which a worker was called; None before the first."""
    return next((progress for progress in reversed(read(query)) if progress.workers), None)


def progress_of(spark: Any) -> Iterator[Progress]:
    """Of each of our joins in a StreamingQueryProgress, as a listener's `onQueryProgress` has it: `event.progress`."""
    for name, row in sorted(spark.observedMetrics.items()):
        if name.startswith(PREFIX + ":"):
            yield Progress(
                join=name.split(":", 2)[2],
                batch=int(spark.batchId),
                timestamp=spark.timestamp,
                query=str(spark.id),
                run=str(spark.runId),
                name=spark.name,
                workers=_once(_lines(row)),
            )


def metric_name(join: str, token: str) -> str:
    """Of the observed metric of one join."""
    return f"{PREFIX}:{token}:{join}"


def _lines(row: Any) -> Iterable[str]:
    """Of an observed row; Spark Connect (4.3) gives the row's JSON instead, its values beside its schema."""
    return (row[COLUMN] if COLUMN in row else row["values"][0]) or ()


def _once(lines: Iterable[str]) -> tuple[WorkerProgress, ...]:
    """One per worker: a turn that Spark has repeated counts once, turns of one worker are added."""
    turns = {(turn.worker, turn.turn): turn for turn in map(WorkerProgress.of, lines)}
    workers: dict[int, WorkerProgress] = {}
    for (number, _), turn in sorted(turns.items()):
        workers[number] = turn.after(workers[number]) if number in workers else turn
    return tuple(workers.values())


def _added(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> dict[Any, Any]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _shallow(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value)}


def _known(cls: Any, held: Mapping[str, Any]) -> dict[str, Any]:
    names = {each.name for each in fields(cls)}
    return {name: value for name, value in held.items() if name in names}
