"""What the paper's figures of RaP-Table, WiB+-Tree and BI-Sort have in common: the same five experiments for each.

    insert_1   insertion over the batch size, one line per P; N_sub fixed
    insert_2   the same, one line per N_sub; P fixed
    probe_1    equality with S = 1 over the batch size, one line per (N_sub, P)
    probe_2    equality over the selectivity S, one line per P; 32K probing tuples
    probe_3    a band over S, one line per P; 32K probing tuples

Keys are 32-bit integers, batches come sorted, sorting is no part of any time. An insertion starts with a subwindow
that is half full (what an insertion sees on average) and stops when it is full or the seconds are over. A probe of a
full, sealed subwindow is timed in several forms: counts (of BI-Sort: also its ranges), and counts with all pairs
written out, in pieces; a RaP-Table's partition phase alone.

Each record is one point: its parameters, `seconds` of every repeat, and `tuples_per_second` of the best one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import truediv
from typing import Any

import numpy as np

from panjoin.index import Index, create
from panjoin.index.contract import Array
from panjoin.index.rap_probe import find_all_targets
from panjoin.index.rap_table import RapTable

Record = dict[str, Any]

LEAST, MOST = -(2**31), 2**31 - 1
_VALUES = 2**32
#: Pairs are written in pieces of this size and dropped: 32K tuples with 64K matches each would take 16 GB.
_PIECE = 1 << 22
#: Batches that are made beforehand; more of them are not needed before the seconds are over.
_MOST_BATCHES = 1 << 15


# ---- the figures ----


def insert(
    structure: str,
    capacity: int,
    partitions: int,
    batch: int,
    *,
    seconds: float = 1.0,
    repeats: int = 3,
    seed: int = 1,
    **knobs: Any,
) -> Record:
    """One point of insert_1 and insert_2."""
    keys, ids = uniform(capacity, seed), np.arange(capacity, dtype=np.int32)
    half = min(capacity - batch, capacity // 2)
    end = min(capacity, half + _MOST_BATCHES * batch)
    batches = [np.sort(keys[at : at + batch]) for at in range(half, end - batch + 1, batch)]
    first = np.sort(keys[:half])
    taken = []
    for _ in range(repeats + 1):  # the first one compiles, or loads what is compiled, and is dropped
        index = create(structure, capacity=capacity, partitions=partitions, **knobs)
        index.insert(first, ids[:half])
        taken.append(insert_for(index, batches, ids, seconds))
    numbers, spent = zip(*taken[1:], strict=True)
    return {
        "experiment": "insert",
        "structure": structure,
        "capacity": capacity,
        "partitions": partitions,
        "batch": batch,
        "inserted": list(numbers),
        "seconds": list(spent),
        "memory_bytes": index.memory_bytes,
        "tuples_per_second": max(map(truediv, numbers, spent)),
    }


def probe_1(
    structure: str, capacity: int, partitions: int, batches: Iterable[int], *, threads: int = 1, repeats: int = 3
) -> Iterator[Record]:
    """Equality with S = 1 over the batch size."""
    index = full(structure, distinct(capacity, capacity, 1), partitions, threads=threads)
    for batch in batches:
        values = np.sort(distinct(batch, capacity, 2))
        yield from probed(index, values, values, 1, repeats)


def probe_2(
    structure: str,
    capacity: int,
    partitions: int,
    selectivities: Iterable[int],
    *,
    probes: int = 1 << 15,
    threads: int = 1,
    repeats: int = 3,
) -> Iterator[Record]:
    """Equality over S: a subwindow in which each of N_sub / S values comes S times on average."""
    for matches in selectivities:
        values = np.sort(distinct(probes, capacity // matches, 2))
        index = full(structure, distinct(capacity, capacity // matches, 1), partitions, threads=threads)
        yield from probed(index, values, values, matches, repeats)


def probe_3(
    structure: str,
    capacity: int,
    partitions: int,
    selectivities: Iterable[int],
    *,
    probes: int = 1 << 15,
    threads: int = 1,
    repeats: int = 3,
) -> Iterator[Record]:
    """A band over S: uniform keys, and a band as wide as S of them on average."""
    index = full(structure, uniform(capacity, 1), partitions, threads=threads)
    for matches in selectivities:
        yield from probed(index, *bands(uniform(probes, 2), matches, capacity), matches, repeats)


# ---- what is inserted and asked ----


def uniform(count: int, seed: int) -> Array:
    """Keys over the whole range of int32."""
    return np.random.default_rng(seed).integers(LEAST, MOST + 1, count, dtype=np.int32)


def distinct(count: int, values: int, seed: int) -> Array:
    """Keys that take `values` different values, evenly spaced over the range."""
    drawn = np.random.default_rng(seed).integers(0, values, count)
    return (LEAST + drawn * (_VALUES // values)).astype(np.int32)


def bands(centres: Array, matches: int, capacity: int) -> tuple[Array, Array]:
    """Ascending intervals around the centres, in each of which `matches` of `capacity` uniform keys lie on average."""
    reach = max(1, round(_VALUES * matches / capacity))
    middle = np.sort(centres).astype(np.int64)
    low, high = middle - reach // 2, middle + (reach - 1 - reach // 2)
    return np.maximum(low, LEAST).astype(np.int32), np.minimum(high, MOST).astype(np.int32)


def full(structure: str, keys: Array, partitions: int, **knobs: Any) -> Index:
    """A full, sealed subwindow of these keys, filled in eight batches."""
    index = create(structure, capacity=len(keys), partitions=partitions, **knobs)
    for part in np.array_split(keys, 8):
        index.insert(np.sort(part), np.arange(index.size, index.size + len(part)))
    index.seal()
    return index


# ---- how it is timed ----


def insert_for(index: Index, batches: Sequence[Array], ids: Array, seconds: float) -> tuple[int, float]:
    """Insert until the batches or the seconds are over; the number of tuples and the time."""
    inserted, start = 0, time.perf_counter()
    for batch in batches:
        index.insert(batch, ids[index.size : index.size + len(batch)])
        inserted += len(batch)
        if time.perf_counter() - start > seconds:
            break
    return inserted, time.perf_counter() - start


def forms_of(index: Index, low: Array, high: Array) -> dict[str, Callable[[], Any]]:
    """What a probe can be asked for."""
    forms: dict[str, Callable[[], Any]] = {
        "counts": lambda: index.probe(low, high),
        "pairs": lambda: sum(len(ids) for _, ids in index.probe(low, high).chunks(_PIECE)),
    }
    if isinstance(index, RapTable):
        forms["partition phase"] = lambda: find_all_targets(index.padded, low, high, index.threads)
    return forms


def probed(index: Index, low: Array, high: Array, matches: int, repeats: int) -> Iterator[Record]:
    """One record per form; one uncounted call of each goes first."""
    found = index.probe(low, high).total
    for form, ask in forms_of(index, low, high).items():
        ask()
        spent = [timed(ask) for _ in range(repeats)]
        yield {
            "experiment": "probe",
            "structure": index.name,
            "capacity": index.capacity,
            "partitions": index.partitions,
            "batch": len(low),
            "selectivity": matches,
            "threads": index.threads,
            "form": form,
            "found": found,
            "seconds": spent,
            "tuples_per_second": len(low) / min(spent),
        }


def timed(work: Callable[[], Any]) -> float:
    """Seconds that it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
