"""The process with the Spark session, from outside: started when it is first asked, ended with this one.

One session serves all cells of a run: starting one takes as long as many micro-batches. What another process cannot
do, it says in a line, and the cell is recorded as skipped, with that line.
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from tempfile import TemporaryFile
from typing import IO, Any

from panjoin.bench.experiment import CannotMeasure
from panjoin.bench.machine import memory

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.liveUpdate.period": "0",  # what the shuffle has written is known when a task ends
    "spark.sql.session.timeZone": "UTC",
    "spark.python.authenticate.socketTimeout": "120s",  # a busy machine takes more than 15 s to start many workers
}
_TOLD = 300  #: characters of a reason


class Asked:
    """One process."""

    def __init__(self) -> None:
        free = max(1, min(8, int(memory() / 2**30) - 2))
        self._said: IO[bytes] = TemporaryFile()  # noqa: SIM115  (as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "panjoin.bench.pipeline.turns"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )
        self._tell({**SETTINGS, "spark.driver.memory": f"{free}g"})
        atexit.register(self.close)

    @property
    def alive(self) -> bool:
        """Whether it can be asked again."""
        return self._process.poll() is None

    def ask(self, request: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
        """Per contestant what was seen."""
        self._tell(request)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                answer = json.loads(line)
                if "failed" in answer:
                    raise CannotMeasure(answer["failed"][:_TOLD])
                seen: dict[str, list[dict[str, Any]]] = answer["seen"]
                return seen
        self._said.seek(0)
        last = [line for line in self._said.read().decode(errors="replace").splitlines() if line.strip()]
        raise CannotMeasure(f"Spark's process ended: {last[-1][:_TOLD] if last else 'without a word'}")

    def close(self) -> None:
        """End it."""
        if self.alive and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()

    def _tell(self, what: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()


@cache
def _first() -> list[Asked]:
    return [Asked()]


def ask(request: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Of the process that there is, or of a new one."""
    held = _first()
    if not held[-1].alive:
        held.append(Asked())
    return held[-1].ask(request)
