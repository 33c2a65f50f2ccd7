"""Sums, minima and maxima over ranges of a fixed array, without visiting the range: a tree of fan-out 16.

    values   3 1 4 1  5 9 2 6  5 3 5 8 ...         level 0
    sums     9        22       21      ...         level 1: one node per 16 values (4 in this picture)
    ...
    range 2..11      4 1 | 22 | 5 3 5              ragged ends from level 0, whole blocks from level 1, and so on up

A range of any length costs at most 2 * 15 values per level, so 8M values in 6 levels cost what 180 pairs cost; measured
curves are in docs/benchmarks.md. Differences of prefix sums would need two reads instead, but with floats they lose
all digits beside one large value, and one NaN or infinity spoils every later range: so only whole numbers use them.

Operations follow Spark: NaN is greater than every number (a maximum sees it, a minimum does not unless it is alone);
a sum with a NaN is NaN. Missing values are left out: `valid` counts what is there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from panjoin.kernels.jit import kernel

Array = npt.NDArray[Any]

FANOUT = 16
SUM, MIN, MAX = 0, 1, 2


def neutral(operation: int, dtype: Any) -> Any:
    """The value that changes nothing: 0, the greatest (for floats NaN), the least."""
    whole = np.dtype(dtype).kind == "i"
    if operation == SUM:
        return np.dtype(dtype).type(0)
    if operation == MIN:
        return np.iinfo(dtype).max if whole else np.nan
    return np.iinfo(dtype).min if whole else -np.inf


def tree(values: Array, operation: int) -> tuple[Array, Array]:
    """(all levels one after another, where each begins and the last ends)."""
    starts = [0, len(values)]
    while starts[-1] - starts[-2] > FANOUT:
        starts.append(starts[-1] + -(-(starts[-1] - starts[-2]) // FANOUT))
    nodes = np.empty(starts[-1], values.dtype)
    nodes[: len(values)] = values
    begins = np.array(starts, np.int64)
    _build(nodes, begins, operation, neutral(operation, values.dtype))
    return nodes, begins


@kernel
def combine(a: Any, b: Any, operation: int) -> Any:
    """One step of a fold; comparisons put NaN on top."""
    if operation == SUM:
        return a + b
    if operation == MIN:
        return b if b < a or a != a else a
    return b if b > a or b != b else a


@kernel
def _build(nodes: Array, begins: Array, operation: int, nothing: Any) -> None:
    for level in range(1, len(begins) - 1):
        below, here = begins[level - 1], begins[level]
        for node in range(begins[level + 1] - here):
            folded = nothing
            for child in range(below + node * FANOUT, min(below + (node + 1) * FANOUT, here)):
                folded = combine(folded, nodes[child], operation)
            nodes[here + node] = folded


@kernel
def fold_ranges(
    nodes: Array, begins: Array, starts: Array, ends: Array, operation: int, where: Array, out: Array
) -> None:
    """out[where[i]] is folded with the values at starts[i] .. ends[i] - 1."""
    for i in range(len(starts)):
        folded = out[where[i]]
        first, last, level = starts[i], ends[i], 0
        while first < last:
            begin = begins[level]
            inner, outer = -(-first // FANOUT), last // FANOUT
            if inner >= outer or level + 2 >= len(begins):
                for at in range(begin + first, begin + last):
                    folded = combine(folded, nodes[at], operation)
                break
            for at in range(begin + first, begin + inner * FANOUT):
                folded = combine(folded, nodes[at], operation)
            for at in range(begin + outer * FANOUT, begin + last):
                folded = combine(folded, nodes[at], operation)
            first, last, level = inner, outer, level + 1
        out[where[i]] = folded


@kernel
def fold_pairs(positions: Array, values: Array, operation: int, out: Array) -> None:
    """out[positions[i]] is folded with values[i]."""
    for i in range(len(positions)):
        at = positions[i]
        out[at] = combine(out[at], values[i], operation)


@kernel
def combine_all(out: Array, values: Array, operation: int) -> None:
    """out[i] is folded with values[i]."""
    for i in range(len(out)):
        out[i] = combine(out[i], values[i], operation)


@kernel
def difference(prefix: Array, starts: Array, ends: Array, where: Array, out: Array) -> None:
    """out[where[i]] grows by the sum of starts[i] .. ends[i] - 1, from prefix sums; wraps like the sum itself."""
    for i in range(len(starts)):
        if ends[i] > starts[i]:
            out[where[i]] += prefix[ends[i]] - prefix[starts[i]]
