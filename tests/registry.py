"""One registry of contestants, index x predicate x window x runtime, which feeds the tests and the benchmarks.

A room plugs in by a file tests/<room>/runtimes.py that says

    @runtime("local", indexes=INDEXES)
    def run(question: Question, index: str | None) -> Answer: ...

and from then on every combination that it accepts is compared with the nested-loop oracle (tests/test_registry.py).
`question(...)` makes the same data for a name, a size and a seed on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tests.oracle.question import HOWS, Answer, Count, Question, Time, Window, micro_batches
from tests.streams import streams

INDEXES = ("bi-sort", "rap-table", "wib-tree", "scan")


class Predicate(NamedTuple):
    """A condition under a name, and the columns of the registry's data that it reads (the same on both sides)."""

    name: str
    text: str
    columns: tuple[str, ...]


_SECONDS = 1_000_000
_TS = ("ts", "ts")

PREDICATES: dict[str, Predicate] = {
    name: Predicate(name, text, tuple(columns.split()))
    for name, columns, text in (
        ("equal", "k", "left.k = right.k"),
        ("equal_string", "s", "left.s = right.s"),
        ("unequal", "k", "left.k != right.k"),
        ("less", "x", "left.x < right.x"),
        ("shifted", "x y", "left.x + 3 >= right.y"),
        ("band", "x", "left.x BETWEEN right.x - 5 AND right.x + 5"),
        ("band_lopsided", "x", "left.x - right.x BETWEEN -5 AND 10"),
        ("band_half_open", "y", "left.y >= right.y - 3 AND left.y < right.y + 3"),
        ("abs_double", "p", "abs(left.p - right.p) <= 0.5"),
        ("decimal", "q", "left.q > right.q - 0.25"),
        ("interval", "ts", "left.ts BETWEEN right.ts - INTERVAL 3 SECONDS AND right.ts + INTERVAL 1 SECOND"),
        (
            "bands_overlapping",
            "x",
            "left.x BETWEEN right.x - 5 AND right.x OR left.x BETWEEN right.x - 2 AND right.x + 4",
        ),
        ("bands_apart", "x", "left.x = right.x - 7 OR left.x BETWEEN right.x + 1 AND right.x + 3"),
        ("equal_and_band", "s p", "left.s = right.s AND left.p BETWEEN right.p - 2.5 AND right.p + 2.5"),
        ("residual", "k x y", "left.k = right.k AND left.x != right.y"),
        ("nothing_to_index", "k x", "left.k = 1 OR right.x > 3"),
    )
}

WINDOWS: dict[str, Window] = {
    "last_1": Window(Count(1), Count(1)),
    "last_7_and_20": Window(Count(7), Count(20)),
    "everything": Window(Count(1 << 40), Count(1 << 40)),
    "seconds": Window(Time(4 * _SECONDS), Time(4 * _SECONDS), _TS),
    "seconds_one_sided_late": Window(Time(0), Time(6 * _SECONDS), _TS, lateness=_SECONDS),
    "count_and_time": Window(Count(9), Time(3 * _SECONDS), _TS),
    "time_and_count": Window(Time(3 * _SECONDS), Count(9), _TS, lateness=2 * _SECONDS),
}

Run = Callable[[Question, str | None], Answer]
Accepts = Callable[[str, str, str], bool]  #: (predicate, window, how), by name


def _anything(_predicate: str, _window: str, _how: str) -> bool:
    return True


class Runtime(NamedTuple):
    """Something that runs a whole stream join. `indexes` is (None,) where there is no index to choose."""

    name: str
    run: Run
    indexes: tuple[str | None, ...]
    accepts: Accepts


RUNTIMES: dict[str, Runtime] = {}


def runtime(
    name: str, *, indexes: Sequence[str | None] = (None,), accepts: Accepts = _anything
) -> Callable[[Run], Run]:
    """Decorator: register a function as a runtime."""

    def register(run: Run) -> Run:
        if name in RUNTIMES and RUNTIMES[name].run is not run:
            raise ValueError(f"a runtime is already called {name!r}: {RUNTIMES[name].run}")
        RUNTIMES[name] = Runtime(name, run, tuple(indexes), accepts)
        return run

    return register


def runtimes() -> dict[str, Runtime]:
    """All runtimes, after importing every tests/<room>/runtimes.py."""
    here = Path(__file__).parent
    for file in sorted(here.glob("**/runtimes.py")):
        import_module(".".join(["tests", *file.relative_to(here).with_suffix("").parts]))
    return RUNTIMES


def contestants() -> list[tuple[Runtime, str | None]]:
    """Every runtime with each of its indexes."""
    return [(runtime_, index) for runtime_ in runtimes().values() for index in runtime_.indexes]


def question(
    predicate: str, window: str, how: str = "inner", *, size: int = 40, seed: int = 0, batch: int = 3
) -> Question:
    """Two streams of about `size` tuples in micro-batches of about `batch` per side, for combinations given by name."""
    if how not in HOWS:
        raise ValueError(f"how must be one of {HOWS}, not {how!r}")
    rng = np.random.default_rng([size, seed])
    pieces = max(2, size // batch)
    sides, sizes = [], []
    for side, n in enumerate((size, max(1, size * 3 // 4))):
        needed = dict.fromkeys((*PREDICATES[predicate].columns, *(WINDOWS[window].ts or ())))
        sides.append(pa.table({name: _column(name, n, size, seed * 2 + side) for name in needed}))
        even, jitter = np.linspace(0, n, pieces + 1)[1:-1], rng.integers(-batch, batch, pieces - 1, endpoint=True)
        marks = np.sort(np.clip(even.astype(np.int64) + jitter, 0, n))
        sizes.append(np.diff([0, *marks, n]).tolist())
    return Question(*sides, micro_batches(*sizes), PREDICATES[predicate].text, WINDOWS[window], how)


def _column(name: str, n: int, span: int, seed: int) -> pa.Array:
    """Values over a range as wide as about n tuples, so that every size has about the same matches per tuple.

    Event times run over `span` seconds on both sides, whatever n is; three in ten tuples come up to 11 seconds late.
    """
    width, rng = max(n // 2, 4), np.random.default_rng([seed, *name.encode()])
    uniform = (streams("uniform", n, seed, np.int64) % width).astype(np.int64)
    holes = rng.random(n) < 0.08
    if name == "ts":
        late = np.where(rng.random(n) < 0.3, rng.integers(0, 12, n), rng.integers(0, 2, n))
        values = (np.arange(n) * span // n + 100 - late) * _SECONDS
        return pa.array(values, pa.timestamp("us", "UTC"), mask=holes)
    if name == "p":
        doubles = np.where(rng.random(n) < 0.05, np.nan, uniform / 4)
        return pa.array(np.where(rng.random(n) < 0.05, np.inf, doubles), mask=holes)
    if name == "q":
        return pa.array(uniform, mask=holes).cast(pa.decimal128(20, 0)).cast(pa.decimal128(18, 2))
    if name == "s":
        return pa.array([f"key {key}" for key in uniform % 5], pa.string(), mask=holes)
    whole = {
        "k": (uniform % 8 if n < 100 else uniform).astype(np.int32),
        "x": (uniform - width // 2).astype(np.int32),
        "y": streams("zipf", n, seed, np.int64) % width - width // 2,
    }
    return pa.array(whole[name], mask=holes)
