"""Messages: how tuples cross Spark (paper, Collecting). Spark converts rows one by one, so few rows carry many tuples.

    Arrow batches of a task ──Packer──> | worker | side | partition | sequence | rows | places | payload   |
                                        |      1 | left |         3 |        0 |  1M  | bitmap | Arrow IPC |
    rows of the result <──Unpacker── | payload |

A block of tuples is one message for everybody (worker is NULL), or, where a router says who gets what, one message per
worker with its share, and the places of these tuples in the block, where arrival numbers matter. Every worker hears of
every block, also with no tuple of it: all count the same arrival numbers.

Order: messages sort by (side, source partition, sequence), left first; that is the order of arrival in every worker,
and the same when Spark repeats a micro-batch. Partitions and tasks without rows send nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from panjoin.chain.batch import LEFT
from panjoin.expression import Side
from panjoin.spark.piece import Piece
from panjoin.spark.places import packed_places, places_of
from panjoin.spark.worker_keys import worker_key

#: Tuples and bytes per message. Below 64 MB, Spark's own limit of an Arrow batch, a message needs no batch of its own.
MOST_ROWS, MOST_BYTES = 1 << 20, 32 << 20

MESSAGE = pa.schema(
    [
        pa.field("worker", pa.int32()),
        pa.field("side", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("sequence", pa.int32(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("places", pa.binary(), nullable=False),
        pa.field("payload", pa.binary(), nullable=False),
    ]
)
MESSAGE_DDL = (
    "worker int, side string not null, partition int not null, sequence int not null, rows long not null, "
    "places binary not null, payload binary"
)


class Router(Protocol):
    """Who gets what."""

    workers: int

    def route(self, side: Side, rows: pa.RecordBatch, first: int) -> list[Any]:
        """Per worker the ascending positions of its tuples."""


@dataclass(frozen=True)
class Packer:
    """For `mapInArrow`: one side's rows into messages."""

    side: Side
    schema: pa.Schema
    router: Router | None = None
    numbered: bool = True  #: whether the receivers need places

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The messages of this task."""
        context = TaskContext.get()
        partition = 0 if context is None else context.partitionId()
        fitted = (fit(batch, self.schema) for batch in batches)
        if self.router is not None:
            yield from self._routed(self.router, fitted, partition)
            return
        for sequence, (rows, payload) in enumerate(payloads(fitted, self.schema)):
            yield self._message(None, partition, sequence, rows, b"", payload)

    def _routed(self, router: Router, batches: Iterable[pa.RecordBatch], partition: int) -> Iterator[pa.RecordBatch]:
        first = partition << 40
        blocks = grouped(_cut(batches), MOST_ROWS * router.workers, MOST_BYTES)
        for sequence, block in enumerate(blocks):
            rows = block[0] if len(block) == 1 else pa.concat_batches(block)
            for worker, positions in enumerate(router.route(self.side, rows, first)):
                own = rows if len(positions) == rows.num_rows else rows.take(pa.array(positions))
                places = packed_places(positions, rows.num_rows) if self.numbered else b""
                yield self._message(worker, partition, sequence, rows.num_rows, places, _stream([own], self.schema))
            first += rows.num_rows

    def _message(
        self, worker: int | None, partition: int, sequence: int, rows: int, places: bytes, payload: pa.Buffer
    ) -> pa.RecordBatch:
        key = None if worker is None else worker_key(worker)
        head: list[Any] = [[key], [self.side], [partition], [sequence], [rows], [places]]
        arrays = [pa.array(value, field.type) for value, field in zip(head, MESSAGE, strict=False)]
        return pa.RecordBatch.from_arrays([*arrays, _binary(payload)], schema=MESSAGE)


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
class Repacker:
    """For `mapInArrow`: what makes rows of a result, made to give payloads of them instead."""

    maker: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The payloads of this task."""
        for _, payload in payloads(self.maker(batches), self.schema):
            yield pa.RecordBatch.from_arrays([_binary(payload)], ["payload"])


@dataclass(frozen=True)
class Message:
    """What a worker receives."""

    side: Side
    partition: int
    sequence: int
    rows: int
    places: Any
    payload: Any

    def piece(self) -> Piece:
        """Its tuples."""
        batches = tuple(opened(self.payload))
        here = sum(batch.num_rows for batch in batches)
        if here == self.rows or not self.places:
            return Piece(batches, None, here, self.rows)
        return Piece(batches, places_of(self.places, self.rows), self.rows, self.rows)

    @property
    def order(self) -> tuple[bool, int, int]:
        """Left messages first."""
        return self.side != LEFT, self.partition, self.sequence


def message_of(row: Any) -> Message:
    """From a row that Spark hands out."""
    return Message(row.side, row.partition, row.sequence, row.rows, row.places, row.payload)


def messages_of(batch: pa.RecordBatch) -> Iterator[Message]:
    """From an Arrow batch that Spark hands out."""
    columns = [batch.column(field.name) for field in MESSAGE][1:]
    for *head, payload in zip(*columns, strict=True):
        side, partition, sequence, rows, places = (value.as_py() for value in head)
        yield Message(side, partition, sequence, rows, places, payload.as_buffer())


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
        yield sum(batch.num_rows for batch in group), _stream(group, schema)


def _stream(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    return sink.getvalue()


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
