"""Messages: how tuples cross Spark (paper, Collecting). Spark converts rows one by one, so few rows carry many tuples.

    Arrow batches of a task ──Packer──> | side | partition | sequence | rows | payload |     one row: up to 1M tuples
                                        | left |         3 |        0 |  1M  | Arrow IPC |
    rows of the result <──Unpacker── | payload |

Order: messages sort by (side, source partition, sequence), left first; that is the order of arrival in every worker,
and the same when Spark repeats a micro-batch. Partitions and tasks without rows send nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from panjoin.chain.batch import LEFT
from panjoin.expression import Side

#: Tuples and bytes per message. Below 64 MB, Spark's own limit of an Arrow batch, a message needs no batch of its own.
MOST_ROWS, MOST_BYTES = 1 << 20, 32 << 20

MESSAGE = pa.schema(
    [
        pa.field("side", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("sequence", pa.int32(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("payload", pa.binary(), nullable=False),
    ]
)
MESSAGE_DDL = "side string not null, partition int not null, sequence int not null, rows long not null, payload binary"


@dataclass(frozen=True)
class Packer:
    """For `mapInArrow`: one side's rows into messages."""

    side: Side
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The messages of this task."""
        context = TaskContext.get()
        partition = 0 if context is None else context.partitionId()
        fitted = (fit(batch, self.schema) for batch in batches)
        for sequence, (rows, payload) in enumerate(payloads(fitted, self.schema)):
            head: list[Any] = [[self.side], [partition], [sequence], [rows]]
            arrays = [pa.array(value, field.type) for value, field in zip(head, MESSAGE, strict=False)]
            yield pa.RecordBatch.from_arrays([*arrays, _binary(payload)], schema=MESSAGE)


@dataclass(frozen=True)
class Unpacker:
    """For `mapInArrow`: payloads into rows, under the names of the result."""

    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of this task."""
        for batch in batches:
            for payload in batch.column(0).drop_null():
                for rows in opened(payload.as_buffer()):
                    yield pa.RecordBatch.from_arrays(rows.columns, schema=self.schema)


@dataclass(frozen=True)
class Message:
    """What a worker receives."""

    side: Side
    partition: int
    sequence: int
    payload: Any

    @property
    def order(self) -> tuple[bool, int, int]:
        """Left messages first."""
        return self.side != LEFT, self.partition, self.sequence


def in_order(messages: Iterable[Message]) -> list[Message]:
    """Messages as all workers process them."""
    return sorted(messages, key=lambda message: message.order)


def fit(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch in the schema of the join: Spark's time zone and layout of texts depend on session settings."""
    if batch.schema.equals(schema):
        return batch
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def payloads(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[tuple[int, pa.Buffer]]:
    """(rows, Arrow IPC stream) for as many batches at a time as a message holds."""
    for group in grouped(_cut(batches), MOST_ROWS, MOST_BYTES):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as stream:
            for batch in group:
                stream.write_batch(batch)
        yield sum(batch.num_rows for batch in group), sink.getvalue()


def grouped(batches: Iterable[pa.RecordBatch], rows: int, size: int) -> Iterator[list[pa.RecordBatch]]:
    """Nonempty batches, as many together as stay within `rows` and `size` bytes, and at least one."""
    held: list[pa.RecordBatch] = []
    held_rows = held_size = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        if held and (held_rows + batch.num_rows > rows or held_size + batch.nbytes > size):
            yield held
            held, held_rows, held_size = [], 0, 0
        held.append(batch)
        held_rows += batch.num_rows
        held_size += batch.nbytes
    if held:
        yield held


def opened(payload: Any) -> Iterator[pa.RecordBatch]:
    """The batches of an Arrow IPC stream."""
    with pa.ipc.open_stream(payload) as stream:
        yield from stream


def cut(batch: pa.RecordBatch, rows: int, size: int) -> Iterator[pa.RecordBatch]:
    """The batch in slices of at most `rows` rows and about `size` bytes."""
    fitting = max(1, min(rows, size * batch.num_rows // max(1, batch.nbytes)))
    for first in range(0, batch.num_rows, fitting):
        yield batch.slice(first, fitting)


def _cut(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from cut(batch, MOST_ROWS, MOST_BYTES)


def _binary(payload: pa.Buffer) -> pa.Array:
    """An array of one value, without a copy."""
    offsets = pa.py_buffer(np.array([0, payload.size], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, payload])
