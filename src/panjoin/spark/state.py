"""The state of record: what a worker would need if everything but Spark's state store were gone.

    header    one value: version, stamp, the join's parameters, the manager's books, counts, watermark, timer
    chunks    (side, subwindow, part) -> tuples that this worker's subwindow received, at most about 8 MB each
              (side, subwindow, -1)   -> marks: which of them have a partner (outer, semi and anti joins)
              ("", 0, 0)              -> the lineage, from the first micro-batch on: a header that is gone is missed

A micro-batch writes what it brought and removes what expired: O(batch), not O(window). Chunks of 8 MB were written at
100-160 MB/s, values of 33 MB at 28. Spark commits all of a micro-batch or nothing.

The stamp is new and random at every write. Windows in memory that carry the stamp just read are what this state says; a
task that failed leaves a stamp that no committed state will ever carry.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructField, StructType

from panjoin.errors import DamageError
from panjoin.expression import Side
from panjoin.spark.chunk import BORN, HEADER, Chunk, damage, framed, unframed
from panjoin.spark.pack import cut

CHUNK_BYTES = 8 << 20
_MARKS, _LATE_MARKS = -1, -2  #: in the place of a part's number
_BORN = ("", 0, 0)  #: without it, a worker whose header is lost would begin anew, and give wrong rows

_HEADER = "the header of the join"
_HEADER_TYPE = StructType([StructField("bytes", BinaryType())])
_CHUNK_KEY = StructType(
    [StructField("side", StringType()), StructField("subwindow", LongType()), StructField("part", IntegerType())]
)
_CHUNK_VALUE = StructType([StructField("bytes", BinaryType())])


class Handle(Protocol):
    """As much of Spark's StatefulProcessorHandle as we use."""

    def getValueState(self, stateName: str, schema: Any) -> Any:
        """One value per key."""

    def getMapState(self, stateName: str, userKeySchema: Any, valueSchema: Any) -> Any:
        """A map per key."""


@dataclass(frozen=True)
class Header:
    """The one value; subwindow numbers are text in `parts` and `marked`, as JSON has it."""

    parameters: dict[str, Any]
    books: dict[str, Any] = field(default_factory=dict)
    arrived: dict[Side, int] = field(default_factory=dict)
    late: dict[Side, int] = field(default_factory=dict)
    watermark: int | None = None  #: microseconds
    timer: int | None = None  #: milliseconds; the one that is registered
    parts: dict[str, dict[str, int]] = field(default_factory=lambda: {"left": {}, "right": {}})
    marked: dict[str, dict[str, list[list[int]]]] = field(default_factory=lambda: {"left": {}, "right": {}})
    stored: dict[str, dict[str, int]] = field(default_factory=lambda: {"left": {}, "right": {}})  #: bytes of chunks
    version: int = 0
    stamp: str = ""
    lineage: str = field(default_factory=lambda: secrets.token_hex(16))  #: from the first micro-batch on

    def next(self, **changes: Any) -> Header:
        """The next version."""
        return replace(self, version=self.version + 1, stamp=secrets.token_hex(16), **changes)

    def to_bytes(self) -> bytes:
        """Framed."""
        return framed(HEADER, json.dumps(asdict(self), sort_keys=True).encode())

    @classmethod
    def of(cls, blob: bytes | bytearray) -> Header:
        """From what `to_bytes` gave."""
        body = bytes(unframed(blob, HEADER, _HEADER))
        try:
            plain = json.loads(body)
            return cls(**{**plain, "parameters": {**plain["parameters"]}})
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise damage(_HEADER, f"its checksum is right, but it does not read as a header: {error}") from error


class StateOfRecord:
    """Reads and writes it, for the key that Spark is at."""

    def __init__(self, handle: Handle) -> None:
        """Called in `init`, which Spark runs on the driver as well: nothing is read here."""
        self.written = 0  #: bytes, by this process
        self._header = handle.getValueState("header", _HEADER_TYPE)
        self._chunks = handle.getMapState("chunks", _CHUNK_KEY, _CHUNK_VALUE)

    def read(self) -> Header | None:
        """The header; None when this worker has never been called."""
        value = self._header.get()
        if value is not None:
            return Header.of(value[0])
        if self._chunks.exists():
            unframed(None, HEADER, _HEADER)
        return None

    def write(self, header: Header) -> None:
        """Last of all."""
        if header.version == 1:
            self._chunks.updateValue(_BORN, (framed(BORN, header.lineage.encode()),))
        self._header.update((header.to_bytes(),))

    # ---- chunks ----

    def append(self, side: Side, subwindow: int, parts: int, chunk: Chunk) -> int:
        """Store tuples behind the `parts` that there are; returns how many there are then."""
        first = 0
        for rows in cut(chunk.rows, chunk.rows.num_rows, CHUNK_BYTES):
            last = first + rows.num_rows
            numbers = None if chunk.numbers is None else chunk.numbers[first:last]
            piece = Chunk(rows, chunk.first_no + first, numbers, chunk.late)
            blob = piece.to_bytes()
            self._chunks.updateValue((side, subwindow, parts), (blob,))
            self.written += len(blob)
            first, parts = last, parts + 1
        return parts

    def chunks(self, side: Side, subwindow: int, parts: int, schema: pa.Schema) -> Iterator[Chunk]:
        """All tuples of a subwindow, in the order in which they were stored."""
        for part in range(parts):
            value = self._chunks.getValue((side, subwindow, part))
            what = f"part {part} of {side} subwindow {subwindow}"
            yield Chunk.of(None if value is None else value[0], schema, what)

    def put_marks(self, side: Side, subwindow: int, late: bool, blob: bytes) -> None:
        """Store marks."""
        self._chunks.updateValue((side, subwindow, _LATE_MARKS if late else _MARKS), (blob,))

    def marks(self, side: Side, subwindow: int, late: bool) -> bytes | None:
        """The marks as stored."""
        value = self._chunks.getValue((side, subwindow, _LATE_MARKS if late else _MARKS))
        return None if value is None else value[0]

    def remove(self, side: Side, subwindow: int, parts: int, marked: Sequence[bool]) -> None:
        """Forget a subwindow, its marks and those of its late buffer, where there are some."""
        marks = [part for part, there in zip((_MARKS, _LATE_MARKS), marked, strict=True) if there]
        for part in (*range(parts), *marks):
            self._chunks.removeKey((side, subwindow, part))


def refuse_size(side: Side, subwindow: int, stored: tuple[int, int], booked: tuple[int, int]) -> None:
    """Raise when chunks do not add up to what the books say."""
    if stored != booked:
        raise DamageError(
            f"{side} subwindow {subwindow} has {stored[0]} tuples and {stored[1]} late ones in the state, but the "
            f"books say {booked[0]} and {booked[1]}; restore the checkpoint from a copy, or start with a new one"
        )
