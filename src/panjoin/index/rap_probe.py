"""Probing a RaP-Table: counts first, pairs in a second pass of exact size (paper, Equi-Join vs. Non-Equi-Join).

The interval [low, high] of a probing tuple has a target partition for each end. Only those two, the *edge*
partitions, can hold tuples on either side of a bound and are scanned; the partitions between them lie inside as a
whole: counted from the histogram, copied without a look at their keys.

    low = 15, high = 45          partition  0     1        2        3       4
                                          5 7  12 19 15  22 27    33 38    41 48
    counts:                                 |   scan: 2 | +2 from the | scan: 1 |    = 5
                                            |   of 3    | prefix sums | of 2    |

Equality is the case of one edge. With `negate` everything is turned round: whole partitions outside, the edges' other
tuples. Neighbouring probing tuples find the same partition in the cache, and equal ones share one result.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from panjoin.index.chain_scan import copy_chain, count_in_chain, find_matches, prefetch_ids, prefetch_keys, take_ids
from panjoin.index.contract import MIN_TUPLES_PER_PROBE_WITH_THREADS, Probe
from panjoin.index.llat import Llat
from panjoin.index.partitioning import find_targets
from panjoin.kernels.copy import copy, fill
from panjoin.kernels.jit import kernel
from panjoin.kernels.threads import run_all

Array = npt.NDArray[Any]


class Request(NamedTuple):
    """The probing tuples: bounds, and the partitions that the bounds belong to."""

    low: Array
    high: Array
    low_target: Array
    high_target: Array


#: Probing tuples whose partitions are looked up to balance the threads (all 8M of a batch took longer than probing).
SAMPLES = 4096
#: Tuples to scan below which more threads are a loss, though the paper takes them from 128 probing tuples on: handing
#: the work over costs 50 us here, in which one thread scans a million tuples.
WORTH_THREADS = 1 << 20
_TUPLES_OF_A_SEARCH = 16  #: a search in the splitters takes the time of scanning so many
#: How many probing tuples ahead the keys of a partition are fetched. At a batch of 32K over 64K partitions, per tuple:
#: 56 ns without, 41 at 2, 30 at 4, 25 at 8, 23 at 16.
AHEAD = 16
#: Probing tuples whose ids are fetched together.
GROUP = 32


@kernel
def prefetch_ahead(llat: Llat, targets: Array, i: int, last: int) -> None:
    """Start fetching the partition of the tuple `AHEAD` places after i, unless the one before it does the same."""
    ahead = i + AHEAD
    if ahead < last and targets[ahead] != targets[ahead - 1]:
        prefetch_keys(llat, targets[ahead])


@kernel
def same_as_before(low: Array, high: Array, i: int, first: int) -> bool:
    """Whether probing tuple i asks for what the one before it asked for."""
    return i > first and low[i] == low[i - 1] and high[i] == high[i - 1]


@kernel
def count_matches(llat: Llat, before: Array, request: Request, first: int, last: int, counts: Array) -> None:
    """counts[i] for probing tuples [first, last)."""
    low, high, low_target, high_target = request
    for i in range(first, last):
        prefetch_ahead(llat, low_target, i, last)
        if same_as_before(low, high, i, first):
            counts[i] = counts[i - 1]
        elif low[i] > high[i]:
            counts[i] = 0
        else:
            count = count_in_chain(llat, low_target[i], low[i], high[i])
            if low_target[i] < high_target[i]:
                count += count_in_chain(llat, high_target[i], low[i], high[i])
            counts[i] = count + between(before, low_target[i], high_target[i])


@kernel
def between(before: Array, low_target: Any, high_target: Any) -> Any:
    """Tuples of the partitions between two partitions; before[p] = tuples in the partitions before p."""
    return before[high_target] - before[low_target + 1] if high_target > low_target + 1 else np.int64(0)


@kernel
def emit_matches(
    llat: Llat,
    before: Array,
    request: Request,
    counts: Array,
    first: int,
    last: int,
    probe_no: Array,
    ids: Array,
    positions: Array,
) -> None:
    """The pairs of probing tuples [first, last), by probe_no; `positions` is the memory of `ids` seen as uint32.

    In groups, so that the cache misses of their ids overlap: first the positions of the matches in the edges, each
    written where its id will be; then the ids, and those of the partitions in between.
    """
    low, high, low_target, high_target = request
    group_at = np.int64(0)
    for group in range(first, last, GROUP):
        group_end = min(group + GROUP, last)
        at = group_at
        for i in range(group, group_end):
            prefetch_ahead(llat, low_target, i, last)
            if low[i] <= high[i] and not same_as_before(low, high, i, first):
                end = find_matches(llat, low_target[i], low[i], high[i], True, positions, at)
                if low_target[i] < high_target[i]:
                    end = find_matches(llat, high_target[i], low[i], high[i], True, positions, end)
                prefetch_ids(llat.ids, positions, at, end)
            at += counts[i]
        at = group_at
        for i in range(group, group_end):
            start, at = at, at + counts[i]
            fill(probe_no, start, at, i)
            if same_as_before(low, high, i, first):
                copy(ids, start - counts[i], start, ids, start)
            elif start < at:
                edges_end = at - between(before, low_target[i], high_target[i])
                take_ids(llat.ids, start, edges_end, positions, ids)
                for partition in range(low_target[i] + 1, high_target[i]):
                    edges_end = copy_chain(llat, partition, ids, edges_end)
        group_at = at


@kernel
def emit_others(
    llat: Llat,
    before: Array,
    request: Request,
    counts: Array,
    first: int,
    last: int,
    probe_no: Array,
    ids: Array,
    positions: Array,
) -> None:
    """As `emit_matches`, but every tuple that does not match; counts[i] is the number of these."""
    low, high, low_target, high_target = request
    partitions = len(before) - 1
    at = np.int64(0)
    for i in range(first, last):
        start, at = at, at + counts[i]
        fill(probe_no, start, at, i)
        if same_as_before(low, high, i, first):
            copy(ids, start - counts[i], start, ids, start)
            continue
        whole, end = partitions, start
        if low[i] <= high[i]:
            end = find_matches(llat, low_target[i], low[i], high[i], False, positions, end)
            if low_target[i] < high_target[i]:
                end = find_matches(llat, high_target[i], low[i], high[i], False, positions, end)
            take_ids(llat.ids, start, end, positions, ids)
            for partition in range(high_target[i] + 1, partitions):
                end = copy_chain(llat, partition, ids, end)
            whole = low_target[i]
        for partition in range(whole):
            end = copy_chain(llat, partition, ids, end)


class Table(NamedTuple):
    """What probing needs of a RaP-Table."""

    llat: Llat  #: read-only
    sizes: Array  #: tuples per partition
    before: Array  #: their prefix sums, P + 1 of them
    size: int
    threads: int


class RapProbe(Probe):
    """The answer of a RaP-Table."""

    def __init__(self, table: Table, request: Request, negate: bool) -> None:
        self._table, self._request, self._negate = table, request, negate
        counts = np.empty(len(request.low), np.int64)
        run_all(
            [
                partial(count_matches, table.llat, table.before, request, first, last, counts)
                for first, last in self._pieces(0, len(counts))
            ]
        )
        super().__init__(table.size - counts if negate else counts)

    def _emit(self, first: int, last: int, probe_no: Array, ids: Array) -> None:
        emit, table, positions = emit_others if self._negate else emit_matches, self._table, ids.view(np.uint32)
        tasks, begin = [], 0
        for piece in self._pieces(first, last):
            end = begin + int(self.counts[slice(*piece)].sum())
            out = (probe_no[begin:end], ids[begin:end], positions[begin:end])
            tasks.append(partial(emit, table.llat, table.before, self._request, self.counts, *piece, *out))
            begin = end
        run_all(tasks)

    def _pieces(self, first: int, last: int) -> list[tuple[int, int]]:
        """The probing tuples cut into one piece per thread, by the tuples of the partitions that they scan."""
        if self._table.threads == 1 or last - first < MIN_TUPLES_PER_PROBE_WITH_THREADS:
            return [(first, last)]
        step = 1 + (last - first) // SAMPLES
        one, other = (target[first:last:step] for target in (self._request.low_target, self._request.high_target))
        sizes = self._table.sizes
        costs = np.cumsum(sizes[one] + (one != other) * sizes[other] + 1, dtype=np.int64)
        if costs[-1] * step < WORTH_THREADS:
            return [(first, last)]
        shares = costs[-1] * np.arange(1, self._table.threads) // self._table.threads
        ends = [first, *(first + np.searchsorted(costs, shares) * step).tolist(), last]
        return [(a, b) for a, b in pairwise(ends) if a < b]


def find_all_targets(padded: Array, low: Array, high: Array, threads: int) -> Request:
    """The partition phase of a batch."""
    targets = np.empty(len(low), np.int32), np.empty(len(low), np.int32)
    pieces = threads if len(low) >= WORTH_THREADS // _TUPLES_OF_A_SEARCH else 1
    ends = [len(low) * piece // pieces for piece in range(pieces + 1)]
    run_all(
        [
            partial(find_targets, padded, low[a:b], high[a:b], targets[0][a:b], targets[1][a:b])
            for a, b in pairwise(ends)
        ]
    )
    return Request(low, high, *targets)
