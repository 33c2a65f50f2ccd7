"""Processes of one trial: all that descend from it carry its mark in their environment, so none is missed or mistaken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pyspark

from panjoin.spark.java import use_java

ROOT = Path(__file__).resolve().parents[2]
MARK = "PANJOIN_TRIAL"


def start(
    mark: str, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen:
    """A program with the interpreter of this one, on this tree, in a process group of its own."""
    use_java()
    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=log.parent,
            env=os.environ
            | {
                MARK: mark,
                "PYSPARK_PYTHON": sys.executable,
                "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
                "SPARK_HOME": str(Path(pyspark.__file__).parent),
                "SPARK_LOCAL_IP": "127.0.0.1",
            }
            | dict(environment or {}),
        )


def marked(mark: str) -> Iterator[int]:
    """All that live and carry the mark."""
    wanted = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)


def end(mark: str) -> None:
    """Kill what is left of a trial, until nothing is."""
    while True:
        left = [process for process in marked(mark) if _alive(process)]
        if not left:
            return
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)


def kind(process: int) -> str:
    """driver, jvm, executor, daemon, worker, or what it is else."""
    try:
        line = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
        above = parent(process)
        if "pyspark.daemon" in line or "pyspark/daemon" in line:
            return "worker" if "daemon" in Path(f"/proc/{above}/cmdline").read_text() else "daemon"
    except OSError:
        return "gone"
    if "CoarseGrainedExecutorBackend" in line:
        return "executor"
    if "org.apache.spark.deploy" in line:
        return "jvm"
    return "driver" if "tests.faults" in line else "other"


def _alive(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def java_above(process: int) -> int | None:
    """The nearest ancestor that is a Java process, if any: the executor of a Python worker."""
    while process > 1:
        if "java" in Path(f"/proc/{process}/exe").readlink().name:
            return process
        process = parent(process)
    return None


def parent(process: int) -> int:
    """The process that started this one."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
