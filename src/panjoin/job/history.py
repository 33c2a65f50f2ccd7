"""The moments of a query that are kept to be looked at: the last ones, and on request in a file, for the next run.

    add ──> [ m_17 m_18 ... m_41 ] ──> since(39): m_40, m_41        what a page asks for, again and again
             └ at most `keep`           └── a line each in the file

Invariant: micro-batches ascend, each is there once. One that Spark has repeated after a failure replaces what was told
of it, and all that followed.
"""

from __future__ import annotations

import json
from pathlib import Path
from threading import Lock
from typing import Any

from panjoin.job.moments import Moment

#: A moment with twenty subwindows is 5 kB: so many are 5 MB, and at one a second a quarter of an hour.
KEPT = 1000


class History:
    """Kept moments; written by one thread, read by others."""

    def __init__(self, file: Path | None = None, keep: int = KEPT) -> None:
        self._file, self._keep = file, keep
        self._moments: list[Moment] = []
        self._lock = Lock()
        if file is not None and file.exists():
            for line in file.read_text().splitlines():
                self._put(_moment(line))
            file.write_text("".join(map(_line, self._moments)))  # without what was cut off or repeated

    def add(self, moment: Moment) -> None:
        """One more."""
        self._put(moment)
        if self._file is not None:
            with self._file.open("a") as file:
                file.write(_line(moment))

    def since(self, batch: int = -1) -> list[Moment]:
        """Those after a micro-batch, oldest first."""
        with self._lock:
            return [moment for moment in self._moments if moment.batch > batch]

    def _put(self, moment: Moment | None) -> None:
        if moment is None:
            return
        with self._lock:
            kept = [each for each in self._moments if each.batch < moment.batch]
            self._moments = [*kept, moment][-self._keep :]


def _line(moment: Moment) -> str:
    return json.dumps(moment.as_json(), separators=(",", ":")) + "\n"


def _moment(line: str) -> Moment | None:
    """Of a line of the file; None of one that was cut off when the process ended."""
    try:
        plain: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError:
        return None
    return Moment.of(plain)
