"""The paper's figures of the whole system, on one machine: sys_per_1, sys_per_2 and sys_per_3.

    sys_per_1   equality, S = 1, a large window: throughput over the batch, one line per structure
    sys_per_2   a band over S, batches of 32K: what a probing tuple gets is the paper's records (BI-Sort) or all pairs
                (the others), and beside them the number of matches alone, which needs neither
    sys_per_3   how much of a worker's time goes into handing its results over

The paper's workers are nodes and its network is InfiniBand; here workers are threads, and results of sys_per_3 go
through a local stream socket, whose other end is read by another thread:

    probe 32K tuples in one full subwindow ──> records or pairs ──> socket ──> buffer of the manager
    └───────────── probing ──────────────┘   └─────────────── receiving ───────────────┘

sys_per_4 has more nodes than one machine: see `scaling.py`.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from panjoin.bench.experiment import CannotMeasure, Cell, Experiment, Point, Skip, View
from panjoin.bench.structure import bands, full, uniform
from panjoin.bench.workload import Workload, fill, points, timed_pushes
from panjoin.index import Index
from panjoin.index.contract import Array

K, M = 1 << 10, 1 << 20
SEED = 1
STRUCTURES = ("bi-sort", "rap-table", "wib-tree")
#: Pairs of one batch that may be in memory at once; where S is larger, batches are smaller and say so.
MOST_PAIRS = 32 * M
#: Pairs go through the socket in pieces of this many.
PIECE = 1 << 20


@dataclass(frozen=True)
class Size:
    """How large a scale is."""

    large_window: int  #: of sys_per_1
    large_batches: Sequence[int]
    window: int  #: of sys_per_2; N_sub of sys_per_3
    batch: int
    selectivities: Sequence[int]
    seconds: float
    fill_seconds: float
    repeats: int


SIZES = {
    "toy": Size(4 * K, (64, 512), 2 * K, 128, (1, 64), 0.01, 5, 2),
    "small": Size(128 * M, (32 * K, M, 8 * M), 8 * M, 32 * K, (1, 64, 4 * K), 0.5, 240, 3),
    "paper": Size(
        128 * M, (K, 32 * K, 64 * K, M, 8 * M), 128 * M, 32 * K, tuple(4**power for power in range(9)), 10, 900, 5
    ),
}


# ---- sys_per_1 ----


def sys_per_1(scale: str) -> list[Cell]:
    """One cell per structure: its windows are filled once."""
    window = SIZES[scale].large_window
    return [Cell({"W": window, "structure": name}, partial(_over_batch, scale, name)) for name in STRUCTURES]


def _over_batch(scale: str, structure: str) -> Iterator[Point | Skip]:
    size = SIZES[scale]
    filled = fill(Workload(size.large_window, "equi", structure), SEED, size.fill_seconds)
    with filled.join:
        for batch in size.large_batches:
            try:
                filled.workload.refuse_what_does_not_fit(batch)
            except CannotMeasure as reason:
                yield Skip("throughput", str(reason), {"batch": batch})
                continue
            spent, matches = timed_pushes(filled, batch, size.seconds)
            yield next(points(spent, batch, {"matches_per_tuple": matches}, {"batch": batch}))
        yield Point("memory", "bytes/tuple", [filled.bytes_per_tuple])


# ---- sys_per_2 ----

#: What a probing tuple gets -> (emit of the join, whether all pairs are read).
FORMS: dict[str, tuple[str, bool]] = {"count": ("rows", False), "pairs": ("rows", True), "records": ("ranges", False)}


def sys_per_2(scale: str) -> list[Cell]:
    """One cell per structure, S and form of the answer."""
    size = SIZES[scale]
    return [
        Cell(
            {"W": size.window, "structure": name, "form": form, "S": matches},
            partial(_over_selectivity, scale, name, form, matches),
        )
        for name in STRUCTURES
        for form in FORMS
        for matches in size.selectivities
        if (form == "records") <= (name == "bi-sort")  # the others keep no order that records could name
    ]


def _over_selectivity(scale: str, structure: str, form: str, matches: int) -> Iterator[Point]:
    size = SIZES[scale]
    emit, pairs = FORMS[form]
    batch = max(16, min(size.batch, MOST_PAIRS // matches)) if pairs else size.batch
    load = Workload(size.window, "band", structure, matches, emit, pairs)
    filled = fill(load, SEED, size.fill_seconds)
    with filled.join:
        spent, found = timed_pushes(filled, batch, size.seconds)
        yield next(points(spent, batch, {"matches_per_tuple": found, "batch": batch}, {}))


# ---- sys_per_3 ----


def sys_per_3(scale: str) -> list[Cell]:
    """One cell per structure."""
    return [
        Cell({"structure": name, "N_sub": SIZES[scale].window}, partial(_receiving, scale, name)) for name in STRUCTURES
    ]


def _receiving(scale: str, structure: str) -> Iterator[Point]:
    size = SIZES[scale]
    window = min(size.window, 8 * M)
    index = full(structure, uniform(window, SEED), max(1, window // 128))
    with Wire() as wire:
        for matches in size.selectivities:
            batch = max(16, min(size.batch, MOST_PAIRS * 4 // matches))
            low, high = bands(uniform(batch, SEED + 1), matches, window)
            taken = [handed_over(index, low, high, wire) for _ in range(size.repeats + 1)][1:]
            noted = {"batch": batch, "bytes": taken[0].sent}
            yield Point("receiving", "share", [each.receiving / each.seconds for each in taken], {"S": matches}, noted)
            rates = [batch / each.seconds for each in taken]
            yield Point("throughput", "tuples/s", rates, {"S": matches}, noted)
            yield Point("result", "bytes/tuple", [taken[0].sent / batch], {"S": matches})


@dataclass(frozen=True)
class Handed:
    """One batch: probed, and its result handed over."""

    seconds: float
    receiving: float  #: of them
    sent: int  #: bytes


def handed_over(index: Index, low: Array, high: Array, wire: Wire) -> Handed:
    """Probe, then send the result: records of a BI-Sort, pairs of the others."""
    start = time.perf_counter()
    probe = index.probe(low, high)
    probed = time.perf_counter()
    if index.name == "bi-sort":
        records = probe.ranges()
        sent = wire.send([records.start, records.end, records.pending_probe_no, records.pending_ids])
    else:
        sent = sum(wire.send(piece) for piece in probe.chunks(PIECE))
    end = time.perf_counter()
    return Handed(end - start, end - probed, sent)


class Wire:
    """A local stream socket whose other end is read into one buffer, by another thread."""

    def __init__(self) -> None:
        self._here, self._there = socket.socketpair()
        self._room = bytearray(8 * PIECE * 2)
        self._reader = ThreadPoolExecutor(1)

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.shutdown()
        self._here.close()
        self._there.close()

    def send(self, arrays: Sequence[Array]) -> int:
        """Send arrays, and return how many bytes they were when all of them have been read."""
        parts = [memoryview(np.ascontiguousarray(array).view(np.uint8)) for array in arrays if len(array)]  # type: ignore[arg-type]
        total = sum(map(len, parts))
        read: Future[None] = self._reader.submit(self._read, total)
        for part in parts:
            self._here.sendall(part)
        read.result()
        return total

    def _read(self, total: int) -> None:
        room = memoryview(self._room)
        while total:
            total -= self._there.recv_into(room, min(total, len(room)))


# ---- the experiments ----

_TIMED = "a push into full windows, from the dict of numpy arrays to its answer read"
_EXCLUDED = "filling the windows, drawing the data, compiling, one push per side of each batch size"


def _experiment(name: str, shows: str, timed: str, cells: Any, views: tuple[View, ...], paper: str) -> Experiment:
    return Experiment(f"systems.{name}", f"the paper's {name}: {shows}", timed, _EXCLUDED, cells, views, SEED, paper)


EXPERIMENTS = (
    _experiment(
        "sys_per_1",
        "equality with S = 1 in a large window over the batch, two workers in one process",
        f"{_TIMED}; the answer is the table of match counts per tuple",
        sys_per_1,
        (
            View("Tuples per second", "throughput", ("structure", "W"), "batch"),
            View("Memory per tuple of both windows", "memory", ("structure", "W"), "", plot=False),
        ),
        "PanJoin with BI-Sort has the highest throughput, up to 28.9M/s (32 nodes with 8 threads each); RaP-Table is "
        "faster than WiB+-Tree by about 1.5 times where the batch is larger than 64K.",
    ),
    _experiment(
        "sys_per_2",
        "a band over S, two workers in one process; what a probing tuple gets: the count of its matches, all pairs, "
        "or range records (BI-Sort)",
        f"{_TIMED}: counts added up, arrival numbers of all pairs, or the table of records",
        sys_per_2,
        (View("Tuples per second", "throughput", ("structure", "form", "W"), "S"),),
        "throughput decreases on RaP-Table and WiB+-Tree when S becomes larger; the two are nearly identical, since "
        "more than 60% of the time is transmission.",
    ),
    _experiment(
        "sys_per_3",
        "the share of a worker's time that goes into handing its results over, over S",
        "probing one full subwindow with one batch, making records (BI-Sort) or pairs, and sending them through a "
        "local stream socket until all have been read; receiving is all but the probing",
        sys_per_3,
        (
            View("Receiving, as a share of the time", "receiving", ("structure", "N_sub"), "S"),
            View("Size of the result per probing tuple", "result", ("structure", "N_sub"), "S", plot=False),
            View("Probing tuples per second, results received", "throughput", ("structure", "N_sub"), "S"),
        ),
        "when S becomes larger than 1K, receiving the result can be more than 90% of the processing time of RaP-Table "
        "and WiB+-Tree; that is why it is optional.",
    ),
)
