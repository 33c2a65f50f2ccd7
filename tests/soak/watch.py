"""What a query's processes and directories hold at a moment: memory, files, processor time.

python   anonymous memory of the driver's and the workers' Python processes (mapped windows are files, not memory)
heap     what is alive in the JVM after a collection
cpu      seconds of all processes of the query, those that have ended included; of the machine beside it
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

_TICK = os.sysconf("SC_CLK_TCK")


class Sample(NamedTuple):
    """One look."""

    batch: int  #: micro-batches that were committed
    seconds: float  #: since the paced part began
    python: int  #: bytes
    heap: int  #: bytes
    resident_set: int  #: bytes of all processes, mapped files included
    files: int  #: bytes in the resident directory
    checkpoint: int  #: bytes
    cpu: float  #: seconds so far
    machine: float  #: seconds in which the machine's processors did anything for anybody, so far
    load: float


def look(batch: int, seconds: float, spark: Any, resident: Path, checkpoint: Path) -> Sample:
    """Now. Asks the JVM to collect its garbage first."""
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    runtime.gc()
    heap = runtime.totalMemory() - runtime.freeMemory()
    tree = list(descendants(os.getpid()))
    python = sum(_rollup(process, "Anonymous") for process in tree if "java" not in _program(process))
    return Sample(
        batch=batch,
        seconds=round(seconds, 1),
        python=python,
        heap=heap,
        resident_set=sum(_rollup(process, "Rss") for process in tree),
        files=bytes_in(resident),
        checkpoint=bytes_in(checkpoint),
        cpu=round(sum(map(_cpu, tree)), 2),
        machine=_busy(),
        load=round(os.getloadavg()[0], 1),
    )


def descendants(root: int) -> Iterator[int]:
    """A process, and all below it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                above = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(above, []).append(int(entry.name))
    waiting = [root]
    while waiting:
        process = waiting.pop()
        yield process
        waiting += children.get(process, [])


def bytes_in(directory: Path) -> int:
    """Of all files below; those that go meanwhile do not count."""
    total = 0
    for place, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):
                total += (Path(place) / name).lstat().st_size
    return total


def _program(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/exe").readlink().name
    return ""


def _rollup(process: int, what: str) -> int:
    with suppress(OSError):
        found = re.search(rf"^{what}:\s+(\d+) kB", Path(f"/proc/{process}/smaps_rollup").read_text(), re.MULTILINE)
        return int(found[1]) * 1024 if found else 0
    return 0


def _cpu(process: int) -> float:
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICK
    return 0.0


def _busy() -> float:
    user, nice, system, _, _, irq, soft, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return round((user + nice + system + irq + soft + steal) / _TICK, 1)
