"""Bytes that we store, framed so that damage is seen before anything reads them.

    | magic PJST | format u16 | kind u16 | length u64 | CRC-32 u32 | body ...

Invariant: `unframed` gives exactly the body that `framed` was given, or raises DamageError naming what is wrong where.
A chunk's body is an Arrow IPC stream: tuples of one subwindow in order of arrival, with their arrival numbers.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.errors import DamageError

Array = npt.NDArray[Any]

FORMAT = 1
HEADER, CHUNK, MARKS, BORN = 1, 2, 3, 6  #: kinds in the state
MANIFEST, PARTS = 4, 5  #: kinds in resident files
_MAGIC = b"PJST"
_FRAME = struct.Struct("<4sHHQI")
_NUMBERS = "arrival number"  #: the last column, where numbers are listed; found by its place, any name is free


def framed(kind: int, body: Any) -> bytes:
    """The body behind its frame."""
    view = memoryview(body)
    return b"".join([_FRAME.pack(_MAGIC, FORMAT, kind, view.nbytes, zlib.crc32(view)), view])


def unframed(blob: bytes | bytearray | memoryview | None, kind: int, what: str) -> memoryview:
    """The body; `what` names the blob in messages."""
    if blob is None:
        raise damage(what, "it is missing")
    if len(blob) < _FRAME.size:
        raise damage(what, f"it has {len(blob)} bytes, less than the {_FRAME.size} of a frame")
    magic, version, found, length, checksum = _FRAME.unpack_from(blob)
    body = memoryview(blob)[_FRAME.size :]
    if magic != _MAGIC:
        raise damage(what, f"it begins with {bytes(magic)!r} instead of {_MAGIC!r}")
    if version != FORMAT:
        raise damage(what, f"it has format {version}, this version of panjoin reads format {FORMAT}")
    if found != kind:
        raise damage(what, f"it is of kind {found} instead of {kind}")
    if length != body.nbytes:
        raise damage(what, f"it should have {length} bytes behind the frame and has {body.nbytes}")
    if zlib.crc32(body) != checksum:
        raise damage(what, f"its checksum is {zlib.crc32(body):08x} instead of {checksum:08x}")
    return body


def damage(what: str, reason: str) -> DamageError:
    """To raise: `what` names the blob, `reason` what is wrong with it."""
    return DamageError(
        f"{what} in the state is damaged: {reason}. Restore the checkpoint from a copy, or start with a new "
        f"checkpointLocation; nothing was computed from the damaged bytes"
    )


@dataclass(frozen=True)
class Chunk:
    """Tuples that a subwindow took in together."""

    rows: pa.RecordBatch
    first_no: int
    numbers: Array | None = None  #: where they are not first_no, first_no + 1, ...
    late: bool = False  #: they went into the buffer beside the subwindow

    def to_bytes(self) -> bytes:
        """Framed."""
        columns, fields = list(self.rows.columns), list(self.rows.schema)
        if self.numbers is not None:
            columns.append(pa.array(self.numbers, pa.int64()))
            fields.append(pa.field(_NUMBERS, pa.int64()))
        notes = {"first_no": str(self.first_no), "late": str(int(self.late)), "listed": str(len(self.rows.columns))}
        schema = pa.schema(fields, metadata=notes)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as stream:
            stream.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
        return framed(CHUNK, sink.getvalue())

    @classmethod
    def of(cls, blob: bytes | bytearray | None, schema: pa.Schema, what: str) -> Chunk:
        """From what `to_bytes` gave; with the columns of `schema`, which may be some of those that were stored."""
        body = unframed(blob, CHUNK, what)
        try:
            batch = pa.ipc.open_stream(body).read_next_batch()
            notes = batch.schema.metadata
            own = int(notes[b"listed"])
            places = {name: place for place, name in enumerate(batch.schema.names[:own])}
            rows = pa.RecordBatch.from_arrays([batch.column(places[name]) for name in schema.names], schema=schema)
            numbers = batch.column(own).to_numpy() if batch.num_columns > own else None
            return cls(rows, int(notes[b"first_no"]), numbers, notes[b"late"] == b"1")
        except (pa.ArrowException, OSError, KeyError, ValueError, TypeError, StopIteration) as error:
            raise damage(what, f"its checksum is right, but it does not read as Arrow: {error}") from error


def marks_to_bytes(matched: Array) -> bytes:
    """Which tuples of a subwindow have found a partner."""
    return framed(MARKS, np.packbits(matched))


def marks_of(blob: bytes | bytearray | None, size: int, what: str) -> Array:
    """From what `marks_to_bytes` gave."""
    packed = np.frombuffer(unframed(blob, MARKS, what), np.uint8)
    if len(packed) != -(-size // 8):
        raise damage(what, f"it has marks for {8 * len(packed)} tuples instead of {size}")
    return np.unpackbits(packed, count=size).astype(bool)
