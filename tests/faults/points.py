"""Faults wait at named points of the join until the right worker comes there in the right micro-batch.

    ARMED/3-before put.json   {"worker": 1, "turn": 2, "deed": "worker"}      the first who is there takes the file away,
    FIRED/3-before put.json                                                   and does the deed: each happens once

`turn` is the version of the worker's state, or the number of the micro-batch in the driver: a fault fires at that turn
or the first later one in which its point is reached. So what happens is decided by the fault and not by a clock.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

#: Points in a Python worker, in the order in which a micro-batch comes to them.
IN_WORKER = (
    "before insert",
    "during probe",
    "between rows",
    "before put",
    "after put",
    "half of a file",
    "before manifest",
    "before header",
    "before commit",
)
#: Points in the driver.
IN_DRIVER = ("offsets logged", "state committed", "sink written")


@dataclass(frozen=True)
class Fault:
    """Something that happens once."""

    point: str
    turn: int
    deed: str  #: worker, daemon, executor, driver: who is killed; raise, full: what is raised
    worker: int | None = None  #: None: any


class InjectedError(Exception):
    """A task fails because it was told to."""


def arm(directory: Path, faults: Iterable[Fault]) -> None:
    """Lay the faults out."""
    for name in ("armed", "fired"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    for number, fault in enumerate(faults):
        (directory / "armed" / f"{number}-{fault.point}.json").write_text(json.dumps(asdict(fault)))


def armed(directory: Path) -> list[Fault]:
    """Those that still wait."""
    return [Fault(**json.loads(path.read_text())) for path in (directory / "armed").glob("*.json")]


def reach(directory: Path, point: str, turn: int, worker: int | None = None, driver: int = 0) -> None:
    """Somebody is at a point. `driver` is the process group of the driver and its JVM."""
    for path in sorted((directory / "armed").glob(f"*-{point}.json")):
        try:
            fault = Fault(**json.loads(path.read_text()))
        except FileNotFoundError:
            continue
        if turn < fault.turn or (fault.worker is not None and worker != fault.worker):
            continue
        try:
            path.rename(directory / "fired" / path.name)
        except FileNotFoundError:
            continue
        if point == "during probe" and fault.deed not in ("raise", "full"):
            threading.Timer(0.0003, _do, [fault.deed, driver]).start()  # the kernel runs meanwhile, without the lock
        else:
            _do(fault.deed, driver)
        return


def _do(deed: str, driver: int) -> None:
    if deed == "raise":
        raise InjectedError("told to fail")
    if deed == "full":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if deed == "driver":
        os.killpg(driver, signal.SIGKILL)
    elif deed == "executor":
        os.kill(java_above(os.getpid()), signal.SIGKILL)
    elif deed == "daemon":
        os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def java_above(process: int) -> int:
    """The nearest ancestor that is a Java process: the executor."""
    while "java" not in Path(f"/proc/{process}/exe").readlink().name:
        process = parent(process)
    return process


def parent(process: int) -> int:
    """The process that started this one."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
