"""What the manager says to workers, and what they answer (paper, Architecture: Sending and Feedback).

Plain frozen values: they print, compare and serialise (`to_json`, `from_json`), so that a command is the same thing
on a thread, in a Spark task and in a test's log. The tuples themselves travel beside the commands, as a `Batch`.

    manager ── Create  Probe  Insert  Seal  Expire ──> worker
    manager <─────────── SubwindowStatus ───────────── worker
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from panjoin.expression import Side


@dataclass(frozen=True)
class Create:
    """Make an empty subwindow of this worker; splitters (RaP-Table) come along, workers never ask each other."""

    worker: int
    side: Side
    subwindow: int
    structure: str
    capacity: int
    partitions: int
    first_no: int
    splitters: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Probe:
    """Match the batch against all of the worker's subwindows of `side`, which is opposite to the batch."""

    worker: int
    side: Side
    live_from: int | None = None  #: count window: tuples with smaller arrival numbers have left


@dataclass(frozen=True)
class Insert:
    """Add the tuples at arrival positions [first, last) of the batch, or of the piece of it called `part`."""

    worker: int
    side: Side
    subwindow: int
    first: int
    last: int
    part: int = 0
    late: bool = False  #: into the small buffer beside the subwindow


@dataclass(frozen=True)
class Seal:
    """The subwindow takes no more tuples."""

    worker: int
    side: Side
    subwindow: int


@dataclass(frozen=True)
class Expire:
    """Tuples of `side` below this number, or older than this time, have left their window (both None: all of them).

    Unmatched ones are handed out if the join type asks for them, and the `subwindows` are dropped whole.
    """

    worker: int
    side: Side
    subwindows: tuple[int, ...] = ()
    before_no: int | None = None
    before_time: int | None = None


Command = Create | Probe | Insert | Seal | Expire


@dataclass(frozen=True)
class SubwindowStatus:
    """A worker's word on one subwindow it changed."""

    worker: int
    side: Side
    subwindow: int
    size: int
    sealed: bool
    oldest: int | None
    newest: int | None
    structure: str
    memory_bytes: int
    histogram: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None = None  #: counts, minima, maxima


_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (Create, Probe, Insert, Seal, Expire, SubwindowStatus)}


def to_json(message: Command | SubwindowStatus) -> str:
    """One line of JSON."""
    return json.dumps({"kind": type(message).__name__, **asdict(message)})


def from_json(line: str) -> Command | SubwindowStatus:
    """The message that `to_json` wrote."""
    fields = json.loads(line)
    kind = _KINDS[fields.pop("kind")]
    return kind(**{name: _frozen(value) for name, value in fields.items()})  # type: ignore[no-any-return]


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
