"""A process of its own for each measurement: bound to a number of cores, its memory watched from outside.

    watched([python, "-m", ...], request, cores=1)
        child    told the request as JSON on its standard input, answers with one line of JSON
        parent   looks at the memory of the child and all its children while it runs

The binding is inherited by every thread and process that the child starts (a Java virtual machine, Python workers), so
a peer that asks how many processors there are is told the truth.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

#: Seconds between two looks at the memory.
EVERY = 0.2


class PeerFailed(Exception):  # noqa: N818  (no error of ours: a result of the measurement)
    """A peer's process ended without an answer; the text is the end of what it said."""


def watched(
    command: Sequence[str], request: Mapping[str, Any], *, cores: int, seconds: float, environment: Mapping[str, str]
) -> dict[str, Any]:
    """What the child answers, and `peak_bytes`: the most memory that its processes held together.

    It is ended after so many seconds.
    """
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    os.sched_setaffinity(child.pid, allowed)
    peak = [0]
    watcher = Thread(target=_watch, args=(child, peak), daemon=True)
    watcher.start()
    try:
        told, said = child.communicate(json.dumps({**request, "cores": len(allowed)}), timeout=seconds)
    except subprocess.TimeoutExpired:
        raise PeerFailed(f"no answer within {seconds:.0f} s") from None
    finally:
        if child.poll() is None:
            os.killpg(child.pid, 9)
            child.communicate()
        watcher.join()
    answers = [line for line in told.splitlines() if line.startswith("{")]
    if child.returncode or not answers:
        last = [line for line in said.strip().splitlines() if line.strip()]
        raise PeerFailed(last[-1][:300] if last else f"exit code {child.returncode}")
    answer: dict[str, Any] = json.loads(answers[-1])
    return answer | {"peak_bytes": peak[0]}


def _watch(child: subprocess.Popen[str], peak: list[int]) -> None:
    while child.poll() is None:
        peak[0] = max(peak[0], sum(map(_memory, family(child.pid))))
        time.sleep(EVERY)


def family(pid: int) -> list[int]:
    """A process, its children, and theirs."""
    found, waiting = [], [pid]
    while waiting:
        parent = waiting.pop()
        found.append(parent)
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                waiting += map(int, task.read_text().split())
            except OSError:  # it has ended meanwhile
                continue
    return found


def _memory(pid: int) -> int:
    """Its share of the memory that it holds; pages that several hold are divided among them."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:  # it has ended meanwhile, or is somebody else's
        return 0
    return 0
