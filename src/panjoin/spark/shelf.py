"""The windows of one worker as files, so that any process of the executor goes on with them at once.

    sealed subwindow     one file: arrays of its index, rows, times, numbers          written when sealed, then mapped
    unsealed, late       runs: batches with sorted keys, merged like the digits of a binary counter   [8] [4] [1]
    manifest             per version of the state: which files make up the windows that equal it

    state says stamp S ──> manifest-S ──> files: map what is sealed, insert the few runs of what is not
                      └──> no such manifest, or a file that is not as it was written: windows are made from state again

Invariant: manifest-S exists only when all of its files are complete, and they hold what the state under S says. Files
never change. A task attempt adds files under a new stamp and touches nothing that an attempt beside it may read: what
is kept are the manifest of the committed stamp and those that were made from it (by this attempt, a failed one, or a
speculative one); all else is removed, under a lock.

Why runs: of 1M tuples that arrive in batches of N the newest subwindow is taken over by every process switch. See
`docs/operations.md` for the measured cost beside publishing the arrays of the unsealed index each time.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from panjoin import __version__
from panjoin.chain.batch import Batch
from panjoin.chain.subwindow import Subwindow
from panjoin.engine.commands import Insert
from panjoin.engine.spec import PRESERVED
from panjoin.errors import DamageError, SpaceError
from panjoin.expression import Side
from panjoin.spark.chunk import MANIFEST, framed, unframed
from panjoin.spark.mapped import Part, Reader, Stored, UnusableError, unchanged, write
from panjoin.spark.plan import JoinPlan
from panjoin.spark.residence import LOCK
from panjoin.spark.runs import digits, in_parts, joined, of_parts, piece

_MANIFEST = "manifest-"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Slot(NamedTuple):
    """Where a tuple is: in which subwindow of which side, and whether in the late buffer beside it."""

    side: Side
    number: int
    late: bool


@dataclass(frozen=True)
class Entry:
    """The files of one slot; a sealed subwindow has one, all others have runs, the largest and oldest first."""

    sealed: Stored | None = None
    runs: tuple[tuple[int, Stored], ...] = ()

    def files(self) -> Iterator[Stored]:
        """All of them."""
        if self.sealed is not None:
            yield self.sealed
        for _, stored in self.runs:
            yield stored


@dataclass
class Shelf:
    """What is written of the windows of one worker, in a directory of their own."""

    directory: Path
    reader: Reader
    limit: int | None  #: bytes that all windows of the executor may take
    entries: dict[Slot, Entry] = field(default_factory=dict)
    _taken: int = 0

    # ---- reading ----

    @classmethod
    def found(cls, directory: Path, reader: Reader, limit: int | None, stamp: str, plan: JoinPlan) -> Shelf | None:
        """What was written of the windows that equal the state under `stamp`, if it was; raises UnusableError."""
        path = directory / f"{_MANIFEST}{stamp}"
        try:
            body = unframed(path.read_bytes(), MANIFEST, path.name)
        except FileNotFoundError:
            return None
        except (OSError, DamageError) as error:
            raise UnusableError(f"{path}: {error}") from error
        manifest = json.loads(bytes(body))
        if manifest["made_by"] != fingerprint(plan):
            raise UnusableError("the windows were made by a join with other options, or another version")
        entries = {Slot(*slot): _entry(files) for slot, files in manifest["entries"]}
        return cls(directory, reader, limit, entries)

    def sealed(self, side: Side, number: int, *, tracked: bool) -> Subwindow | None:
        """A sealed subwindow over the map of its file, if it has one."""
        entry = self.entries.get(Slot(side, number, False))
        if entry is None or entry.sealed is None:
            return None
        return self._opened(Slot(side, number, False), entry, tracked=tracked)

    def _opened(self, slot: Slot, entry: Entry, *, tracked: bool) -> Subwindow:
        assert entry.sealed is not None
        notes, arrays, rows = self.reader.open(self.directory, entry.sealed)
        return Subwindow.open(slot.side, slot.number, notes, arrays, rows, tracked=tracked)

    def runs(self, slot: Slot) -> Iterator[Batch]:
        """What an unsealed subwindow or a late buffer took in, the oldest first."""
        for _, stored in self.entries.get(slot, Entry()).runs:
            yield of_parts(slot.side, self.reader.open(self.directory, stored))

    @property
    def intact(self) -> bool:
        """Whether all files are still as they were written: a map of one that was cut must not be read."""
        return all(unchanged(self.directory, stored) for entry in self.entries.values() for stored in entry.files())

    # ---- writing ----

    def publish(
        self,
        subwindows: Iterable[tuple[Subwindow, bool]],
        fresh: Iterable[tuple[Insert, Batch]],
        plan: JoinPlan,
        stamps: Stamps,
    ) -> None:
        """Write what came since the windows were those of the committed stamp, and the manifest of the next one.

        `subwindows` are all that there are, and whether each is a late buffer. A sealed one is held in the map of its
        file from now on. UnusableError when files were lost meanwhile, SpaceError when there is no room.
        """
        with _locked(self.directory):
            if not self.intact:
                raise UnusableError(f"files in {self.directory} were changed or removed while they were in use")
            self._taken = 0 if self.limit is None else _bytes_below(self.directory.parent)
            try:
                self._write(subwindows, _by_slot(fresh), plan, stamps)
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                raise _full(self.directory, f"{error.strerror}; make room there") from error
            _prune(self.directory, stamps)

    def _write(
        self,
        subwindows: Iterable[tuple[Subwindow, bool]],
        fresh: dict[Slot, list[Batch]],
        plan: JoinPlan,
        stamps: Stamps,
    ) -> None:
        entries = {}
        for subwindow, late in subwindows:
            slot = Slot(subwindow.side, subwindow.number, late)
            known = self.entries.get(slot, Entry())
            if late or not subwindow.sealed:
                entries[slot] = self._with_runs(known, slot, fresh.get(slot, []), stamps.next)
            elif known.sealed is None:
                if slot.side in PRESERVED[plan.options.how] and subwindow.timed:
                    subwindow.order_by_time()  # when tuples leave one by one, every process would sort them
                entries[slot] = self._with_seal(slot, subwindow, stamps.next)
            else:
                entries[slot] = known
        self.entries = entries
        listed = [[list(slot), asdict(entry)] for slot, entry in entries.items()]
        manifest = {"parent": stamps.committed, "made_by": fingerprint(plan), "entries": listed}
        path = self.directory / f"{_MANIFEST}{stamps.next}"
        hidden = path.with_name(f".{path.name}")
        hidden.write_bytes(framed(MANIFEST, json.dumps(manifest).encode()))
        hidden.rename(path)

    def _with_runs(self, known: Entry, slot: Slot, fresh: list[Batch], stamp: str) -> Entry:
        if not fresh:
            return known
        kept = list(known.runs)
        tail = digits([size for size, _ in kept], sum(run.size for run in fresh))
        older = [
            of_parts(slot.side, self.reader.open(self.directory, stored)) for _, stored in kept[len(kept) - tail :]
        ]
        run = joined([*older, *fresh])
        stored = self._put(f"{_named(slot)}-{stamp}.run", *in_parts(run))
        return Entry(runs=(*kept[: len(kept) - tail], (run.size, stored)))

    def _with_seal(self, slot: Slot, subwindow: Subwindow, stamp: str) -> Entry:
        rows = subwindow.rows.whole()
        parts: dict[str, Part] = {**subwindow.arrays(), **({} if rows is None else {"rows": rows})}
        entry = Entry(self._put(f"{_named(slot)}-{stamp}.sealed", subwindow.outline(), parts))
        subwindow.share(self._opened(slot, entry, tracked=False))
        return entry

    def _put(self, name: str, notes: Mapping[str, Any], parts: Mapping[str, Part]) -> Stored:
        self._taken += sum(part.nbytes for part in parts.values())
        if self.limit is not None and self._taken > self.limit:
            raise _full(self.directory, f"it would hold {self._taken} bytes, and the limit is {self.limit}; raise it")
        stored = write(self.directory / name, notes, parts)
        self.reader.trust(stored)
        return stored


class Stamps(NamedTuple):
    """Of the state that was read, and of the one that is about to be committed."""

    committed: str
    next: str


def fingerprint(plan: JoinPlan) -> str:
    """Changes with all that decides how windows are held."""
    return hashlib.sha256(repr((plan.parameters, plan.options, __version__)).encode()).hexdigest()


def _entry(files: Mapping[str, Any]) -> Entry:
    sealed = None if files["sealed"] is None else Stored(**files["sealed"])
    return Entry(sealed, tuple((size, Stored(**stored)) for size, stored in files["runs"]))


def _by_slot(fresh: Iterable[tuple[Insert, Batch]]) -> dict[Slot, list[Batch]]:
    runs: dict[Slot, list[Batch]] = {}
    for command, batch in fresh:
        slot = Slot(command.side, command.subwindow, command.late)
        runs.setdefault(slot, []).append(piece(batch, command.first, command.last))
    return runs


def _named(slot: Slot) -> str:
    return f"{slot.side}-{slot.number}{'-late' if slot.late else ''}"


def _full(directory: Path, reason: str) -> SpaceError:
    return SpaceError(
        f"the resident directory {directory.parent} is full: {reason}, or name another directory with resident=. "
        f"The windows must fit there; what the state holds is not lost"
    )


def _bytes_below(directory: Path) -> int:
    found = 0
    for path in directory.rglob("*"):
        with suppress(OSError):
            found += path.lstat().st_size
    return found


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """One attempt at a time writes and removes; made again if it was removed as a stopped query's."""
    while True:
        directory.mkdir(mode=0o700, exist_ok=True)
        try:
            descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not _is(descriptor, directory / LOCK):
                continue
            os.utime(descriptor)
            yield
            return
        finally:
            os.close(descriptor)


def _is(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _prune(directory: Path, stamps: Stamps) -> None:
    """Keep the files of the committed version and of those that were made from it."""
    kept = {LOCK}
    for path in directory.glob(f"{_MANIFEST}*"):
        try:
            manifest = json.loads(bytes(unframed(path.read_bytes(), MANIFEST, path.name)))
        except (OSError, DamageError):
            continue
        if stamps.committed in (path.name.removeprefix(_MANIFEST), manifest["parent"]):
            kept.add(path.name)
            kept |= {stored.name for _, files in manifest["entries"] for stored in _entry(files).files()}
    for path in directory.iterdir():
        if path.name not in kept:
            path.unlink(missing_ok=True)
