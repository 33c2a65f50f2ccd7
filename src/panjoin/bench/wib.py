"""The paper's figures of WiB+-Tree: insertion and probing over partitions, batch and selectivity, and beside a B-tree.

    wib_insert_1    insertion, one subwindow size, over P and the batch size
    wib_insert_2    insertion, one P, over the subwindow size and the batch size
    wib_probe_1     equality with S = 1, over P and the batch size
    wib_probe_2     equality with one batch size, over P and S
    wib_probe_3     a band with one batch size, over P and S
    wib_comp        speedup over a B-tree (`BTrees`, filled with the same sorted batches and asked tuple by tuple):
                    insertion, equality and band, over the batch size and S

Batches come sorted; sorting them is not timed. Every function returns records; `tuples_per_second` is the best repeat.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from panjoin.index.contract import Array, Index
from panjoin.index.wib_tree import WibTree

Record = dict[str, Any]

PARTITIONS = (1 << 13, 1 << 16, 1 << 18)
BATCHES = (1, 1 << 10, 1 << 15, 1 << 23)
SELECTIVITIES = (1, 1 << 4, 1 << 8, 1 << 12)
#: A tuple at a time is timed on this many only: the rest of the subwindow enters beforehand.
MOST_CALLS = 1 << 14
#: A B-tree is asked with this many tuples of a batch.
MOST_TREE_PROBES = 1 << 12


def wib_insert_1(
    capacity: int = 1 << 23,
    partitions: Iterable[int] = PARTITIONS,
    batches: Iterable[int] = BATCHES,
    repeats: int = 3,
) -> list[Record]:
    """Insertion over P and the batch size."""
    return [insertion("wib_insert_1", capacity, p, batch, repeats) for batch in batches for p in partitions]


def wib_insert_2(
    capacities: Iterable[int] = (1 << 17, 1 << 20, 1 << 23),
    partitions: int = 1 << 16,
    batches: Iterable[int] = BATCHES,
    repeats: int = 3,
) -> list[Record]:
    """Insertion over the subwindow size and the batch size."""
    return [insertion("wib_insert_2", n, partitions, batch, repeats) for batch in batches for n in capacities]


def wib_probe_1(
    capacity: int = 1 << 23,
    partitions: Iterable[int] = PARTITIONS,
    batches: Iterable[int] = BATCHES,
    repeats: int = 3,
) -> list[Record]:
    """Equality with one match per probing tuple, over P and the batch size."""
    return [r for p in partitions for r in probing("wib_probe_1", capacity, p, batches, (1,), 0, repeats)]


def wib_probe_2(
    capacity: int = 1 << 23,
    partitions: Iterable[int] = PARTITIONS,
    selectivities: Iterable[int] = SELECTIVITIES,
    batch: int = 1 << 15,
    repeats: int = 3,
) -> list[Record]:
    """Equality over P and the mean number of matches."""
    return [
        r
        for p in partitions
        for s in selectivities
        for r in probing("wib_probe_2", capacity, p, (batch,), (s,), 0, repeats)
    ]


def wib_probe_3(
    capacity: int = 1 << 23,
    partitions: Iterable[int] = PARTITIONS,
    selectivities: Iterable[int] = SELECTIVITIES,
    batch: int = 1 << 15,
    repeats: int = 3,
) -> list[Record]:
    """A band over P and the mean number of matches."""
    return [r for p in partitions for r in probing("wib_probe_3", capacity, p, (batch,), selectivities, 1, repeats)]


def wib_comp(
    capacity: int = 1 << 23,
    partitions: int = 1 << 17,
    batches: Iterable[int] = (1 << 10, 1 << 15),
    selectivities: Iterable[int] = (1, 1 << 6, 1 << 14),
    repeats: int = 3,
) -> list[Record]:
    """Speedups over a B-tree."""
    from BTrees.IIBTree import IIBTree  # noqa: PLC0415  (an extra of the benchmarks)

    records = []
    for batch in batches:
        mine = insertion("wib_comp", capacity, partitions, batch, repeats)
        keys = uniform(capacity)
        every = [np.sort(keys[at : at + batch]).tolist() for at in range(0, capacity, batch)]

        def fill(every: list[list[int]] = every) -> None:
            other = IIBTree()
            for some in every:
                for key in some:
                    other[key] = key

        seconds = [timed(fill)]  # one repeat: it takes seconds, and varies less than what it is compared with
        other = {"b_tree_tuples_per_second": capacity / min(seconds), "b_tree_seconds": seconds}
        speedup = mine["tuples_per_second"] / other["b_tree_tuples_per_second"]
        records.append(mine | other | {"operation": "insertion", "speedup": speedup})
    for selectivity in selectivities:
        for operation, band in (("equality", 0), ("band", 1)):
            for mine in probing("wib_comp", capacity, partitions, batches, (selectivity,), band, repeats, b_tree=True):
                speedup = mine["tuples_per_second"] / mine["b_tree_tuples_per_second"]
                records.append(mine | {"operation": operation, "speedup": speedup})
    return records


def insertion(experiment: str, capacity: int, partitions: int, batch: int, repeats: int) -> Record:
    """Fill a subwindow with sorted batches; of very many, only the last ones are timed, from a half full tree on."""
    keys, ids, batch = uniform(capacity), np.arange(capacity, dtype=np.int32), min(batch, capacity)
    partitions = min(partitions, capacity)
    begin = max(0, capacity - batch * MOST_CALLS)
    begin = min(begin, capacity // 2) if batch > 1 else begin
    batches = [np.sort(keys[at : at + batch]) for at in range(begin, capacity, batch)][:MOST_CALLS]
    seconds = []
    inserted = sum(map(len, batches))
    for repeat in range(repeats + 1):  # the first one compiles
        index = WibTree(capacity=capacity, partitions=partitions, dtype=np.int32)
        for at in range(0, begin, 1 << 15):
            end = min(begin, at + (1 << 15))
            index.insert(np.sort(keys[at:end]), ids[at:end])

        def fill(index: WibTree = index) -> None:
            for some in batches:
                index.insert(some, ids[index.size : index.size + len(some)])

        spent = timed(fill)
        if repeat:
            seconds.append(spent)
    return {
        "experiment": experiment,
        "capacity": capacity,
        "partitions": partitions,
        "batch": batch,
        "inserted": inserted,
        "leaves": index.leaves,
        "memory_bytes": index.memory_bytes,
        "seconds": seconds,
        "tuples_per_second": inserted / min(seconds),
    }


def probing(
    experiment: str,
    capacity: int,
    partitions: int,
    batches: Iterable[int],
    selectivities: Iterable[int],
    band: int,
    repeats: int,
    *,
    b_tree: bool = False,
) -> list[Record]:
    """Probe a full subwindow; for equality (band = 0) with S matches, every value occurs S times."""
    records, partitions = [], min(partitions, capacity)
    for selectivity in selectivities:
        step = max(1, 2**32 // capacity)
        keys = uniform(capacity)
        if not band:
            keys = ((keys.astype(np.int64) // (step * selectivity)) * (step * selectivity)).astype(np.int32)
        index = WibTree(capacity=capacity, partitions=partitions, dtype=np.int32)
        for some in np.array_split(keys, 16):
            index.insert(np.sort(some), np.arange(index.size, index.size + len(some)))
        index.seal()
        window = _tree_set(keys) if b_tree else None
        for batch in batches:
            low = np.sort(np.random.default_rng(batch).choice(keys, min(batch, capacity)))
            high = np.minimum(low.astype(np.int64) + band * step * selectivity, 2**31 - 1).astype(np.int32)
            index.probe(low, high)  # compiles
            seconds = [timed(lambda low=low, high=high, index=index: index.probe(low, high)) for _ in range(repeats)]  # type: ignore[misc]
            record = {
                "experiment": experiment,
                "capacity": capacity,
                "partitions": partitions,
                "batch": len(low),
                "selectivity": selectivity,
                "found": _found(index, low, high),
                "seconds": seconds,
                "tuples_per_second": len(low) / min(seconds),
            }
            if window is not None:
                every = max(1, len(low) // MOST_TREE_PROBES)
                bands = list(zip(low[::every].tolist(), high[::every].tolist(), strict=True))
                spent = timed(lambda bands=bands, window=window: window(bands))  # type: ignore[misc]
                record |= {"b_tree_tuples_per_second": len(bands) / spent, "b_tree_seconds": [spent]}
            records.append(record)
    return records


def _tree_set(keys: Array) -> Callable[[list[tuple[int, int]]], int]:
    """A B-tree of the keys, asked tuple by tuple; equal keys share an entry, which flatters it."""
    from BTrees.IIBTree import IITreeSet  # noqa: PLC0415  (an extra of the benchmarks)

    tree = IITreeSet(keys.tolist())
    return lambda bands: sum(len(tree.keys(*band)) for band in bands)


def _found(index: Index, low: Array, high: Array) -> int:
    return index.probe(low, high).total


def uniform(capacity: int) -> Array:
    """Keys over the whole range of the type."""
    return np.random.default_rng(1).integers(-(2**31), 2**31, capacity, dtype=np.int32)


def timed(work: Callable[[], Any]) -> float:
    """Seconds that it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
