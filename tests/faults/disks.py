"""Disks that have no room for a while, in a form for every machine.

    where a file system can be mounted (root)   a tmpfs of a few megabytes, filled to the last byte        ENOSPC
    everywhere else                             the JVM may write no file of more than LEAST bytes (ulimit -f): EFBIG

The second is the same to who writes: bytes are refused in the middle of a file. `fill` is called at a point of a trial,
`clear` before the query is started again.
"""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults import processes

#: Megabytes of the file system.
SIZE = 48
#: Bytes that a file may have where nothing can be mounted.
LEAST = 512
_DISK, _BALLAST = "disk", "ballast"


@contextmanager
def mounted(directory: Path) -> Iterator[bool]:
    """A small file system of its own at `directory/disk`, if this user may mount one."""
    disk = directory / _DISK
    disk.mkdir(mode=0o700, parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}m,mode=700", "tmpfs", str(disk)]
    done = os.getuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0
    if not done:
        disk.rmdir()
    try:
        yield done
    finally:
        if done:
            subprocess.run(["umount", "--lazy", str(disk)], check=False)


def disk(directory: Path) -> Path | None:
    """The small file system of a query or of its trial, if there is one."""
    return next((place / _DISK for place in (directory, directory.parent) if (place / _DISK).exists()), None)


def fill(directory: Path, *, real: bool = True) -> None:
    """Leave no room; on the small file system if that is meant and there is one."""
    small = disk(directory) if real else None
    if small is None:
        for process in processes.marked(os.environ[processes.MARK]):
            if processes.kind(process) in ("jvm", "executor"):
                _limit(process, LEAST)
        return
    with (small / _BALLAST).open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 8, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue


def clear(directory: Path) -> None:
    """There is room again."""
    small = disk(directory)
    if small is not None:
        (small / _BALLAST).unlink(missing_ok=True)
    for process in processes.marked(os.environ[processes.MARK]):
        _limit(process, None)


def _limit(process: int, size: int | None) -> None:
    _, most = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (most if size is None else size, most))
