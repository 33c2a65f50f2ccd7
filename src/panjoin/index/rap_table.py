"""RaP-Table: range partitions whose splitters adapt from one subwindow to the next (paper, section RaP-Table).

A table of splitters (inclusive upper bounds) cuts the keys into P partitions. The tuples of a partition lie unsorted
in a chain of the LLAT; a histogram (count, min, max per partition) fills along with it. Eight tuples, P = 4:

    splitters           20          30          40
    partition     0 ..20  |  1 21..30 |  2 31..40 |  3 41..
    LLAT (keys)   12 15   |  27 21 24 |           |  48            reserved:  22 29  (partition 1 goes on)
    count          2      |   5       |   0       |   1
    min .. max    12..15  |  21..29   |   -       |  48..48

Looking for [24, 45]: 24 belongs to partition 1 (first splitter >= 24 is 30), 45 to partition 3. The edge partition 1 is
scanned: 27, 24, and in the reserved entry 29; partition 2 lies inside as a whole: its count, 0, from the histogram;
edge partition 3 is scanned: nothing. Three tuples (`rap_probe.py`).

Inserting the sorted batch 13 14 22: the partition phase cuts it into runs, 13 14 for partition 0 and 22 for
partition 1, and each run is appended to its chain in one piece (`partitioning.py`, `llat.py`).

The next subwindow's table takes `like=` this one: its splitters are adjusted so that the same keys would have come to
N/P per partition (`splitters.py`). When the next table lives with another worker, this one's `histogram` travels to
the manager, and the splitters that `adjust` makes of it travel on as `splitters=`.

Invariants (`check`): a key lies in the partition that its splitters say; the histogram is that of the tuples; the
LLAT's own, with at most 2P entries. Partitions stay unsorted after `seal`, as in the paper. (Sorting the keys there
takes 0.1 s at 8M, and a plain binary search, without fetching ahead, in a partition of 128 is slower than the scan:
134 to 28 ns at batches of 1M.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from panjoin.errors import ParameterError, StateError
from panjoin.index import llat as llats
from panjoin.index import splitters as tables
from panjoin.index.contract import Index, Probe, is_ascending, register
from panjoin.index.llat import Llat
from panjoin.index.partitioning import cut_into_runs
from panjoin.index.rap_probe import RapProbe, Table, find_all_targets
from panjoin.index.splitters import Histogram
from panjoin.kernels.lanes import LANE
from panjoin.kernels.views import read_only

Array = npt.NDArray[Any]

SIGMA = 1.25  #: room per entry over N/P; the paper suggests 1.10 to 1.25
POSITIONS = 1 << 32  #: places in the LLAT that a probe can tell apart (`find_matches`)


@register
class RapTable(Index):
    """See the head of this file. `sigma` and `threads` not given are those of `like`, or 1.25 and 1."""

    name = "rap-table"

    def __init__(
        self,
        *,
        capacity: int,
        partitions: int,
        dtype: Any,
        sigma: float | None = None,
        splitters: Any = None,
        like: RapTable | None = None,
        threads: int | None = None,
    ) -> None:
        if like is not None and not isinstance(like, RapTable):
            raise ParameterError(f"like must be a rap-table index, not {type(like).__name__}")
        if sigma is None:
            sigma = SIGMA if like is None else like.sigma
        if threads is None:
            threads = 1 if like is None else like.threads
        super().__init__(capacity=capacity, partitions=partitions, dtype=dtype, threads=threads)
        self.sigma: float = llats.spare(sigma)
        if self.capacity * (self.sigma + 1) >= POSITIONS:
            raise ParameterError(
                f"capacity times sigma + 1 must be below 2^32, not {self.capacity} * {self.sigma + 1}; "
                "use more subwindows"
            )
        self.splitters = read_only(self._first_splitters(splitters, like))
        self._llat = llats.reserve_for(self.capacity, self.partitions, self.sigma, self.dtype)
        self.histogram = tables.empty_histogram(self.dtype, self.partitions)
        self._prepare()

    def _first_splitters(self, splitters: Any, like: RapTable | None) -> Array:
        if splitters is not None:
            given: Array = np.array(splitters)
            if given.shape != (self.partitions - 1,):
                raise ParameterError(
                    f"splitters must be {self.partitions - 1} numbers for {self.partitions} partitions, "
                    f"not of shape {given.shape}"
                )
            if len(given) and given.dtype != self.dtype:
                raise ParameterError(f"splitters must be {self.dtype} like the keys, not {given.dtype}")
            if not is_ascending(given):
                at = int(np.argmax(given[1:] < given[:-1]))
                raise ParameterError(
                    f"splitters must ascend, but {given[at]} is followed by {given[at + 1]} at {at + 1}"
                )
            return given.astype(self.dtype)
        if like is None:
            return tables.even(self.dtype, self.partitions)
        if like.dtype != self.dtype:
            raise ParameterError(
                f"cannot learn {self.dtype} splitters from an index of {like.dtype} keys; leave `like` out"
            )
        return tables.adjust(*like.histogram, self.partitions, like.splitters)

    def _prepare(self) -> None:
        self._view = self._llat.read_only()
        self.padded = np.append(self.splitters, np.full(LANE, np.iinfo(self.dtype).max, self.dtype))
        self._before = np.zeros(self.partitions + 1, np.int64)

    def _insert(self, keys: Array, ids: Array) -> None:
        runs = min(len(keys), self.partitions)
        partitions, starts = np.empty(runs, np.int32), np.empty(runs + 1, np.int64)
        keys, ids = read_only(keys), read_only(ids)
        runs = cut_into_runs(self.splitters, keys, partitions, starts)
        done = llats.append_runs(self._llat, partitions[:runs], starts, keys, ids)
        tables.note_runs(self.histogram, partitions[:runs], starts, keys)
        assert done == len(keys), f"the LLAT ran out of entries after {done} of {len(keys)} tuples"

    def _probe(self, low: Array, high: Array, negate: bool) -> Probe:
        request = find_all_targets(self.padded, read_only(low), read_only(high), self.threads)
        if self._before[-1] != self.size and (request.high_target > request.low_target + 1).any():
            np.cumsum(self.histogram.counts, out=self._before[1:])
        return RapProbe(
            Table(self._view, self.histogram.counts, self._before, self.size, self.threads), request, negate
        )

    @property
    def partition_sizes(self) -> Array:
        """The histogram's counts."""
        return self.histogram.counts

    @property
    def memory_bytes(self) -> int:
        """Bytes of all arrays, reserved entries included."""
        return self._llat.memory_bytes + sum(
            a.nbytes for a in (*self.histogram, self.splitters, self.padded, self._before)
        )

    def check(self) -> None:
        """Every invariant; slow."""
        assert self.splitters.shape == (self.partitions - 1,), self.splitters
        assert is_ascending(self.splitters), self.splitters
        self._llat.check(range(self.partitions))
        assert self._llat.entries <= 2 * self.partitions, (
            f"{self._llat.entries} entries for {self.partitions} partitions"
        )
        reserved = int(self._llat.ptr_g[0]) - self.partitions
        assert reserved <= self.size // self._llat.entry_capacity <= self.partitions, (
            f"{reserved} reserved entries for {self.size} tuples in entries of {self._llat.entry_capacity}: "
            "more than there can be full entries before them"
        )
        total, smallest, largest = 0, [], []
        for partition in range(self.partitions):
            keys, _ = self._llat.tuples_of(partition)
            total += len(keys)
            count, low, high = (int(column[partition]) for column in self.histogram)
            assert count == len(keys), f"partition {partition}: count {count}, but {len(keys)} tuples"
            if count == 0:
                continue
            assert (low, high) == (keys.min(), keys.max()), f"partition {partition}: {low}..{high} for keys {keys}"
            assert partition == 0 or low > self.splitters[partition - 1], f"partition {partition}: {low} is too small"
            assert partition == self.partitions - 1 or high <= self.splitters[partition], (
                f"partition {partition}: {high}"
            )
            smallest.append(low)
            largest.append(high)
        assert total == self.size, f"size {self.size}, but {total} tuples"
        assert self.min_key == min(smallest, default=None), (self.min_key, smallest)
        assert self.max_key == max(largest, default=None), (self.max_key, largest)

    def arrays(self) -> dict[str, Array]:
        """The sealed index; entries that were never used are left out."""
        if not self.sealed:
            raise StateError(f"only a sealed index can be taken as arrays; seal this {self.name} first")
        llat = {f"llat_{name}": part for name, part in self._llat.used()._asdict().items() if name != "entry_capacity"}
        shape = np.array([self.capacity, self._llat.entry_capacity, self.size], np.int64)
        sigma = np.array([self.sigma])
        return {**llat, **self.histogram._asdict(), "splitters": self.splitters, "shape": shape, "sigma": sigma}

    @classmethod
    def open(cls, arrays: Mapping[str, Array]) -> RapTable:
        """A sealed index over these arrays; nothing is copied."""
        self = cls.__new__(cls)
        capacity, entry_capacity, size = (int(number) for number in arrays["shape"])
        self.histogram = Histogram(*(arrays[name] for name in Histogram._fields))
        self.splitters, self.sigma = read_only(arrays["splitters"]), float(arrays["sigma"][0])
        columns = {name: arrays[f"llat_{name}"] for name in Llat._fields if name != "entry_capacity"}
        self._llat = Llat(**columns, entry_capacity=entry_capacity)
        Index.__init__(self, capacity=capacity, partitions=len(self.histogram.counts), dtype=self._llat.keys.dtype)
        self.size, self.sealed = size, True
        some = self.histogram.counts > 0
        if size:
            self.min_key, self.max_key = int(self.histogram.mins[some].min()), int(self.histogram.maxs[some].max())
        self._prepare()
        return self
