"""Splitters: which partition a key belongs to, and the next generation of them in O(P) (paper, Adjustment Algorithm).

P partitions have P - 1 ascending splitters, each the *inclusive* upper bound of its partition, so the partition of a
key is the lower bound of the key in the splitters, for insertion and probing alike:

    splitters         10        20        20        35            partition of 15: first splitter >= 15 is number 1
    partition     0   |    1    |    2    |    3    |    4        of 20: 1 again; 21: 3; 36 and more: 4
    holds       ..10     11..20    nothing   21..35    36..

Duplicate splitters (a heavy value pulls several onto itself) leave the partitions between them empty; that is correct.

Adjustment, with the histograms count/min/max of 16 tuples in P = 4 partitions (each should hold 16/4 = 4):

    count 5, sum 0..5   bal_1 = 4 falls here:   min_0 + (4 - 0)/5 * (max_0 - min_0) is the new splitter 1
    count 5, sum 5..10  bal_2 = 8:              min_1 + (8 - 5)/5 * (max_1 - min_1)
    count 1, sum 10..11 none
    count 5, sum 11..16 bal_3 = 12:             min_3 + (12 - 11)/5 * (max_3 - min_3)

Inside a partition keys are assumed uniform; each round mends what that got wrong. Where this departs from the paper:
its formula lacks `min_i +` (then splitters need not ascend), and its running float `bal` starts at N/P but is numbered
from 0; here bal_j = j*N/P for j = 1 .. P - 1, in exact integers: j*N <= sum_i*P decides, and the quotient is exact for
any range of int64. Partitions with count 0 have no min and max, and are passed over.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from panjoin.kernels.jit import kernel

Array = npt.NDArray[Any]

_LARGEST = np.iinfo(np.int64).max


class Histogram(NamedTuple):
    """Count, smallest and largest key of each partition; where the count is 0 the other two mean nothing.

    Small (3P numbers), so a worker can send it and the manager compute the next splitters.
    """

    counts: Array
    mins: Array
    maxs: Array


def empty_histogram(dtype: Any, partitions: int) -> Histogram:
    """The histogram of P empty partitions."""
    return Histogram(np.zeros(partitions, np.int32), np.zeros(partitions, dtype), np.zeros(partitions, dtype))


@kernel
def note_runs(histogram: Histogram, partitions: Array, starts: Array, keys: Array) -> None:
    """Note ascending runs of keys, run r being keys[starts[r]:starts[r + 1]] in partitions[r]: O(runs)."""
    counts, mins, maxs = histogram
    for run in range(len(partitions)):
        partition, begin, end = partitions[run], starts[run], starts[run + 1]
        if counts[partition] == 0 or keys[begin] < mins[partition]:
            mins[partition] = keys[begin]
        if counts[partition] == 0 or keys[end - 1] > maxs[partition]:
            maxs[partition] = keys[end - 1]
        counts[partition] += end - begin


def even(dtype: Any, partitions: int) -> Array:
    """Splitters that cut the whole range of int32 or int64 into equal parts: for a first subwindow."""
    bits = 8 * np.dtype(dtype).itemsize
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    whole, rest = divmod(1 << bits, partitions)
    if partitions == 1:
        return np.empty(0, dtype)
    j = np.arange(1, partitions, dtype=np.uint64)
    below = j * np.uint64(whole) + j * np.uint64(rest) // np.uint64(partitions) - np.uint64(1)
    splitters: Array = (below.astype(unsigned) ^ unsigned.type(1 << (bits - 1))).view(np.dtype(dtype))
    return splitters


def from_sample(keys: Array, partitions: int) -> Array:
    """Splitters at the quantiles of a sample of keys; an empty sample gives even ones."""
    if len(keys) == 0:
        return even(keys.dtype, partitions)
    ranks = -(-np.arange(1, partitions, dtype=np.int64) * len(keys) // partitions) - 1
    return np.sort(keys)[ranks]


def adjust(counts: Array, mins: Array, maxs: Array, partitions: int, keep: Array | None = None) -> Array:
    """The next `partitions - 1` splitters from the histogram of the preceding subwindow.

    A subwindow without tuples teaches nothing: then the splitters `keep` stay (even ones when there are none).
    """
    total = int(counts.sum(dtype=np.int64))
    if total == 0:
        return even(mins.dtype, partitions) if keep is None else _recut(keep, partitions)
    out = np.empty(partitions - 1, mins.dtype)
    _adjust(counts, mins, maxs, total, partitions, out)
    return out


def _recut(splitters: Array, partitions: int) -> Array:
    """The same splitters for another P: as if every old partition held one tuple per key range, evenly."""
    if len(splitters) == partitions - 1:
        return splitters
    limits = np.iinfo(splitters.dtype)
    maxs = np.append(splitters, limits.max).astype(splitters.dtype)
    occupied = np.append(True, maxs[1:] > maxs[:-1])
    mins = np.append(limits.min, splitters + (splitters < limits.max)).astype(splitters.dtype)
    return adjust(occupied.astype(np.int32), mins, maxs, partitions)


@kernel
def _adjust(counts: Array, mins: Array, maxs: Array, total: int, partitions: int, out: Array) -> None:
    j, before = 1, np.int64(0)
    for i in range(len(counts)):
        count = np.int64(counts[i])
        if count == 0:
            continue
        low = np.int64(mins[i])
        width = np.int64(maxs[i]) - low
        while j < partitions and j * total <= (before + count) * partitions:
            out[j - 1] = low + _scaled(width, j * total - before * partitions, count * partitions)
            j += 1
        before += count


@kernel
def _scaled(width: Any, part: Any, whole: Any) -> Any:
    """floor(width * part / whole), exact, for 0 <= part <= whole < 2^62 and a width of 64 bits.

    int64 wraps around, so a width past 2^63 arrives negative, and the result is right modulo 2^64: added to the
    minimum it is right. Long division costs up to 64 steps, taken only when the product does not fit.
    """
    if width == 0 or part == 0:
        return 0
    if 0 < width <= _LARGEST // part:
        return width * part // whole
    quotient, rest = np.int64(0), np.int64(0)
    for bit in range(63, -1, -1):
        quotient, rest = quotient << 1, rest << 1
        if rest >= whole:
            quotient, rest = quotient + 1, rest - whole
        if (width >> bit) & 1:
            rest += part
            if rest >= whole:
                quotient, rest = quotient + 1, rest - whole
    return quotient
