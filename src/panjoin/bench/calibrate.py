"""Measures a `Calibration` of this machine: each structure at a few sizes, then whole pushes.

Numbers are medians of repeats, and the structures take turns, so that a busy moment hits all of them. Every kernel is
compiled by a run on little data before the clock starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from panjoin import index
from panjoin.bench.workload import Workload
from panjoin.calibration import Calibration, Cost, this_machine
from panjoin.engine.stream_join import StreamJoin
from panjoin.index import splitters
from panjoin.index.contract import Array
from panjoin.sizing import partitions_of

K, M = 1 << 10, 1 << 20
STRUCTURES = ("bi-sort", "rap-table", "wib-tree")
SEED = 1


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    capacities: tuple[int, ...] = (64 * K, M, 8 * M)
    batches: tuple[int, ...] = (1, 32, K, 32 * K, M)
    seconds: float = 0.15  #: per structure, capacity and batch, for insertion and for probing each
    selectivities: tuple[int, int] = (1, 256)


def calibrate(effort: Effort | None = None, tell: Callable[[str], None] = lambda _: None) -> Calibration:
    """Measure; takes about a minute with the usual effort. `tell` hears what is being measured."""
    effort = effort or Effort()
    for structure in STRUCTURES:  # compile
        _measured(structure, 4 * K, 256, 0.001)
        _measured(structure, 4 * K, 1, 0.001)
    costs, in_bytes = [], {}
    for capacity in effort.capacities:
        for batch in effort.batches:
            if 4 * batch > capacity:
                continue
            tell(f"subwindows of {capacity:,}, batches of {batch:,}")
            for structure in STRUCTURES:
                cost, in_bytes[structure] = _measured(structure, capacity, batch, effort.seconds)
                costs.append(cost)
    tell("pairs")
    match_ns = {structure: _match_ns(structure, effort) for structure in STRUCTURES}
    push_ns = tuple(_push_ns(effort, tell))
    return Calibration(this_machine(), datetime.now(UTC).date().isoformat(), tuple(costs), match_ns, in_bytes, push_ns)


def _structure(name: str, capacity: int, keys: Array) -> index.Index:
    partitions = partitions_of(capacity)
    knobs: dict[str, Any] = {}
    if name == "rap-table":
        knobs["splitters"] = splitters.from_sample(keys, partitions)
    return index.create(name, capacity=capacity, partitions=partitions, dtype=np.int32, **knobs)


def _measured(name: str, capacity: int, batch: int, seconds: float) -> tuple[Cost, float]:
    """Insertion into the second half of a subwindow, then probing it when it is sealed."""
    rng = np.random.default_rng(SEED)
    keys = rng.integers(0, capacity, capacity, dtype=np.int32)
    structure = _structure(name, capacity, keys)
    half = capacity // 2
    structure.insert(np.sort(keys[:half]), np.arange(half, dtype=np.int32))
    inserting = _until(seconds, _inserting(structure, keys, batch))
    rest = structure.size
    structure.insert(np.sort(keys[rest:]), np.arange(rest, capacity, dtype=np.int32))
    structure.seal()
    probing = _until(seconds, _probing(structure, rng, batch, capacity))
    return Cost(name, capacity, batch, inserting / batch, probing / batch), structure.memory_bytes / capacity


def _inserting(structure: index.Index, keys: Array, batch: int) -> Iterator[Callable[[], Any]]:
    """Batch by batch until the structure is full."""
    for first in range(structure.size, structure.capacity - batch + 1, batch):
        some = np.sort(keys[first : first + batch])
        ids = np.arange(first, first + batch, dtype=np.int32)
        yield partial(structure.insert, some, ids)


def _probing(structure: index.Index, rng: Any, batch: int, values: int) -> Iterator[Callable[[], Any]]:
    while True:
        asked = np.sort(rng.integers(0, values, batch, dtype=np.int32))
        yield partial(_counted, structure, asked)


def _until(seconds: float, calls: Iterable[Callable[[], Any]], least: int = 2) -> float:
    """The mean time of a call in nanoseconds; the mean, for merging from time to time is part of the cost."""
    spent, done = 0.0, 0
    for call in calls:
        start = time.perf_counter()
        call()
        spent += time.perf_counter() - start
        done += 1
        if done >= least and spent >= seconds:
            break
    return spent / done * 1e9


def _match_ns(name: str, effort: Effort) -> float:
    """What one more pair costs: all pairs at a large S, less those at a small one."""
    capacity, batch, rng = effort.capacities[min(1, len(effort.capacities) - 1)], 256, np.random.default_rng(SEED)
    few, many = effort.selectivities
    times = []
    for matches in (few, many):
        values = max(1, capacity // matches)
        keys = rng.integers(0, values, capacity, dtype=np.int32)
        structure = _structure(name, capacity, keys)
        structure.insert(np.sort(keys), np.argsort(keys, kind="stable").astype(np.int32))
        structure.seal()
        asked = np.sort(rng.integers(0, values, batch, dtype=np.int32))
        times.append(_until(effort.seconds, repeat(partial(_all_pairs, structure, asked), 1000)))
    return max(0.1, (times[1] - times[0]) / batch / (many - few))


def _push_ns(effort: Effort, tell: Callable[[str], None]) -> Iterator[tuple[int, float]]:
    """Pushes that meet an empty window and are stored without an index."""
    for batch in effort.batches:
        tell(f"pushes of {batch:,}")
        pushes = max(4, min(2000, (4 * M) // batch))
        load = Workload(max(batch * pushes * 2, 1024), structure="scan", workers=1)
        rng = np.random.default_rng(SEED)
        with load.join() as join:
            calls = (partial(_pushed, load, join, load.draw(rng, batch)) for _ in range(pushes))
            yield batch, _until(effort.seconds * 4, calls) / batch


def _counted(structure: index.Index, asked: Array) -> int:
    return structure.probe(asked, asked).total


def _all_pairs(structure: index.Index, asked: Array) -> None:
    structure.probe(asked, asked).pairs()


def _pushed(load: Workload, join: StreamJoin, tuples: dict[str, Array]) -> None:
    load.read(join.push("left", tuples))
