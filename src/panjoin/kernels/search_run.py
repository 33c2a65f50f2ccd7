"""Both bounds of a sorted batch in one long sorted run, where it pays to know how dense the batch is.

    run     keys[first:end], ascending; PADDING readable elements follow `end`, none smaller than the run's last key
    index   every step-th key: index[k] = keys[k * step], for the k that lie inside the run

Two ways to the same answer, starts[i] = lower bound of low[i] and ends[i] = upper bound of high[i]:

    prefetch   for sparse batches, bound by cache misses. Blocks of BLOCK probing tuples: first find all their
               partitions through the index array (small, cached, rebounding) and start fetching them; only then look
               inside. By then the first partitions have arrived: their misses overlap.

                   index     3       17       40       77          low 21 -> partition of 17 ... 39
                   keys      3 5 9 | 17 20 33 | 40 41 60 | 77 ...  two of it are < 21: position 3 + 2

    merge      for dense batches, bound by dependent steps. Four cursors walk four quarters of the batch at once, each
               stepping by whole lanes; one cursor alone waits for its own compare before it knows where to load next.

Measured on 8M int32 keys, S = 1, both bounds, in millions of probing tuples per second of processor time, against
np.searchsorted called twice, at batches of 32K, 256K, 1M, 8M:

    numpy       3.1    9.8   16    26
    plain       3.8     18   29    66     rebounding (search.py)
    prefetch     42     60   62    69     55 at 32K with P = 128K; int64: 17, and 31 with P = 256K
    merge        15     29  122   232

Where ranges are narrow, the upper bounds of a dense batch are looked for beside the lower ones, without a cursor: 14
instead of 18 ms for 8M in 32M keys; both bounds, ranges and counts take 48 instead of 50 ms, and 60 instead of 75 in
64M keys.

Lost, at 32K: the same without prefetch 16; binary search inside the partition, prefetched step by step, 19; one more
index array of every 16th key 33 (one more miss); pieces of 32 keys 39 (int64: 20); blocks of 64 probing tuples 43,
but 30 when the number of pieces varies, blocks of 16 31; the high bound's partition not prefetched: 14 instead of
36 from S = 1K on.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from panjoin.kernels.jit import kernel
from panjoin.kernels.lanes import LANE, not_larger, prefetch, smaller
from panjoin.kernels.search import gallop_lower, gallop_upper, lower_bound, upper_bound

Array = npt.NDArray[Any]

#: Probing tuples whose cache misses overlap.
BLOCK = 32
#: Partitions longer than this are halved first; shorter ones are counted through, all lines at once.
SCAN = 128
#: Readable elements after a run: a count through a partition may run over its end by that many.
PADDING = SCAN
CACHE_LINE = 64
#: A partition is fetched and counted through in pieces of this many keys, each without a branch.
GROUP = 64
#: Keys per probing tuple below which merging wins.
MERGE_BELOW = 16
#: Ranges of a chunk that are looked at to tell whether it is narrow.
NARROW_SAMPLES = 16
#: Probing tuples whose ranges are counted together.
CHUNK = 1 << 14


class Run(NamedTuple):
    """keys[first:end] with its index array; see the head of this file."""

    keys: Array
    first: int
    end: int
    index: Array  # type: ignore[assignment]  # a field, not the method of tuples
    step: int


@kernel
def partition_lower(index: Array, end: int, bound: Any, at: int) -> int:
    """Number of samples < bound; `at` of them are known to be. One lane first: dense batches stay inside it."""
    step = smaller(index, at, bound)
    return min(at + step, end) if step < LANE else gallop_lower(index[:end], bound, min(at + LANE, end))


@kernel
def partition_upper(index: Array, end: int, bound: Any, at: int) -> int:
    """Number of samples <= bound; `at` of them are known to be."""
    step = not_larger(index, at, bound)
    return min(at + step, end) if step < LANE else gallop_upper(index[:end], bound, min(at + LANE, end))


@kernel
def halve_lower(keys: Array, end: int, base: int, length: int, bound: Any) -> int:
    """Where to count from: skips keys < bound until at most SCAN of `length` remain."""
    while length > SCAN:
        half = length >> 1
        if keys[np.uintp(min(base + half, end) - 1)] < bound:
            base = min(base + half, end)
        length -= half
    return base


@kernel
def halve_upper(keys: Array, end: int, base: int, length: int, bound: Any) -> int:
    """The same for keys <= bound."""
    while length > SCAN:
        half = length >> 1
        if keys[np.uintp(min(base + half, end) - 1)] <= bound:
            base = min(base + half, end)
        length -= half
    return base


@kernel
def search_prefetch(run: Run, low: Array, high: Array, starts: Array, ends: Array, scratch: Array) -> None:
    """Positions relative to `first`; see the head of this file. `scratch`: int64[2 * BLOCK], each thread its own."""
    keys, first, end, index, step = run.keys, run.first, run.end, run.index, run.step
    low_base, high_base = scratch[:BLOCK], scratch[BLOCK:]
    skipped = (first + step - 1) // step  # samples before the run
    samples = index[skipped:]
    count = (end + step - 1) // step - skipped
    low_at, high_at = 0, 0
    scan, line = min(step, SCAN), CACHE_LINE // keys.itemsize
    for block in range(0, len(low), BLOCK):
        size = min(BLOCK, len(low) - block)
        for k in range(size):
            low_at = partition_lower(samples, count, low[block + k], low_at)
            high_at = partition_upper(samples, count, high[block + k], high_at)
            base = max((skipped + low_at - 1) * step, first)
            low_base[k] = base
            high_base[k] = max((skipped + high_at - 1) * step, first)
            for at in range(base, base + scan, GROUP):
                for offset in range(0, GROUP, line):
                    prefetch(keys, at + offset)
            if high_base[k] >= base + SCAN:  # a wide band; a narrow one ends in the same partition or the next
                for at in range(high_base[k], high_base[k] + scan, GROUP):
                    for offset in range(0, GROUP, line):
                        prefetch(keys, at + offset)
        for k in range(size):
            bound = low[block + k]
            base = halve_lower(keys, end, low_base[k], step, bound)
            found = base
            for at in range(base, base + scan, GROUP):
                for offset in range(0, GROUP, LANE):
                    found += smaller(keys, at + offset, bound)
            starts[block + k] = min(found, end) - first
            bound = high[block + k]
            base = halve_upper(keys, end, high_base[k], step, bound)
            found = base
            for at in range(base, base + scan, GROUP):
                for offset in range(0, GROUP, LANE):
                    found += not_larger(keys, at + offset, bound)
            ends[block + k] = min(found, end) - first


@kernel
def step_lower(keys: Array, at: int, bound: Any) -> int:
    """From `at` on over all keys < bound, by lanes; a later key that is not must exist."""
    step = smaller(keys, at, bound)
    at += step
    while step == LANE:
        step = smaller(keys, at, bound)
        at += step
    return at


@kernel
def step_upper(keys: Array, at: int, bound: Any) -> int:
    """From `at` on over all keys <= bound, by lanes; a later key that is not must exist."""
    step = not_larger(keys, at, bound)
    at += step
    while step == LANE:
        step = not_larger(keys, at, bound)
        at += step
    return at


@kernel
def lower_merge(keys: Array, first: int, end: int, bounds: Array, out: Array) -> None:
    """out[i] = lower bound of bounds[i], relative to `first`."""
    inside = upper_bound(bounds, keys[end - 1]) if first < end else 0
    for i in range(inside, len(bounds)):  # cut off first, so that no cursor need watch the end
        out[i] = end - first
    size = (inside + 3) // 4
    if size == 0:
        return
    b, c, d = min(size, inside - size), min(2 * size, inside - size), inside - size  # may overlap: same answers
    run = keys[:end]
    at = gallop_lower(run, bounds[0], first)
    at_b = gallop_lower(run, bounds[b], at)
    at_c = gallop_lower(run, bounds[c], at_b)
    at_d = gallop_lower(run, bounds[d], at_c)
    out_b, out_c, out_d = out[b:], out[c:], out[d:]
    bounds_b, bounds_c, bounds_d = bounds[b:], bounds[c:], bounds[d:]
    for i in range(size):
        at = step_lower(keys, at, bounds[i])
        at_b = step_lower(keys, at_b, bounds_b[i])
        at_c = step_lower(keys, at_c, bounds_c[i])
        at_d = step_lower(keys, at_d, bounds_d[i])
        out[i], out_b[i], out_c[i], out_d[i] = at - first, at_b - first, at_c - first, at_d - first


@kernel
def upper_merge(keys: Array, first: int, end: int, bounds: Array, out: Array) -> None:
    """out[i] = upper bound of bounds[i], relative to `first`."""
    inside = lower_bound(bounds, keys[end - 1]) if first < end else 0
    for i in range(inside, len(bounds)):  # cut off first, so that no cursor need watch the end
        out[i] = end - first
    size = (inside + 3) // 4
    if size == 0:
        return
    b, c, d = min(size, inside - size), min(2 * size, inside - size), inside - size  # may overlap: same answers
    run = keys[:end]
    at = gallop_upper(run, bounds[0], first)
    at_b = gallop_upper(run, bounds[b], at)
    at_c = gallop_upper(run, bounds[c], at_b)
    at_d = gallop_upper(run, bounds[d], at_c)
    out_b, out_c, out_d = out[b:], out[c:], out[d:]
    bounds_b, bounds_c, bounds_d = bounds[b:], bounds[c:], bounds[d:]
    for i in range(size):
        at = step_upper(keys, at, bounds[i])
        at_b = step_upper(keys, at_b, bounds_b[i])
        at_c = step_upper(keys, at_c, bounds_c[i])
        at_d = step_upper(keys, at_d, bounds_d[i])
        out[i], out_b[i], out_c[i], out_d[i] = at - first, at_b - first, at_c - first, at_d - first


@kernel
def is_narrow(keys: Array, first: int, starts: Array, high: Array) -> bool:
    """Whether the ranges are shorter than a lane, by a few of them."""
    for i in range(0, len(starts), max(1, len(starts) // NARROW_SAMPLES)):
        if not_larger(keys, first + starts[i], high[i]) == LANE:
            return False
    return True


@kernel
def upper_near(keys: Array, first: int, end: int, starts: Array, bounds: Array, out: Array) -> None:
    """Upper bounds that lie within a lane of the lower ones, mostly: no cursor, so no step waits for the one before."""
    for i in range(len(starts)):
        at = first + starts[i]
        step = not_larger(keys, at, bounds[i])
        at = at + step if step < LANE else gallop_upper(keys[:end], bounds[i], min(at + LANE, end))
        out[i] = min(at, end) - first


@kernel
def search_run(
    run: Run, low: Array, high: Array, negate: bool, starts: Array, ends: Array, counts: Array, scratch: Array
) -> None:
    """The better of the two for this batch; counts[i] += size of the range, or of the rest of the run.

    Probing tuples that lie wholly before or after the run are told apart first and cost nothing more.
    """
    size = run.end - run.first
    first = lower_bound(high, run.keys[run.first])
    last = upper_bound(low, run.keys[run.end - 1])  # before `first` when inverted intervals straddle the run
    starts[:first], ends[:first] = 0, 0
    starts[last:], ends[last:] = size, size
    dense = size < MERGE_BELOW * (last - first)
    for a in range(first, last, CHUNK):  # in chunks, so that ranges are counted while they are in the cache
        b = min(a + CHUNK, last)
        if dense:
            lower_merge(run.keys, run.first, run.end, low[a:b], starts[a:b])
            if is_narrow(run.keys, run.first, starts[a:b], high[a:b]):
                upper_near(run.keys, run.first, run.end, starts[a:b], high[a:b], ends[a:b])
            else:
                upper_merge(run.keys, run.first, run.end, high[a:b], ends[a:b])
        else:
            search_prefetch(run, low[a:b], high[a:b], starts[a:b], ends[a:b], scratch)
        for i in range(a, b):
            counts[i] += max(0, int(ends[i]) - int(starts[i]))
    if negate:
        for i in range(len(counts)):
            counts[i] += size - 2 * max(0, int(ends[i]) - int(starts[i]))
