"""The paper's system comparison: whole joins, PanJoin with each structure beside the baselines (sys_com_1, sys_com_2).

All contestants join the same data under the same condition with two threads, and answer with the number of matches per
probing tuple. int32 keys; S, the mean number of matches of a tuple in a full window of W, is set by

    equi    keys uniform in [0, W / S)                            left.k = right.k
    band    keys uniform in [0, 2^31), reach = S * 2^30 / W       left.k BETWEEN right.k - reach AND right.k + reach

    fill windows ──> check: the counts of a small batch per side must be, tuple by tuple, those of the first contestant
                 ──> turns: each contestant pushes left and right batches in a row until its share of seconds is over,
                            at least once; then the next one. What it found is compared again, batch by batch.

So a rate without the right answer cannot be recorded, ratios come from one run, and a slow contestant does fewer
batches; nothing is extrapolated. At `--scale small` the nested loops are given a part of each batch, for one batch of
32K against 128M tuples is four million million comparisons; their rate does not depend on the batch, ours does. Where
the windows of all contestants do not fit beside each other, they run one after another.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
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
#: They compare a probing tuple with every tuple of the window.
NESTED = ("handshake", "splitjoin")
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
    nested_batch: int = 1 << 15  #: of the contestants that compare with every tuple of the window
    together: bool = True  #: all windows are in memory at once, and contestants take turns
    fill_seconds: float = 3600  #: most for filling the windows of one contestant

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

    def most_for(self, contestant: str) -> int:
        """Tuples of a batch that a contestant is given."""
        return self.nested_batch if contestant in NESTED else self.batch

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

    def store(self, side: str, keys: Array) -> None:
        """Take keys in; their answers are not read."""
        self._join.push(side, {"k": keys})  # type: ignore[arg-type]

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
        self.store, self.push = self._join.store, self._join.push

    @property
    def memory_bytes(self) -> int:
        """Of both windows."""
        return self._join.memory_bytes

    def close(self) -> None:
        """It has no threads of its own."""


#: (batch, side, its tuples) -> matches that others found.
Totals = dict[tuple[int, str, int], Array]


@dataclass
class Runner:
    """One contestant on its way through the batches."""

    name: str
    join: Engine | Other
    most: int = 1 << 30  #: tuples of a batch that it is given
    done: int = 0  #: batches per side
    rates: list[float] = field(default_factory=list)  #: tuples/s of each turn

    def fill(self, filling: dict[str, Array], seconds: float) -> None:
        """Fill both windows, unless that would take much longer than `seconds`."""
        start, size = time.perf_counter(), len(filling["left"])
        piece = max(_FILL, size // 16)
        for at in range(0, size, piece):
            for side, keys in filling.items():
                self.join.store(side, keys[at : at + piece])
            spent, done = time.perf_counter() - start, min(size, at + piece)
            if done < size and spent > seconds / 16 and spent * size / done > seconds:
                raise CannotMeasure(
                    f"filling both windows would take {spent * size / done:.0f} s or more; {seconds:.0f} s are allowed"
                )

    def turn(self, batches: Sequence[dict[str, Array]], seconds: float, totals: Totals) -> None:
        """Push until the seconds are over; `totals` are the matches that others found, and are added to."""
        spent, tuples = 0.0, 0
        while spent < seconds or tuples == 0:
            for side, whole in batches[self.done % len(batches)].items():
                keys = whole[: self.most]
                start = time.perf_counter()
                counts = self.join.push(side, keys)
                spent += time.perf_counter() - start
                tuples += len(keys)
                found = counts.sum(keepdims=True)
                self.compare(totals.setdefault((self.done, side, len(keys)), found), found)
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
    check = {side: setting.draw(rng, min(setting.batch, setting.nested_batch, _CHECKED)) for side in SIDES}
    batches = [{side: setting.draw(rng, setting.batch) for side in SIDES} for _ in range(_BATCHES)]
    skipped = {name: reason for name in contestants if (reason := setting.refusal(name, memory()))}
    able = [name for name in contestants if name not in skipped]
    answers: dict[str, Array] = {}
    runners: list[Runner] = []
    memory_bytes: dict[str, int] = {}
    for group in [able] if setting.together else [[name] for name in able]:
        with ExitStack() as opened:
            running = []
            for name in group:
                runner = Runner(name, (Engine if name in STRUCTURES else Other)(name, setting), setting.most_for(name))
                opened.callback(runner.join.close)
                try:
                    runner.fill(filling, setting.fill_seconds)
                except CannotMeasure as reason:
                    skipped[name] = str(reason)
                    continue
                for side in SIDES:
                    found = runner.join.push(side, check[side])
                    runner.compare(answers.setdefault(side, found), found)
                running.append(runner)
            totals: Totals = {}
            for _ in range(_TURNS):
                for runner in running:
                    runner.turn(batches, seconds / _TURNS, totals)
            memory_bytes |= {runner.name: runner.join.memory_bytes for runner in running}
            runners += [replace(runner, join=None) for runner in running]  # type: ignore[arg-type]  # its windows go
            del running
    rates = {runner.name: runner.rates for runner in runners}
    known: dict[str, Any] = {
        "experiment": "systems.sys_com",
        "window": setting.window,
        "condition": setting.kind,
        "selectivity": setting.selectivity,
        "batch": setting.batch,
    }
    records = [known | {"contestant": name, "skipped": reason} for name, reason in skipped.items()]
    for runner in runners:
        found_ratio = {}
        if REFERENCE in rates:
            turns = zip(runner.rates, rates[REFERENCE], strict=True)
            found_ratio = {"over_splitjoin": [rate / reference for rate, reference in turns]}
        records.append(
            known
            | {"contestant": runner.name, "rates": runner.rates, "tuples_per_second": median(runner.rates)}
            | {"batches_per_side": runner.done, "memory_bytes": memory_bytes[runner.name]}
            | {"batch": min(setting.batch, runner.most)}
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
    """How large a scale is: the points (W, condition, S) of both figures."""

    com_1: Sequence[tuple[int, str, int]]
    com_2: Sequence[tuple[int, str, int]]
    batch: int
    nested_batches: tuple[int, int]  #: of the nested loops, in each figure
    seconds: float
    fill_seconds: tuple[float, float]  #: in each figure


SIZES = {
    "toy": Size(
        ((2 * K, "equi", 1), (2 * K, "band", 1), (2 * K, "band", 64)), ((4 * K, "band", 1),), 64, (64, 16), 0.01, (9, 9)
    ),
    "small": Size(
        ((M, "equi", 1), (8 * M, "band", 1), (8 * M, "band", 64), (8 * M, "band", 4 * K)),
        ((128 * M, "band", 1),),
        32 * K,
        (4 * K, 512),
        1,
        (15, 160),
    ),
    "paper": Size(
        (*((8 * M, "band", 4**power) for power in range(9)), (8 * M, "equi", 1)),
        (*((128 * M, "band", 4**power) for power in range(9)), (128 * M, "equi", 1)),
        32 * K,
        (32 * K, 32 * K),
        20,
        (3600, 3600),
    ),
}


def cells(scale: str, figure: int) -> list[Cell]:
    """One cell per point."""
    size = SIZES[scale]
    return [
        Cell({"W": window, "condition": kind, "S": matches}, partial(_cell, scale, figure, window, kind, matches))
        for window, kind, matches in (size.com_1 if figure == 1 else size.com_2)
    ]


def _cell(scale: str, figure: int, window: int, kind: str, matches: int) -> Iterator[Point | Skip]:
    size = SIZES[scale]
    together = figure == 1
    nested = size.nested_batches[figure - 1]
    setting = Setting(window, kind, matches, size.batch, nested, together, size.fill_seconds[figure - 1])
    able = [name for name in CONTESTANTS if name != "symmetric-hash" or kind == "equi"]
    if setting.refusal(REFERENCE, memory()):
        raise CannotMeasure(setting.refusal(REFERENCE, memory()))
    for record in compared(setting, able, seconds=size.seconds):
        which = {"contestant": record["contestant"]}
        if "skipped" in record:
            yield Skip("throughput", record["skipped"], which)
            continue
        noted = {"batch": record["batch"], "batches_per_side": record["batches_per_side"]}
        yield Point("throughput", "tuples/s", record["rates"], which, noted)
        if "over_splitjoin" in record:
            yield Point("over splitjoin", "ratio", record["over_splitjoin"], which)
        yield Point("memory", "bytes/tuple", [record["memory_bytes"] / (2 * window)], which)


def _figure(figure: int, shows: str, paper: str) -> Experiment:
    rows = ("contestant", "condition", "W")
    return Experiment(
        f"systems.sys_com_{figure}",
        f"the paper's sys_com_{figure}: PanJoin with each structure beside the joins it is compared with, a red-black "
        f"tree and a hash join, on one machine with two threads each; {shows}",
        "pushes of batches into full windows, from the numpy array to the number of matches of each tuple",
        "filling the windows, drawing the data, compiling, one small batch per side whose answers are compared",
        partial(cells, figure=figure),
        (
            View("Throughput of whole joins", "throughput", rows, "S"),
            View("Times the throughput of SplitJoin", "over splitjoin", rows, "S", plot=False),
        ),
        1,
        paper,
    )


EXPERIMENTS = (
    _figure(
        1,
        "W = 8M",
        "BI-Sort is more than 1000 times as fast as Low Latency Handshake Join and SplitJoin (ScaleJoin), RaP-Table "
        "and WiB+-Tree more than 100 times when S is small, and as fast as them when S is larger than 4K.",
    ),
    _figure(
        2,
        "W = 128M",
        "the speedup of BI-Sort is about 5000, that of RaP-Table and WiB+-Tree 100 to 5000 where S is at most 1K, and "
        "2 to 100 where it is larger.",
    ),
)
