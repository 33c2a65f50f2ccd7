"""A worker's windows in this process: the join with one worker, and a journal of what state must hear of.

    message rows ──receive──> Join (manager replica, LoneCrew) ──> result batches
                                   │ commands to our worker
                                   └─ journal: what was inserted where, what expired ──> StateOfRecord

Where it is between two micro-batches: `keeper.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from panjoin.chain.batch import Batch
from panjoin.chain.subwindow import Subwindow
from panjoin.engine.commands import Command, Expire, Insert, Probe
from panjoin.engine.crew import LoneCrew
from panjoin.engine.local import Join
from panjoin.engine.result import Outcome, Result
from panjoin.engine.spec import JoinSpec
from panjoin.engine.worker import Feedback, Part
from panjoin.expression import Side
from panjoin.spark.meter import Meter
from panjoin.spark.partial import adds_up, pieces
from panjoin.spark.piece import Piece, gathered
from panjoin.spark.plan import SIDES, JoinPlan
from panjoin.spark.shelf import Shelf

#: Tuples and bytes that are processed as one batch. Cutting the tuples of one side changes no result, because they see
#: the other side only; an Arrow column of texts ends at 2 GB.
BATCH_ROWS, BATCH_BYTES = 8 << 20, 1 << 30

MICROS_PER_MILLI = 1000


class JournalCrew(LoneCrew):
    """One worker, and what its subwindows received and lost since `clear`."""

    def __init__(self, number: int, spec: JoinSpec) -> None:
        super().__init__(number, spec)
        self.meter = Meter(spec)
        self.clear()

    def clear(self) -> None:
        """Begin a new page."""
        self.inserted: list[tuple[Insert, Batch]] = []
        self.expired: list[tuple[Side, int]] = []

    def send(self, commands: Sequence[Command], parts: Sequence[Part] = ()) -> list[Feedback]:
        """As ever, and noted."""
        probing = bool(commands) and isinstance(commands[0], Probe)
        with self.meter.clock("probe" if probing else "insert"):
            answers = super().send(commands, parts)
        self.meter.candidates += sum(answer.total for answer in answers)
        for command in commands:
            if command.worker != self.worker.number:
                continue
            if isinstance(command, Insert):
                self.inserted.append((command, parts[command.part].batch))
                self.meter.taken[command.side] += command.last - command.first
            elif isinstance(command, Expire):
                self.expired += [(command.side, number) for number in command.subwindows]
        return answers


class Resident:
    """The windows of one worker."""

    def __init__(self, plan: JoinPlan, number: int) -> None:
        self.plan, self.number = plan, number
        self.spec = plan.spec()
        self.seat = plan.seat(number)  #: the worker's number in the join
        self.crew = JournalCrew(self.seat, self.spec)
        self.join: Join = plan.join(self.spec, self.crew)
        self.shelf: Shelf | None = None  #: the files that equal these windows, but for what came since
        self.replayed: list[
            tuple[Insert, Batch]
        ] = []  #: what was put into unsealed subwindows when they were made again
        self._shape = plan.shape(self.spec)
        self._placement = plan.placement()

    def receive(self, side: Side, pieces: Iterable[Piece]) -> Iterator[pa.RecordBatch]:
        """Join tuples of one side, which come in order; read each answer before asking for the next."""
        for piece in gathered(pieces, BATCH_ROWS, BATCH_BYTES):
            self.crew.meter.heard[side] += piece.heard
            with self.crew.meter.clock("prepare"):
                prepared = self.join.prepare(side, piece.rows(self.plan.schema(side)), 0.0, piece.among)
                if (
                    self._placement is not None and prepared.dropped is not None
                ):  # a late tuple counts at its first worker
                    self.join.late[side] -= self._placement.heard_before(side, prepared.dropped, self.number)
            yield from self._rows(self.join.execute(prepared))

    def ask(self, side: Side, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Join tuples that nothing will ever probe with a complete other side: with a table."""
        yield from self._rows(self.join.ask(side, rows))

    def pass_time(self, watermark: int) -> Iterator[pa.RecordBatch]:
        """Spark's watermark in microseconds; what has left is handed out if the join type asks for it.

        Done before anything else of a micro-batch. So replicas of the manager agree, though a worker that had no timer
        was not called when the watermark moved.
        """
        yield from self._rows(self.join.advance(watermark))

    def end(self) -> Iterator[pa.RecordBatch]:
        """Both sides are over: for static data."""
        yield from self._rows(self.join.end())

    def begin(self) -> Meter:
        """A turn begins: measured from here."""
        self.crew.meter = Meter(self.spec)
        self.crew.meter.begin(self.join)
        return self.crew.meter

    def due(self, now: int) -> int | None:
        """The watermark, in milliseconds and after `now`, at which this worker wants to be called without messages."""
        last = []
        for side in SIDES:
            extent = self.spec.sides[side].extent
            for info in self.join.manager.windows[side]:
                if extent is None or info.worker != self.seat:
                    continue
                if self.spec.preserves(side):
                    return now + 1  # any tuple may be the next to leave
                if info.newest is not None:
                    last.append(info.newest + extent)
        return max(now + 1, min(last) // MICROS_PER_MILLI + 1) if last else None

    def subwindows(self) -> Iterator[tuple[Subwindow, bool]]:
        """All that there are, and whether each is the late buffer beside the one before it."""
        for side in SIDES:
            beside = None
            for subwindow in self.crew.worker.chains[side]:
                late = subwindow is beside
                beside = subwindow.late
                yield subwindow, late

    def _rows(self, outcomes: list[Outcome]) -> Iterator[pa.RecordBatch]:
        meter, form = self.crew.meter, self.spec.form
        whole = Result(outcomes, self._shape, form)
        found = pieces(form, outcomes) if adds_up(form, self.plan.workers) else whole.batches()
        for rows in meter.timed("emit", found):
            meter.rows += rows.num_rows
            yield rows
        meter.answered(outcomes)
