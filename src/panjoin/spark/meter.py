"""What one turn of a worker did, measured where it happens, and told as a `WorkerProgress`.

    turn   [ rebuild | prepare | probe | insert | emit ......... | state | files ]      total: all of it

Counting costs nothing beside the work: a clock is read a few times per batch, and what the subwindows hold is read from
their own books once per turn.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from panjoin.chain.subwindow import Subwindow
from panjoin.engine.build import LEFT_ONLY
from panjoin.engine.local import Join
from panjoin.engine.result import Outcome
from panjoin.engine.spec import JoinSpec
from panjoin.engine.worker import Worker
from panjoin.expression import Side
from panjoin.spark.metrics import SIDES, SubwindowProgress, WorkerProgress

STEPS = ("rebuild", "prepare", "probe", "insert", "emit", "state", "files", "total")
_COUNTERS = ("late", "quarantined")
#: Of a picture of partitions: as wide as a subwindow is drawn.
STRETCHES = 16

Item = TypeVar("Item")


class Meter:
    """Clocks and counts of one turn."""

    def __init__(self, spec: JoinSpec) -> None:
        self._spec = spec
        self.seconds = dict.fromkeys(STEPS, 0.0)
        self.heard: dict[Side, int] = dict.fromkeys(SIDES, 0)  #: tuples of all messages, also of those sent elsewhere
        self.taken: dict[Side, int] = dict.fromkeys(SIDES, 0)
        self.candidates = self.rows = 0
        self._alone = self._counted = 0
        self._before: dict[str, dict[Side, int]] = {}

    def begin(self, join: Join) -> None:
        """Counts start from here: a worker's own go on from turn to turn."""
        self._before = {name: dict(getattr(join, name)) for name in _COUNTERS}

    @contextmanager
    def clock(self, step: str) -> Iterator[None]:
        """Time spent inside belongs to a step."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] += time.perf_counter() - started

    def timed(self, step: str, items: Iterable[Item]) -> Iterator[Item]:
        """The items; making them belongs to a step, what is done with them does not."""
        source = iter(items)
        while True:
            with self.clock(step):
                try:
                    item = next(source)
                except StopIteration:
                    return
            yield item

    def answered(self, outcomes: Iterable[Outcome]) -> None:
        """An outcome has been read."""
        for outcome in outcomes:
            self._alone += sum(len(alone.numbers) for alone in outcome.alone)
            if self._spec.form is not None:
                self._counted += sum(self._spec.form.matches(part) for part in outcome.parts)

    @property
    def pairs(self) -> int:
        """Matches. Semi and anti joins stop at the first one: of these, what the index answered."""
        if self._spec.form is not None:
            return self._counted
        return self.candidates if self._spec.how in LEFT_ONLY else self.rows - self._alone

    def progress(
        self,
        join: Join,
        worker: Worker,
        *,
        number: int,
        turn: int,
        placement: str,
        bytes_state: int,
        bytes_resident: int,
    ) -> WorkerProgress:
        """All of it, and what the worker holds now."""
        since: dict[str, dict[Side, int]] = {
            name: {side: getattr(join, name)[side] - self._before[name][side] for side in SIDES} for name in _COUNTERS
        }
        return WorkerProgress(
            worker=number,
            turn=turn,
            tuples=dict(self.heard),
            taken=dict(self.taken),
            late=since["late"],
            quarantined=since["quarantined"],
            candidates=self.candidates,
            pairs=self.pairs,
            rows=self.rows,
            watermark=join.watermark.value,
            bytes_resident=bytes_resident,
            bytes_state=bytes_state,
            seconds={step: round(seconds, 6) for step, seconds in self.seconds.items()},
            placement=placement,
            subwindows=tuple(_subwindows(worker)),
        )


def _subwindows(worker: Worker) -> Iterator[SubwindowProgress]:
    for side in SIDES:
        beside = None
        for subwindow in worker.chains[side]:
            if subwindow is not beside:  # a late buffer comes behind its subwindow
                beside = subwindow.late
                yield _progress(subwindow)


def _progress(subwindow: Subwindow) -> SubwindowProgress:
    balance, partitions = _balance(subwindow.index.partition_sizes)
    return SubwindowProgress(
        side=subwindow.side,
        number=subwindow.number,
        structure=subwindow.index.name,
        size=subwindow.size,
        late=0 if subwindow.late is None else subwindow.late.size,
        capacity=subwindow.capacity,
        sealed=subwindow.sealed,
        oldest=subwindow.oldest,
        newest=subwindow.newest,
        balance=balance,
        bytes=subwindow.memory_bytes,
        partitions=partitions,
    )


def _balance(sizes: Any) -> tuple[float | None, tuple[int, ...]]:
    """The fullest partition over the mean one; and the same in percent for each of a few stretches of partitions.

    65,536 partitions take 0.1 ms.
    """
    if sizes is None or not sizes.sum():
        return None, ()
    mean = sizes.mean()
    stretches = np.linspace(0, len(sizes), min(len(sizes), STRETCHES), endpoint=False).astype(np.int64)
    fullest = np.maximum.reduceat(sizes, stretches)
    return float(fullest.max() / mean), tuple(np.rint(100 * fullest / mean).astype(int).tolist())
