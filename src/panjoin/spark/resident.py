"""A worker's windows in this process: the join with one worker, and a journal of what state must hear of.

    message rows ──receive──> Join (manager replica, LoneCrew) ──> result batches
                                   │ commands to our worker
                                   └─ journal: what was inserted where, what expired ──> StateOfRecord

Spark's Python workers are reused but not sticky. Windows of the last micro-batch are kept in the process under the
stamp of the state they equal; the process that is called next takes them if the state carries that stamp, and rebuilds
them from the state if not. They are taken out while they are worked on: a task that fails half-way leaves nothing
behind.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from panjoin.chain.batch import Batch
from panjoin.engine.commands import Command, Expire, Insert, Probe
from panjoin.engine.crew import LoneCrew
from panjoin.engine.local import Join
from panjoin.engine.result import Outcome, Result
from panjoin.engine.spec import JoinSpec
from panjoin.engine.worker import Feedback, Part
from panjoin.expression import Side
from panjoin.spark.meter import Meter
from panjoin.spark.pack import grouped
from panjoin.spark.partial import adds_up, pieces
from panjoin.spark.plan import SIDES, JoinPlan
from panjoin.spark.state import Header

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
        self.crew = JournalCrew(number, self.spec)
        self.join: Join = plan.join(self.spec, self.crew)
        self._shape = plan.shape(self.spec)

    def receive(self, side: Side, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join tuples of one side, which come in order; read each answer before asking for the next."""
        for group in grouped(batches, BATCH_ROWS, BATCH_BYTES):
            rows = group[0] if len(group) == 1 else pa.concat_batches(group)
            with self.crew.meter.clock("prepare"):
                prepared = self.join.prepare(side, rows, 0.0)
            yield from self._rows(self.join.execute(prepared))

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
                if extent is None or info.worker != self.number:
                    continue
                if self.spec.preserves(side):
                    return now + 1  # any tuple may be the next to leave
                if info.newest is not None:
                    last.append(info.newest + extent)
        return max(now + 1, min(last) // MICROS_PER_MILLI + 1) if last else None

    def _rows(self, outcomes: list[Outcome]) -> Iterator[pa.RecordBatch]:
        meter, form = self.crew.meter, self.spec.form
        whole = Result(outcomes, self._shape, form)
        found = pieces(form, outcomes) if adds_up(form, self.plan.workers) else whole.batches()
        for rows in meter.timed("emit", found):
            meter.rows += rows.num_rows
            yield rows
        meter.answered(outcomes)


class Residents:
    """Windows by worker of a query, with the stamp of the state they equal."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[tuple[str, int], tuple[str, Resident]] = OrderedDict()

    def take(self, header: Header, plan: JoinPlan, number: int) -> Resident | None:
        """The windows that equal this state, if this process has them; they are the caller's from now on."""
        stamp, resident = self._held.pop((header.lineage, number), ("", None))
        return resident if resident is not None and stamp == header.stamp and resident.plan == plan else None

    def keep(self, header: Header, resident: Resident) -> None:
        """Windows that equal the state that is about to be committed. Those longest untouched make room."""
        self._held[header.lineage, resident.number] = (header.stamp, resident)
        while len(self._held) > self._most:
            self._held.popitem(last=False)
