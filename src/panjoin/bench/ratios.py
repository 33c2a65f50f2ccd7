"""What the paper's text claims and none of its figures shows, measured side by side (the table itself: `claims.py`).

    claims.leaves      insertion into WiB+-Tree's unsorted leaves, and into the same tree with sorted ones
    claims.partition   the partition phase of RaP-Table's insertion, and the whole
    claims.rounds      how many adjustments the paper's worst case takes until every value has its own partition
    claims.overhead    what LLAT and histograms take beyond the tuples
    claims.sorting     preprocessing: a batch sorted by key, arrival positions kept
    claims.mirror      a join that answers in range records, with the manager's mirror and without

Contestants take turns; a ratio is made of the two rates of one turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from panjoin.bench.experiment import Cell, Experiment, Point, View
from panjoin.bench.sorted_leaves import SortedLeaves
from panjoin.bench.structure import insert_for, timed, uniform
from panjoin.bench.workload import SIDES, Filled, Workload, fill
from panjoin.index import create, splitters
from panjoin.index.contract import Array
from panjoin.index.partitioning import cut_into_runs
from panjoin.index.rap_table import RapTable
from panjoin.index.wib_tree import WibTree
from panjoin.kernels.sort import sort_by_key

K, M = 1 << 10, 1 << 20
SEED = 1


@dataclass(frozen=True)
class Size:
    """How large a scale is."""

    capacity: int
    partitions: int
    batches: tuple[int, ...]  #: of insertion
    sorted_batches: tuple[int, ...]
    rounds: tuple[int, ...]  #: partition counts of the worst case
    window: int  #: of the mirror
    window_batch: int
    turns: int
    seconds: float  #: of one turn


SIZES = {
    "toy": Size(2 * K, 16, (64, 512), (512,), (16, 256), 2 * K, 128, 2, 0.01),
    "small": Size(8 * M, 64 * K, (K, 32 * K, M), (32 * K, M, 8 * M), (K, 64 * K), M, 32 * K, 3, 0.5),
    "paper": Size(8 * M, 64 * K, (K, 32 * K, M), (32 * K, M, 8 * M), (16, 256, K, 64 * K), 8 * M, 32 * K, 7, 5),
}


# ---- unsorted leaves ----


def leaves(scale: str) -> list[Cell]:
    """One cell per batch size."""
    return [Cell({"batch": batch}, partial(_leaves, SIZES[scale], batch)) for batch in SIZES[scale].batches]


def _leaves(size: Size, batch: int) -> Iterator[Point]:
    keys, ids = uniform(size.capacity, SEED), np.arange(size.capacity, dtype=np.int32)
    half = size.capacity // 2
    first = np.sort(keys[:half])
    batches = [np.sort(keys[at : at + batch]) for at in range(half, size.capacity - batch + 1, batch)]
    unsorted, ordered = [], []
    for turn in range(size.turns + 1):  # the first turn compiles
        wide = create("wib-tree", capacity=size.capacity, partitions=size.partitions)
        assert isinstance(wide, WibTree)
        wide.insert(first, ids[:half])
        count, spent = insert_for(wide, batches, ids, size.seconds)
        kept = SortedLeaves(size.capacity, wide.width, wide.fanout)
        kept.insert(first, ids[:half])
        inserted, taken = _insert_sorted(kept, batches, ids[half:], size.seconds)
        if turn:
            unsorted.append(count / spent)
            ordered.append(inserted / taken)
    yield Point("throughput", "tuples/s", unsorted, {"leaves": "unsorted"})
    yield Point("throughput", "tuples/s", ordered, {"leaves": "sorted"})
    yield Point("unsorted over sorted", "ratio", [one / other for one, other in zip(unsorted, ordered, strict=True)])


def _insert_sorted(tree: SortedLeaves, batches: list[Array], ids: Array, seconds: float) -> tuple[int, float]:
    inserted, start = 0, time.perf_counter()
    for batch in batches:
        tree.insert(batch, ids[inserted : inserted + len(batch)])
        inserted += len(batch)
        if time.perf_counter() - start > seconds:
            break
    return inserted, time.perf_counter() - start


# ---- the partition phase ----


def partition_phase(scale: str) -> list[Cell]:
    """One cell per batch size."""
    return [Cell({"batch": batch}, partial(_partition_phase, SIZES[scale], batch)) for batch in SIZES[scale].batches]


def _partition_phase(size: Size, batch: int) -> Iterator[Point]:
    keys, ids = uniform(size.capacity, SEED), np.arange(size.capacity, dtype=np.int32)
    half = size.capacity // 2
    runs = min(batch, size.partitions)
    partitions, starts = np.empty(runs, np.int32), np.empty(runs + 1, np.int64)
    index = create("rap-table", capacity=size.capacity, partitions=size.partitions)
    assert isinstance(index, RapTable)
    index.insert(np.sort(keys[:half]), ids[:half])
    whole, phase = [], []
    for at in range(half, size.capacity - batch + 1, batch):
        some = np.sort(keys[at : at + batch])
        phase.append(timed(partial(cut_into_runs, index.splitters, some, partitions, starts)))
        whole.append(timed(partial(index.insert, some, ids[at : at + batch])))
        if sum(whole) > size.turns * size.seconds and len(whole) > size.turns:
            break
    phase, whole = (phase[1:], whole[1:]) if len(whole) > 1 else (phase, whole)  # the first call compiles
    parts = [(sum(p), sum(w)) for p, w in zip(_pieces(phase, size.turns), _pieces(whole, size.turns), strict=True)]
    yield Point("partition phase of insertion", "share", [of / all_of for of, all_of in parts])


def _pieces(values: list[float], count: int) -> list[Array]:
    return np.array_split(np.array(values), min(count, len(values)))


# ---- the worst case of adjustment ----


def rounds(scale: str) -> list[Cell]:
    """One cell per P."""
    return [Cell({"P": count}, partial(_rounds, count)) for count in SIZES[scale].rounds]


def _rounds(partitions: int) -> Iterator[Point]:
    """Values s, s/P, s/P^2 ... beside zeros, all in the first partition: adjust until no two share one."""
    top = 2**31 - 1
    tail = [top // partitions**power for power in range(32) if top // partitions**power > 0]
    keys = np.sort(np.array([*tail, *[0] * (partitions - len(tail))], np.int32))
    table, promised = np.full(partitions - 1, top, np.int32), _promised(partitions)
    distinct = np.unique(keys)
    for done in range(promised + 9):
        places = np.searchsorted(table, distinct)
        if len(np.unique(places)) == len(distinct):
            yield Point("adjustments", "rounds", [done], noted={"promised": promised})
            yield Point("adjustments over promised", "ratio", [done / promised])
            return
        table = splitters.adjust(*_histogram(table, keys, partitions), partitions)
    raise AssertionError(f"the worst case at P = {partitions} has not settled after {promised + 9} adjustments")


def _promised(partitions: int) -> int:
    """The least k with P^k >= 2^32, in whole numbers."""
    return next(k for k in range(1, 33) if partitions**k >= 2**32)


def _histogram(table: Array, keys: Array, partitions: int) -> splitters.Histogram:
    histogram = splitters.empty_histogram(keys.dtype, partitions)
    runs, starts = np.empty(partitions, np.int32), np.empty(partitions + 1, np.int64)
    count = cut_into_runs(table, keys, runs, starts)
    splitters.note_runs(histogram, runs[:count], starts, keys)
    return histogram


# ---- memory ----


def overhead(scale: str) -> list[Cell]:
    """One cell per sigma."""
    return [Cell({"sigma": sigma}, partial(_overhead, SIZES[scale], sigma)) for sigma in (1.1, 1.25)]


def _overhead(size: Size, sigma: float) -> Iterator[Point]:
    index = create("rap-table", capacity=size.capacity, partitions=size.partitions, sigma=sigma)
    assert isinstance(index, RapTable)
    llat = index._llat  # noqa: SLF001  (what is asked is how large the part inside is)
    stored = llat.keys.nbytes + llat.ids.nbytes
    yield Point("LLAT beyond the tuples", "share", [stored / (8 * size.capacity) - 1])
    yield Point("over 2 sigma - 1", "ratio", [(stored / (8 * size.capacity) - 1) / (2 * sigma - 1)])
    tables = index.splitters.nbytes + sum(part.nbytes for part in index.histogram)
    yield Point("splitters and histograms over the values", "share", [tables / (4 * size.capacity)])


# ---- preprocessing ----


def sorting(scale: str) -> list[Cell]:
    """One cell per batch size."""
    batches = SIZES[scale].sorted_batches
    return [Cell({"batch": batch}, partial(_sorting, SIZES[scale], batch)) for batch in batches]


def _sorting(size: Size, batch: int) -> Iterator[Point]:
    keys = uniform(batch, SEED)
    alone = keys.copy()
    sort_by_key(keys)
    calls = max(1, M // batch)
    kept, plain = [], []
    for _ in range(size.turns):
        kept.append(batch * calls / timed(lambda: [sort_by_key(keys) for _ in range(calls)]))
        plain.append(batch * calls / timed(lambda: [np.sort(alone) for _ in range(calls)]))
    yield Point("throughput", "tuples/s", kept, {"sorted": "keys and positions"})
    yield Point("throughput", "tuples/s", plain, {"sorted": "keys alone (np.sort)"})


# ---- the mirror ----


def mirror(scale: str) -> list[Cell]:
    """One cell."""
    return [Cell({"W": SIZES[scale].window, "batch": SIZES[scale].window_batch}, partial(_mirror, SIZES[scale]))]


def _mirror(size: Size) -> Iterator[Point]:
    both = [fill(Workload(size.window, "band", emit="ranges"), SEED, 60) for _ in range(2)]
    inside = both[1].join._join  # noqa: SLF001  (no user can do without the mirror)
    assert inside is not None
    inside.mirror = None
    rates: tuple[list[float], list[float]] = ([], [])
    for turn in range(size.turns + 1):
        for filled, seen in zip(both, rates, strict=True):
            rate = _pushed_for(filled, size)
            if turn:
                seen.append(rate)
    for filled, name, seen in zip(both, ("with mirror", "without"), rates, strict=True):
        yield Point("throughput", "tuples/s", seen, {"mirror": name})
        filled.join.close()
    yield Point("with mirror over without", "ratio", [one / other for one, other in zip(*rates, strict=True)])


def _pushed_for(filled: Filled, size: Size) -> float:
    spent, tuples = 0.0, 0
    while spent < size.seconds or not tuples:
        for side in SIDES:
            spent += filled.push(side, size.window_batch)[0]
            tuples += size.window_batch
    return tuples / spent


# ---- the experiments ----


def _ratio(
    name: str, shows: str, timed: str, excluded: str, cells: Callable[[str], list[Cell]], *views: View
) -> Experiment:
    return Experiment(f"claims.{name}", shows, timed, excluded, cells, views, SEED)


EXPERIMENTS = (
    _ratio(
        "leaves",
        "what unsorted leaves bring to a WiB+-Tree's insertion: beside the same tree with sorted ones, in turns",
        "inserting sorted batches of int32 keys and ids into a half full tree, until it is full or the time is over",
        "drawing and sorting the batches, filling the first half, one uncounted turn",
        leaves,
        View("Inserted tuples per second", "throughput", ("leaves",), "batch"),
        View("Unsorted leaves over sorted ones", "unsorted over sorted", (), "batch", plot=False),
    ),
    _ratio(
        "partition",
        "the partition phase as a share of RaP-Table's insertion",
        "the search for the partitions of a batch, alone, and the whole insertion of the same batch right after it",
        "drawing and sorting the batches, the first one",
        partition_phase,
        View("Share of the time", "partition phase of insertion", (), "batch", plot=False),
    ),
    _ratio(
        "rounds",
        "the worst case of the adjustment: rounds until every value has a partition of its own",
        "nothing; rounds are counted",
        "",
        rounds,
        View("Rounds", "adjustments", (), "P", plot=False),
        View("Over ceil(log_P 2^32)", "adjustments over promised", (), "P", plot=False),
    ),
    _ratio(
        "overhead",
        "what an LLAT and the histograms of a RaP-Table take beyond keys and ids",
        "nothing; bytes of the arrays",
        "",
        overhead,
        View("LLAT beyond the tuples", "LLAT beyond the tuples", (), "sigma", plot=False),
        View("LLAT over 2 sigma - 1", "over 2 sigma - 1", (), "sigma", plot=False),
        View("Splitters and histograms", "splitters and histograms over the values", (), "sigma", plot=False),
    ),
    _ratio(
        "sorting",
        "preprocessing a batch: keys sorted with their arrival positions, one thread, and what sorting alone takes",
        "sorting one batch of random int32 keys",
        "drawing them, one uncounted call",
        sorting,
        View("Tuples per second", "throughput", ("sorted",), "batch"),
    ),
    _ratio(
        "mirror",
        "range records with the manager's mirror of every main array, and without it, in turns",
        "pushes into full windows, band with S = 1, until the table of records is read",
        "filling the windows, drawing the data, one uncounted turn",
        mirror,
        View("Tuples per second", "throughput", ("mirror",), "batch", plot=False),
        View("With the mirror over without", "with mirror over without", (), "batch", plot=False),
    ),
)
