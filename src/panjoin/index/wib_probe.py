"""Probing a WiB+-Tree with an ascending batch: find the leaves, compare inside the outer two, count the others whole.

    leaves     A: 3 8 3 9     B: 12 11 27     C: 41 40 44     D: 63 51         probe [8, 43]: from A to C
    A: compare all, 8 and 9 match: 2          B: lies between, not read: its size, 3          C: compare, 41 40: 2
    count 7; of probe [11, 12] both ends are in B: compared once, count 2

1. `distinct`: equal probing tuples share one interval; an empty interval (low > high) has none.
2. `find_leaves`: both ends of every interval, along ascending paths (paper, Batch Mode).
3. `count_part`: a nested loop per leaf (`chain_scan.py`). The intervals that end in one leaf are neighbours, so it is
   in the cache for all of them, and later leaves are fetched ahead: 48 ns per tuple of a 32K batch over 64K leaves.
   A plain loop that LLVM vectorises, two intervals at a time, took 164 (11 and 23 at a batch of 1M). What lies between
   is summed by two pointers that walk the list of leaves along with the ends.
4. `emit_part`: the second pass, when pairs are asked for: the same walk, writing ids.

Steps 2 to 4 run on several threads: 2 cut by intervals, 3 by the leaves that have to be read, 4 by pairs.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from panjoin.index.chain_scan import copy_chain, count_in_chain, find_matches, prefetch_keys, take_ids
from panjoin.index.contract import MIN_TUPLES_PER_PROBE_WITH_THREADS, Probe
from panjoin.index.llat import Llat
from panjoin.index.wib_leaves import Tree
from panjoin.index.wib_nodes import Nodes, advance, descend, new_path
from panjoin.kernels.copy import copy
from panjoin.kernels.jit import kernel
from panjoin.kernels.threads import run_all
from panjoin.kernels.views import read_only

Array = npt.NDArray[Any]

#: How many intervals ahead the keys of a leaf are fetched.
AHEAD = 16


class Sight(NamedTuple):
    """What probing reads of a tree: read-only views, so that memory-mapped trees share the compiled kernels."""

    llat: Llat
    size: Array
    low: Array
    after: Array
    first: Array
    nodes: Nodes

    @classmethod
    def of(cls, tree: Tree) -> Sight:
        """Views of the arrays of a tree."""
        return cls(
            llat=tree.llat.read_only(),
            size=read_only(tree.size),
            low=read_only(tree.low),
            after=read_only(tree.after),
            first=read_only(tree.first),
            nodes=tree.nodes.read_only(),
        )


class WibProbe(Probe):
    """Counts at once; pairs by a second pass over the same leaves."""

    def __init__(self, sight: Sight, low: Array, high: Array, size: int, negate: bool, threads: int) -> None:
        self._sight, self._negate = sight, negate
        self._threads = threads if len(low) >= MIN_TUPLES_PER_PROBE_WITH_THREADS else 1
        n = len(low)
        lows, highs, self._which = np.empty(n, low.dtype), np.empty(n, low.dtype), np.empty(n, np.int32)
        m = distinct(read_only(low), read_only(high), lows, highs, self._which)
        self._low_leaf, self._high_leaf = np.empty(m, np.int32), np.empty(m, np.int32)
        self._lows, self._highs = lows[:m], highs[:m]
        found = np.zeros(m, np.int64)
        ends = [m * part // self._threads for part in range(self._threads + 1)]
        self._on_threads(
            ends,
            lambda a, b: find_leaves(
                sight.nodes, new_path(), new_path(), lows, highs, self._low_leaf, self._high_leaf, a, b
            ),
        )
        if self._threads > 1:
            ends = balanced(self._leaves_to_read(), self._threads)
        self._on_threads(
            ends,
            lambda a, b: count_part(sight, self._lows, self._highs, self._low_leaf, self._high_leaf, found, a, b),
        )
        counts = np.empty(n, np.int64)
        spread(found, self._which, size if negate else -1, counts)
        super().__init__(counts)

    def _leaves_to_read(self) -> Array:
        """Per interval, how many leaves are read for it that the interval before it did not need."""
        costs: Array = (self._low_leaf != self._high_leaf).astype(np.int64)
        costs[1:] += self._low_leaf[1:] != self._low_leaf[:-1]
        return costs

    def _on_threads(self, ends: list[int], work: Any) -> None:
        run_all([partial(work, a, b) for a, b in pairwise(ends)])

    def _emit(self, first: int, last: int, probe_no: Array, ids: Array) -> None:
        starts = np.zeros(last - first + 1, np.int64)
        np.cumsum(self.counts[first:last], out=starts[1:])
        ends = balanced(self.counts[first:last], self._threads) if self._threads > 1 else [0, last - first]
        self._on_threads(
            ends,
            lambda a, b: emit_part(
                self._sight,
                self._lows,
                self._highs,
                self._low_leaf,
                self._high_leaf,
                self._which[first:last],
                starts,
                self._negate,
                first,
                probe_no,
                ids,
                ids.view(np.uint32),
                a,
                b,
            ),
        )


def balanced(costs: Array, parts: int) -> list[int]:
    """Where to cut a row of tasks into neighbouring pieces of about equal cost: parts + 1 ascending ends."""
    ends = np.cumsum(costs, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    shares = [total * part // parts for part in range(1, parts)]
    return [0, *np.minimum(np.searchsorted(ends, shares) + 1, len(ends)).tolist(), len(ends)]


@kernel
def distinct(low: Array, high: Array, lows: Array, highs: Array, which: Array) -> int:
    """The distinct nonempty intervals of a batch; which[i] is that of probing tuple i, or -1. Returns how many."""
    m = 0
    for i in range(len(low)):
        if low[i] > high[i]:
            which[i] = -1
        else:
            if m == 0 or low[i] != lows[m - 1] or high[i] != highs[m - 1]:
                lows[m], highs[m] = low[i], high[i]
                m += 1
            which[i] = m - 1
    return m


@kernel
def spread(found: Array, which: Array, all_but: int, counts: Array) -> None:
    """Each probing tuple's count from its interval's; with `all_but` >= 0, what is left of so many."""
    for i in range(len(which)):
        count = found[which[i]] if which[i] >= 0 else 0
        counts[i] = count if all_but < 0 else all_but - count


@kernel
def find_leaves(
    nodes: Nodes,
    path: Array,
    high_path: Array,
    lows: Array,
    highs: Array,
    low_leaf: Array,
    high_leaf: Array,
    a: int,
    b: int,
) -> None:
    """The leaves of both ends of intervals [a, b).

    Most intervals end in the leaf where they begin, which the separator beside it tells without a second search.
    """
    started = False
    for i in range(a, b):
        leaf = advance(nodes, path, lows[i]) if i > a else descend(nodes, path, lows[i])
        low_leaf[i] = leaf
        node, right = path[0, 0], path[1, 0] + 1
        if nodes.root[1] == 0 or (right < nodes.fill[node] and highs[i] < nodes.low[node, right]):
            high_leaf[i] = leaf
        else:
            high_leaf[i] = advance(nodes, high_path, highs[i]) if started else descend(nodes, high_path, highs[i])
            started = True


@kernel
def count_part(
    sight: Sight, lows: Array, highs: Array, low_leaf: Array, high_leaf: Array, found: Array, a: int, b: int
) -> None:
    """found[i] += tuples inside interval i, for intervals [a, b)."""
    i = a
    while i < b:
        end = i + 1
        while end < b and low_leaf[end] == low_leaf[i]:
            end += 1
        for ahead in range(i + AHEAD, min(end + AHEAD, b)):
            if low_leaf[ahead] != low_leaf[ahead - 1]:
                prefetch_leaf(sight, low_leaf[ahead])
        count_in_leaf(sight, low_leaf[i], lows, highs, found, i, end)
        i = end
    i = a
    while i < b:
        end = i + 1
        if low_leaf[i] != high_leaf[i]:  # of the intervals that end in one leaf, those that begin there come last
            while end < b and high_leaf[end] == high_leaf[i] and low_leaf[end] != high_leaf[end]:
                end += 1
            count_in_leaf(sight, high_leaf[i], lows, highs, found, i, end)
        i = end
    # the leaves between: `between` = sizes of the leaves after `rear`, up to and with `front`
    rear = front = np.int64(-1)
    between = np.int64(0)
    for i in range(a, b):
        if low_leaf[i] == high_leaf[i]:
            continue
        if front < 0 or sight.low[low_leaf[i]] >= sight.low[front]:
            rear = front = np.int64(low_leaf[i])
            between = np.int64(0)
        while front != high_leaf[i]:
            front = np.int64(sight.after[front])
            between += sight.size[front]
        while rear != low_leaf[i]:
            rear = np.int64(sight.after[rear])
            between -= sight.size[rear]
        found[i] += between - sight.size[front]


@kernel
def prefetch_leaf(sight: Sight, leaf: int) -> None:
    """Start fetching the keys of a leaf's last entry, which will be compared."""
    prefetch_keys(sight.llat, sight.llat.last[leaf])


@kernel
def count_in_leaf(sight: Sight, leaf: int, lows: Array, highs: Array, found: Array, a: int, b: int) -> None:
    """found[i] += tuples of one leaf inside interval i, for intervals [a, b)."""
    llat = sight.llat
    last = llat.last[leaf]
    heavy, many = llat.keys[leaf * llat.entry_capacity], sight.size[leaf] - llat.head[last]
    for i in range(a, b):
        if last != leaf and lows[i] <= heavy <= highs[i]:  # a chain: all entries but the last hold one single value
            found[i] += many
        found[i] += count_in_chain(llat, last, lows[i], highs[i])


@kernel
def emit_part(
    sight: Sight,
    lows: Array,
    highs: Array,
    low_leaf: Array,
    high_leaf: Array,
    which: Array,
    starts: Array,
    negate: bool,
    number: int,
    probe_no: Array,
    ids: Array,
    positions: Array,
    a: int,
    b: int,
) -> None:
    """Write the pairs of probing tuples [a, b) of a piece whose first tuple has the given number.

    `positions` is the memory of `ids` seen as uint32.
    """
    for i in range(a, b):
        if i + AHEAD < b and which[i + AHEAD] > which[i + AHEAD - 1] >= 0:
            prefetch_leaf(sight, low_leaf[which[i + AHEAD]])
        at, end = starts[i], starts[i + 1]
        for k in range(at, end):
            probe_no[k] = number + i
        d = which[i]
        if at == end:
            continue
        if i > a and d == which[i - 1]:
            size = end - at
            for k in range(at, end):
                ids[k] = ids[k - size]
        elif d < 0:
            emit_between(sight, sight.first[0], -1, ids, at)  # only negated does an empty interval come here
        else:
            low, high = lows[d], highs[d]
            leaf, last = int(low_leaf[d]), int(high_leaf[d])
            if negate:
                at = emit_between(sight, sight.first[0], leaf, ids, at)
            at = emit_of_leaf(sight, leaf, low, high, not negate, ids, positions, at)
            if leaf != last:
                if not negate:
                    at = emit_between(sight, sight.after[leaf], last, ids, at)
                at = emit_of_leaf(sight, last, low, high, not negate, ids, positions, at)
            if negate:
                emit_between(sight, sight.after[last], -1, ids, at)


@kernel
def emit_between(sight: Sight, leaf: int, stop: int, ids: Array, at: int) -> int:
    """Write all ids of the leaves from `leaf` up to, without, `stop` (-1: to the end)."""
    while leaf != stop:
        at = copy_chain(sight.llat, leaf, ids, at)
        leaf = sight.after[leaf]
    return at


@kernel
def emit_of_leaf(
    sight: Sight, leaf: int, low: Any, high: Any, inside: bool, ids: Array, positions: Array, at: int
) -> int:
    """Write the ids of one leaf whose keys are inside the interval, or outside of it."""
    llat = sight.llat
    entry = int(leaf)
    while llat.next[entry] >= 0:  # a chain: all entries but the last hold one single value
        base = entry * llat.entry_capacity
        if (low <= llat.keys[base] <= high) == inside:
            at = copy(llat.ids, base, base + llat.head[entry], ids, at)
        entry = int(llat.next[entry])
    end = find_matches(llat, entry, low, high, inside, positions, at)
    take_ids(llat.ids, at, end, positions, ids)
    return int(end)
