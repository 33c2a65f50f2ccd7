"""One core's piece of a window: every n-th tuple, in a ring that forgets the oldest one by one. A nested loop joins it.

Tuple number t is dealt to core t mod n (round robin, as ScaleJoin does), where it is the core's own number t div n and
lies in slot (t div n) mod capacity:

    2 cores, window 6: 3 slots for each         core 1, after tuples 0 .. 10

    numbers    0 1 2 3 4 5 6 7 8 9 10           slot       0    1    2
    core 1       1   3   5   7   9              number     7    9    5
    its own      0   1   2   3   4              own        3    4    2

    the window [5, 11) of core 1 is its own [2, 5): two stretches, slot 2, then slots 0 and 1

Invariants: the last ceil(W / n) tuples of the core are in the ring, so whatever the window holds of it; a stretch is
contiguous memory in order of arrival. Comparing is the vectorised, cache-blocked loop of `index/scan.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from panjoin.bench.baselines.contract import Array
from panjoin.index.scan import Intervals, ScanProbe


class Ring:
    """See the head of this file."""

    def __init__(self, window: int, core: int, cores: int, dtype: npt.DTypeLike) -> None:
        self.core, self.cores, self.capacity = core, cores, -(-window // cores)
        self.keys = np.empty(self.capacity, np.dtype(f"u{np.dtype(dtype).itemsize}"))

    def store(self, first_no: int, keys: Array) -> None:
        """Keep what is dealt to this core of a batch whose first tuple has the number `first_no`."""
        mine = keys.view(self.keys.dtype)[(self.core - first_no) % self.cores :: self.cores]
        own = self.own_before(first_no) + max(0, len(mine) - self.capacity)
        mine = mine[-self.capacity :]
        at = own % self.capacity
        fitting = self.capacity - at
        self.keys[at : at + len(mine)] = mine[:fitting]
        self.keys[: max(0, len(mine) - fitting)] = mine[fitting:]

    def count(self, intervals: Intervals, first: int, end: int) -> Array:
        """Matches per probing tuple among the numbers [first, end), which must be in the window."""
        counts = np.zeros(len(intervals.which), np.int64)
        for _, probe in self._probes(intervals, first, end):
            counts += probe.counts
        return counts

    def pairs(self, intervals: Intervals, first: int, end: int) -> tuple[Array, Array]:
        """The same matches as (position, number)."""
        positions, numbers = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for own, probe in self._probes(intervals, first, end):
            position, offset = probe.pairs()
            positions.append(position.astype(np.int64))
            numbers.append((own + offset.astype(np.int64)) * self.cores + self.core)
        return np.concatenate(positions), np.concatenate(numbers)

    def own_before(self, number: int) -> int:
        """How many of the tuples 0 .. number - 1 were dealt to this core."""
        return max(0, number - self.core + self.cores - 1) // self.cores

    def _probes(self, intervals: Intervals, first: int, end: int) -> Iterator[tuple[int, ScanProbe]]:
        """The nested loop over each stretch, with the own number of its first tuple."""
        own, last = self.own_before(first), self.own_before(end)
        while own < last:
            at = own % self.capacity
            size = min(last - own, self.capacity - at)
            keys, offsets = self.keys[at : at + size], np.arange(size, dtype=np.int32)
            keys.flags.writeable = offsets.flags.writeable = False  # as the scan index has them: one compiled version
            yield own, ScanProbe(intervals, keys, offsets, 1)
            own += size
