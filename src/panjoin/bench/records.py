"""Records: one JSON object per measurement, in one file per experiment, written as the measurements come.

    DIR/engine.grid.jsonl      {"scale": "small", "cell": {...}, "parameters": {...}, "metric": "throughput", ...}

Each line says everything that is needed to judge the number: parameters, every repeat, unit, what was timed and what
was not, seed, machine, commit, versions; and its own checksum, so that a digit that has changed is noticed. A record
without values says in `skipped` why there is none.

Invariant: the records of one cell are appended in one write, and the last of two records of the same thing counts.
So whatever stops a run, finished cells stay, a torn last line is dropped, and a cell is done when any record has it.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from panjoin.bench.experiment import SCALES, UNITS, Cell, Experiment, Point, Skip
from panjoin.bench.machine import commit, load, machine, versions
from panjoin.errors import DamageError, ParameterError

_CHECKSUM = "crc32"  #: the last key of a line


@dataclass(frozen=True, kw_only=True)
class Record:
    """One measurement."""

    experiment: str
    scale: str
    cell: Mapping[str, Any]  #: parameters of the unit of work that it came from
    parameters: Mapping[str, Any]  #: all parameters, those of the cell among them
    metric: str
    unit: str
    values: Sequence[float]  #: one per repeat
    median: float | None
    spread: float | None  #: (largest - smallest) / median; None with a single value
    repeats: int
    better: str
    noted: Mapping[str, Any]
    skipped: str  #: why there are no values
    timed: str
    excluded: str
    seed: int
    machine: Mapping[str, Any]
    commit: str
    versions: Mapping[str, str]
    at: str
    load: float  #: runnable threads on the machine when it was written (mean of a minute), our own among them

    @property
    def cell_key(self) -> str:
        """Tells units of work apart."""
        return _canonical([self.scale, self.experiment, self.cell])

    @property
    def key(self) -> str:
        """Tells measurements apart."""
        return _canonical([self.scale, self.experiment, self.parameters, self.metric])


def cell_key(experiment: Experiment, scale: str, cell: Cell) -> str:
    """The key that the records of this cell have."""
    return _canonical([scale, experiment.name, dict(cell.parameters)])


def record(experiment: Experiment, scale: str, cell: Cell, measured: Point | Skip) -> Record:
    """What was measured, with all that is known about where and how."""
    values: list[float] = []
    unit, noted, skipped = "", {}, ""
    if isinstance(measured, Skip):
        skipped = without_places(measured.reason)
    else:
        values = [float(f"{value:.6g}") for value in measured.values]
        unit, noted = measured.unit, dict(measured.noted)
    middle = median(values) if values else None
    return Record(
        experiment=experiment.name,
        scale=scale,
        cell=dict(cell.parameters),
        parameters={**cell.parameters, **measured.parameters},
        metric=measured.metric,
        unit=unit,
        values=values,
        median=middle,
        spread=None if not middle or len(values) < 2 else float(f"{(max(values) - min(values)) / middle:.3g}"),
        repeats=len(values),
        better=UNITS.get(unit, ""),
        noted=noted,
        skipped=skipped,
        timed=experiment.timed,
        excluded=experiment.excluded,
        seed=experiment.seed,
        machine=machine(),
        commit=commit(),
        versions=versions(),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        load=load(),
    )


#: A path from the root, also as a file: address. Not the slash of "tuples/s", nor what follows "https://host".
_PLACE = re.compile(r"(?:file:/{0,2}|(?<![\w.:/]))/(?:[\w.+-]+/)+(?=[\w.+-])")


def without_places(text: str) -> str:
    """The text with the last part of each path alone: where files lie here is nobody's business elsewhere."""
    return _PLACE.sub("", text)


class Records:
    """All records of a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._by_key: dict[str, Record] = {}
        for path in sorted(directory.glob("*.jsonl")):
            self._by_key |= {each.key: each for each in _read(path)}

    def __iter__(self) -> Iterator[Record]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def done(self) -> set[str]:
        """Keys of the cells that have records."""
        return {each.cell_key for each in self}

    def append(self, new: Iterable[Record]) -> None:
        """Add the records of one cell; they are on disk when this returns."""
        new = list(new)
        lines = "".join(map(_line, new))
        if not lines:
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self._path(new[0].experiment)
        _mend(path)
        with path.open("a", encoding="utf-8") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
        again = {each.cell_key for each in new}
        self._by_key = {key: each for key, each in self._by_key.items() if each.cell_key not in again}
        self._by_key |= {each.key: each for each in new}

    def compact(self, experiment: str) -> None:
        """Leave one record of each thing in the experiment's file."""
        kept = [each for each in self if each.experiment == experiment]
        if not kept:
            return
        path = self._path(experiment)
        fresh = path.with_suffix(".jsonl.new")
        fresh.write_text("".join(map(_line, kept)), encoding="utf-8")
        fresh.replace(path)

    def _path(self, experiment: str) -> Path:
        return self.directory / f"{experiment}.jsonl"


def existing(directory: Path) -> Records:
    """The records of a directory that must have some."""
    found = Records(directory)
    if not len(found):
        raise ParameterError(
            f"there are no records in {directory}; make some with: panjoin bench run --out {directory}"
        )
    return found


def largest_scale(records: Iterable[Record]) -> list[Record]:
    """Of each experiment the records of its largest scale."""
    records = list(records)
    scales: dict[str, int] = {}
    for each in records:
        scales[each.experiment] = max(scales.get(each.experiment, 0), SCALES.index(each.scale))
    return [each for each in records if SCALES.index(each.scale) == scales[each.experiment]]


def _line(each: Record) -> str:
    """As JSON, with a checksum of all that stands before it."""
    text = json.dumps(asdict(each), sort_keys=True)[:-1]
    return f'{text}, "{_CHECKSUM}": "{zlib.crc32(text.encode()):08x}"}}\n'


def _read(path: Path) -> Iterator[Record]:
    names = {field.name for field in fields(Record)}
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines[:-1], 1):  # what follows the last newline is empty, or torn
        content = _content(line)
        if set(content) != names:
            raise DamageError(f"{path}, line {number} is no record of this version; remove the line and run again")
        yield Record(**content)


def _content(line: bytes) -> dict[str, Any]:
    """What a line says; nothing when it is not as it was written. Older lines have no checksum."""
    text, mark, _ = line.rpartition(f', "{_CHECKSUM}": "'.encode())
    try:
        content = json.loads(line)
    except ValueError:  # no JSON, or no UTF-8
        return {}
    if not isinstance(content, dict):
        return {}
    if mark and content.pop(_CHECKSUM, None) != f"{zlib.crc32(text):08x}":
        return {}
    return content


def _mend(path: Path) -> None:
    """Cut a torn last line off, so that the next record starts a line of its own."""
    if path.exists():
        content = path.read_bytes()
        if content and not content.endswith(b"\n"):
            path.write_bytes(content[: content.rfind(b"\n") + 1])


def _canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True)
