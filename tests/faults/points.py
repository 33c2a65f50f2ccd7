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
import resource
import signal
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tests.faults import disks, processes

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
#: Processes that are killed.
KILLS = ("worker", "daemon", "executor", "driver")
#: What a worker asks of the driver, and waits for at its point.
ASKED = ("stop", "second start")


@dataclass(frozen=True)
class Fault:
    """Something that happens once."""

    point: str
    turn: int
    deed: str  #: one of KILLS: who is killed; of ASKED: what the driver does meanwhile; or what `_do` knows else
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
        if point == "during probe" and fault.deed in KILLS:
            threading.Timer(
                0.0003, _do, [fault.deed, directory, driver]
            ).start()  # the kernel runs meanwhile, without the lock
        else:
            _do(fault.deed, directory, driver)
        return


def _do(deed: str, directory: Path, driver: int) -> None:
    if deed == "raise":
        raise InjectedError("told to fail")
    if deed == "full":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if deed == "memory":
        _use_all_memory()
    elif deed in ("no room", "limit"):
        disks.fill(directory, real=deed == "no room")
    elif deed in ASKED:
        (directory / deed).touch()
        _wait_for(directory / f"{deed} done")
    elif deed == "rival":
        (directory / "rivals").mkdir(exist_ok=True)
        (directory / "rivals" / str(os.getpid())).touch()
        _wait_for(directory / "rivals", 2)
    else:
        _kill(deed, driver)


#: Seconds that a process waits at its point for what somebody else does there.
_PATIENCE = 600.0


def _kill(deed: str, driver: int) -> None:
    if deed == "driver":
        os.killpg(driver, signal.SIGKILL)
    elif deed == "executor":
        there: list[int] = []
        while not there:  # the one before may have been killed just now
            marked = processes.marked(os.environ[processes.MARK])
            there = [each for each in marked if processes.kind(each) == "executor"]
        above = processes.java_above(os.getpid())
        os.kill(above if above in there else min(there), signal.SIGKILL)
        if above not in there:
            return  # the driver lives on
    elif deed == "daemon":
        os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _use_all_memory() -> None:
    """Until the limit of this process says no; without a limit that is a mistake of the trial."""
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY, "this process has no limit"
    held = []
    while True:
        held.append(np.zeros(16 << 20, np.uint8))  # addresses only: the pages are never touched


def _wait_for(path: Path, entries: int = 0) -> None:
    """Until it is there, or has so many entries."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        with suppress(FileNotFoundError):
            if path.exists() and (not entries or len(list(path.iterdir())) >= entries):
                return
        time.sleep(0.02)
    raise AssertionError(f"nobody has made {path}")
