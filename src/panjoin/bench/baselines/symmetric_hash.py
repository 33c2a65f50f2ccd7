"""Symmetric hash join: a hash table per window; a tuple probes the other side's and goes into its own. Equality only.

    heads   bucket -> the newest tuple's number        entries   slot = number mod capacity -> key, next older number

      b 0   -1                                           slot   0 (8)   1 (5)   2 (6)   3 (7)     capacity 4
      b 1    8 ---> 6 ---> 2: before the window, stop    key      30      12      30      41
      b 2    7 ---> 5 ---> 3: stop                       older     6       3       2       5      window [5, 9)

    probe 30:  bucket 1, number 8: equal; 6: equal; 2 < 5 ends the chain: count 2

Chains descend by arrival, so the first expired number ends one: nothing is ever deleted, and a slot that was given to
a newer tuple is never read under its old number. That is all there is to expiry.

Invariants: the capacity is a power of two, at least the window; a link points to an older number of the same bucket, or
to one before the window. Probing fetches the bucket of the tuple 16 places ahead, and the entry of the one 8 ahead.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from panjoin.bench.baselines.contract import OPPOSITE, Array, Baseline
from panjoin.errors import ParameterError
from panjoin.kernels.jit import kernel
from panjoin.kernels.lanes import prefetch
from panjoin.kernels.threads import run_all

KEY, OLDER = 0, 1
#: 2^64 over the golden ratio: multiplied by it, keys that are near each other land far apart (Knuth, section 6.4).
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_FAR, _NEAR = 16, 8


class Table(NamedTuple):
    """See the head of this file: int64[buckets], int64[capacity, 2]; both sizes are powers of two."""

    heads: Array
    entries: Array

    @classmethod
    def of(cls, window: int) -> Table:
        """An empty table: as many buckets as slots."""
        size = 1 << max(1, (window - 1).bit_length())
        return cls(np.full(size, -1, np.int64), np.empty((size, 2), np.int64))


class SymmetricHashJoin(Baseline):
    """See the head of this file; cores share a probing batch, one of them stores it."""

    name = "symmetric-hash"

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        if (self.low, self.high) != (0, 0):
            raise ParameterError(
                f"a hash join finds equal keys only, not those from {self.low:+} to {self.high:+}; leave low and high 0"
            )
        self.tables = {side: Table.of(window) for side, window in self.windows.items()}

    def _push(self, side: str, keys: Array, low: Array, high: Array) -> Array:
        del low, high  # both are the keys
        wanted, other = keys.astype(np.int64, copy=False), OPPOSITE[side]
        counts = np.zeros(len(keys), np.int64)
        table, oldest = self.tables[other], self.oldest(other)
        run_all([partial(count_equal, table, wanted[p], oldest, counts[p]) for p in self.parts(len(keys))])
        self._store(side, keys)
        return counts

    def _pairs(self, side: str, low: Array, high: Array) -> tuple[Array, Array]:
        del high  # the same as `low`: the keys
        wanted, other = low.astype(np.int64), OPPOSITE[side]
        counts = np.zeros(len(wanted), np.int64)
        count_equal(self.tables[other], wanted, self.oldest(other), counts)
        numbers = np.empty(int(counts.sum()), np.int64)
        find_equal(self.tables[other], wanted, self.oldest(other), np.cumsum(counts) - counts, numbers)
        return np.repeat(np.arange(len(wanted)), counts), numbers

    def _store(self, side: str, keys: Array) -> None:
        store_all(self.tables[side], self.arrived[side], keys.astype(np.int64, copy=False))

    @property
    def memory_bytes(self) -> int:
        """Bytes of buckets and entries."""
        return sum(array.nbytes for table in self.tables.values() for array in table)


@kernel
def bucket_of(key: Any, buckets: Any) -> Any:
    """The upper bits of the product; `buckets` is a power of two."""
    return np.int64(((np.uint64(key) * _SPREAD) >> np.uint64(32)) & np.uint64(buckets - 1))


@kernel
def store_all(table: Table, first_no: Any, keys: Array) -> None:
    """Tuple first_no + i becomes the newest of its bucket."""
    heads, entries = table.heads, table.entries
    slots = len(entries)
    for i in range(len(keys)):
        if i + _FAR < len(keys):
            prefetch(heads, bucket_of(keys[i + _FAR], len(heads)))
        bucket, slot = bucket_of(keys[i], len(heads)), (first_no + i) & (slots - 1)
        entries[slot, KEY] = keys[i]
        entries[slot, OLDER] = heads[bucket]
        heads[bucket] = first_no + i


@kernel
def look_ahead(table: Table, keys: Array, i: Any, oldest: Any) -> None:
    """Start the cache misses of tuples to come."""
    heads, entries = table.heads, table.entries
    if i + _FAR < len(keys):
        prefetch(heads, bucket_of(keys[i + _FAR], len(heads)))
    if i + _NEAR < len(keys):
        number = heads[bucket_of(keys[i + _NEAR], len(heads))]
        if number >= oldest:
            prefetch(entries, 2 * (number & (len(entries) - 1)))


@kernel
def count_equal(table: Table, keys: Array, oldest: Any, counts: Array) -> None:
    """counts[i] += the tuples from number `oldest` on with keys[i]."""
    heads, entries = table.heads, table.entries
    for i in range(len(keys)):
        look_ahead(table, keys, i, oldest)
        number, count = heads[bucket_of(keys[i], len(heads))], np.int64(0)
        while number >= oldest:
            slot = number & (len(entries) - 1)
            if entries[slot, KEY] == keys[i]:
                count += 1
            number = entries[slot, OLDER]
        counts[i] += count


@kernel
def find_equal(table: Table, keys: Array, oldest: Any, ends: Array, out: Array) -> None:
    """Write their numbers to `out`; the output of tuple i starts at ends[i], which moves along."""
    heads, entries = table.heads, table.entries
    for i in range(len(keys)):
        number = heads[bucket_of(keys[i], len(heads))]
        while number >= oldest:
            slot = number & (len(entries) - 1)
            if entries[slot, KEY] == keys[i]:
                out[ends[i]] = number
                ends[i] += 1
            number = entries[slot, OLDER]
