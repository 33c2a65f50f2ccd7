"""One static side: a table that every task of the stream holds whole, so that nothing has to be remembered.

    stream ─ mapInArrow(Asker) ─ | ask | 1M tuples | 1M tuples |
                                   │ left join, broadcast
    table  ─ mapInArrow(Packer) ─ | messages of the table |
                                   v
             mapInArrow(TableJoin)   the table's messages first, indexed once per process ── then the stream's, probing

The first row of a task asks for the table: only beside that row Spark puts the table's messages, so they cross once per
task. The index stays in the process, under the digest of what it was made of, for the next micro-batch.

The table is there from the start and complete. So all tuples of the stream see all of it that the window allows,
whatever their order; none is late; and who has no match never will, and comes out at once.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from panjoin.chain.batch import OPPOSITE
from panjoin.errors import StateError
from panjoin.expression import Side
from panjoin.spark.pack import MESSAGE, Message, Packer, in_order, opened
from panjoin.spark.plan import JoinPlan
from panjoin.spark.resident import Resident

#: Tables that a process keeps: those of two queries with two joins each.
TABLES_KEPT = 4


def beside(stream: DataFrame, table: DataFrame) -> DataFrame:
    """Messages of the stream, and beside each task's question those of the table."""
    asking = stream.select(sf.when(sf.length("payload") == 0, 0).alias("asks"), "payload")
    known = table.select(sf.lit(0).alias("answers"), "partition", "sequence", sf.col("payload").alias("known"))
    return asking.join(sf.broadcast(known), sf.col("asks") == sf.col("answers"), "left").drop("asks", "answers")


@dataclass(frozen=True)
class Asker:
    """For `mapInArrow`: one side's rows into messages, behind a question for the table if there are any."""

    packer: Packer

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The question is a message without a payload."""
        asked = False
        for message in self.packer(batches):
            if not asked:
                question: list[Any] = [[None], [self.packer.side], [0], [0], [0], [b""], [b""]]
                columns = [pa.array(value, field.type) for value, field in zip(question, MESSAGE, strict=True)]
                yield pa.RecordBatch.from_arrays(columns, schema=MESSAGE)
                asked = True
            yield message


class Tables:
    """Indexed tables by the digest of what they were made of."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[bytes, Resident] = OrderedDict()

    def get(self, plan: JoinPlan, side: Side, messages: list[Message]) -> Resident:
        """The table, indexed now unless this process has it."""
        digest = hashlib.blake2b(side.encode())
        for message in messages:
            digest.update(message.payload)  # about 1 GB/s: a tenth of what indexing costs
        known = self._held.pop(digest.digest(), None)
        if known is None or known.plan != plan:
            known = _indexed(plan, side, messages)
        self._held[digest.digest()] = known
        while len(self._held) > self._most:
            self._held.popitem(last=False)
        return known


TABLES = Tables(TABLES_KEPT)


def _indexed(plan: JoinPlan, side: Side, messages: list[Message]) -> Resident:
    resident = Resident(plan, 0)
    for _ in resident.receive(side, (message.piece() for message in messages)):
        pass  # nothing is there yet that the table could match
    resident.crew.clear()
    return resident


@dataclass(frozen=True)
class TableJoin:
    """For `mapInArrow`: messages of the stream, behind those of the table, into rows under the names of the result."""

    plan: JoinPlan
    table: Side
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of this task."""
        stream, indexed = OPPOSITE[self.table], None
        messages: list[Message] = []
        for payload, partition, sequence, known in _values(batches):
            if known.is_valid:
                if indexed is not None:
                    raise StateError(
                        "the table came after the stream; use a Spark that broadcasts it, as the plan says"
                    )
                messages.append(Message(self.table, partition.as_py(), sequence.as_py(), 0, b"", known.as_buffer()))
            elif payload.as_buffer().size:
                if indexed is None:
                    indexed = TABLES.get(self.plan, self.table, in_order(messages))
                    messages.clear()
                for rows in opened(payload.as_buffer()):
                    for found in indexed.ask(stream, rows):
                        yield pa.RecordBatch.from_arrays(found.columns, schema=self.schema)


def _values(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.Scalar, ...]]:
    for batch in batches:
        yield from zip(*(batch[name] for name in ("payload", "partition", "sequence", "known")), strict=True)
