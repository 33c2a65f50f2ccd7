"""Which files a micro-batch takes: the offset of a packed source (`sources.py`).

    directory      taken, in the order of (time of change, name)      offset after it
    a b _c.tmp     a b                                                number 1, files [a b], newest 10:02, known {a b}
    a b c          c                                                  number 2, files [c],   newest 10:05, known {a b c}

An offset lists the files of its own micro-batch as they were when they were taken (name, size, time), so a micro-batch
that Spark repeats reads the same bytes or fails with the name of the file that is not the same any more. What was taken
before is known by short digests, 28 letters a file, as long as its time is at most `age` before the newest one taken.

Invariant: a file is taken once. Names that begin with `_` or `.` are not looked at: write there, then rename.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from panjoin.errors import DataError

_NAME_BYTES, _STAMP_BYTES = 6, 4
_NAME_LETTERS = 2 * _NAME_BYTES
_STAMP_LETTERS = 2 * _STAMP_BYTES
_NS_PER_MICRO, _NS_PER_SECOND = 1000, 10**9
_HIDDEN = ("_", ".")


class Taken(NamedTuple):
    """A file as it was when it was taken: its path below the directory, bytes, and nanoseconds since 1970."""

    name: str
    size: int
    changed: int

    @property
    def digest(self) -> str:
        """Of the name, then of the rest, then the second of its time."""
        name = blake2b(self.name.encode("utf-8", "surrogateescape"), digest_size=_NAME_BYTES).hexdigest()
        stamp = blake2b(f"{self.size} {self.changed}".encode(), digest_size=_STAMP_BYTES).hexdigest()
        return f"{name}{stamp}{self.changed // _NS_PER_SECOND:x}"


@dataclass(frozen=True)
class Position:
    """How far a directory has been read."""

    number: int  #: of steps that took something
    files: tuple[Taken, ...]  #: of the last step
    newest: int  #: time of the newest file that was ever taken
    known: tuple[str, ...]  #: digests of files taken, not older than `newest` by more than the age

    @classmethod
    def start(cls) -> Position:
        """Nothing has been taken."""
        return cls(0, (), 0, ())

    @classmethod
    def from_offset(cls, offset: dict[str, Any]) -> Position:
        """From what Spark's offset log has kept."""
        try:
            files = tuple(Taken(str(name), int(size), int(changed)) for name, size, changed in offset["files"])
            known = tuple(str(each) for each in offset["known"])
            return cls(int(offset["number"]), files, int(offset["newest"]), known)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                "the checkpoint's offset is not that of a packed source; restart the query with the sources that it "
                "had, or with a new checkpointLocation"
            ) from error

    def offset(self) -> dict[str, Any]:
        """As Spark's offset log keeps it."""
        files = [[each.name, each.size, each.changed] for each in self.files]
        return {"number": self.number, "files": files, "newest": self.newest, "known": list(self.known)}


def listed(directory: Path) -> list[Taken]:
    """The files that are there, in order."""
    found: list[Taken] = []
    _walk(directory, "", found)
    return sorted(found, key=lambda each: (each.changed, each.name))


def _walk(directory: Path, prefix: str, found: list[Taken]) -> None:
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.startswith(_HIDDEN):
                    continue
                if entry.is_dir():
                    _walk(Path(entry.path), f"{prefix}{entry.name}/", found)
                    continue
                at = entry.stat()
                found.append(Taken(prefix + entry.name, at.st_size, at.st_mtime_ns))
    except OSError as error:
        what = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be listed ({error.strerror})"
        raise DataError(
            f"the directory {error.filename or directory} of a packed source {what}; make it before the query starts, "
            f"readable where the driver runs and on every executor"
        ) from error


def advanced(start: Position, files: Sequence[Taken], most: int | None, age: int, where: Path) -> Position:
    """The position after at most `most` new files out of `files`, which are in order; `start` if there is none.

    `age` is in microseconds.
    """
    known = {digest[:_NAME_LETTERS]: digest for digest in start.known}
    horizon = start.newest - age * _NS_PER_MICRO
    taken: list[Taken] = []
    for file in files:
        before = known.get(file.digest[:_NAME_LETTERS])
        if before is not None:
            if before != file.digest:
                raise DataError(
                    f"{where / file.name} has changed since a micro-batch took it; a packed source takes every file "
                    f"once, as it is: write new tuples into new files"
                )
            continue
        if start.number and file.changed < horizon:
            continue  # taken long ago, or older than all that may still come
        if most is None or len(taken) < most:
            taken.append(file)
    if not taken:
        return start
    newest = max(start.newest, taken[-1].changed)
    oldest = (newest - age * _NS_PER_MICRO) // _NS_PER_SECOND
    known_now = [*start.known, *(file.digest for file in taken)]  # also of files that are gone: they may be put back
    young = (digest for digest in known_now if int(digest[_NAME_LETTERS + _STAMP_LETTERS :], 16) >= oldest)
    return Position(start.number + 1, tuple(taken), newest, tuple(young))
