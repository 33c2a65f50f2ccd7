"""How fast an index structure inserts and probes, beside the two plain ways: numpy's search and sort.

Every record is one measurement: a dict of parameters, seconds (the median of repeats) and a rate, ready for JSON. Rates
of different contestants are taken in one run, in turns, so that their ratios mean something on a shared machine; where
it is busy, `cpu_per_second` counts the thread's own time alone.

    PYTHONPATH=src python -m panjoin.bench.index_speed --structure bi-sort --window 8388608 > records.jsonl

Each probe of a repeat uses a batch of its own: repeating one batch would measure how fast a cache is.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

import numpy as np

from panjoin.index import Index, create
from panjoin.index.contract import Array

Record = dict[str, Any]


def in_turns(contestants: dict[str, Callable[[int], object]], repeats: int) -> dict[str, list[tuple[float, float]]]:
    """(seconds, seconds of all our processors) per call of each contestant, called with 1 .. repeats, three times over.

    A turn is all of one contestant's calls in a row, and call 0 before them is not counted: it finds the caches full
    of the contestant before (two windows of 32 MB in turns measured the memory, and halved both rates).
    """
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for name, run in [*contestants.items()] * 3:
        run(0)
        for repeat in range(1, repeats + 1):
            start, cpu = time.perf_counter(), time.process_time()
            run(repeat)
            taken[name].append((time.perf_counter() - start, time.process_time() - cpu))
    return taken


def keys(rng: np.random.Generator, size: int, dtype: Any) -> Array:
    """Uniform over the type, ascending."""
    info = np.iinfo(dtype)
    return np.sort(rng.integers(info.min, info.max, size, dtype=dtype, endpoint=True))


def batches(rng: np.random.Generator, count: int, size: int, window: int, matches: int, dtype: Any) -> list[Any]:
    """Bands (low, high) that hold `matches` of `window` uniform keys on average."""
    info = np.iinfo(dtype)
    half = matches * (int(info.max) - int(info.min)) // window // 2
    centres = [np.sort(rng.integers(int(info.min) + half, int(info.max) - half, size)) for _ in range(count)]
    return [((centre - half).astype(dtype), (centre + half).astype(dtype)) for centre in centres]


def filled(structure: str, window: int, dtype: Any, rng: np.random.Generator, **knobs: Any) -> tuple[Index, Array]:
    """A full, sealed index and its sorted keys."""
    index = create(structure, capacity=window, dtype=dtype, **knobs)
    values = keys(rng, window, dtype)
    index.insert(values, np.arange(window))
    index.seal()
    return index, values


def probe_records(
    structure: str,
    window: int,
    sizes: list[int],
    matches: tuple[int, ...] = (1,),
    repeats: int = 7,
    dtype: Any = np.int32,
    **knobs: Any,
) -> Iterator[Record]:
    """Probing tuples per second, both bounds, against np.searchsorted called twice on the sorted window."""
    rng = np.random.default_rng(1)
    index, values = filled(structure, window, dtype, rng, **knobs)
    for size in sizes:
        for wanted in matches:
            given = batches(rng, repeats + 1, size, window, wanted, dtype)
            contestants: dict[str, Callable[[int], object]] = {
                structure: lambda k, given=given: index.probe(*given[k]),  # type: ignore[misc]
                "numpy": lambda k, given=given: (  # type: ignore[misc]
                    np.searchsorted(values, given[k][0]),
                    np.searchsorted(values, given[k][1], side="right"),
                ),
            }
            for name, taken in in_turns(contestants, repeats).items():
                seconds, cpu = zip(*taken, strict=True)
                record = _record("probe", name, size, seconds, window=window, matches=wanted, dtype=dtype, **knobs)
                yield record | {"cpu_per_second": size / median(cpu)}


def insert_records(
    structure: str, window: int, sizes: list[int], dtype: Any = np.int32, **knobs: Any
) -> Iterator[Record]:
    """Tuples per second while a window fills with sorted batches, and the slowest insertions (milliseconds)."""
    for size in sizes:
        rng = np.random.default_rng(2)
        index = create(structure, capacity=window, dtype=dtype, **knobs)
        arriving = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, window, dtype=dtype)
        numbers, seconds = np.arange(window, dtype=np.int32), []
        for at in range(0, window, size):
            batch = np.sort(arriving[at : at + size])
            ids = numbers[at : at + size]
            start = time.perf_counter()
            index.insert(batch, ids)
            seconds.append(time.perf_counter() - start)
        late = np.array(seconds[len(seconds) // 2 :])  # while the window is large
        record = _record("insert", structure, size, [sum(seconds) * size / window], window=window, dtype=dtype, **knobs)
        record |= {"p99_ms": float(np.percentile(late, 99)) * 1e3, "max_ms": float(late.max()) * 1e3}
        start = time.perf_counter()
        index.seal()
        yield record | {"seal_ms": (time.perf_counter() - start) * 1e3}


def merge_records(window: int, sizes: list[int], repeats: int = 7, dtype: Any = np.int32) -> Iterator[Record]:
    """Output tuples per second of one merge that ends with a full window, on one thread and on two."""
    from panjoin.kernels.merge import merge  # noqa: PLC0415  (only this experiment looks below the contract)

    rng = np.random.default_rng(3)
    for size in sizes:
        main, batch = keys(rng, window - size, dtype), keys(rng, size, dtype)
        room, ids, numbers = np.empty(window, dtype), np.empty(window, np.int32), np.arange(window, dtype=np.int32)
        main.flags.writeable = batch.flags.writeable = numbers.flags.writeable = False
        seconds: dict[int, list[float]] = {1: [], 2: []}
        for repeat in range(repeats + 1):
            for threads, taken in seconds.items():
                room[: len(main)], ids[: len(main)] = main, numbers[: len(main)]
                start = time.perf_counter()
                merge(room, ids, len(main), batch, numbers[len(main) :], threads)
                if repeat:
                    taken.append(time.perf_counter() - start)
        for threads, taken in seconds.items():
            record = _record("merge", f"threads={threads}", window, taken, window=window, dtype=dtype)
            yield record | {"batch": size}


def _record(experiment: str, contestant: str, size: int, seconds: Sequence[float], **parameters: Any) -> Record:
    parameters["dtype"] = np.dtype(parameters["dtype"]).name
    middle = median(seconds)
    return {
        "experiment": experiment,
        "contestant": contestant,
        "batch": size,
        **parameters,
        "seconds": middle,
        "all_seconds": list(seconds),
        "fastest_seconds": min(seconds),
        "repeats": len(seconds),
        "per_second": size / middle,
    }


def main() -> None:
    """Print records, one JSON object per line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--structure", default="bi-sort")
    parser.add_argument("--window", type=int, default=1 << 23)
    parser.add_argument("--dtype", default="int32", choices=["int32", "int64"])
    parser.add_argument("--experiment", default="probe", choices=["probe", "insert", "merge"])
    parser.add_argument("--batches", type=int, nargs="+", default=[32, 1024, 1 << 15, 1 << 20, 1 << 23])
    parser.add_argument("--matches", type=int, nargs="+", default=[1])
    parser.add_argument("--knob", action="append", default=[], help="name=value of the structure's own")
    asked = parser.parse_args()
    knobs = {name: int(value) for name, _, value in (knob.partition("=") for knob in asked.knob)}
    dtype = np.dtype(asked.dtype).type
    sizes = [size for size in asked.batches if size <= asked.window]
    records = {
        "probe": lambda: probe_records(
            asked.structure, asked.window, sizes, tuple(asked.matches), dtype=dtype, **knobs
        ),
        "insert": lambda: insert_records(asked.structure, asked.window, sizes, dtype, **knobs),
        "merge": lambda: merge_records(asked.window, sizes, dtype=dtype),
    }[asked.experiment]()
    for record in records:
        sys.stdout.write(json.dumps(record) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
