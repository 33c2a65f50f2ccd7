"""What the engine's experiments join, and how a push is timed.

Both sides draw int32 keys uniformly from [0, range), and the range sets S, the mean number of matches of a probing
tuple in a full window of W tuples:

    equi    left.k = right.k                                  range = W / S
    band    left.k BETWEEN right.k - 5 AND right.k + 5        range = 11 W / S     (11 values match)

Windows are filled before the clock runs, in large pushes. Then both sides push in turns, so windows stay full; data
are drawn before each push. A push is over when its answer has been read: the table of counts per tuple, the number of
joined rows, or (`pairs`) the arrival numbers of all pairs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import panjoin as pj
from panjoin.bench.experiment import CannotMeasure, Point
from panjoin.bench.machine import memory
from panjoin.index.contract import Array

REACH = 5
CONDITIONS = {
    "equi": "left.k = right.k",
    "band": f"left.k BETWEEN right.k - {REACH} AND right.k + {REACH}",
}
SIDES = ("left", "right")
#: Bytes per tuple that a structure takes at most, to tell beforehand what cannot fit. (At W = 8M with batches of 1K the
#: first three took 9, 21 and 21.)
BYTES_PER_TUPLE = {"bi-sort": 12, "rap-table": 24, "wib-tree": 24, "scan": 10}
#: Beside the windows: a batch as it comes, encoded, sorted, its order, its counts, and the table of these.
BYTES_PER_BATCH_TUPLE = 64
#: Windows are filled in pushes: of so many tuples first, which shows what filling takes, then of as many as there are.
FIRST_FILL, FILL = 1 << 17, 1 << 23
#: Most pushes of one measurement, and most repeats they are divided into.
MOST_PUSHES, REPEATS = 4096, 5
SCHEMA = pa.schema([("k", pa.int32())])


@dataclass(frozen=True)
class Workload:
    """One join and its data."""

    window: int
    kind: str = "equi"
    structure: str = "bi-sort"
    selectivity: int = 1
    emit: Any = "counts"
    pairs: bool = False  #: read all pairs instead of their number
    workers: int = 2
    valued: bool = False  #: tuples have a column v as well

    @property
    def schema(self) -> pa.Schema:
        """Of both sides."""
        return SCHEMA.append(pa.field("v", pa.int32())) if self.valued else SCHEMA

    def join(self) -> pj.StreamJoin:
        """The join, empty."""
        return pj.StreamJoin(
            on=CONDITIONS[self.kind],
            window=pj.CountWindow(self.window),
            schemas=(self.schema, self.schema),
            index=self.structure,
            emit=self.emit,
            workers=self.workers,
        )

    def draw(self, rng: np.random.Generator, count: int) -> dict[str, Array]:
        """Tuples of one side."""
        values = max(1, self.window * (2 * REACH + 1 if self.kind == "band" else 1) // self.selectivity)
        tuples = {"k": rng.integers(0, values, count, dtype=np.int32)}
        return tuples | {"v": rng.integers(-1000, 1000, count, dtype=np.int32)} if self.valued else tuples

    def read(self, result: pj.Result) -> int:
        """Read the answer; returns the number of matches."""
        if self.pairs:
            return len(result.pairs()[0])
        if self.emit == "rows":
            return result.count
        if self.emit == "ranges":
            return _matches_of(result.ranges())
        return int(np.asarray(result.to_arrow()["count"]).sum())

    def refuse_what_does_not_fit(self, batch: int = 0) -> None:
        """Raise if the windows (and a batch) would need more memory than there is."""
        payload = (4 * len(self.schema)) if self.emit != "counts" else 0
        needed = 2 * self.window * (BYTES_PER_TUPLE[self.structure] + payload)
        needed += BYTES_PER_BATCH_TUPLE * max(batch, min(self.window, FILL))
        if needed > memory():
            raise CannotMeasure(f"needs {needed / 2**30:.1f} GB of memory, {memory() / 2**30:.1f} GB are free")


def _matches_of(records: pa.Table) -> int:
    """How many matches range records stand for: positions in ranges, and single tuples."""
    ranged = records["id_end"].drop_null()
    within = int(pc.sum(pc.subtract(ranged, records["id_start"].drop_null())).as_py() or 0)
    return within + int(records.num_rows) - len(ranged)


@dataclass
class Filled:
    """A join whose windows are full."""

    workload: Workload
    join: pj.StreamJoin
    rng: np.random.Generator

    def push(self, side: str, batch: int) -> tuple[float, int]:
        """Seconds of one push, and the matches that it found."""
        tuples = self.workload.draw(self.rng, batch)
        start = time.perf_counter()
        found = self.workload.read(self.join.push(side, tuples))  # type: ignore[arg-type]
        return time.perf_counter() - start, found

    def take(self, side: str, batch: int) -> None:
        """Push without reading the answer, which may be huge while windows are filled."""
        self.join.push(side, self.workload.draw(self.rng, batch))  # type: ignore[arg-type]

    @property
    def bytes_per_tuple(self) -> float:
        """Of all that both windows hold, per tuple that is in a window."""
        return float(self.join.stats()["memory_bytes"]) / (2 * self.workload.window)


def fill(workload: Workload, seed: int, seconds: float) -> Filled:
    """A join with full windows, unless filling them takes much longer than `seconds`."""
    workload.refuse_what_does_not_fit()
    warm_up(workload.kind, workload.structure, workload.workers)
    filled = Filled(workload, workload.join(), np.random.default_rng(seed))
    start, done = time.perf_counter(), 0
    while done < workload.window:
        some = min(FILL, max(done, FIRST_FILL), workload.window - done)
        for side in SIDES:
            filled.take(side, some)
        done += some
        spent = time.perf_counter() - start
        times = workload.window / done
        expected = spent * (times**2 if workload.structure == "scan" else times)  # a scan compares all with all
        if done < workload.window and spent > min(5.0, seconds / 8) and expected > seconds:
            filled.join.close()
            raise CannotMeasure(
                f"filling both windows would take {expected:.0f} s or more; {seconds:.0f} s are allowed"
            )
    return filled


@cache
def warm_up(kind: str, structure: str, workers: int) -> None:
    """Compile (or load) every kernel that is timed later: small and large batches, over several subwindows."""
    for emit in ("counts", "rows"):
        workload = Workload(1 << 13, kind, structure, emit=emit, workers=workers)
        tiny = Filled(workload, workload.join(), np.random.default_rng(0))
        for batch in (1, 100, 5000, 20_000, 100, 1):
            for side in SIDES:
                tiny.push(side, batch)
        tiny.join.close()


def timed_pushes(filled: Filled, batch: int, seconds: float, most: int = MOST_PUSHES) -> tuple[list[float], float]:
    """Seconds of each push, and matches per tuple; at least two pushes per side, until the time is over.

    One push per side before them is not counted: it is the first of its size.
    """
    for side in SIDES:
        filled.push(side, batch)
    spent: list[float] = []
    found = 0
    while len(spent) < 4 or (sum(spent) < seconds and len(spent) < most):
        for side in SIDES:
            took, matches = filled.push(side, batch)
            spent.append(took)
            found += matches
    return spent, found / (len(spent) * batch)


def points(spent: Sequence[float], batch: int, noted: dict[str, Any], parameters: dict[str, Any]) -> Iterator[Point]:
    """Throughput (per repeat: pushes in a row), and the median and the 99th percentile of the latency of all pushes."""
    per_repeat = np.array_split(np.array(spent), min(REPEATS, len(spent) // 2))
    rates = [len(some) * batch / float(some.sum()) for some in per_repeat]
    noted = {"pushes": len(spent)} | noted
    yield Point("throughput", "tuples/s", rates, parameters, noted)
    medians = [float(np.median(some)) * 1e3 for some in per_repeat]
    yield Point("latency p50", "ms", medians, parameters, noted)
    yield Point("latency p99", "ms", [float(np.percentile(spent, 99)) * 1e3], parameters, noted)
