"""Runs: what an unsealed subwindow took in, as few sorted batches in files.

A run is a preprocessed batch without bounds: inserting the runs one after another gives the subwindow again, whatever
its structure. Runs are joined like the digits of a binary counter, so n batches leave O(log n) of them, and each tuple
is written O(log n) times:

    sizes  [8]  -> +1 [8 1] -> +1 [8 2] -> +1 [8 2 1] -> +1 [8 4] ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.chain.batch import Batch
from panjoin.expression import Side
from panjoin.kernels.merge import merge
from panjoin.kernels.views import read_only
from panjoin.spark.mapped import Contents, Part

Array = npt.NDArray[Any]


def piece(batch: Batch, first: int, last: int) -> Batch:
    """The tuples at arrival positions [first, last), as a run."""
    keys, order = batch.keys_between(first, last)
    return Batch(
        side=batch.side,
        first_no=batch.number_at(first),
        size=last - first,
        keys=keys,
        order=order - np.int32(first),
        bounds=(),
        rows=None if batch.rows is None else batch.rows.slice(first, last - first),
        times=None if batch.times is None else batch.times[first:last],
        numbers=None if batch.numbers is None else batch.numbers[first:last],
    )


def joined(runs: Sequence[Batch]) -> Batch:
    """One run of several, given in order of arrival; equal keys stay in that order."""
    whole = runs[-1]
    for before in reversed(runs[:-1]):  # the youngest are the smallest
        whole = _merged(before, whole)
    return whole


def digits(sizes: Sequence[int], fresh: int) -> int:
    """How many of the last runs are joined with a fresh one of this size."""
    tail = 0
    while tail < len(sizes) and sizes[-tail - 1] <= fresh:
        tail += 1
        fresh += sizes[-tail]
    return tail


def in_parts(run: Batch) -> tuple[dict[str, Any], dict[str, Part]]:
    """For a file: (notes, parts)."""
    beside = {"rows": run.rows, "times": run.times, "numbers": run.numbers}
    parts: dict[str, Part] = {"keys": run.keys, "order": run.order}
    parts |= {name: part for name, part in beside.items() if part is not None}
    return {"first_no": run.first_no, "size": run.size}, parts


def of_parts(side: Side, contents: Contents) -> Batch:
    """From what `in_parts` gave."""
    notes, arrays, rows = contents
    return Batch(
        side=side,
        first_no=notes["first_no"],
        size=notes["size"],
        keys=arrays["keys"],
        order=arrays["order"],
        bounds=(),
        rows=rows,
        times=arrays.get("times"),
        numbers=arrays.get("numbers"),
    )


def _merged(one: Batch, other: Batch) -> Batch:
    size = len(one.keys) + len(other.keys)
    keys, order = np.empty(size, one.keys.dtype), np.empty(size, np.int32)
    keys[: len(one.keys)], order[: len(one.keys)] = one.keys, one.order
    if len(other.keys):
        merge(keys, order, len(one.keys), read_only(other.keys), read_only(other.order + np.int32(one.size)))
    both = (one, other)
    gapless = all(run.numbers is None for run in both) and other.first_no == one.first_no + one.size
    listed = None if gapless else np.concatenate([run.arrival_numbers(np.arange(run.size)) for run in both])
    rows = [run.rows for run in both if run.rows is not None]
    times = [run.times for run in both if run.times is not None]
    return Batch(
        side=one.side,
        first_no=one.first_no,
        size=one.size + other.size,
        keys=keys,
        order=order,
        bounds=(),
        rows=pa.concat_batches(rows) if rows else None,
        times=np.concatenate(times) if times else None,
        numbers=listed,
    )
