"""The paper's comparison of its structures: insertion over the batch size, probing over the selectivity.

    insertion   tuples/s for batches of 1K .. 8M into a subwindow that is half full (what an insertion sees on average;
                filling it whole with 1K batches takes BI-Sort minutes), until it is full or the seconds are over
    probing     probing tuples/s of a band join of 32K sorted tuples against a full, sealed subwindow, over S (the mean
                number of matches of a probing tuple): counts only, and with all pairs written out

Beside the structures stand what a reader could use instead: `np.searchsorted` called twice on the sorted window, and
a B-tree (the BTrees package) asked tuple by tuple. Batches come sorted, as the manager sends them; sorting them is not
part of either time. Slow contestants probe with fewer tuples, spread over the batch: the record says how many.

Each record is one contestant at one point: the parameters, `seconds` of every repeat, and `tuples_per_second` of the
best one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec

import numpy as np

from panjoin.bench.structure import Record, bands, full, insert_for, uniform
from panjoin.index import Index, create
from panjoin.index.contract import Array

STRUCTURES = ("bi-sort", "rap-table", "wib-tree", "scan")
BATCHES = (1 << 10, 1 << 12, 1 << 15, 1 << 17, 1 << 20, 1 << 23)
SELECTIVITIES = (1, 1 << 4, 1 << 8, 1 << 10, 1 << 12, 1 << 16)
#: The nested loop probes with at most 2^33 / N_sub tuples: a second's worth at N_sub = 8M would be 7K of 32K.
_MOST_COMPARISONS = 1 << 33
_MOST_TREE_PROBES = 1 << 12
#: Pairs are written in pieces of this size and dropped: 32K x 64K of them would take 16 GB.
_PIECE = 1 << 22
_MOST_PAIRS = 1 << 28


def comparison(
    capacity: int = 1 << 23,
    partitions: int = 1 << 16,
    *,
    structures: Iterable[str] = STRUCTURES,
    batches: Iterable[int] = BATCHES,
    selectivities: Iterable[int] = SELECTIVITIES,
    probes: int = 1 << 15,
    seconds: float = 2.0,
    repeats: int = 3,
    seed: int = 1,
) -> list[Record]:
    """All records of both figures; `seconds` bounds one repeat of one insertion point."""
    keys = uniform(capacity, seed)
    warm_up(structures, keys, partitions)
    batches = [batch for batch in batches if batch <= capacity]
    selectivities = [matches for matches in selectivities if matches <= capacity]
    return [
        *insertion(keys, partitions, structures, batches, seconds, repeats),
        *probing(keys, partitions, structures, selectivities, probes, repeats, seed),
    ]


def warm_up(structures: Iterable[str], keys: Array, partitions: int) -> None:
    """Compile (or load) every kernel that is timed later: small and large batches, counts and pairs."""
    some = keys[: max(4, min(len(keys), 4096))]
    for name in structures:
        index = create(name, capacity=len(some), partitions=min(partitions, len(some)))
        for at in (0, 1):
            index.insert(np.sort(some[at::2]), np.arange(len(some[at::2])))
            for size in (1, len(some)):
                index.probe(np.sort(some[:size]), np.sort(some[:size])).pairs()
        index.seal()
        index.probe(np.sort(some), np.sort(some)).pairs()


def insertion(
    keys: Array, partitions: int, structures: Iterable[str], batches: Iterable[int], seconds: float, repeats: int
) -> Iterator[Record]:
    """com_insert: throughput of insertion over the batch size."""
    for batch in batches:
        half = min(len(keys) - batch, len(keys) // 2)
        sorted_batches = [np.sort(keys[at : at + batch]) for at in range(half, len(keys) - batch + 1, batch)]
        ids = np.arange(len(keys), dtype=np.int32)
        for name in structures:
            timings = []
            for _ in range(repeats):
                index = create(name, capacity=len(keys), partitions=partitions)
                index.insert(np.sort(keys[:half]), ids[:half])
                timings.append(insert_for(index, sorted_batches, ids, seconds))
            best = max(timings, key=lambda timing: timing[0] / timing[1])
            yield {
                "experiment": "comparison.insertion",
                "contestant": name,
                "capacity": len(keys),
                "partitions": partitions,
                "batch": batch,
                "inserted": [inserted for inserted, _ in timings],
                "seconds": [spent for _, spent in timings],
                "tuples_per_second": best[0] / best[1],
                "memory_bytes": index.memory_bytes,
            }


def probing(
    keys: Array,
    partitions: int,
    structures: Iterable[str],
    selectivities: Iterable[int],
    probes: int,
    repeats: int,
    seed: int,
) -> Iterator[Record]:
    """com_probe: throughput of non-equi-join probing over the selectivity."""
    centres = uniform(probes, seed + 1)
    contestants = {name: full(name, keys, partitions) for name in structures}
    window = np.sort(keys)
    tree = _tree_over(window)
    for matches in selectivities:
        low, high = bands(centres, matches, len(keys))
        point = {"capacity": len(keys), "partitions": partitions, "batch": probes, "selectivity": matches}
        for name, index in contestants.items():
            every = max(1, probes * len(keys) // _MOST_COMPARISONS) if name == "scan" else 1
            yield point | _timed(name, "counts", low[::every], high[::every], repeats, _counts_of(index))
            every = max(every, probes * matches // _MOST_PAIRS)
            yield point | _timed(name, "pairs", low[::every], high[::every], repeats, _pairs_of(index))
        yield point | _timed("np.searchsorted", "counts", low, high, repeats, _searchsorted_in(window))
        if tree is not None:
            every = max(1, probes // _MOST_TREE_PROBES)
            yield point | _timed("b-tree", "counts", low[::every], high[::every], repeats, tree)


def _timed(
    contestant: str, form: str, low: Array, high: Array, repeats: int, probe: Callable[[Array, Array], int]
) -> Record:
    spent, found = [], 0
    for _ in range(repeats):
        start = time.perf_counter()
        found = probe(low, high)
        spent.append(time.perf_counter() - start)
    return {
        "experiment": "comparison.probing",
        "contestant": contestant,
        "form": form,
        "probed": len(low),
        "found": found,
        "seconds": spent,
        "tuples_per_second": len(low) / min(spent),
    }


def _counts_of(index: Index) -> Callable[[Array, Array], int]:
    return lambda low, high: index.probe(low, high).total


def _pairs_of(index: Index) -> Callable[[Array, Array], int]:
    return lambda low, high: sum(len(ids) for _, ids in index.probe(low, high).chunks(_PIECE))


def _searchsorted_in(window: Array) -> Callable[[Array, Array], int]:
    return lambda low, high: int((np.searchsorted(window, high, "right") - np.searchsorted(window, low)).sum())


def _tree_over(window: Array) -> Callable[[Array, Array], int] | None:
    """A B-tree asked tuple by tuple; equal keys share an entry, which flatters it. None without the package."""
    if find_spec("BTrees") is None:
        return None
    from BTrees.LLBTree import LLTreeSet  # noqa: PLC0415  (an extra of the benchmarks)

    tree = LLTreeSet(window.tolist())
    return lambda low, high: sum(len(tree.keys(*band)) for band in zip(low.tolist(), high.tolist(), strict=True))
