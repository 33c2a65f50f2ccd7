"""The paper's six figures of RaP-Table, as functions that take sizes and return records.

    insert_1   insertion over the batch size, one line per P; N_sub fixed
    insert_2   the same, one line per N_sub; P fixed
    probe_1    equi-join of S = 1 over the batch size, one line per (N_sub, P)
    probe_2    equi-join over the selectivity S, one line per P; 32K probing tuples
    probe_3    band join over S, one line per P; 32K probing tuples
    adjust     imbalance of the partitions over the generations of splitters, one line per distribution and P

Keys are 32-bit integers, batches come sorted, sorting is not part of any time. An insertion starts with a subwindow
that is half full and stops when it is full or the seconds are over. A probe is timed three ways: the partition phase
alone, counts, and counts with all pairs. Each record is one point: its parameters, `seconds` of every repeat, and
`tuples_per_second` of the best one; those of `adjust` hold `mae` instead.

The imbalance is the mean absolute error of the tuples per partition, relative to N/P: 0 is perfect balance, and all
tuples in one partition give nearly 2. The paper's last data set (view counts of videos) is not ours to ship; a
rank-size distribution of the same description stands in: 99% of the tuples in 1% of the range.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from operator import truediv
from typing import Any

import numpy as np

from panjoin.index import create
from panjoin.index.contract import Array
from panjoin.index.rap_probe import find_all_targets
from panjoin.index.rap_table import RapTable

Record = dict[str, Any]

BATCHES = tuple(1 << k for k in (0, 5, 10, 15, 20, 23))
PARTITIONS = tuple(1 << k for k in (10, 12, 14, 16, 18))
SELECTIVITIES = tuple(1 << k for k in range(0, 17, 2))
#: The legends of the adjustment figure: a shape, its spread as a share of the range, and its modes.
DISTRIBUTIONS = tuple(
    (shape, spread, modes) for shape in ("normal", "uniform") for spread in (0.01, 0.1) for modes in (1, 3)
)
RANK_SIZE = ("rank-size", 0.01, 1)
_SMALLEST, _VALUES = -(2**31), 2**32
_PIECE = 1 << 22  #: pairs are written in pieces of this size and dropped


def insert_1(
    capacity: int = 1 << 23,
    partitions: Iterable[int] = PARTITIONS,
    batches: Iterable[int] = BATCHES,
    *,
    seconds: float = 1.0,
    repeats: int = 3,
    seed: int = 1,
) -> list[Record]:
    """Insertion over the batch size for several P."""
    keys = uniform(capacity, seed)
    points = [(count, batch) for count in partitions if count <= capacity for batch in batches if batch <= capacity]
    return [_inserted("rap.insert_1", keys, count, batch, seconds, repeats) for count, batch in points]


def insert_2(
    capacities: Iterable[int] = (1 << 20, 1 << 21, 1 << 22, 1 << 23),
    partitions: int = 1 << 16,
    batches: Iterable[int] = BATCHES,
    *,
    seconds: float = 1.0,
    repeats: int = 3,
    seed: int = 1,
) -> list[Record]:
    """Insertion over the batch size for several N_sub."""
    batches = list(batches)
    return [
        _inserted("rap.insert_2", uniform(capacity, seed), partitions, batch, seconds, repeats)
        for capacity in capacities
        for batch in batches
        if batch <= capacity
    ]


def probe_1(
    tables: Iterable[tuple[int, int]] = (
        (1 << 20, 1 << 14),
        (1 << 23, 1 << 14),
        (1 << 20, 1 << 16),
        (1 << 23, 1 << 16),
    ),
    batches: Iterable[int] = BATCHES,
    *,
    threads: int = 1,
    repeats: int = 5,
    seed: int = 1,
) -> list[Record]:
    """Equi-join of S = 1 over the batch size, for several (N_sub, P)."""
    records, batches = [], list(batches)
    for capacity, partitions in tables:
        index = _full(distinct(capacity, capacity, seed), partitions, threads)
        for batch in batches:
            values = np.sort(distinct(batch, capacity, seed + 1))
            records += _probed("rap.probe_1", index, values, values, 1, repeats)
    return records


def probe_2(
    capacity: int = 1 << 23,
    partitions: Iterable[int] = PARTITIONS,
    selectivities: Iterable[int] = SELECTIVITIES,
    *,
    probes: int = 1 << 15,
    threads: int = 1,
    repeats: int = 3,
    seed: int = 1,
) -> list[Record]:
    """Equi-join over S: a subwindow in which each of N_sub / S values comes S times on average."""
    records, partitions = [], list(partitions)
    for matches in selectivities:
        keys = distinct(capacity, capacity // matches, seed)
        values = np.sort(distinct(probes, capacity // matches, seed + 1))
        for count in partitions:
            records += _probed("rap.probe_2", _full(keys, count, threads), values, values, matches, repeats)
    return records


def probe_3(
    capacity: int = 1 << 23,
    partitions: Iterable[int] = PARTITIONS,
    selectivities: Iterable[int] = SELECTIVITIES,
    *,
    probes: int = 1 << 15,
    threads: int = 1,
    repeats: int = 3,
    seed: int = 1,
) -> list[Record]:
    """Band join over S: uniform keys, and a band as wide as S of them on average."""
    records, selectivities = [], list(selectivities)
    keys, centres = uniform(capacity, seed), np.sort(uniform(probes, seed + 1)).astype(np.int64)
    for count in partitions:
        index = _full(keys, count, threads)
        for matches in selectivities:
            reach = _VALUES * matches // capacity
            offsets = -(reach // 2), reach - 1 - reach // 2
            low, high = (np.clip(centres + offset, _SMALLEST, 2**31 - 1).astype(np.int32) for offset in offsets)
            records += _probed("rap.probe_3", index, low, high, matches, repeats)
    return records


def adjust(
    capacity: int = 1 << 23,
    partitions: Iterable[int] = (1 << 8, 1 << 12, 1 << 16),
    distributions: Iterable[tuple[str, float, int]] = (*DISTRIBUTIONS, RANK_SIZE),
    *,
    generations: int = 5,
    seed: int = 1,
) -> list[Record]:
    """Imbalance over the generations: each subwindow has new tuples of the same distribution."""
    records, partitions = [], list(partitions)
    for shape, spread, modes in distributions:
        for count in partitions:
            index = None
            for generation in range(generations + 1):
                keys = np.sort(drawn(shape, spread, modes, capacity, seed + generation))
                index = create("rap-table", capacity=capacity, partitions=count, like=index)
                assert isinstance(index, RapTable)
                index.insert(keys, np.arange(capacity))
                point = {"distribution": shape, "spread": spread, "modes": modes, "capacity": capacity}
                point |= {"partitions": count, "generation": generation, "mae": imbalance(index.histogram.counts)}
                records.append({"experiment": "rap.adjust", **point})
    return records


def imbalance(counts: Array) -> float:
    """Mean absolute error of the tuples per partition, relative to the ideal N/P."""
    ideal = counts.sum(dtype=np.int64) / len(counts)
    return float(np.abs(counts - ideal).mean() / ideal)


# ---- what is inserted and asked ----


def uniform(count: int, seed: int) -> Array:
    """Keys over the whole range of int32."""
    return np.random.default_rng(seed).integers(-(2**31), 2**31, count, dtype=np.int32)


def distinct(count: int, values: int, seed: int) -> Array:
    """Keys that take `values` different values, evenly spaced over the range."""
    drawn_values = np.random.default_rng(seed).integers(0, values, count)
    return (_SMALLEST + drawn_values * (_VALUES // values)).astype(np.int32)


def drawn(shape: str, spread: float, modes: int, count: int, seed: int) -> Array:
    """Keys of a multimodal normal or uniform distribution, or by rank and size."""
    rng = np.random.default_rng(seed)
    if shape == "rank-size":  # size ~ 1 / rank: the largest values are few, 99% of the tuples lie below `spread`
        sizes = spread * (2**31 - 1) / 100 / (1 - rng.random(count))
        return np.minimum(sizes, 2**31 - 1).astype(np.int32)
    centres = np.linspace(_SMALLEST, 2**31 - 1, modes + 2)[1:-1][rng.integers(0, modes, count)]
    width = spread * _VALUES / modes
    offsets = rng.normal(0, width, count) if shape == "normal" else rng.uniform(-width / 2, width / 2, count)
    return np.clip(centres + offsets, _SMALLEST, 2**31 - 1).astype(np.int32)


# ---- how it is timed ----


def _inserted(experiment: str, keys: Array, partitions: int, batch: int, seconds: float, repeats: int) -> Record:
    half = min(len(keys) - batch, len(keys) // 2)
    batches = [
        np.sort(keys[at : at + batch])
        for at in range(half, min(len(keys), half + (1 << 15) * batch) - batch + 1, batch)
    ]
    ids, first = np.arange(len(keys), dtype=np.int32), np.sort(keys[:half])
    numbers, spent = [], []
    for _ in range(repeats + 1):  # the first one compiles, or loads what is compiled, and is dropped
        index = create("rap-table", capacity=len(keys), partitions=partitions)
        index.insert(first, ids[:half])
        inserted, start = 0, time.perf_counter()
        for part in batches:
            index.insert(part, ids[index.size : index.size + batch])
            inserted += batch
            if time.perf_counter() - start > seconds:
                break
        spent.append(time.perf_counter() - start)
        numbers.append(inserted)
    point = {"experiment": experiment, "capacity": len(keys), "partitions": partitions, "batch": batch}
    point |= {"inserted": numbers[1:], "seconds": spent[1:], "memory_bytes": index.memory_bytes}
    return point | {"tuples_per_second": max(map(truediv, numbers[1:], spent[1:]))}


def _full(keys: Array, partitions: int, threads: int) -> RapTable:
    index = create("rap-table", capacity=len(keys), partitions=partitions, threads=threads)
    assert isinstance(index, RapTable)
    for part in np.array_split(keys, 8):
        index.insert(np.sort(part), np.arange(index.size, index.size + len(part)))
    index.seal()
    return index


def _probed(experiment: str, index: RapTable, low: Array, high: Array, matches: int, repeats: int) -> list[Record]:
    forms: dict[str, Callable[[], Any]] = {
        "partition phase": lambda: find_all_targets(index.padded, low, high, index.threads),
        "counts": lambda: index.probe(low, high),
        "pairs": lambda: sum(len(ids) for _, ids in index.probe(low, high).chunks(_PIECE)),
    }
    point = {"experiment": experiment, "capacity": index.capacity, "partitions": index.partitions, "batch": len(low)}
    point |= {"selectivity": matches, "threads": index.threads, "found": index.probe(low, high).total}
    records = []
    for form, ask in forms.items():
        spent = []
        for _ in range(repeats + 1):
            start = time.perf_counter()
            ask()
            spent.append(time.perf_counter() - start)
        records.append(point | {"form": form, "seconds": spent[1:], "tuples_per_second": len(low) / min(spent[1:])})
    return records
