"""One file of named arrays and rows that any process maps: written once, renamed into place, never changed.

    | length u64 | framed header (JSON) | pad | keys ... | pad | ids ... | pad | Arrow IPC stream ... |
                                              each part begins at a multiple of 64 and has its own CRC-32 in the header

Invariant: `Reader.open` gives exactly the parts that `write` was given, as views of the map, or raises UnusableError. A
file is known by its size, inode and time of change, which the writer notes (`Stored`): a shorter, other or later
changed file is refused before it is mapped, as reading a map past the end of its file would kill the process (SIGBUS).
Checksums of parts are verified the first time that a process opens a file and not again, so that taking over a window
costs no pass over it.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.errors import DamageError
from panjoin.spark.chunk import PARTS, framed, unframed

Array = npt.NDArray[Any]
Part: TypeAlias = "Array | pa.RecordBatch"

_LENGTH = struct.Struct("<Q")
_ALIGNED = 64  #: a cache line, and what Arrow wants
_ROWS = "rows"  #: in the place of a type: an Arrow IPC stream
#: Files whose checksums a process remembers to have verified.
_VERIFIED_KEPT = 4096


class UnusableError(Exception):
    """A resident file cannot be used; what it held is made again from the state."""


@dataclass(frozen=True)
class Stored:
    """A file as it was when it had been written."""

    name: str
    size: int
    inode: int
    changed: int  #: nanoseconds

    @classmethod
    def of(cls, name: str, status: os.stat_result) -> Stored:
        """From what the system says of it."""
        return cls(name, status.st_size, status.st_ino, status.st_mtime_ns)


class Contents(NamedTuple):
    """What is in a file."""

    notes: dict[str, Any]
    arrays: dict[str, Array]
    rows: pa.RecordBatch | None


def write(path: Path, notes: Mapping[str, Any], parts: Mapping[str, Part]) -> Stored:
    """Make the file; nobody ever sees half of it. OSError when there is no room."""
    bodies, table, end = [], {}, 0
    for name, part in parts.items():
        body = _body(part)
        kind, shape = (_ROWS, None) if isinstance(part, pa.RecordBatch) else (part.dtype.str, part.shape)
        table[name] = [kind, shape, end, body.nbytes, zlib.crc32(body)]
        bodies.append(body)
        end = _aligned(end + body.nbytes)
    header = framed(PARTS, json.dumps({"notes": dict(notes), "parts": table}).encode())
    head = _LENGTH.pack(len(header)) + header
    hidden = path.with_name(f".{path.name}")
    try:
        with os.fdopen(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", buffering=0) as file:
            _write_all(file, head.ljust(_aligned(len(head)), b"\0"))
            for body in bodies:
                _write_all(file, body)
                _write_all(file, bytes(-body.nbytes % _ALIGNED))
        hidden.rename(path)
    except BaseException:
        with suppress(OSError):
            hidden.unlink()
        raise
    return Stored.of(path.name, path.stat())


class Reader:
    """Opens files in one process."""

    def __init__(self) -> None:
        self._verified: OrderedDict[Stored, None] = OrderedDict()

    def trust(self, stored: Stored) -> None:
        """Its checksums are right: we have just computed them."""
        self._verified[stored] = None
        while len(self._verified) > _VERIFIED_KEPT:
            self._verified.popitem(last=False)

    def open(self, directory: Path, stored: Stored) -> Contents:
        """Its parts, as read-only views."""
        view = _map(directory, stored)
        (length,) = _LENGTH.unpack_from(view) if len(view) >= _LENGTH.size else (0,)
        try:
            described = json.loads(bytes(unframed(view[_LENGTH.size : _LENGTH.size + length], PARTS, stored.name)))
        except DamageError as error:
            raise UnusableError(str(error)) from error
        start = _aligned(_LENGTH.size + length)
        arrays: dict[str, Array] = {}
        rows = None
        for name, (kind, shape, offset, size, checksum) in described["parts"].items():
            body = view[start + offset : start + offset + size]
            if body.nbytes != size:
                raise UnusableError(f"{stored.name} ends inside {name}")
            if stored not in self._verified and zlib.crc32(body) != checksum:
                raise UnusableError(f"{name} in {stored.name} has not the checksum that it was written with")
            if kind == _ROWS:
                rows = pa.ipc.open_stream(pa.py_buffer(body)).read_next_batch()
            else:
                arrays[name] = np.frombuffer(body, np.dtype(kind)).reshape(shape)
        self.trust(stored)
        return Contents(described["notes"], arrays, rows)


def unchanged(directory: Path, stored: Stored) -> bool:
    """Whether the file is still as it was written."""
    try:
        return Stored.of(stored.name, (directory / stored.name).lstat()) == stored
    except OSError:
        return False


def _map(directory: Path, stored: Stored) -> memoryview:
    path = directory / stored.name
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise UnusableError(f"{path}: {error.strerror}") from error
    try:
        found = Stored.of(stored.name, os.fstat(descriptor))
        if found != stored:
            raise UnusableError(f"{path} is not as it was written: {found} instead of {stored}")
        return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        raise UnusableError(f"{path} cannot be mapped: {error}") from error
    finally:
        os.close(descriptor)


def _body(part: Part) -> memoryview:
    if isinstance(part, pa.RecordBatch):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, part.schema) as stream:
            stream.write_batch(part)
        return memoryview(sink.getvalue())
    return np.ascontiguousarray(part).data.cast("B") if part.size else memoryview(b"")


def _write_all(file: Any, body: memoryview | bytes) -> None:
    view = memoryview(body)
    while view.nbytes:
        view = view[file.write(view) :]


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
