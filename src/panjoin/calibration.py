"""What the structures cost on this machine: measured by `panjoin advise --calibrate`, kept in one small file.

    costs        structure x capacity x batch     insertion and probing (sealed, S = 1), nanoseconds per tuple
    match_ns     per structure                    one pair made, nanoseconds
    bytes        per structure                    memory per tuple of a full subwindow
    push_ns      per batch size                   all of a push that is no index work: door, keys, sorting, answering

Between measured points costs are interpolated on logarithmic scales; beyond them the nearest point holds. From costs
follow the thresholds of the paper's strategy ("if the batch or S is large, BI-Sort"): the batch size and the S from
which BI-Sort is the cheapest, insertion into one subwindow and probing of all of them together.

Without a file the numbers in `builtin_calibration.json` hold, taken the same way on two cores of a shared server. A
file from another machine (a home directory may be shared) is not ours; a damaged one is told to the user, who makes it
again, and nothing else depends on it: structures differ in speed alone.
"""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from panjoin.directories import cache_path, private_directory
from panjoin.errors import PanJoinError, StateError
from panjoin.sizing import PIECES

FORMAT = 1
SORTED = "bi-sort"
#: Batch sizes at which thresholds are looked for.
BATCHES = tuple(1 << exponent for exponent in range(24))


@dataclass(frozen=True)
class Cost:
    """Of one structure at one size, in nanoseconds per tuple."""

    structure: str
    capacity: int
    batch: int
    insert_ns: float
    probe_ns: float


@dataclass(frozen=True, eq=False)  # compared and hashed as one object: thresholds are cached by it
class Calibration:
    """See the head of this file."""

    machine: str
    day: str
    costs: tuple[Cost, ...]
    match_ns: Mapping[str, float]
    bytes: Mapping[str, float]
    push_ns: tuple[tuple[int, float], ...]  #: (batch, nanoseconds per tuple), ascending
    source: str = "built in"

    # ---- costs ----

    def insert_ns(self, structure: str, capacity: int, batch: float) -> float:
        """Of one tuple of a batch."""
        return self._cost(structure, "insert_ns", capacity, batch)

    def probe_ns(self, structure: str, capacity: int, batch: float) -> float:
        """Of one tuple of a batch in one subwindow."""
        return self._cost(structure, "probe_ns", capacity, batch)

    def tuple_ns(self, structure: str, capacity: int, batch: float, selectivity: float = 0.0) -> float:
        """Index work for one tuple: inserted once, probed in all subwindows, `selectivity` pairs made in each."""
        probe = self.probe_ns(structure, capacity, batch) + selectivity * self.match_ns[structure]
        return self.insert_ns(structure, capacity, batch) + PIECES * probe

    def other_ns(self, batch: float) -> float:
        """All other work for one tuple."""
        return _log_interpolated(batch, self.push_ns)

    def _cost(self, structure: str, what: str, capacity: int, batch: float) -> float:
        by_capacity: dict[int, list[tuple[float, float]]] = {}
        for cost in self.costs:
            if cost.structure == structure:
                by_capacity.setdefault(cost.capacity, []).append((cost.batch, getattr(cost, what)))
        curve = [(size, _log_interpolated(batch, sorted(points))) for size, points in sorted(by_capacity.items())]
        return _log_interpolated(capacity, curve)

    # ---- thresholds of the paper's strategy ----

    @cache  # noqa: B019  (calibrations are few and live as long as the process)
    def large_batch(self, capacity: int, other: str) -> int | None:
        """The smallest batch from which BI-Sort costs no more than the other structure; None: there is none."""
        found = None
        for batch in reversed(BATCHES):
            if self.tuple_ns(SORTED, capacity, batch) > self.tuple_ns(other, capacity, batch):
                break
            found = batch
        return found

    def large_selectivity(self, capacity: int, batch: float, other: str) -> float | None:
        """The S from which BI-Sort costs no more, for batches of this size; None: there is none."""
        slower = self.tuple_ns(SORTED, capacity, batch) - self.tuple_ns(other, capacity, batch)
        gained = PIECES * (self.match_ns[other] - self.match_ns[SORTED])
        if slower <= 0:
            return 0.0
        return slower / gained if gained > 0 else None

    # ---- the file ----

    def save(self) -> Path:
        """Keep it for this machine, in our cache directory."""
        path = private_directory(cache_path()) / FILE
        body = asdict(self) | {"format": FORMAT}
        body.pop("source")
        beside = path.with_suffix(".part")
        beside.write_text(json.dumps(body, indent=1) + "\n")
        beside.replace(path)
        return path


FILE = "calibration.json"


def this_machine() -> str:
    """A name that changes when costs do: host and processor architecture."""
    return f"{platform.node()} {platform.machine()}"


def calibration_path() -> Path:
    """Where the file lies, or would."""
    return cache_path() / FILE


def load() -> Calibration | None:
    """This machine's own, None when it has none; a damaged file is a StateError."""
    path = calibration_path()
    if not path.exists():
        return None
    try:
        private_directory(path.parent, writable=False)
        found = _read(path.read_text(), str(path))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StateError(
            f"{path} is damaged ({type(error).__name__}: {error}); remove it, or make it again with: "
            f"panjoin advise --calibrate"
        ) from error
    return found if found.machine == this_machine() else None


def known() -> Calibration:
    """The one to go by: this machine's, else the built-in one. A damaged file is a warning, for only speed is lost."""
    try:
        found = load()
    except PanJoinError as error:
        warnings.warn(f"{error} (built-in numbers are used meanwhile)", UserWarning, stacklevel=2)
        found = None
    return found if found is not None else built_in()


@cache
def built_in() -> Calibration:
    """The one that comes with the package."""
    text = (files("panjoin") / "builtin_calibration.json").read_text()
    return replace(_read(text, "built in"), source="built in")


def _read(text: str, source: str) -> Calibration:
    body: dict[str, Any] = json.loads(text)
    if body.get("format") != FORMAT:
        raise ValueError(f"format {body.get('format')!r} is not {FORMAT}")
    costs = tuple(Cost(**each) for each in body["costs"])
    for cost in costs:
        if not (cost.capacity >= 1 and cost.batch >= 1 and cost.insert_ns > 0 and cost.probe_ns > 0):
            raise ValueError(f"{cost} has a number that is not positive")
    match_ns, in_bytes = dict(body["match_ns"]), dict(body["bytes"])
    missing = {SORTED, "rap-table", "wib-tree"} - ({cost.structure for cost in costs} & set(match_ns) & set(in_bytes))
    if missing:
        raise ValueError(f"nothing about {', '.join(sorted(missing))}")
    push_ns = tuple((int(batch), float(cost)) for batch, cost in body["push_ns"])
    if not push_ns or min(cost for _, cost in push_ns) <= 0 or min(match_ns.values()) <= 0:
        raise ValueError("costs must be positive")
    return Calibration(str(body["machine"]), str(body["day"]), costs, match_ns, in_bytes, push_ns, source)


def _log_interpolated(at: float, points: Any) -> float:
    places, values = zip(*points, strict=True)
    return float(np.exp(np.interp(np.log(max(at, 1)), np.log(places), np.log(values))))
