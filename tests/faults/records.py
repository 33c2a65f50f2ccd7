"""What was tried and what came of it: one JSON record per class of faults or inputs, and the table made of them.

    a class runs its cases ──judge──> Tally ──kept──> docs/reliability/<part>.<class>.json ──> docs/reliability.md

    lost         rows of the oracle that are missing                 detected, where nothing is ever wrong:
    duplicated   rows of the oracle that came more often             an error that names what happened
    wrong        rows that the oracle does not have
    undetected   cases where something harmful was taken for good: no error, no rebuild, no refusal

No number of the table is typed by hand; a class that is run again replaces its record.
"""

from __future__ import annotations

import json
import platform
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from panjoin.bench.machine import commit

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "docs" / "reliability"
DOCUMENT = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- table made by python -m tests.faults -->", "<!-- end of the table -->"

COUNTS = ("cases", "lost", "duplicated", "wrong", "undetected")


@dataclass
class Tally:
    """Counts, while the cases of a class run."""

    cases: int = 0
    lost: int = 0
    duplicated: int = 0
    wrong: int = 0
    undetected: int = 0
    seeds: list[int] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)  #: a line for each case that is not as it should be

    def judge(self, expected: Mapping[Hashable, int], found: Mapping[Hashable, int], seed: int, what: str = "") -> None:
        """One case whose rows came out: multisets of rows are compared."""
        lost = sum((Counter(expected) - Counter(found)).values())
        more = Counter(found) - Counter(expected)
        duplicated = sum(count for row, count in more.items() if row in expected)
        wrong = more.total() - duplicated
        self.case(seed, what, lost=lost, duplicated=duplicated, wrong=wrong)

    def case(
        self, seed: int, what: str = "", *, lost: int = 0, duplicated: int = 0, wrong: int = 0, undetected: int = 0
    ) -> None:
        """One case, counted already."""
        self.cases += 1
        self.lost += lost
        self.duplicated += duplicated
        self.wrong += wrong
        self.undetected += undetected
        self.seeds.append(seed)
        if lost or duplicated or wrong or undetected:
            told = f"lost={lost} duplicated={duplicated} wrong={wrong} undetected={undetected}"
            self.failed.append(f"seed {seed}{f' ({what})' if what else ''}: {told}")

    @property
    def clean(self) -> bool:
        """All zeros, and something was tried."""
        return self.cases > 0 and not self.failed


@dataclass(frozen=True, kw_only=True)
class Record:
    """A class of faults or inputs, and what came of its cases."""

    part: str  #: groups of the table: "kills", "space", "damage", "inputs", ...
    name: str  #: what the first column says
    how: str  #: what is done, and who judges
    cases: int
    lost: int
    duplicated: int
    wrong: int
    undetected: int
    seeds: list[int]
    failed: list[str]
    command: str  #: runs the class again
    seconds: float
    commit: str
    versions: dict[str, str]
    at: str

    @classmethod
    def of(cls, part: str, name: str, how: str, tally: Tally, *, command: str, seconds: float) -> Record:
        """With what is known of here and now."""
        return cls(
            part=part,
            name=name,
            how=how,
            **asdict(tally),
            command=command,
            seconds=round(seconds, 1),
            commit=commit(),
            versions={"python": platform.python_version(), "pyspark": _pyspark()},
            at=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def keep(self, directory: Path = RECORDS) -> Path:
        """Write it."""
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{slug(self.part)}.{slug(self.name)}.json"
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")
        return path


def records(directory: Path = RECORDS) -> list[Record]:
    """All that are kept, by their file names."""
    return [Record(**json.loads(path.read_text())) for path in sorted(directory.glob("*.json"))]


def slug(name: str) -> str:
    """As a file name, and as an argument of the command."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


# ---- the table ----


def table(of: Iterable[Record], parts: Iterable[str] = ()) -> str:
    """Markdown: `parts` in this order, others behind them; what is done stands below."""
    order = {part: place for place, part in enumerate(parts)}
    rows = sorted(of, key=lambda each: (order.get(each.part, len(order)), each.part, each.name))
    lines = [
        "| fault or input class | cases tried | lost | duplicated | wrong | undetected |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    lines += [f"| {row.name} | {' | '.join(f'{getattr(row, name):,}' for name in COUNTS)} |" for row in rows]
    total = {name: sum(getattr(row, name) for row in rows) for name in COUNTS}
    lines += [f"| **all** | {' | '.join(f'**{count:,}**' for count in total.values())} |", ""]
    for row in rows:
        lines.append(
            f"- **{row.name}**: {row.how} `{row.command}` ({row.seconds:,.0f} s, {row.at[:10]}, commit {row.commit})"
        )
    return "\n".join(lines)


def write(document: Path = DOCUMENT, directory: Path = RECORDS, parts: Iterable[str] = ()) -> None:
    """Put the table of all records into its place in the document."""
    before, _, rest = document.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    document.write_text(f"{before}{BEGIN}\n\n{table(records(directory), parts)}\n\n{END}{after}")


def _pyspark() -> str:
    from pyspark import __version__  # noqa: PLC0415  (a second to import, and only a record needs it)

    return __version__
