"""sys_per_4 on paper: what one node measures, and what a model makes of it for 2 to 256 workers.

A batch of b tuples, windows of W tuples on each side, n workers with one subwindow of W/n per side:

                  placement "arrival" (the paper's)            placement "key"
    manager       sorts b                                      sorts b
    network       b tuples to each of n workers: n b bytes     each tuple to its own worker: b bytes
    worker        probes b in W/n, inserts b (the newest's)    probes b/n in W/n, inserts b/n
    throughput    b / the longest of the three, for they overlap (paper, Architecture: steps 1, 2 and 4, 5)

Measured here, on one thread: probing and insertion per tuple over N_sub and b, sorting per tuple, bytes per tuple of a
message and of a window. Fitted to them by least squares of the relative errors (`Fit`), with terms that can only add:

    ns per tuple = call / b + constant + depth * log2(1 + N/b) + scan * N / P + merge * N / b

the steps between two tuples of a sorted batch, the part of a partition that is scanned, and what a merge moves. The
network's speed is not measured: it is the paper's, 100 Gb/s at the manager. Results stay with the workers, as there.

What is measured and what is predicted is told apart by `kind` in every record. The model also predicts this very
machine (one and two workers in one process, no network), where it can be held against a measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from panjoin.bench.experiment import Cell, Experiment, Point, View
from panjoin.bench.structure import bands, full, timed, uniform
from panjoin.bench.workload import Workload, fill, timed_pushes
from panjoin.index import Index, create
from panjoin.index.contract import Array
from panjoin.kernels.sort import sort_by_key

K, M, G = 1 << 10, 1 << 20, 1 << 30
SEED = 1
STRUCTURES = ("bi-sort", "rap-table", "wib-tree")
SELECTIVITIES = (1, 64)
PLACEMENTS = ("arrival", "key")
WORKERS = tuple(2**power for power in range(1, 9))
#: Of sys_per_4: W, N_bat and P; and bytes per second of the paper's network.
WINDOW, BATCH, PARTITIONS, NETWORK = G, 8 * M, 64 * K, 12.5e9
#: A tuple in a message: an int32 key and an int32 number.
MESSAGE_BYTES = 8
PIECE = 1 << 22


@dataclass(frozen=True)
class Size:
    """How large a scale is: what is measured on one node."""

    capacities: Sequence[int]
    batches: Sequence[int]
    partitions: int
    repeats: int
    check: tuple[int, int]  #: W and batch of the join that the model is held against
    seconds: float


SIZES = {
    "toy": Size((512, 2 * K), (64, 512), 64, 2, (2 * K, 256), 0.01),
    "small": Size((M, 4 * M, 8 * M), (32 * K, 256 * K, 2 * M), 64 * K, 2, (8 * M, 256 * K), 0.5),
    "paper": Size((M, 2 * M, 4 * M, 8 * M, 32 * M), (32 * K, 256 * K, 2 * M, 8 * M), 64 * K, 5, (32 * M, M), 5),
}


@dataclass(frozen=True)
class Fit:
    """Coefficients of the terms of the formula above, none negative, and how far the fit is off at most."""

    coefficients: Array
    partitions: int
    error: float

    @classmethod
    def of(cls, points: Sequence[tuple[float, float, float]], partitions: int) -> Fit:
        """Least squares over (N, b, ns per tuple); terms that come out negative are left out, the worst one first."""
        table = np.array([_terms(size, batch, partitions) for size, batch, _ in points])
        cost = np.array([ns for _, _, ns in points])
        relative, kept = table / cost[:, None], list(range(table.shape[1]))
        while True:
            found = np.linalg.lstsq(relative[:, kept], np.ones(len(cost)), rcond=None)[0]
            if (found >= 0).all():
                break
            kept.pop(int(found.argmin()))
        coefficients = np.zeros(table.shape[1])
        coefficients[kept] = found
        return cls(coefficients, partitions, float(np.abs(relative @ coefficients - 1).max()))

    def ns(self, size: float, batch: float) -> float:
        """Per tuple of a batch."""
        return float(np.dot(_terms(size, batch, self.partitions), self.coefficients))


def _terms(size: float, batch: float, partitions: int) -> list[float]:
    return [1 / batch, 1.0, float(np.log2(1 + size / batch)), size / partitions, size / batch]


@dataclass(frozen=True)
class Node:
    """What one node is known to do, in nanoseconds per tuple; `bytes_per_tuple` is of a window."""

    probe: Fit
    insert: Fit
    sort_ns: float
    bytes_per_tuple: float

    def seconds(self, workers: int, placement: str, window: int, batch: int, network: float) -> dict[str, float]:
        """Of one batch: what each of the three that overlap takes."""
        mine = batch if placement == "arrival" else batch / workers
        held = window / workers
        probing, inserting = self.probe.ns(held, mine) * mine, self.insert.ns(held, mine) * mine
        sent = (workers if placement == "arrival" else 1) * batch * MESSAGE_BYTES
        return {"manager": self.sort_ns * batch / 1e9, "network": sent / network, "worker": (probing + inserting) / 1e9}

    def memory(self, workers: int, window: int) -> float:
        """Bytes that a worker's subwindows of both sides take."""
        return 2 * window / workers * self.bytes_per_tuple


# ---- measured ----


def measured(structure: str, matches: int, size: Size) -> tuple[Node, list[Point]]:
    """A node, and the points that it was fitted to."""
    probing, inserting, memory, seen = [], [], 0.0, []
    for capacity in size.capacities:
        keys = uniform(capacity, SEED)
        partitions = min(size.partitions, capacity)
        index = full(structure, keys, partitions)
        memory = index.memory_bytes / capacity
        for batch in size.batches:
            if batch > capacity:
                continue
            low, high = bands(uniform(batch, SEED + 1), matches, capacity)
            answer = partial(_answer, index, low, high)
            answer()
            probed = [timed(answer) for _ in range(size.repeats)]
            inserted = [_insertion(structure, keys, partitions, batch) for _ in range(size.repeats + 1)][1:]
            probing.append((capacity, batch, float(np.median(probed)) / batch * 1e9))
            inserting.append((capacity, batch, float(np.median(inserted)) / batch * 1e9))
            where = {"N_sub": capacity, "batch": batch, "kind": "measured"}
            seen.append(Point("probing", "tuples/s", [batch / spent for spent in probed], where))
            seen.append(Point("insertion", "tuples/s", [batch / spent for spent in inserted], where))
    batch = max(size.batches)
    drawn = uniform(batch, SEED)
    sort_by_key(drawn)
    sort_ns = float(np.median([timed(partial(sort_by_key, drawn)) for _ in range(size.repeats)])) / batch * 1e9
    node = Node(Fit.of(probing, size.partitions), Fit.of(inserting, size.partitions), sort_ns, memory)
    return node, seen


def _answer(index: Index, low: Array, high: Array) -> Any:
    """Records of a BI-Sort, all pairs of the others."""
    probe = index.probe(low, high)
    return probe.ranges() if index.name == "bi-sort" else sum(len(ids) for _, ids in probe.chunks(PIECE))


def _insertion(structure: str, keys: Array, partitions: int, batch: int) -> float:
    """Seconds of a batch into a subwindow that is half full."""
    half = min(len(keys) - batch, len(keys) // 2)
    index = create(structure, capacity=len(keys), partitions=partitions)
    if half:
        index.insert(np.sort(keys[:half]), np.arange(half, dtype=np.int32))
    some, ids = np.sort(keys[half : half + batch]), np.arange(half, half + batch, dtype=np.int32)
    return timed(lambda: index.insert(some, ids))


# ---- predicted ----


def cells(scale: str) -> list[Cell]:
    """One cell per structure and S; what is measured on one node is measured in it."""
    return [
        Cell({"structure": name, "S": matches}, partial(_cell, scale, name, matches))
        for name in STRUCTURES
        for matches in SELECTIVITIES
    ]


def _cell(scale: str, structure: str, matches: int) -> Iterator[Point]:
    size = SIZES[scale]
    node, seen = measured(structure, matches, size)
    yield from seen
    yield Point("error of the fit", "share", [node.probe.error], {"fit": "probing"})
    yield Point("error of the fit", "share", [node.insert.error], {"fit": "insertion"})
    for workers in WORKERS:
        yield Point("memory per worker", "MB", [node.memory(workers, WINDOW) / 1e6], {"workers": workers} | PREDICTED)
        for placement in PLACEMENTS:
            parts = node.seconds(workers, placement, WINDOW, BATCH, NETWORK)
            longest = max(parts, key=lambda name: parts[name])
            where = {"placement": placement, "workers": workers} | PREDICTED
            yield Point("throughput", "tuples/s", [BATCH / parts[longest]], where, {"limited by": longest})
            sent = MESSAGE_BYTES * (workers if placement == "arrival" else 1)
            yield Point("network", "bytes/tuple", [sent], where)
    if matches == 1:
        yield from _held_against_a_join(structure, node, size)


PREDICTED = {"kind": "predicted"}


def _held_against_a_join(structure: str, node: Node, size: Size) -> Iterator[Point]:
    """The model's word on one process with one worker and two, beside what they do."""
    window, batch = size.check
    for workers in (1, 2):
        filled = fill(
            Workload(window, "band", structure, emit="rows", pairs=structure != "bi-sort", workers=workers), SEED, 60
        )
        with filled.join:
            spent, _ = timed_pushes(filled, batch, size.seconds)
        rate = len(spent) * batch / sum(spent)
        parts = node.seconds(workers, "arrival", window, batch, np.inf)
        expected = batch / (parts["manager"] + parts["worker"])  # one after the other, in one process
        where = {"workers": workers}
        yield Point("throughput here", "tuples/s", [rate], where | {"kind": "measured"})
        yield Point("throughput here", "tuples/s", [expected], where | PREDICTED)
        yield Point("predicted over measured", "ratio", [expected / rate], where)


def _views() -> Iterator[View]:
    for matches in SELECTIVITIES:
        yield View(
            f"Predicted tuples per second, W = 1G, batches of 8M, S = {matches}",
            "throughput",
            ("structure", "placement", "kind"),
            "workers",
            {"S": matches},
        )
    yield View(
        "Predicted memory per worker, both sides",
        "memory per worker",
        ("structure", "kind"),
        "workers",
        {"S": 1},
        plot=False,
    )
    yield View(
        "Predicted bytes that the manager sends per tuple",
        "network",
        ("placement", "kind"),
        "workers",
        {"S": 1, "structure": "bi-sort"},
        plot=False,
    )
    for what, metric in (("Probing", "probing"), ("Insertion", "insertion")):
        yield View(f"{what} on one thread, measured, S = 1", metric, ("structure", "N_sub", "kind"), "batch", {"S": 1})
    yield View("Largest relative error of the fit", "error of the fit", ("structure", "S"), "fit", plot=False)
    yield View("One process, measured and predicted", "throughput here", ("structure", "kind"), "workers", plot=False)
    yield View("Predicted over measured, one process", "predicted over measured", ("structure",), "workers", plot=False)


def _experiment(cells_of: Callable[[str], list[Cell]]) -> Experiment:
    return Experiment(
        "systems.sys_per_4",
        "the paper's sys_per_4, on paper: a model of 2 to 256 workers (W = 1G per side, band, batches of 8M, P = 64K, "
        "one thread per worker, 100 Gb/s at the manager), fitted to what one node measures; placement by arrival is "
        "the paper's, by key is ours",
        "one probe of a full subwindow (records of a BI-Sort, all pairs of the others), one insertion into a half full "
        "one, one sort, all on one thread; `kind` says what is measured and what the model predicts from it",
        "drawing and sorting the data, filling, compiling",
        cells_of,
        tuple(_views()),
        SEED,
        "adding more worker nodes does not always give better performance, because communication dominates; BI-Sort "
        "still does about 10M/s, the others are 1 to 10 times slower where S = 1 and 10 to 100 times where S = 64.",
    )


EXPERIMENTS = (_experiment(cells),)
