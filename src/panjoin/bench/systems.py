"""The paper's system comparison: whole joins, PanJoin with each structure beside the baselines (sys_com_1, sys_com_2).

All contestants join the same data under the same condition with two threads, and answer with the number of matches per
probing tuple. int32 keys; S, the mean number of matches of a tuple in a full window of W, is set by

    equi    keys uniform in [0, W / S)                            left.k = right.k
    band    keys uniform in [0, 2^31), reach = S * 2^30 / W       left.k BETWEEN right.k - reach AND right.k + reach

    fill windows ──> check: the counts of a small batch per side must be, tuple by tuple, those of the first contestant
                 ──> turns: each contestant pushes left and right batches in a row until its share of seconds is over,
                            at least once; then the next one. What it found is compared again, batch by batch.

So a rate without the right answer cannot be recorded, ratios come from one run, and a slow contestant does fewer
batches, never smaller ones; nothing is extrapolated.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from statistics import median
from typing import Any

import numpy as np

import panjoin as pj
from panjoin.bench.baselines import BASELINES
from panjoin.bench.experiment import CannotMeasure, Cell, Experiment, Point, Skip, View
from panjoin.bench.machine import memory
from panjoin.errors import StateError
from panjoin.index.contract import Array

K, M = 1 << 10, 1 << 20
SIDES = ("left", "right")
THREADS = 2
STRUCTURES = ("bi-sort", "rap-table", "wib-tree")
CONTESTANTS = (*STRUCTURES, *BASELINES)
#: The ratio of every contestant is taken to this one, as in the paper's text.
REFERENCE = "splitjoin"
#: Bytes per tuple of a window, to tell beforehand what cannot fit; a hash table is rounded up to a power of two.
BYTES_PER_TUPLE = {"bi-sort": 12, "rap-table": 24, "wib-tree": 24, "handshake": 4, "splitjoin": 4, "rbsnlj": 18}
_HASH_BYTES = 48
#: A red-black tree walks from match to match: at 2^29 of them a push takes longer than a minute.
_MOST_VISITS = 1 << 29
_CHECKED = 1 << 10
_FILL = 1 << 20
_TURNS = 3
#: Batches drawn per side; a fast contestant comes round to the first one again.
_BATCHES = 8


@dataclass(frozen=True)
class Setting:
    """What is joined."""

    window: int
    kind: str = "band"
    selectivity: int = 1
    batch: int = 1 << 15

    @property
    def reach(self) -> int:
        """How far apart keys that match may be."""
        return 0 if self.kind == "equi" else round(self.selectivity * 2**30 / self.window)

    @property
    def condition(self) -> str:
        """As PanJoin is told."""
        if self.kind == "equi":
            return "left.k = right.k"
        return f"left.k BETWEEN right.k - {self.reach} AND right.k + {self.reach}"

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """Keys of one side."""
        values = max(1, self.window // self.selectivity) if self.kind == "equi" else 2**31
        return rng.integers(0, values, count, dtype=np.int32)

    def refusal(self, contestant: str, room: int) -> str:
        """Why a contestant cannot be measured in `room` bytes, or nothing."""
        if contestant == "symmetric-hash" and self.kind != "equi":
            return "a hash join finds equal keys only"
        if contestant == "rbsnlj" and self.batch * self.selectivity > _MOST_VISITS:
            return f"a push would walk over {self.batch * self.selectivity:,} matches"
        needed = 2 * self.window * BYTES_PER_TUPLE.get(contestant, _HASH_BYTES)
        return f"needs {needed / 2**30:.1f} GB, {room / 2**30:.1f} GB are free" if needed > room else ""


class Engine:
    """PanJoin, with one structure."""

    def __init__(self, structure: str, setting: Setting) -> None:
        window = pj.CountWindow(setting.window)
        self._join = pj.StreamJoin(on=setting.condition, window=window, index=structure, emit="counts", workers=THREADS)

    def fill(self, side: str, keys: Array) -> None:
        """Take keys in; their answers are not read."""
        for at in range(0, len(keys), _FILL):
            self._join.push(side, {"k": keys[at : at + _FILL]})  # type: ignore[arg-type]

    def push(self, side: str, keys: Array) -> Array:
        """Matches per tuple."""
        counts: Array = self._join.push(side, {"k": keys}).to_arrow()["count"].to_numpy()  # type: ignore[arg-type]
        return counts

    @property
    def memory_bytes(self) -> int:
        """Of both windows."""
        return int(self._join.stats()["memory_bytes"])

    def close(self) -> None:
        """Let its threads go."""
        self._join.close()


class Other:
    """A baseline, with the same verbs."""

    def __init__(self, name: str, setting: Setting) -> None:
        band = {"low": -setting.reach, "high": setting.reach}
        sizes = {"window_left": setting.window, "window_right": setting.window}
        self._join = BASELINES[name](**sizes, **band, cores=THREADS)
        self.fill, self.push = self._join.store, self._join.push

    @property
    def memory_bytes(self) -> int:
        """Of both windows."""
        return self._join.memory_bytes

    def close(self) -> None:
        """It has no threads of its own."""


@dataclass
class Runner:
    """One contestant on its way through the batches."""

    name: str
    join: Engine | Other
    done: int = 0  #: batches per side
    rates: list[float] = field(default_factory=list)  #: tuples/s of each turn

    def turn(self, batches: Sequence[dict[str, Array]], seconds: float, totals: dict[tuple[int, str], Array]) -> None:
        """Push until the seconds are over; `totals` are the matches that others found, and are added to."""
        spent, tuples = 0.0, 0
        while spent < seconds or tuples == 0:
            for side, keys in batches[self.done % len(batches)].items():
                start = time.perf_counter()
                counts = self.join.push(side, keys)
                spent += time.perf_counter() - start
                tuples += len(keys)
                found = counts.sum(keepdims=True)
                self.compare(totals.setdefault((self.done, side), found), found)
            self.done += 1
        self.rates.append(tuples / spent)

    def compare(self, expected: Array, found: Array) -> None:
        """Refuse an answer that differs."""
        wrong = np.flatnonzero(expected != found)
        if len(wrong):
            at = wrong[0]
            raise StateError(f"{self.name} finds {found[at]:,} matches where another contestant finds {expected[at]:,}")


def compared(
    setting: Setting, contestants: Sequence[str] = CONTESTANTS, *, seconds: float = 3.0, seed: int = 1
) -> list[dict[str, Any]]:
    """One record per contestant: tuples per second (the median of the turns), and how many times SplitJoin that is.

    `seconds` is each one's share. A contestant that cannot be measured has the reason under "skipped" instead.
    """
    warm_up(setting.kind, tuple(contestants))
    rng = np.random.default_rng(seed)
    filling = {side: setting.draw(rng, setting.window) for side in SIDES}
    check = {side: setting.draw(rng, min(setting.batch, _CHECKED)) for side in SIDES}
    batches = [{side: setting.draw(rng, setting.batch) for side in SIDES} for _ in range(_BATCHES)]
    runners: list[Runner] = []
    skipped: dict[str, str] = {}
    with ExitStack() as opened:
        answers: dict[str, Array] = {}
        for name in contestants:
            skipped[name] = setting.refusal(name, memory())
            if skipped[name]:
                continue
            runner = Runner(name, (Engine if name in STRUCTURES else Other)(name, setting))
            opened.callback(runner.join.close)
            for side in SIDES:
                runner.join.fill(side, filling[side])
            for side in SIDES:
                found = runner.join.push(side, check[side])
                runner.compare(answers.setdefault(side, found), found)
            runners.append(runner)
        totals: dict[tuple[int, str], Array] = {}
        for _ in range(_TURNS):
            for runner in runners:
                runner.turn(batches, seconds / _TURNS, totals)
        memory_bytes = {runner.name: runner.join.memory_bytes for runner in runners}
    rates = {runner.name: runner.rates for runner in runners}
    known: dict[str, Any] = {
        "experiment": "systems.comparison",
        "window": setting.window,
        "condition": setting.kind,
        "selectivity": setting.selectivity,
        "batch": setting.batch,
    }
    records = [known | {"contestant": name, "skipped": skipped[name]} for name in contestants if skipped[name]]
    for runner in runners:
        found_ratio = {}
        if REFERENCE in rates:
            turns = zip(runner.rates, rates[REFERENCE], strict=True)
            found_ratio = {"over_splitjoin": [rate / reference for rate, reference in turns]}
        records.append(
            known
            | {"contestant": runner.name, "rates": runner.rates, "tuples_per_second": median(runner.rates)}
            | {"batches_per_side": runner.done, "memory_bytes": memory_bytes[runner.name]}
            | found_ratio
        )
    return records


@cache
def warm_up(kind: str, contestants: tuple[str, ...]) -> None:
    """Compile (or load) every kernel that is timed later: small and large batches, over several subwindows."""
    setting = Setting(1 << 13, kind)
    rng = np.random.default_rng(0)
    for name in contestants:
        if setting.refusal(name, memory()):
            continue
        join = (Engine if name in STRUCTURES else Other)(name, setting)
        for batch in (1, 100, 5000, 20_000, 100, 1):
            for side in SIDES:
                join.push(side, setting.draw(rng, batch))
        join.close()


@dataclass(frozen=True)
class Size:
    """How large a scale is."""

    points: Sequence[tuple[int, str, int]]  #: W, condition, S
    batch: int
    seconds: float


SIZES = {
    "toy": Size(((2 * K, "equi", 1), (2 * K, "band", 1), (2 * K, "band", 64)), 64, 0.01),
    "small": Size(((M, "equi", 1), (M, "band", 1), (M, "band", K), (8 * M, "equi", 1), (8 * M, "band", 1)), 32 * K, 3),
    "paper": Size(
        (
            *((window, "band", 4**power) for window in (8 * M, 128 * M) for power in range(9)),
            *((window, "equi", 1) for window in (8 * M, 128 * M)),
        ),
        32 * K,
        20,
    ),
}


def cells(scale: str) -> list[Cell]:
    """One cell per point: its contestants run side by side."""
    return [
        Cell({"W": window, "condition": kind, "S": matches}, partial(_cell, scale, window, kind, matches))
        for window, kind, matches in SIZES[scale].points
    ]


def _cell(scale: str, window: int, kind: str, matches: int) -> Iterator[Point | Skip]:
    size = SIZES[scale]
    setting = Setting(window, kind, matches, size.batch)
    able = [name for name in CONTESTANTS if name != "symmetric-hash" or kind == "equi"]
    if setting.refusal(REFERENCE, memory()):
        raise CannotMeasure(setting.refusal(REFERENCE, memory()))
    for record in compared(setting, able, seconds=size.seconds):
        which = {"contestant": record["contestant"]}
        if "skipped" in record:
            yield Skip("throughput", record["skipped"], which)
            continue
        noted = {"batch": size.batch, "batches_per_side": record["batches_per_side"]}
        yield Point("throughput", "tuples/s", record["rates"], which, noted)
        yield Point("over splitjoin", "ratio", record["over_splitjoin"], which)
        yield Point("memory", "bytes/tuple", [record["memory_bytes"] / (2 * window)], which)


EXPERIMENTS = (
    Experiment(
        "systems.comparison",
        "PanJoin with each structure beside the joins it is compared with, and a red-black tree and a hash join "
        "(the paper's sys_com figures, on one machine, two threads each)",
        "pushes of batches into full windows, from the numpy array to the number of matches of each tuple",
        "filling the windows, drawing the data, compiling, one small batch per side whose answers are compared",
        cells,
        (
            View("Throughput of whole joins", "throughput", ("contestant", "condition", "W"), "S"),
            View(
                "Times the throughput of SplitJoin", "over splitjoin", ("contestant", "condition", "W"), "S", plot=False
            ),
        ),
    ),
)
