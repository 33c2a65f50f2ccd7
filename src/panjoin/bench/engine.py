"""The engine's experiments: `pj.StreamJoin` from the smallest window to the largest, and the paper's headline.

    engine.grid         W x batch x {equi, band} x structure: tuples/s, latency of a push, memory
    engine.aggregates   counting, summing and finding minima over S, with and without making the pairs
    engine.scaling      the same batches into a small window and a large one, in turns
    engine.headline     both windows 128M, equi, S = 1, batch 8M, two workers: what the paper's cluster of 32 nodes did

What is joined and how a push is timed: see `workload.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from panjoin.bench.experiment import CannotMeasure, Cell, Experiment, Point, Skip, View
from panjoin.bench.workload import Workload, fill, points, timed_pushes

K, M = 1 << 10, 1 << 20
SEED = 1
TIMED = "a push into full windows, from the dict of numpy arrays to its answer read"
EXCLUDED = (
    "filling the windows, drawing the data, compiling (every structure and condition runs on tiny windows first), "
    "one push per side of each batch size"
)
COUNTED = "the answer is the table of match counts per tuple (emit='counts'), no pairs are made"


@dataclass(frozen=True)
class Size:
    """How large a scale is."""

    windows: Sequence[int]
    batches: Sequence[int]
    fill_seconds: float  #: most for filling the windows of one cell
    seconds: float  #: of pushes per point
    most_seconds: float  #: a point that could take longer is skipped
    aggregate_window: int
    aggregate_batch: int
    most_pairs: int
    selectivities: Sequence[int]
    scaling: tuple[int, int]
    scaling_batches: Sequence[int]
    headline: tuple[int, int]
    headline_seconds: float


SIZES = {
    "toy": Size(
        (256, 2 * K), (1, 64, 512), 5, 0.01, 30, 2 * K, 128, 4 * K, (1, 16), (256, 2 * K), (64,), (4 * K, 512), 5
    ),
    "small": Size(
        (64 * K, M, 8 * M),  # 128M: sys_per_1 and the headline
        (1, K, 32 * K, M, 8 * M),
        45,
        1.0,
        5,
        M,
        32 * K,
        32 * M,
        (1, 16, 256, 4 * K, 64 * K),
        (64 * K, 8 * M),
        (K, 32 * K, M),
        (128 * M, 8 * M),
        300,
    ),
    "paper": Size(
        (64 * K, M, 8 * M, 128 * M),
        (1, K, 32 * K, M, 8 * M),
        900,
        20,
        300,
        8 * M,
        32 * K,
        32 * M,
        (1, 4, 16, 64, 256, K, 4 * K, 16 * K, 64 * K),
        (64 * K, 8 * M),
        (K, 32 * K, M),
        (128 * M, 8 * M),
        900,
    ),
}

STRUCTURES = ("bi-sort", "rap-table", "wib-tree", "scan")


def grid(scale: str) -> list[Cell]:
    """One cell per window, condition and structure: its windows are filled once for all batches."""
    return [
        Cell(
            {"W": window, "condition": kind, "structure": structure},
            partial(_grid_cell, scale, window, kind, structure),
        )
        for window in SIZES[scale].windows
        for kind in ("equi", "band")
        for structure in STRUCTURES
    ]


def _grid_cell(scale: str, window: int, kind: str, structure: str) -> Iterator[Point | Skip]:
    size = SIZES[scale]
    filled = fill(Workload(window, kind, structure), SEED, size.fill_seconds)
    with filled.join:
        yield Point("memory", "bytes/tuple", [filled.bytes_per_tuple])
        longest, before = 0.0, 1  # seconds of one push of the batch size before
        for batch in size.batches:
            expected = 6 * longest * batch / before  # six pushes are the least
            if expected > size.most_seconds:
                reason = f"six pushes could take {expected:.0f} s; {size.most_seconds:.0f} s are allowed"
                yield Skip("throughput", reason, {"batch": batch})
                continue
            try:
                filled.workload.refuse_what_does_not_fit(batch)
            except CannotMeasure as reason:
                yield Skip("throughput", str(reason), {"batch": batch})
                continue
            spent, matches = timed_pushes(filled, batch, size.seconds)
            yield from points(spent, batch, {"matches_per_tuple": matches}, {"batch": batch})
            longest, before = sum(spent) / len(spent), batch


AGGREGATES: dict[str, tuple[Any, bool]] = {
    "count": ("counts", False),
    "count, sum, avg": (["count", "sum(v)", "avg(v)"], False),
    "count, min, max": (["count", "min(v)", "max(v)"], False),
    "all pairs": ("rows", True),
}


def aggregates(scale: str) -> list[Cell]:
    """One cell per form of the answer and S."""
    size = SIZES[scale]
    return [
        Cell({"S": matches, "answer": answer}, partial(_aggregates_cell, scale, matches, answer))
        for answer in AGGREGATES
        for matches in size.selectivities
    ]


def _aggregates_cell(scale: str, matches: int, answer: str) -> Iterator[Point]:
    size = SIZES[scale]
    emit, pairs = AGGREGATES[answer]
    batch = size.aggregate_batch
    if pairs:  # all pairs of a push are in memory at once
        batch = max(16, min(batch, size.most_pairs // matches))
    load = Workload(size.aggregate_window, selectivity=matches, emit=emit, pairs=pairs, valued=True)
    filled = fill(load, SEED, size.fill_seconds)
    with filled.join:
        spent, found = timed_pushes(filled, batch, size.seconds)
        noted = {"W": load.window, "batch": batch, "matches_per_tuple": found}
        yield next(points(spent, batch, noted, {}))


def scaling(scale: str) -> list[Cell]:
    """One cell per condition and batch."""
    return [
        Cell({"condition": kind, "batch": batch}, partial(_scaling_cell, scale, kind, batch))
        for kind in ("equi", "band")
        for batch in SIZES[scale].scaling_batches
    ]


def _scaling_cell(scale: str, kind: str, batch: int) -> Iterator[Point]:
    """Turns of half a second or more in each window, for each to find its own subwindows in the cache."""
    size, turns = SIZES[scale], 5
    both = [fill(Workload(window, kind), SEED, size.fill_seconds) for window in size.scaling]
    medians: tuple[list[float], list[float]] = ([], [])
    for _ in range(turns):
        for filled, taken in zip(both, medians, strict=True):
            spent, _ = timed_pushes(filled, batch, size.seconds / 3)
            taken.append(sum(spent) / len(spent) * 1e3)
    for filled, taken in zip(both, medians, strict=True):
        yield Point("batch time", "ms", taken, {"W": filled.workload.window})
        filled.join.close()
    ratios = [large / small for small, large in zip(*medians, strict=True)]
    yield Point("large over small", "ratio", ratios, noted={"windows": list(size.scaling)})


def headline(scale: str) -> list[Cell]:
    """One cell per way of reading the answer."""
    return [Cell({"emit": emit}, partial(_headline_cell, scale, emit)) for emit in ("counts", "rows")]


def _headline_cell(scale: str, emit: str) -> Iterator[Point]:
    size = SIZES[scale]
    window, batch = size.headline
    filled = fill(Workload(window, emit=emit), SEED, size.headline_seconds)
    with filled.join:
        spent, matches = timed_pushes(filled, batch, 10 * size.seconds)
        noted = {"matches_per_tuple": matches}
        parameters = {"W": window, "batch": batch, "workers": filled.workload.workers, "S": 1}
        yield from points(spent, batch, noted, parameters)
        yield Point("memory", "bytes/tuple", [filled.bytes_per_tuple], parameters)


EXPERIMENTS = (
    Experiment(
        "engine.grid",
        "throughput, latency and memory over window, batch, condition and structure; S = 1, two workers "
        "(the paper's sys_per figures, on one machine)",
        f"{TIMED}; {COUNTED}",
        EXCLUDED,
        grid,
        (
            View("Throughput, equi", "throughput", ("structure", "W"), "batch", {"condition": "equi"}),
            View("Throughput, band", "throughput", ("structure", "W"), "batch", {"condition": "band"}),
            View(
                "Median latency of a push, equi",
                "latency p50",
                ("structure", "W"),
                "batch",
                {"condition": "equi"},
                plot=False,
            ),
            View(
                "99th percentile of the latency of a push, equi",
                "latency p99",
                ("structure", "W"),
                "batch",
                {"condition": "equi"},
            ),
            View(
                "Median latency of a push, band",
                "latency p50",
                ("structure", "W"),
                "batch",
                {"condition": "band"},
                plot=False,
            ),
            View(
                "99th percentile of the latency of a push, band",
                "latency p99",
                ("structure", "W"),
                "batch",
                {"condition": "band"},
            ),
            View("Memory per tuple of both windows", "memory", ("structure", "condition"), "W", plot=False),
        ),
        SEED,
    ),
    Experiment(
        "engine.aggregates",
        "what an answer costs as S, the matches per tuple, grows: aggregates need no pairs",
        f"{TIMED}: the table of aggregates per tuple, or the arrival numbers of all pairs (of fewer tuples per push "
        "where S is large)",
        EXCLUDED,
        aggregates,
        (View("Probing tuples per second over S", "throughput", ("answer",), "S"),),
        SEED,
    ),
    Experiment(
        "engine.scaling",
        "batch time in a small window and in a large one, measured in turns",
        f"{TIMED}; {COUNTED}",
        EXCLUDED,
        scaling,
        (
            View("Time of a push", "batch time", ("condition", "W"), "batch"),
            View(
                "Time in the large window over time in the small one",
                "large over small",
                ("condition",),
                "batch",
                plot=False,
            ),
        ),
        SEED,
    ),
    Experiment(
        "engine.headline",
        "the paper's largest window: both sides W = 128M, equi, S = 1, batch 8M, two workers in one process",
        f"{TIMED}: with emit='counts' the table of counts per tuple, with emit='rows' the number of joined rows "
        "(Result.count); no pairs are made",
        EXCLUDED,
        headline,
        (
            View("Throughput", "throughput", ("emit", "W"), "batch", plot=False),
            View("Median latency of a push", "latency p50", ("emit", "W"), "batch", plot=False),
            View("Memory per tuple of both windows", "memory", ("emit", "W"), "batch", plot=False),
        ),
        SEED,
    ),
)
