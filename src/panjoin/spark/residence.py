"""Where windows lie as files on an executor's machine, and how long.

    resident= of the join, else $PANJOIN_RESIDENT_DIR, else Spark's local directories, else the temporary one
    └── panjoin-<uid>/            ours alone, mode 0700
        └── <executor>/           pid namespace, pid and start time of the process above our Python workers
            └── <lineage>/        one worker of one query (state.py): its shelf (shelf.py)

Spark removes its local directories when an executor ends, and ours with them. After a kill -9, or elsewhere (/dev/shm),
the directory of an executor that is not alive goes when the next one comes. A query that has stopped does not tell its
executors: a shelf that nobody has touched for LEASE seconds is removed by the next micro-batch of any other query.
Removing too much costs time and nothing else: whoever finds no files makes the windows again from the state.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from panjoin.directories import private_directory, resident_path
from panjoin.errors import ParameterError

LOCK = "lock"  #: in each shelf, touched with every version

#: Bytes of a tuple in any structure: a key and an id of 32 bits. Columns come on top, if the result needs them.
KEY_AND_ID = 8

#: Seconds without a micro-batch after which the files of a query may go.
LEASE = 600.0
#: Seconds between two looks at what is left over.
SWEEP_EVERY = 60.0
#: Seconds after which what another pid namespace left is taken for dead: its processes cannot be seen from here.
FOREIGN_LEASE = 86_400.0

_SIZE = re.compile(r"(\d+)\s*([kmgt]?)b?")
_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


@dataclass(frozen=True)
class Residence:
    """What the user says of it."""

    directory: str | None = None
    limit: int | None = None  #: bytes per executor

    @classmethod
    def of(cls, directory: Any, limit: Any) -> Residence:
        """From `resident=` and `resident_limit=`; refuses what is no path and no size."""
        if directory is not None and not (isinstance(directory, str | os.PathLike) and Path(directory).is_absolute()):
            raise ParameterError(
                f"resident must be an absolute path on the executors, such as '/dev/shm' or '/mnt/disk', "
                f"not {directory!r}"
            )
        return cls(None if directory is None else os.fspath(directory), _size(limit))

    def refuse_too_small(self, tuples: int, workers: int, local: Sequence[str]) -> None:
        """Refuse a place that cannot hold `tuples` of both windows, whatever they are made of.

        `local` are Spark's local directories where the driver is the executor; nothing where executors are elsewhere:
        their disks cannot be seen from here, and each may have as little as one worker.
        """
        least = tuples * KEY_AND_ID if local else tuples * KEY_AND_ID // workers
        if self.limit is not None and self.limit < least:
            raise ParameterError(
                f"resident_limit is {self.limit} bytes, and windows of {tuples} tuples take at least {least} on an "
                f"executor, without their columns; raise it to that and room for columns, or make the window smaller"
            )
        if not local:
            return
        named = self.directory or os.environ.get("PANJOIN_RESIDENT_DIR")
        places = [_existing(Path(place)) for place in ([named] if named else local)]
        room = sum(shutil.disk_usage(place).free for place in places)
        if room < least and room + sum(_ours(place) for place in places) < least:
            raise ParameterError(
                f"the resident directory {', '.join(map(str, places))} has {room} bytes left, and windows of {tuples} "
                f"tuples take at least {least}; make room, name another with resident=, or make the window smaller"
            )

    def root(self, number: int) -> Path:
        """The directory of all our executors; workers are spread over Spark's local directories."""
        places = [place for place in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if os.access(place, os.W_OK)]
        if self.directory is not None:
            places = [self.directory]
        elif os.environ.get("PANJOIN_RESIDENT_DIR") or not places:
            return resident_path()
        return Path(places[number % len(places)]).absolute() / f"panjoin-{os.getuid()}"


def _existing(place: Path) -> Path:
    """The place, or what is there of the way to it."""
    return next(path for path in (place.absolute(), *place.absolute().parents) if path.exists())


def _ours(place: Path) -> int:
    """Bytes of windows that are there already: of this query's last run, perhaps, which they will replace."""
    found = 0
    for path in place.glob(f"panjoin-{os.getuid()}/**/*"):
        with suppress(OSError):
            found += path.lstat().st_size
    return found


def _size(limit: Any) -> int | None:
    if limit is None:
        return None
    found = _SIZE.fullmatch(limit.strip().lower()) if isinstance(limit, str) else None
    size = int(found[1]) << _SHIFTS[found[2]] if found else limit
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ParameterError(f"resident_limit must be a number of bytes, such as 8 << 30 or '8g', not {limit!r}")
    return size


class Lodgings:
    """The directories of this process's executor."""

    def __init__(self) -> None:
        self._swept: dict[Path, float] = {}

    def directory(self, residence: Residence, number: int, lineage: str) -> Path:
        """The directory of one worker's shelf, which is made when something is put there."""
        root = residence.root(number)
        own = private_directory(root) / executor()
        private_directory(own)
        now = time.monotonic()
        if now - self._swept.get(root, -SWEEP_EVERY) >= SWEEP_EVERY:
            self._swept[root] = now
            sweep(root, own, except_for=lineage)
        return own / lineage


def executor() -> str:
    """The process above this one: Spark's daemon, or the executor itself; it outlives Python workers."""
    parent = os.getppid()
    return f"{_namespace()}-{parent}-{_started(parent)}"


def sweep(root: Path, own: Path, except_for: str = "") -> None:
    """Remove what executors left that are not alive, and what queries left that are not heard of any more."""
    for place in _beside(root):
        for directory in _directories(place):
            if directory != own and not _alive(directory):
                _remove(directory)
    for shelf in _directories(own):
        if shelf.name != except_for and _age(shelf) > LEASE:
            _remove(shelf)


def _beside(root: Path) -> list[Path]:
    """Roots like this one: Spark gives each executor local directories called blockmgr-<uuid>."""
    if not root.parent.name.startswith("blockmgr-"):
        return [root]
    places = root.parent.parent.glob(f"blockmgr-*/{root.name}")
    return [place for place in places if not place.is_symlink() and place.stat().st_uid == os.getuid()]


def _directories(place: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(place) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _alive(directory: Path) -> bool:
    namespace, _, rest = directory.name.partition("-")
    pid, _, started = rest.partition("-")
    if namespace != _namespace() or not pid.isdigit():
        return min([_age(directory), *map(_age, _directories(directory))]) < FOREIGN_LEASE
    return _started(int(pid)) == started


def _age(directory: Path) -> float:
    """Seconds since a shelf was used."""
    for path in (directory / LOCK, directory):
        with suppress(OSError):
            return time.time() - path.lstat().st_mtime
    return 0.0


def _remove(directory: Path) -> None:
    """All at once for those who look: it gets another name first."""
    doomed = directory.with_name(f".{directory.name}.{os.getpid()}")
    with suppress(OSError):
        directory.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def _namespace() -> str:
    with suppress(OSError):
        return str(Path("/proc/self/ns/pid").readlink()).strip("pid:[]")
    return "0"


def _started(pid: int) -> str:
    """When the process began; "0" where the system does not say, "gone" when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[19]
    except FileNotFoundError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "gone"
    except PermissionError:
        pass
    return "0" if not Path("/proc/self").exists() else "gone"
