"""Dealing tuples to workers by cells of a space of keys, with copies where an interval touches several.

    cells          | 0 | 1 | 2 | 3 | ...          worker of a cell: a hash of its number
    tuple 0          ^                            home: one cell
    tuple 1            ^---^                      replica: every cell of its interval, each worker once

Invariant: a worker that is given a tuple of cell c is given every tuple whose interval holds c.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from panjoin.kernels.jit import kernel

Array = npt.NDArray[Any]

#: An interval over so many cells per worker goes to everybody: it would miss a worker with a chance of e^-4.
MANY = 4


def deal(low: Array, high: Array, workers: int) -> list[Array]:
    """Per worker the ascending places of the intervals low..high (int64) that touch a cell of its own."""
    at = np.zeros(workers, np.int64)
    nothing = np.empty(0, np.int32)
    _deal(low, high, workers, np.full(workers, -1, np.int64), at, nothing)
    ends = np.cumsum(at)
    at, places = ends - at, np.empty(ends[-1], np.int32)
    starts = at.copy()
    _deal(low, high, workers, np.full(workers, -1, np.int64), at, places)
    return [places[start:end] for start, end in zip(starts, ends, strict=True)]


@kernel
def _worker(cell: Any, workers: int) -> Any:
    """The high bits of a multiplicative hash, mixed once more: neighbours and multiples of any stride spread alike."""
    mixed = np.uint64(cell) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return np.int64(((mixed >> np.uint64(32)) * np.uint64(workers)) >> np.uint64(32))


@kernel
def _deal(low: Array, high: Array, workers: int, last: Array, at: Array, places: Array) -> None:
    """Move `at` on by each worker's tuples, and write their places where there is room for them."""
    writes = len(places) > 0
    for i in range(len(low)):
        cell, span = low[i], high[i] - low[i]
        if span == 0:
            worker = _worker(cell, workers)
            if writes:
                places[at[worker]] = i
            at[worker] += 1
        elif span >= MANY * workers or span < 0:  # below 0: more than 2^63 cells
            for worker in range(workers):
                if writes:
                    places[at[worker]] = i
                at[worker] += 1
        else:
            for step in range(span + 1):
                worker = _worker(cell + step, workers)
                if last[worker] != i:
                    last[worker] = i
                    if writes:
                        places[at[worker]] = i
                    at[worker] += 1
