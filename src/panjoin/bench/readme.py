"""The README's few numbers: one table between two markers, made of the records by the report and by nobody else.

<!-- measured: begin -->
| what | measured |
<!-- measured: end -->
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from panjoin.bench.goals import Found, K, M
from panjoin.bench.tables import number
from panjoin.errors import DamageError

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


@dataclass(frozen=True)
class Line:
    """One row: a sentence and where its number is."""

    sentence: str
    unit: str
    measured: Callable[[Found], float | None]


def _over(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


LINES = (
    Line(
        "both windows 128M tuples, equality, batches of 8M, two threads",
        "tuples/s",
        lambda found: found.value("engine.headline", "throughput", emit="counts", W=128 * M, batch=8 * M),
    ),
    Line(
        "both windows 8M tuples, band, batches of 32K, two threads",
        "tuples/s",
        lambda found: found.value(
            "engine.grid", "throughput", structure="bi-sort", condition="band", W=8 * M, batch=32 * K
        ),
    ),
    Line(
        "a push of 1K tuples into these windows, 99th percentile",
        "ms",
        lambda found: found.value(
            "engine.grid", "latency p99", structure="bi-sort", condition="band", W=8 * M, batch=K
        ),
    ),
    Line(
        "memory of both windows per tuple (key and arrival number alone are 8 bytes)",
        "bytes/tuple",
        lambda found: found.value("engine.grid", "memory", structure="bi-sort", condition="band", W=8 * M),
    ),
    Line(
        "times the throughput of a nested-loop stream join (SplitJoin), W = 8M, band",
        "ratio",
        lambda found: found.value(
            "systems.sys_com_1", "over splitjoin", contestant="bi-sort", condition="band", W=8 * M, S=1
        ),
    ),
    Line(
        "probing a full subwindow of 8M with batches of 32K: times np.searchsorted called twice",
        "ratio",
        lambda found: _over(
            found.value("index.probe", "throughput", structure="bi-sort", contestant="bi-sort", batch=32 * K),
            found.value("index.probe", "throughput", structure="bi-sort", contestant="numpy", batch=32 * K),
        ),
    ),
)


def lines(found: Found) -> list[str]:
    """The table; what has not been measured is not in it."""
    rows = [(line, line.measured(found)) for line in LINES]
    units = {"ratio": "times", "tuples/s": "tuples/s"}
    shown = [
        f"| {line.sentence} | {number(value, line.unit)} {units.get(line.unit, line.unit)} |"
        for line, value in rows
        if value is not None
    ]
    return ["| what | measured |", "|---|---|", *shown] if shown else []


def renew(readme: Path, found: Found) -> bool:
    """Write the table between the markers of `readme`; False when it has none. What else is in it stays."""
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    if BEGIN not in text and END not in text:
        return False
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise DamageError(f"{readme} has only one of the markers {BEGIN} and {END}; add the other one")
    readme.write_text("\n".join([before + BEGIN, *lines(found), END + after]), encoding="utf-8")
    return True
