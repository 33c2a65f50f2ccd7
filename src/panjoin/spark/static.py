"""Both sides static: the same messages and the same worker, in one batch job and without state.

    messages ── groupBy(worker).applyInArrow ──> rows

All tuples are one micro-batch, the left ones first; then both sides end, and everything unmatched is handed out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from panjoin.spark.pack import in_order, messages_of
from panjoin.spark.plan import SIDES, JoinPlan
from panjoin.spark.processor import ANSWER, packed
from panjoin.spark.resident import Resident
from panjoin.spark.worker_keys import worker_key


@dataclass(frozen=True)
class StaticJoin:
    """For `applyInArrow`: all messages of a worker into rows under the names of the result."""

    plan: JoinPlan
    schema: pa.Schema

    def rows(self, key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of one worker."""
        for rows in self._joined(key, batches):
            yield pa.RecordBatch.from_arrays(rows.columns, schema=self.schema)

    def _joined(self, key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = {worker_key(number): number for number in range(self.plan.workers)}
        resident = Resident(self.plan, numbers[key[0].as_py()])
        messages = in_order(message for batch in batches for message in messages_of(batch))
        for side in SIDES:
            yield from resident.receive(side, (message.piece() for message in messages if message.side == side))
            resident.crew.clear()
        yield from resident.end()

    def answers(self, key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The pieces of one worker's answers, where those of several have to be added."""
        for label, payload in packed(self._joined(key, batches)):
            answer = {"payload": [payload.to_pybytes()], "label": [label], "progress": [None]}
            yield pa.RecordBatch.from_pydict(answer, schema=ANSWER)
