"""One ascending run of tuples with its index array: what BI-Sort is made of.

    keys    2   3   5 | 7  11  13 | 17  .   .  .        step 3: a partition is three tuples (paper: M/P)
    ids     4   0   1 | 3   5   6 |  2  .   .  .
    index   2           7           17                  index[k] = keys[k * step], updated with every merge

While a pending batch is merged bit by bit (`begin`, `advance`) the run has a gap, as wide as what is left of the batch:

    keys    2   3   5   7  11   *   *  13  15  17       pending 8  9 | 15   left part 5 tuples, gap 2, right part 3
            └── left ───────┘   gap    └─ right ┘

Everything in the right part is at least as large as everything in the left part and as all that is still pending, so
the run is the two parts, searched one after the other; positions count without the gap.

Invariants (`check`): both parts ascend; the index holds the key at each multiple of `step` inside either part; PADDING
keys of the type's maximum follow the run, and in the gap none is smaller than the left part's last (a search
may look that far past the end of a part).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from panjoin.kernels.jit import kernel
from panjoin.kernels.lanes import LANE, move
from panjoin.kernels.merge import Tuples, merge, merge_lanes
from panjoin.kernels.search_run import PADDING, Run
from panjoin.kernels.views import read_only

Array = npt.NDArray[Any]


class Part(NamedTuple):
    """Neighbouring tuples in ascending order: a Run to search, and the ids beside it."""

    run: Run
    ids: Array

    @property
    def size(self) -> int:
        """Number of tuples."""
        return self.run.end - self.run.first


class SortedRun:
    """Room for `capacity` tuples, ascending by key, equal keys in the order of arrival."""

    def __init__(self, capacity: int, step: int, dtype: Any) -> None:
        most = np.iinfo(dtype).max
        self.keys = np.empty(capacity + PADDING, dtype)
        self.ids = np.empty(capacity, np.int32)
        self.index = np.full(-(-capacity // step) + LANE, most, dtype)
        self.step = step
        self.size = 0
        self.left = 0  #: tuples before the gap
        self.pending: SortedRun | None = None  #: what is being merged in; its first `gap` tuples are still to come
        self.gap = 0
        self._most = most
        self.keys[:PADDING] = most

    # ---- growing ----

    def merge(self, keys: Array, ids: Array, threads: int = 1) -> None:
        """Add an ascending batch; where keys are equal it comes after what is there."""
        changed = merge(self.keys, self.ids, self.size, read_only(keys), read_only(ids), threads)
        self.size += len(keys)
        self.left = self.size
        self.keys[self.size : self.size + PADDING] = self._most
        sample(self.keys, self.index, self.step, changed, self.size)

    def begin(self, pending: SortedRun) -> None:
        """Start to merge `pending` in; it must not change until the gap is closed."""
        self.pending, self.left, self.gap = pending, self.size, pending.size
        self.keys[self.size + self.gap : self.size + self.gap + PADDING] = self._most

    def advance(self, work: int) -> None:
        """Move at most about `work` tuples from each side towards the end of the merge."""
        if self.pending is None:
            return
        before, total = self.left + self.gap, self.size + self.gap
        batch = Tuples(self.pending.keys, self.pending.ids, 0)
        self.left, self.gap = advance(self.keys, self.ids, batch, self.left, self.gap, max(1, work))
        self.size = total - self.gap
        sample(self.keys, self.index, self.step, self.left + self.gap, before)
        if self.gap == 0:
            self.pending.clear()
            self.pending, self.left = None, self.size

    def finish(self) -> None:
        """Close the gap."""
        while self.pending is not None:
            self.advance(self.size + self.gap)

    @classmethod
    def over(cls, keys: Array, ids: Array, index: Array, step: int) -> SortedRun:
        """A run over the arrays of another one, which may be read-only maps."""
        run = cls(0, 1, keys.dtype)
        run.keys, run.ids, run.index, run.step = keys, ids, index, step
        run.size = run.left = len(ids)
        return run

    def trim(self) -> None:
        """Give back the room that is not needed: copies when a tenth or more is free, else keeps views."""
        samples = -(-self.size // self.step) + LANE
        self.keys, self.ids, self.index = self.keys[: self.size + PADDING], self.ids[: self.size], self.index[:samples]
        if self.size < 0.9 * len(self.ids if self.ids.base is None else self.ids.base):
            self.keys, self.ids, self.index = self.keys.copy(), self.ids.copy(), self.index.copy()

    def clear(self) -> None:
        """Forget all tuples."""
        self.size = self.left = self.gap = 0
        self.keys[:PADDING] = self._most
        self.index[:] = self._most

    # ---- reading ----

    def parts(self) -> list[Part]:
        """What is to be searched: one part, or the two beside the gap, without empty ones; then what is pending."""
        edges = [(0, self.left), (self.left + self.gap, self.size + self.gap)]
        keys, ids, index = read_only(self.keys), read_only(self.ids), read_only(self.index)
        return [Part(Run(keys, a, b, index, self.step), ids[a:b]) for a, b in edges if a < b]

    def pending_part(self) -> list[Part]:
        """What is still to come, as a part of its own."""
        if self.pending is None:
            return []
        keys, ids, index = read_only(self.pending.keys), read_only(self.pending.ids), read_only(self.pending.index)
        return [Part(Run(keys, 0, self.gap, index, self.pending.step), ids[: self.gap])]

    def in_order(self, array: Array) -> Array:
        """The tuples' entries of keys or ids in order: a view, or a copy around the gap."""
        if self.gap == 0:
            return read_only(array[: self.size])
        return np.concatenate([array[: self.left], array[self.left + self.gap : self.size + self.gap]])

    @property
    def memory_bytes(self) -> int:
        """Bytes of keys, ids and index."""
        return self.keys.nbytes + self.ids.nbytes + self.index.nbytes

    def check(self) -> None:
        """Assert the invariants at the head of this file."""
        state = f"size {self.size}, left {self.left}, gap {self.gap}, keys {self.keys}, {self.step}th: {self.index}"
        assert 0 <= self.left <= self.size <= len(self.ids) - self.gap and self.gap >= 0, state
        assert (self.gap > 0) == (self.pending is not None), state
        assert self.gap > 0 or self.left == self.size, state
        keys = self.in_order(self.keys)
        assert (keys[1:] >= keys[:-1]).all(), state
        end = self.size + self.gap
        assert (self.keys[end : end + PADDING] == self._most).all(), state
        for at in range(0, end, self.step):
            assert self.left <= at < self.left + self.gap or self.index[at // self.step] == self.keys[at], state
        assert (self.index[-(-end // self.step) :] == self._most).all(), state
        if self.pending is not None and self.left:
            in_gap = self.keys[self.left : self.left + min(self.gap, PADDING)]
            assert (in_gap >= self.keys[self.left - 1]).all(), state
        if self.pending is not None and self.left < self.size:
            assert self.pending.keys[self.gap - 1] <= self.keys[self.left + self.gap], state


@kernel
def sample(keys: Array, index: Array, step: int, first: int, last: int) -> None:
    """Bring the index up to date with keys[first:last]."""
    for k in range((first + step - 1) // step, (last + step - 1) // step):
        index[k] = keys[k * step]


@kernel
def advance(keys: Array, ids: Array, batch: Tuples, left: int, gap: int, work: int) -> tuple[int, int]:
    """Merge backwards by at most `work` tuples of each side; the new (left, gap)."""
    floor, batch_floor = max(0, left - work), max(0, gap - work)
    left, gap = merge_lanes(keys, ids, Tuples(keys, ids, 0), left, floor, batch, gap, batch_floor)
    if left == 0:  # the rest of the batch is smaller than all of the run
        move(keys, 0, batch.keys, 0, gap)
        move(ids, 0, batch.ids, 0, gap)
        gap = 0
    return left, gap
