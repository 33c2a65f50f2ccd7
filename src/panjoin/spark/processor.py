"""One worker inside `transformWithState`: messages of a micro-batch in, payloads of result rows out.

    read header ──> windows (keeper.py) ──> time passes ──> left messages ──> right messages
                                                 │               │                │
    Spark commits state     header, timer <── chunks             └── payloads <───┘
    and output, or neither  └──> files that equal this state

Every worker hears of every message and orders them alike. With placement by arrival all execute their own part of the
same commands; with placement by key each has a join of its own over the tuples that came to it. A worker without
messages is called through an event-time timer when the watermark has moved far enough to matter.

Invariant: what is kept in the process and in files is known by the stamp of the state that it equals. A stamp that was
not committed is never asked for.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from panjoin.chain.batch import LEFT, RIGHT
from panjoin.errors import DataError, SpaceError
from panjoin.expression import Side
from panjoin.spark.keeper import Keeper
from panjoin.spark.meter import Meter
from panjoin.spark.metrics import WorkerProgress
from panjoin.spark.pack import Message, in_order, message_of, payloads
from panjoin.spark.partial import label_of
from panjoin.spark.plan import SIDES, JoinPlan
from panjoin.spark.recovery import journaled
from panjoin.spark.resident import MICROS_PER_MILLI, Resident
from panjoin.spark.state import Header, StateOfRecord
from panjoin.spark.worker_keys import worker_key

#: Spark (4.3) gathers what a key gives into one Arrow column of at most 2 GB.
MOST_OUTPUT = (1 << 31) - (1 << 20)
#: Workers whose windows one process keeps: those of two queries on a machine of four cores.
RESIDENTS_KEPT = 8

#: A payload, and its label if it is a piece that has to be added to others (`partial.py`).
Answer = tuple[str | None, pa.Buffer]
#: What `transformWithState` gives back.
ANSWER = pa.schema({"payload": pa.binary(), "label": pa.string(), "progress": pa.string()})
ANSWER_DDL = "payload binary, label string, progress string"

KEEPER = Keeper(RESIDENTS_KEPT)


class JoinProcessor(StatefulProcessor):
    """What Spark calls."""

    def __init__(self, plan: JoinPlan) -> None:
        self.plan = plan
        self._numbers = {worker_key(number): number for number in range(plan.workers)}

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state; Spark calls this on the driver as well."""
        self._handle = handle
        self._record = StateOfRecord(handle)

    def handleInputRows(self, key: Any, rows: Iterable[Row], timerValues: Any) -> Iterator[Row]:
        """The messages of a micro-batch."""
        messages: dict[Side, list[Message]] = {LEFT: [], RIGHT: []}
        for message in in_order(message_of(row) for row in rows):
            messages[message.side].append(message)
        return self._turn(self._numbers[key[0]], timerValues.getCurrentWatermarkInMs(), messages)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: ARG002
        """The watermark has moved."""
        return self._turn(self._numbers[key[0]], timerValues.getCurrentWatermarkInMs(), {LEFT: [], RIGHT: []})

    def _turn(self, number: int, watermark: int, messages: dict[Side, list[Message]]) -> Iterator[Row]:
        try:
            yield from self._worked(number, watermark, messages)
        except MemoryError as error:
            raise SpaceError(
                f"worker {number} of {self.plan.name} has no memory left ({str(error) or 'no more is given'}); give "
                f"Python workers more with spark.executor.pyspark.memory, let micro-batches bring less "
                f"(maxFilesPerTrigger, maxOffsetsPerTrigger), or use more workers in a new query. What the state "
                f"holds is not lost"
            ) from error

    def _worked(self, number: int, watermark: int, messages: dict[Side, list[Message]]) -> Iterator[Row]:
        started = time.perf_counter()
        before = self._record.read() or Header(self.plan.parameters)
        if before.version > 0:
            self.plan.refuse_other(before.parameters)
        resident = KEEPER.take(self.plan, number, before, self._record)
        meter = resident.begin()
        meter.seconds["rebuild"] = time.perf_counter() - started
        yield from _limited(self._join(resident, watermark, messages))
        with meter.clock("state"):
            changes = journaled(resident, before, self._record)
            header = before.next(**changes, timer=self._timer(resident, before.timer, watermark))
        with meter.clock("files"):
            KEEPER.keep(resident, before, header)
        with meter.clock("state"):
            self._record.write(header)
        meter.seconds["total"] = time.perf_counter() - started
        yield Row(payload=None, label=None, progress=self._progress(resident, meter, header).to_json())

    def _join(self, resident: Resident, watermark: int, messages: dict[Side, list[Message]]) -> Iterator[Answer]:
        """Payloads of the result, in the order of processing."""
        if watermark > 0 and self.plan.window.timed:  # 0 is Spark's word for none yet
            yield from packed(resident.pass_time(watermark * MICROS_PER_MILLI))
        for side in SIDES:
            yield from packed(resident.receive(side, (message.piece() for message in messages[side])))

    def _progress(self, resident: Resident, meter: Meter, header: Header) -> WorkerProgress:
        return meter.progress(
            resident.join,
            resident.crew.worker,
            number=resident.number,
            turn=header.version,
            placement=self.plan.options.placement,
            bytes_state=sum(sum(sizes.values()) for sizes in header.stored.values()),
            bytes_resident=resident.crew.memory_bytes,
        )

    def _timer(self, resident: Resident, registered: int | None, watermark: int) -> int | None:
        """At most one timer per worker; one that has fired is Spark's to delete."""
        if not self.plan.window.timed:
            return None
        due = resident.due(max(0, watermark))
        if due != registered:
            if registered is not None and registered > watermark:
                self._handle.deleteTimer(registered)
            if due is not None:
                self._handle.registerTimer(due)
        return due


def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[Answer]:
    """Rows of result, or pieces of answers, as what crosses to Spark."""
    for label, group in groupby(batches, label_of):
        first = next(group)
        for _, payload in payloads(chain([first], group), first.schema):
            yield label, payload


def _limited(found: Iterable[Answer]) -> Iterator[Row]:
    size = 0
    for label, payload in found:
        size += payload.size
        if size > MOST_OUTPUT:
            raise DataError(
                f"one micro-batch gives more than {MOST_OUTPUT} bytes of result in one worker, more than Spark takes; "
                f"let micro-batches bring less (maxFilesPerTrigger, maxOffsetsPerTrigger), or use more workers"
            )
        yield Row(payload=payload.to_pybytes(), label=label, progress=None)
