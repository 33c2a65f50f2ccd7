"""The nested loop: every probing tuple against every tuple of the subwindow, as fast as a core compares.

The fallback for what no structure can index, and the baseline that the others must beat. Tuples lie in the order in
which they were inserted; nothing is sorted, nothing is skipped:

    keys   7   2   9 | 4   4   1   8            blocks of a few KB, held in the first cache while
    ids    0   1   2 | 3   4   5   6            all probing tuples pass over them

    probe [2, 7]:   start = 2, width = 7 - 2 = 5, and a key matches when (key - start) <= width, both *unsigned*
    key - start     5   0   7 | 2   2   *   6   (* is 1 - 2 = 2^32 - 1: a key below `low` wraps to a large number)
    <= 5            y   y   n | y   y   n   n   count 4: ids 0, 1, 3, 4

One unsigned comparison instead of two makes a band as cheap as an equality, and the complement of an interval is again
one interval (from high + 1, around the type's end, to low - 1), so `negate` costs nothing. An interval with no key in
it has no width in this arithmetic: it never reaches the kernels.

Invariants: positions 0 .. size - 1 of `keys` and `ids` are the tuples; they never move.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from panjoin.index.contract import MIN_TUPLES_PER_PROBE_WITH_THREADS, Array, Index, Probe, register
from panjoin.kernels.jit import kernel
from panjoin.kernels.threads import run_all
from panjoin.kernels.views import read_only

#: Keys per block: 16 KB of int32 and 32 KB of int64 leave room in a first cache of 32 or 48 KB.
BLOCK = 4096
#: Keys that are compared at once before pairs are looked for one by one.
STRIP = 256


class Intervals(NamedTuple):
    """Distinct, nonempty intervals in unsigned arithmetic, and which of them each probing tuple asks for."""

    starts: Array
    widths: Array
    which: Array  #: per probing tuple its interval, or -1 for one that matches nothing

    @classmethod
    def of(cls, low: Array, high: Array, negate: bool) -> Intervals:
        """Ascending bounds; equal probing tuples follow one another and share an interval."""
        unsigned = np.dtype(f"u{low.dtype.itemsize}")
        empty = low > high
        low, high = low.view(unsigned), high.view(unsigned)
        starts, widths = low, high - low
        if negate:
            everything = widths == np.iinfo(unsigned).max
            widths = np.where(empty, np.iinfo(unsigned).max, low - high - unsigned.type(2))
            starts = high + unsigned.type(1)
            empty = everything & ~empty
        new = np.ones(len(low), bool)
        new[1:] = (starts[1:] != starts[:-1]) | (widths[1:] != widths[:-1])
        new &= ~empty
        which = np.cumsum(new, dtype=np.int64) - 1
        which[empty] = -1
        return cls(starts[new], widths[new], which)


class ScanProbe(Probe):
    """Counts by the first pass; the second one finds the pairs, knowing where each tuple's output starts."""

    def __init__(self, intervals: Intervals, keys: Array, ids: Array, threads: int) -> None:
        self._intervals, self._keys, self._ids, self._threads = intervals, keys, ids, threads
        self._found = np.zeros(len(intervals.starts) + 1, np.int64)  # the last one is what -1 asks for: nothing
        starts, widths = intervals.starts, intervals.widths
        for_each_part(
            threads, len(starts), lambda a, b: count_matches(keys, starts[a:b], widths[a:b], self._found[a:b], BLOCK)
        )
        super().__init__(self._found[intervals.which])

    def _emit(self, first: int, last: int, probe_no: Array, ids: Array) -> None:
        counts, which = self.counts[first:last], self._intervals.which[first:last]
        probe_no[:] = np.repeat(np.arange(first, last, dtype=np.int32), counts)
        begins = np.cumsum(counts) - counts
        leaders = np.flatnonzero((np.diff(which, prepend=-1) != 0) & (counts > 0))
        asked = which[leaders]
        starts, widths, at = self._intervals.starts[asked], self._intervals.widths[asked], begins[leaders]
        ends = at + counts[leaders]
        for_each_part(
            self._threads,
            len(asked),
            lambda a, b: find_matches(self._keys, self._ids, starts[a:b], widths[a:b], at[a:b], ends[a:b], ids, BLOCK),
        )
        copy_results_of_equals(which, begins, counts, ids)


@register
class Scan(Index):
    """A nested loop with the verbs of an index."""

    name = "scan"

    def __init__(
        self, *, capacity: int, partitions: int, dtype: Any, threads: int = 1, like: Index | None = None
    ) -> None:
        del like  # a nested loop has nothing to learn from the subwindow before it
        super().__init__(capacity=capacity, partitions=partitions, dtype=dtype, threads=threads)
        self.keys = np.empty(self.capacity, self.dtype)
        self.ids = np.empty(self.capacity, np.int32)

    def _insert(self, keys: Array, ids: Array) -> None:
        self.keys[self.size : self.size + len(keys)] = keys
        self.ids[self.size : self.size + len(ids)] = ids

    def _probe(self, low: Array, high: Array, negate: bool) -> Probe:
        threads = self.threads if len(low) >= MIN_TUPLES_PER_PROBE_WITH_THREADS else 1
        unsigned = np.dtype(f"u{self.dtype.itemsize}")
        keys, ids = read_only(self.keys[: self.size].view(unsigned)), read_only(self.ids[: self.size])
        return ScanProbe(Intervals.of(low, high, negate), keys, ids, threads)

    @property
    def memory_bytes(self) -> int:
        """Bytes of keys and ids, for the whole capacity from the start."""
        return self.keys.nbytes + self.ids.nbytes

    def check(self) -> None:
        """Sizes, types and the smallest and largest key."""
        state = (
            f"{self.name} of {self.size}/{self.capacity}: keys {self.keys[: self.size]}, ids {self.ids[: self.size]}"
        )
        assert self.keys.dtype == self.dtype and self.ids.dtype == np.int32, state
        assert 0 <= self.size <= len(self.keys) == len(self.ids) <= self.capacity, state
        assert self.sealed or len(self.keys) == self.capacity, state
        held = self.keys[: self.size]
        ends = (int(held.min()), int(held.max())) if self.size else (None, None)
        assert (self.min_key, self.max_key) == ends, state
        assert (self.ids[: self.size] >= 0).all(), state

    def arrays(self) -> dict[str, Array]:
        """Keys, ids, and what `create` was told."""
        keys, ids = self.keys[: self.size], self.ids[: self.size]
        return {"keys": keys, "ids": ids, "shape": np.array([self.capacity, self.partitions], np.int64)}

    @classmethod
    def open(cls, arrays: Mapping[str, Array]) -> Scan:
        """The opposite of `arrays`; a nested loop over a memory map reads it anyway, so its ends are found here."""
        keys, ids = np.asarray(arrays["keys"]), np.asarray(arrays["ids"])
        index = cls.__new__(cls)
        capacity, partitions = (int(number) for number in arrays["shape"])
        Index.__init__(index, capacity=capacity, partitions=partitions, dtype=keys.dtype)
        index.keys, index.ids, index.size, index.sealed = keys, ids, len(keys), True
        if len(keys):
            index.min_key, index.max_key = int(keys.min()), int(keys.max())
        return index


def for_each_part(threads: int, n: int, work: Any) -> None:
    """work(a, b) over 0 .. n in `threads` equal parts."""
    edges = [n * part // threads for part in range(threads + 1)]
    run_all([partial(work, a, b) for a, b in pairwise(edges)])


@kernel
def count_matches(keys: Array, starts: Array, widths: Array, counts: Array, block_size: int) -> None:
    """counts[i] += keys with (key - starts[i]) <= widths[i]; all unsigned, of one type.

    Every intermediate is cast back to the key type: numba widens 32-bit arithmetic to 64 bits, which would halve the
    lanes. Two intervals per loaded key: 59G comparisons/s on a core with 512-bit vectors, where one gave 54G, four 60G.
    """
    typ = keys.dtype.type
    for begin in range(0, len(keys), block_size):
        block = keys[begin : begin + block_size]
        for i in range(0, len(starts) - 1, 2):
            start, width, count = starts[i], widths[i], typ(0)
            start2, width2, count2 = starts[i + 1], widths[i + 1], typ(0)
            for j in range(len(block)):
                count = typ(count + typ(typ(block[j] - start) <= width))
                count2 = typ(count2 + typ(typ(block[j] - start2) <= width2))
            counts[i] += np.int64(count)
            counts[i + 1] += np.int64(count2)
        if len(starts) % 2:
            start, width, count = starts[-1], widths[-1], typ(0)
            for j in range(len(block)):
                count = typ(count + typ(typ(block[j] - start) <= width))
            counts[-1] += np.int64(count)


@kernel
def find_matches(
    keys: Array, ids: Array, starts: Array, widths: Array, at: Array, ends: Array, out: Array, block_size: int
) -> None:
    """Write the ids that match interval i to out[at[i] .. ends[i]]; moves `at` along."""
    typ = keys.dtype.type
    for begin in range(0, len(keys), block_size):
        block = keys[begin : begin + block_size]
        for i in range(len(starts)):
            start, width = starts[i], widths[i]
            for strip in range(0, len(block), STRIP):
                if at[i] == ends[i]:
                    break
                part = block[strip : strip + STRIP]
                count = typ(0)
                for j in range(len(part)):
                    count = typ(count + typ(typ(part[j] - start) <= width))
                if count == 0:
                    continue
                for j in range(len(part)):
                    if typ(part[j] - start) <= width:
                        out[at[i]] = ids[begin + strip + j]
                        at[i] += 1


@kernel
def copy_results_of_equals(which: Array, begins: Array, counts: Array, out: Array) -> None:
    """Probing tuples that ask for the same interval as the one before them take its ids."""
    for i in range(1, len(which)):
        if which[i] == which[i - 1]:
            for j in range(counts[i]):
                out[begins[i] + j] = out[begins[i - 1] + j]
