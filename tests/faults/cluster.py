"""A standalone cluster on this machine: Spark's own master and two workers, which end with the block."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from tests.faults import processes

_CLASS = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
_DEPLOY = "org.apache.spark.deploy"


@contextmanager
def standalone(directory: Path) -> Iterator[str]:
    """The master's URL."""
    directory.mkdir(parents=True)
    mark = secrets.token_hex(8)
    here = ["--host", "127.0.0.1", "--webui-port", "0"]
    try:
        processes.start(mark, [_CLASS, f"{_DEPLOY}.master.Master", *here, "--port", "0"], directory / "master.log")
        url = said(directory / "master.log", r"Starting Spark master at (spark://\S+)")
        for name in ("one", "two"):
            worker = [_CLASS, f"{_DEPLOY}.worker.Worker", *here, "--cores", "1", "--memory", "2g"]
            log = directory / f"{name}.log"
            processes.start(mark, [*worker, "--work-dir", str(directory / name), url], log)
            said(log, "(Successfully registered) with master")
        yield url
    finally:
        processes.end(mark)


def said(log: Path, pattern: str) -> str:
    """What a process has said; waits for it."""
    for _ in range(1200):
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"{log} says nothing like {pattern!r}:\n{log.read_text()[-5000:]}")
