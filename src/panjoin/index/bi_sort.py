"""BI-Sort: a sorted main array under a small index array, and an insertion buffer before it (paper, BI-Sort).

    buffer  (B = 2, P = 3)      keys  6                                one tuple waits for company
                                ids   7
    main                        keys  2  3  5 | 7 11 13 | 17           merged so far: seven tuples
                                ids   4  0  1 | 3  5  6 |  2
    index   every third key           2         7         17           P samples: the partitions' first keys

    probe [5, 7]     lower bound of 5   the samples 7 and 17 are >= 5: look behind sample 2, there 2 and 3 are smaller
                                        -> position 2
                     upper bound of 7   2 and 7 are <= 7: behind sample 7 one key is not larger -> position 4
                     range 2..4 of main (ids 1, 3), range 0..1 of the buffer (id 7): three pairs, or one record
                     (start 2, end 4) and the pair (0, 7) beside it

Insertion. A batch waits in the buffer until that holds B tuples; buffer and batch then go on together. A batch larger
than the buffer goes on at once and takes the waiting tuples along. Older tuples stay before newer ones of equal key
in every merge, so the order of a merged array depends on the arrivals alone, and a mirror that merges the same batches
has the same ids at the same positions.

Beyond the paper, between buffer and main, a *middle* run (`middle` tuples; 0 gives the paper's structure). The paper's
flush moves all of the main array: O(M) for B tuples. Here the buffer goes to the middle; when that is full it becomes
*pending* and is merged into the main array bit by bit, by as many tuples per insert as make it end before the
next middle is full. Insertion of b tuples costs O(b * M / middle + middle), never a whole M at once, and takes no
second main array: a half-merged main array is two sorted parts around a gap (index/sorted_run.py).

    buffer  <= B           merged into the middle when full
    middle  <= sqrt(B M)   becomes pending when full         default size: where both costs are equal
    pending                what is left of it ────────┐
    main    left part ··· gap ··· right part   <──────┘

Measured while a window of 8M int32 keys fills, batches of 1K: 17M tuples/s, 99% of inserts under 0.11 ms, the slowest
0.4 ms; without a middle run 1.0M/s, 2.6 ms and 7 ms. The price: probing the unsealed index in batches of 32K at 35
instead of 40M/s, in batches of 1M at 63 instead of 115M/s; nothing once sealed. Sealing finishes what waits: 5 to 7 ms.
The sealed array keeps the same layout: an index array of every 16th key lost (kernels/search_run.py).

Departures: the buffer is kept sorted (merging a sorted batch into a thousand tuples costs less than the call, while
scanning an unsorted buffer for every probing tuple costs as much as the main array); a partition is
capacity / P tuples from the start, instead of M / P with a growing M (the same when full; less to rebuild before).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import Any
from weakref import WeakSet

import numpy as np

from panjoin.errors import ParameterError
from panjoin.index.bi_sort_probe import BiSortProbe, find
from panjoin.index.contract import MIN_TUPLES_PER_PROBE_WITH_THREADS, Array, Index, Probe, register
from panjoin.index.sorted_run import Part, SortedRun
from panjoin.kernels.merge import merge
from panjoin.kernels.views import read_only

#: Capacities from which a middle run is worth its 2 * sqrt(B * capacity) tuples of memory, as a multiple of B.
_MIDDLE_FROM = 1024


@register
class BiSort(Index):
    """See the head of this file. `buffer` is B, `middle` the size of the middle run (None: chosen, 0: none)."""

    name = "bi-sort"

    def __init__(
        self,
        *,
        capacity: int,
        partitions: int,
        dtype: Any,
        threads: int = 1,
        buffer: int = 1024,
        middle: int | None = None,
        like: Index | None = None,
    ) -> None:
        del like  # sorting learns nothing from the subwindow before
        super().__init__(capacity=capacity, partitions=partitions, dtype=dtype, threads=threads)
        if buffer < 1:
            raise ParameterError(f"buffer must be at least 1, not {buffer}")
        if middle is None:
            middle = isqrt(buffer * self.capacity) if self.capacity >= _MIDDLE_FROM * buffer else 0
        if middle < 0 or 0 < middle < buffer:
            raise ParameterError(f"middle must be 0 (none) or at least the buffer's {buffer}, not {middle}")
        self.buffer, self.middle = int(buffer), int(middle)
        self._main = SortedRun(self.capacity, -(-self.capacity // self.partitions), self.dtype)
        self._buffer = SortedRun(2 * self.buffer, 128, self.dtype)
        self._probes: WeakSet[BiSortProbe] = WeakSet()  # made since the last insert, and perhaps still read
        self._middles: list[SortedRun] = []  # the one that is filled, then the one that is pending or spare

    # ---- insertion ----

    def _insert(self, keys: Array, ids: Array) -> None:
        self._probes.clear()
        if len(keys) <= self.buffer and self._buffer.size + len(keys) < self.buffer:
            self._buffer.merge(keys, ids)
        elif self._buffer.size + len(keys) <= self.middle:
            keys, ids = _taken_along(self._buffer, keys, ids)
            self._into_middle(keys, ids)
        else:
            self._into_main(keys, ids)

    def _into_middle(self, keys: Array, ids: Array) -> None:
        """Bounded work: one merge of at most `middle` tuples, and this batch's share of merging what is pending."""
        if not self._middles:
            self._middles = [SortedRun(self.middle, 128, self.dtype) for _ in range(2)]
        main = self._main
        if self._middles[0].size + len(keys) > self.middle:
            main.finish()  # at most this batch's share is left, as all others have done theirs
            main.begin(self._middles[0])
            self._middles.reverse()
            self.version += 1
        self._middles[0].merge(keys, ids, self.threads)
        if main.pending is not None:
            main.advance(-(-len(keys) * (main.size + self.middle) // self.middle))
            self.version += 1

    def _into_main(self, keys: Array, ids: Array) -> None:
        """The paper's direct merge; everything that waits goes along, the oldest first."""
        self._main.finish()
        waiting = [run for run in (*self._middles[:1], self._buffer) if run.size]
        if len(keys) < self._main.size:  # one pass over the main array, which is the larger
            for run in reversed(waiting):
                keys, ids = _taken_along(run, keys, ids)
        else:
            for run in waiting:
                self._main.merge(run.keys[: run.size], run.ids[: run.size], self.threads)
                run.clear()
        if len(keys):
            self._main.merge(keys, ids, self.threads)
        self.version += 1

    def _seal(self) -> None:
        if self._main.pending is not None or self._buffer.size or any(run.size for run in self._middles):
            for probe in self._probes:  # these outlive the seal; copying costs nothing when nobody reads them any more
                probe.keep()
            self._into_main(np.empty(0, self.dtype), np.empty(0, np.int32))
        self._main.trim()
        self._hold(self._main)

    def _hold(self, sealed: SortedRun) -> None:
        """This run and nothing else."""
        self._main, self._buffer, self._middles = sealed, SortedRun(0, 1, self.dtype), []

    # ---- probing ----

    def _probe(self, low: Array, high: Array, negate: bool) -> Probe:
        threads = self.threads if len(low) >= MIN_TUPLES_PER_PROBE_WITH_THREADS else 1
        main, waiting = self._main.parts(), self._waiting()
        counts = np.zeros(len(low), np.int64)
        found = find([*main, *waiting], low, high, negate, counts, threads)
        stamp = self.version, self.size
        probe = BiSortProbe(
            counts,
            found[: len(main)],
            found[len(main) :],
            negate,
            lambda: stamp == (self.version, self.size),
            self.version,
        )
        if not self.sealed:
            self._probes.add(probe)
        return probe

    def _waiting(self) -> list[Part]:
        """All that is not in the main array, the oldest first."""
        runs = [*self._middles[:1], self._buffer]
        return [*self._main.pending_part(), *(part for run in runs for part in run.parts())]

    @property
    def main_keys(self) -> Array:
        """Keys of the main array in order, to which the positions of range records refer."""
        return self._main.in_order(self._main.keys)

    @property
    def sorted_ids(self) -> Array:
        """Ids in ascending order of their keys, as far as they are merged."""
        return self.main_ids

    @property
    def main_ids(self) -> Array:
        """Ids of the main array in the same order."""
        return self._main.in_order(self._main.ids)

    # ---- the rest of the contract ----

    @property
    def memory_bytes(self) -> int:
        """Bytes of all runs and their index arrays."""
        return sum(run.memory_bytes for run in (self._main, self._buffer, *self._middles))

    def check(self) -> None:
        """All runs are sound, sizes add up, and nothing exceeds its room."""
        state = f"{self.name} of {self.size}/{self.capacity}, version {self.version}"
        for run in (self._main, self._buffer, *self._middles[:1]):
            run.check()
        parts = [*self._main.parts(), *self._waiting()]
        assert sum(part.size for part in parts) == self.size, state
        assert self._buffer.size < self.buffer and all(run.size <= self.middle for run in self._middles), state
        assert not self.sealed or self._main.size == self.size, state
        ids = np.concatenate([part.ids for part in parts]) if parts else np.empty(0, np.int32)
        assert (ids >= 0).all(), state
        keys = [part.run.keys[part.run.first : part.run.end] for part in parts]
        ends = (int(min(k[0] for k in keys)), int(max(k[-1] for k in keys))) if keys else (None, None)
        assert (self.min_key, self.max_key) == ends, state

    def arrays(self) -> dict[str, Array]:
        """The main array with its padding, its index array, and what `create` was told."""
        run = self._main
        shape = np.array([self.capacity, self.partitions, self.buffer, self.middle, self.version, run.step], np.int64)
        return {"keys": run.keys, "ids": run.ids, "index": run.index, "shape": shape}

    @classmethod
    def open(cls, arrays: Mapping[str, Array]) -> BiSort:
        """The opposite of `arrays`; reads two keys, whatever the size."""
        keys, ids, samples = (np.asarray(arrays[name]) for name in ("keys", "ids", "index"))
        capacity, partitions, buffer, middle, version, step = (int(number) for number in arrays["shape"])
        index = cls.__new__(cls)
        Index.__init__(index, capacity=capacity, partitions=partitions, dtype=keys.dtype)
        index.buffer, index.middle, index.version = buffer, middle, version
        sealed = SortedRun.over(read_only(keys), read_only(ids), read_only(samples), step)
        index._hold(sealed)  # noqa: SLF001  (our own, from outside of __init__)
        index.size, index.sealed = len(ids), True
        if len(ids):
            index.min_key, index.max_key = int(keys[0]), int(keys[len(ids) - 1])
        return index


def _taken_along(run: SortedRun, keys: Array, ids: Array) -> tuple[Array, Array]:
    """The run's tuples and the batch's, merged into fresh arrays; the run is empty afterwards."""
    if run.size == 0:
        return keys, ids
    size = run.size + len(keys)
    both_keys, both_ids = np.empty(size, keys.dtype), np.empty(size, np.int32)
    both_keys[: run.size], both_ids[: run.size] = run.keys[: run.size], run.ids[: run.size]
    if len(keys):
        merge(both_keys, both_ids, run.size, read_only(keys), read_only(ids))
    run.clear()
    return both_keys, both_ids
