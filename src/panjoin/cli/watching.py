"""From the start of a query to its end: views and page are fed, Ctrl-C and SIGTERM stop it between two micro-batches
or within one, which Spark then repeats at the next start.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from pyspark.errors import StreamingQueryException

from panjoin.cli.codes import DONE, INTERRUPTED, TERMINATED
from panjoin.cli.views import View
from panjoin.errors import PanJoinError
from panjoin.job.moments import Moment, Moments
from panjoin.job.totals import Total

#: Between two looks at the query, in seconds.
LOOK = 0.2


@dataclass(frozen=True)
class End:
    """How it ended."""

    code: int  #: DONE, INTERRUPTED or TERMINATED
    total: Total


class QueryFailedError(PanJoinError, RuntimeError):
    """The query failed while it ran."""


def watch(query: Any, view: View, heard: Callable[[Moment], object] = lambda moment: None) -> End:
    """Until the query ends, or somebody wants it to."""
    moments, total = Moments(query), Total()
    with Signals() as signals, view:
        while True:
            over, wanted = _over(query), signals.wanted
            if wanted is not None:
                query.stop()
            for moment in moments.new():
                total = total.plus(moment)
                view.moment(moment)
                heard(moment)
            if over or wanted is not None:
                return End(DONE if over or wanted is None else wanted, total)


def _over(query: Any) -> bool:
    try:
        return bool(query.awaitTermination(LOOK))
    except StreamingQueryException as error:
        raise QueryFailedError(reason(str(error))) from error


def reason(text: str) -> str:
    """What a user can act on: our own message out of the traceback of a Python worker, else Spark's first line."""
    ours = re.findall(r"^panjoin\.\S*Error: (.+)$", text, flags=re.MULTILINE)
    if ours:
        return str(ours[-1])
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[0] if lines else "Spark gave no reason"


class Signals:
    """Ctrl-C and SIGTERM are noted instead of breaking in; a second one breaks in."""

    def __init__(self) -> None:
        self.wanted: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.wanted is not None:
            raise KeyboardInterrupt
        self.wanted = INTERRUPTED if number == signal.SIGINT else TERMINATED


@contextmanager
def quiet_java(log: Path | None = None) -> Iterator[Path]:
    """What a JVM that is started inside writes to standard error goes to a file: Spark's log, for when it is needed.

    The JVM inherits the descriptor when it starts, and keeps it.
    """
    if log is None:
        descriptor, name = tempfile.mkstemp(prefix="panjoin-", suffix="-spark.log")
        log = Path(name)
    else:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        os.dup2(descriptor, 2)
        yield log
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(descriptor)
