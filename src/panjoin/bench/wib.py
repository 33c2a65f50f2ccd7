"""The figure that only WiB+-Tree has: beside a B-tree that others wrote (wib_comp).

    insertion   a subwindow filled from empty with sorted batches
    equality    probing tuples of which each finds S on average; counts, of all that match
    band        the same with a band

The B-tree is `BTrees` (in C): filled with the same sorted batches, asked tuple by tuple for the number of keys in an
interval. It has no batches and goes through Python for each tuple, so a part of the speedup is Python's; the plain
B+-tree with sorted leaves that `claims.py` measures is free of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from panjoin.bench.structure import Record, bands, distinct, full, insert_for, timed, uniform
from panjoin.index import create
from panjoin.index.contract import Array

#: A B-tree is asked with this many tuples of a batch.
MOST_TREE_PROBES = 1 << 12


def comparison(
    capacity: int, partitions: int, batches: Iterable[int], selectivities: Iterable[int], repeats: int = 3
) -> Iterator[Record]:
    """All points; `speedup` is over the B-tree."""
    batches = list(batches)
    for batch in batches:
        yield _insertion(capacity, partitions, batch, repeats)
    for matches in selectivities:
        keys = distinct(capacity, capacity // matches, 1)
        yield from _probing("equality", keys, partitions, batches, matches, repeats)
        yield from _probing("band", uniform(capacity, 1), partitions, batches, matches, repeats)


def _insertion(capacity: int, partitions: int, batch: int, repeats: int) -> Record:
    from BTrees.IIBTree import IIBTree  # noqa: PLC0415  (an extra of the benchmarks)

    keys, ids = uniform(capacity, 1), np.arange(capacity, dtype=np.int32)
    batches = [np.sort(keys[at : at + batch]) for at in range(0, capacity, batch)]
    spent = []
    for _ in range(repeats + 1):
        index = create("wib-tree", capacity=capacity, partitions=partitions)
        spent.append(insert_for(index, batches, ids, np.inf)[1])
    as_lists = [some.tolist() for some in batches]

    def fill() -> None:
        other = IIBTree()
        for some in as_lists:
            for key in some:
                other[key] = key

    # one repeat of the B-tree: it takes seconds, and varies less than what it is compared with
    return _beside("insertion", capacity, partitions, batch, capacity, spent[1:], capacity / timed(fill))


def _probing(
    operation: str, keys: Array, partitions: int, batches: Iterable[int], matches: int, repeats: int
) -> Iterator[Record]:
    index, tree = full("wib-tree", keys, partitions), _tree_set(keys)
    for batch in batches:
        low = high = np.sort(np.random.default_rng(batch).choice(keys, batch))
        if operation == "band":
            low, high = bands(low, matches, len(keys))
        index.probe(low, high)  # compiles
        spent = [timed(lambda low=low, high=high, index=index: index.probe(low, high)) for _ in range(repeats)]  # type: ignore[misc]
        every = max(1, batch // MOST_TREE_PROBES)
        asked = list(zip(low[::every].tolist(), high[::every].tolist(), strict=True))
        other = len(asked) / timed(lambda asked=asked, tree=tree: tree(asked))  # type: ignore[misc]
        record = _beside(operation, len(keys), partitions, batch, batch, spent, other)
        yield record | {"selectivity": matches, "found": index.probe(low, high).total}


def _beside(
    operation: str, capacity: int, partitions: int, batch: int, tuples: int, spent: list[float], other: float
) -> Record:
    return {
        "experiment": "wib_comp",
        "operation": operation,
        "capacity": capacity,
        "partitions": partitions,
        "batch": batch,
        "tuples": tuples,
        "seconds": spent,
        "tuples_per_second": tuples / min(spent),
        "b_tree_tuples_per_second": other,
        "speedup": tuples / min(spent) / other,
    }


def _tree_set(keys: Array) -> Callable[[list[tuple[int, int]]], int]:
    """A B-tree of the keys; equal keys share an entry, which flatters it."""
    from BTrees.IIBTree import IITreeSet  # noqa: PLC0415  (an extra of the benchmarks)

    tree: Any = IITreeSet(keys.tolist())
    return lambda asked: sum(len(tree.keys(*interval)) for interval in asked)
