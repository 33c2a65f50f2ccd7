"""The leaves of a WiB+-Tree: chains of LLAT entries in key order, filled without sorting, cut when they overflow.

A leaf is named by its first entry. It holds all tuples of its range [low[leaf], low[after[leaf]]), in any order:

    leaf      4        0        7                      before/after link the leaves in key order
    low       -       10       40                      (the first leaf has no low: it takes everything smaller)
    keys   3 8 3 9  12 11   40 40 40 40 -> 40 51       leaf 7 went on in another entry, as it was all 40s; when that
                                                       one is full too, 51 and what else is > 40 gets a leaf

When a run of tuples does not fit:

    split_in_two    one entry and at most twice its width: cut at the distinct boundary nearest to the median, which is
                    counted for, not sorted for; the smaller part moves to a new leaf. A run beyond all keys of the
                    leaf becomes a leaf of its own and leaves the other one full (so increasing and decreasing values
                    fill leaves to the top, not to the half).
    deal_out        a large run, or a chain: the last entry is sorted and merged with the run, and dealt out to leaves
                    of 1/2 to 3/4 of the width, straight from the batch. So 8M tuples enter an empty tree in one pass.

A part smaller than an eighth of the width moves in with its neighbour if there is room, and the gap between the two
parts goes to the emptier one: without both, a value that fills a leaf would turn every later tuple beside it into
another leaf, or another cut of the full one.

Invariant: in a leaf of several entries, all but the last are full, of one single value. So only the last entry is ever
sorted or moved, however long the chain is, and one hot key stays O(1) per tuple.

How many entries (N tuples, width W). After `merge_small_leaves`, no leaf of one entry fits into the last entry of the
leaf after it: size(a) + size(b) > W * entries(b). Walk the leaves in order, taking a leaf of one entry together with
the one after it, and a longer leaf alone. A pair holds more than W * entries(b) >= W/2 * (1 + entries(b)) tuples, since
either b has one entry and 2 * W / 2 = W, or entries(b) >= 2. A longer leaf holds more than W * (entries - 1) >= W/2 *
entries. One leaf may be left over. So E < 2N/W + 1. Making room adds at most 2n/W + 4 entries for n tuples dealt
out (each piece is more than half full, or more than full together with the next, by the same rules), of which at most
W were in the tree already. `entries_for` reserves a tenth more than the sum, and when fewer entries than one step
could need are left, the small leaves are merged first: never seen except with hostile data, and the tenth keeps
such merges rare even then.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from panjoin.index.llat import Llat, append, release, reserve, take
from panjoin.index.wib_nodes import (
    Nodes,
    add_child,
    advance,
    descend,
    move_separator,
    rebuild,
    replace_child,
    reserve_nodes,
)
from panjoin.kernels.copy import copy
from panjoin.kernels.jit import kernel
from panjoin.kernels.lanes import prefetch
from panjoin.kernels.search import gallop_lower, gallop_upper, lower_bound, upper_bound

Array = npt.NDArray[Any]

#: A part of a cut smaller than 1/SMALL of the width goes to a neighbour that has room.
SMALL = 8
#: Runs of a batch whose leaves are looked up before the first one is copied.
GROUP = 32


class Tree(NamedTuple):
    """A whole tree; passed to kernels."""

    llat: Llat
    nodes: Nodes
    low: Array  #: per leaf: the smallest key of its range (of the first leaf: never read)
    size: Array  #: per leaf: its tuples
    after: Array  #: per leaf: the next one in key order, or -1
    before: Array  #: per leaf: the previous one, or -1
    first: Array  #: [the first leaf]
    used: Array  #: [LLAT entries in use]
    part_keys: Array  #: scratch of two leaf widths: the tuples that leave a leaf
    part_ids: Array
    work_keys: Array  #: scratch of two leaf widths, for selecting and sorting
    work_ids: Array
    run_leaf: Array  #: scratch of a group of runs: the leaf of each, and its end in the batch
    run_end: Array

    @property
    def memory_bytes(self) -> int:
        """Bytes of all arrays."""
        return self.llat.memory_bytes + self.nodes.memory_bytes + sum(int(part.nbytes) for part in self[2:])


def entries_for(capacity: int, width: int) -> int:
    """LLAT entries that hold `capacity` tuples whatever their values are; the proof is above."""
    if width >= capacity:
        return 1
    least = -(-2 * capacity // width)
    return least + 8 + least // 10


def plant(capacity: int, width: int, fanout: int, dtype: Any) -> Tree:
    """An empty tree: one empty leaf, the root."""
    entries = entries_for(capacity, width)
    llat = reserve(entries, width, dtype, normal=1)
    return Tree(
        llat=llat,
        nodes=reserve_nodes(entries, fanout, dtype),
        low=np.full(entries, np.iinfo(dtype).min, dtype),
        size=np.zeros(entries, np.int32),
        after=np.full(entries, -1, np.int32),
        before=np.full(entries, -1, np.int32),
        first=np.zeros(1, np.int64),
        used=np.ones(1, np.int64),
        part_keys=np.empty(2 * width, dtype),
        part_ids=np.empty(2 * width, np.int32),
        work_keys=np.empty(2 * width, dtype),
        work_ids=np.empty(2 * width, np.int32),
        run_leaf=np.empty(GROUP, np.int64),
        run_end=np.empty(GROUP, np.int64),
    )


@kernel
def insert_batch(tree: Tree, path: Array, keys: Array, ids: Array, i: int) -> int:
    """Insert tuples i.. of an ascending batch; returns its length, or where small leaves must be merged first.

    In groups of runs (a run is what goes to one leaf): first the leaves of all, fetching where their tuples will go,
    then the copies: batches of 32K over 64K leaves take 70 ns per tuple, without the fetching 102. Making room for one
    run takes nothing from the range of a later run's leaf, so the group stays right.
    """
    llat, n = tree.llat, len(keys)
    width = llat.entry_capacity
    path_holds = False
    while i < n:
        runs, at = 0, i
        while at < n and runs < GROUP:
            leaf = advance(tree.nodes, path, keys[at]) if path_holds else descend(tree.nodes, path, keys[at])
            path_holds = True
            node, right = path[0, 0], path[1, 0] + 1
            if tree.nodes.root[1] > 0 and right < tree.nodes.fill[node]:  # the separator beside it was just compared
                at = gallop_lower(keys, tree.nodes.low[node, right], at)
            else:
                following = tree.after[leaf]
                at = n if following < 0 else gallop_lower(keys, tree.low[following], at)
            tree.run_leaf[runs], tree.run_end[runs] = leaf, at
            runs += 1
            entry = int(llat.last[leaf])
            prefetch(llat.keys, entry * width + llat.head[entry])
            prefetch(llat.ids, entry * width + llat.head[entry])
        for run in range(runs):
            leaf, end = tree.run_leaf[run], tree.run_end[run]
            entry = llat.last[leaf]
            head = llat.head[entry]
            if end - i <= width - head:
                copy(keys, i, end, llat.keys, entry * width + head)
                copy(ids, i, end, llat.ids, entry * width + head)
                llat.head[entry] += end - i
                tree.size[leaf] += end - i
            else:
                if len(llat.head) - tree.used[0] < 2 * (head + end - i) // width + 5:
                    return i
                descend(tree.nodes, path, keys[i])
                path_holds = False
                if llat.next[leaf] >= 0 or not split_in_two(tree, path, leaf, keys, ids, i, end):
                    deal_out(tree, path, leaf, keys, ids, i, end)
            i = end
    return n


# ---- one leaf becomes two ----


@kernel
def split_in_two(tree: Tree, path: Array, leaf: int, keys: Array, ids: Array, i: int, end: int) -> bool:
    """Cut a leaf of one entry and the run [i, end) into two parts; False when no cut leaves both within the width."""
    llat = tree.llat
    width = llat.entry_capacity
    held = llat.head[leaf]
    total = held + end - i
    if total > 2 * width:
        return False
    low_size, top, bottom = cut_near_median(tree, leaf, keys, i, end)
    if low_size == 0 or low_size > width or total - low_size > width:
        return False
    lower_leaves = low_size < total - low_size  # the smaller part leaves, and the gap between the parts goes with it
    leaving = low_size if lower_leaves else total - low_size
    cut = i + lower_bound(keys[i:end], bottom)
    gone = take_part(tree, leaf, bottom, lower_leaves)
    neighbour = tree.before[leaf] if lower_leaves else tree.after[leaf]
    moves_in = SMALL * leaving < width and neighbour >= 0 and leaving <= room_of(tree, neighbour)
    target = neighbour if moves_in else new_leaf(tree)
    hold(tree, target, 0, gone, keys, ids, i if lower_leaves else cut, cut if lower_leaves else end)
    hold(tree, leaf, 0, 0, keys, ids, cut if lower_leaves else i, end if lower_leaves else cut)
    if not moves_in:
        link(tree, path, leaf, target, bottom if lower_leaves else top + 1, lower_leaves)
    elif lower_leaves:
        move_start(tree, path, leaf, bottom)
    else:
        move_start(tree, path, target, top + 1)
    return True


@kernel
def cut_near_median(tree: Tree, leaf: int, keys: Array, i: int, end: int) -> Any:
    """(size of the lower part, its largest key, the smallest key of the upper part); size 0 when all keys are equal.

    A run beyond all keys of the leaf is a part of its own; else it is the distinct boundary nearest to the median.
    """
    llat, work = tree.llat, tree.work_keys
    width = llat.entry_capacity
    held = llat.head[leaf]
    base = leaf * width
    total = held + end - i
    least = greatest = llat.keys[base]
    for k in range(held):
        key = llat.keys[base + k]
        least = min(least, key)
        greatest = max(greatest, key)
        work[k] = key
    if end - i <= width:
        if keys[i] > greatest:
            return np.int64(held), greatest, keys[i]
        if keys[end - 1] < least:
            return np.int64(end - i), keys[end - 1], least
    for k in range(i, end):
        work[held + k - i] = keys[k]
    least = min(least, keys[i])
    greatest = max(greatest, keys[end - 1])
    middle = median(work[:total], least, greatest)
    half = total // 2
    smaller = up_to = np.int32(0)
    below, above = least, greatest
    for k in range(total):
        key = work[k]
        smaller = np.int32(smaller + np.int32(key < middle))
        up_to = np.int32(up_to + np.int32(key <= middle))
        below = max(below, key if key < middle else least)
        above = min(above, key if key > middle else greatest)
    if smaller > 0 and (up_to == total or half - smaller <= up_to - half):
        return np.int64(smaller), below, middle
    return np.int64(0 if up_to == total else up_to), middle, above


@kernel
def median(keys: Array, least: Any, greatest: Any) -> Any:
    """A value between `least` and `greatest`, the ends of the keys: either half of the keys (rounded down) are not
    larger than it, or it is the key that has that rank.

    Halves the range of values and counts, without a branch and by vectors: about 9 counts for 161 random keys, never
    more than the type has bits. Hoare's selection took 26 ns per key, for it mispredicts, and half of all insertion.
    """
    half = len(keys) // 2
    low, high = np.int64(least), np.int64(greatest)
    while low < high:
        middle = (low & high) + ((low ^ high) >> 1)  # the mean, which their sum might be too large for
        value = keys.dtype.type(middle)
        up_to = np.int32(0)
        for k in range(len(keys)):
            up_to = np.int32(up_to + np.int32(keys[k] <= value))
        if up_to == half:
            return value
        if up_to > half:
            high = middle
        else:
            low = middle + 1
    return keys.dtype.type(low)


@kernel
def take_part(tree: Tree, leaf: int, bottom: Any, lower: bool) -> int:
    """Move the tuples below `bottom` (or, unless `lower`, the others) from a leaf of one entry to the scratch.

    Both places are written each time and only the right position advances: no branch to mispredict.
    """
    llat = tree.llat
    base = leaf * llat.entry_capacity
    gone = stays = 0
    for k in range(base, base + llat.head[leaf]):
        key, number = llat.keys[k], llat.ids[k]
        tree.part_keys[gone], tree.part_ids[gone] = key, number
        llat.keys[base + stays], llat.ids[base + stays] = key, number
        leaves = 1 if (key < bottom) == lower else 0
        gone += leaves
        stays += 1 - leaves
    llat.head[leaf] = stays
    tree.size[leaf] = stays
    return gone


# ---- a large run, or a chain ----


@kernel
def deal_out(tree: Tree, path: Array, leaf: int, keys: Array, ids: Array, i: int, end: int) -> None:
    """Sort the last entry of a leaf, and deal it and the run [i, end) out to as many leaves as it takes."""
    llat = tree.llat
    width = llat.entry_capacity
    last = llat.last[leaf]
    held = int(llat.head[last])
    for k in range(held):
        tree.part_keys[k], tree.part_ids[k] = llat.keys[last * width + k], llat.ids[last * width + k]
    sort_pairs(tree.part_keys, tree.part_ids, held, tree.work_keys, tree.work_ids)
    llat.head[last] = 0
    tree.size[leaf] -= held
    if llat.next[leaf] < 0:
        deal(tree, path, leaf, 0, held, keys, ids, i, end)
    else:
        deal_around_chain(tree, path, leaf, held, keys, ids, i, end)


@kernel
def deal_around_chain(tree: Tree, path: Array, leaf: int, held: int, keys: Array, ids: Array, i: int, end: int) -> None:
    """Deal out beside a chain: its full entries hold `heavy` alone, and stay; the rest goes to it, or beside it."""
    llat = tree.llat
    width = llat.entry_capacity
    tree.used[0] -= 1  # the emptied last entry; `hold` counts it again when something equal goes there
    heavy = llat.keys[leaf * width]
    part = tree.part_keys[:held]
    part_low, part_high = lower_bound(part, heavy), upper_bound(part, heavy)
    run_low, run_high = i + lower_bound(keys[i:end], heavy), i + upper_bound(keys[i:end], heavy)
    hold(tree, leaf, part_low, part_high, keys, ids, run_low, run_high)
    if llat.head[llat.last[leaf]] == 0:
        drop_empty_last(tree, leaf)
    for lower in (True, False):
        count = part_low + run_low - i if lower else held - part_high + end - run_high
        if count == 0:
            continue
        neighbour = tree.before[leaf] if lower else tree.after[leaf]
        if lower and count <= room_of(tree, leaf):
            target = leaf
        elif SMALL * count < width and neighbour >= 0 and count <= room_of(tree, neighbour):
            target = neighbour
            move_start(tree, path, leaf if lower else target, heavy if lower else heavy + 1)
        else:
            target = new_leaf(tree)
            descend(tree.nodes, path, heavy)
            link(tree, path, leaf, target, heavy if lower else heavy + 1, lower)
        if lower:
            deal(tree, path, target, 0, part_low, keys, ids, i, run_low)
        else:
            deal(tree, path, target, part_high, held, keys, ids, run_high, end)


@kernel
def deal(tree: Tree, path: Array, leaf: int, s: int, s_end: int, keys: Array, ids: Array, r: int, r_end: int) -> None:
    """Fill a leaf that is empty (or has room for all), and new ones behind it, from two sorted parts: the scratch
    [s, s_end) and the run [r, r_end).

    A piece ends behind the group of equal keys that reaches its target size; before that group when it would not fit.
    A group wider than a leaf becomes a chain, and what is smaller joins it when there is room behind the group.
    """
    width = tree.llat.entry_capacity
    while True:
        rest = s_end - s + r_end - r
        s_low, s_high, r_low, r_high = s_end, s_end, r_end, r_end  # the group; none when all that is left fits
        if rest > width:
            pieces = (4 * rest + 3 * width - 1) // (3 * width)
            middle = nth(tree.part_keys[s:s_end], keys[r:r_end], rest // pieces)
            s_low = s + lower_bound(tree.part_keys[s:s_end], middle)
            s_high = s + upper_bound(tree.part_keys[s:s_end], middle)
            r_low = gallop_lower(keys[:r_end], middle, r)
            r_high = gallop_upper(keys[:r_end], middle, r_low)
            before = s_low - s + r_low - r
            group = s_high - s_low + r_high - r_low
            if before + group > width * max(1, (group + width - 1) // width):
                s_high, r_high = s_low, r_low
        hold(tree, leaf, s_low, s_high, keys, ids, r_low, r_high)
        hold(tree, leaf, s, s_low, keys, ids, r, r_low)
        s, r = s_high, r_high
        if s == s_end and r == r_end:
            return
        low = keys[r] if s == s_end else tree.part_keys[s]
        if s < s_end and r < r_end:
            low = min(keys[r], tree.part_keys[s])
        fresh = new_leaf(tree)
        descend(tree.nodes, path, low)
        link(tree, path, leaf, fresh, low, False)
        leaf = fresh


@kernel
def nth(one: Array, two: Array, rank: int) -> Any:
    """The key that has `rank` in order among two sorted arrays together."""
    low, high = max(0, rank - len(two)), min(rank, len(one))
    while low < high:
        half = (low + high) >> 1
        if one[half] < two[rank - half - 1]:
            low = half + 1
        else:
            high = half
    if low == len(one):
        return two[rank - low]
    if rank - low == len(two):
        return one[low]
    return min(one[low], two[rank - low])


@kernel
def sort_pairs(keys: Array, ids: Array, n: int, spare_keys: Array, spare_ids: Array) -> None:
    """Sort the first n tuples by key, stably: insertion into blocks of 16, then merging, without allocation."""
    for begin in range(0, n, 16):
        for k in range(begin + 1, min(begin + 16, n)):
            key, number, at = keys[k], ids[k], k
            while at > begin and keys[at - 1] > key:
                keys[at], ids[at] = keys[at - 1], ids[at - 1]
                at -= 1
            keys[at], ids[at] = key, number
    step = 16
    while step < n:
        for begin in range(0, n - step, 2 * step):
            middle, end = begin + step, min(begin + 2 * step, n)
            for k in range(begin, middle):
                spare_keys[k], spare_ids[k] = keys[k], ids[k]
            left, right, at = begin, middle, begin
            while left < middle:
                if right < end and keys[right] < spare_keys[left]:
                    keys[at], ids[at] = keys[right], ids[right]
                    right += 1
                else:
                    keys[at], ids[at] = spare_keys[left], spare_ids[left]
                    left += 1
                at += 1
        step *= 2


# ---- small steps ----


@kernel
def hold(tree: Tree, leaf: int, s: int, s_end: int, keys: Array, ids: Array, r: int, r_end: int) -> None:
    """Append tuples of the scratch [s, s_end) and of a run [r, r_end) to a leaf; there are entries enough."""
    width = tree.llat.entry_capacity
    size = tree.size[leaf] + s_end - s + r_end - r
    tree.used[0] += max(1, (size + width - 1) // width) - max(1, (tree.size[leaf] + width - 1) // width)
    tree.size[leaf] = size
    from_keys, from_ids, begin, end = tree.part_keys, tree.part_ids, s, s_end
    for _ in range(2):
        append(tree.llat, leaf, from_keys, from_ids, begin, end)
        from_keys, from_ids, begin, end = keys, ids, r, r_end


@kernel
def room_of(tree: Tree, leaf: int) -> int:
    """Tuples that fit into a leaf without another entry."""
    return int(tree.llat.entry_capacity - tree.llat.head[tree.llat.last[leaf]])


@kernel
def new_leaf(tree: Tree) -> int:
    """An empty leaf that is not linked yet; there are entries enough."""
    leaf = take(tree.llat)
    tree.size[leaf] = 0
    tree.used[0] += 1
    return leaf


@kernel
def link(tree: Tree, path: Array, leaf: int, fresh: int, low: Any, before: bool) -> None:
    """Give a part of a leaf's range to a fresh leaf: what is below `low` to one before it, else to one behind it.

    `path` leads to the leaf.
    """
    first, second = (fresh, leaf) if before else (leaf, fresh)
    outer = np.int64(tree.before[leaf] if before else tree.after[leaf])
    if before:
        tree.before[fresh] = outer
        tree.low[fresh] = tree.low[leaf]
        replace_child(tree.nodes, path, fresh)
        if outer >= 0:
            tree.after[outer] = fresh
        else:
            tree.first[0] = fresh
    else:
        tree.after[fresh] = outer
        if outer >= 0:
            tree.before[outer] = fresh
    tree.after[first], tree.before[second] = second, first
    tree.low[second] = low
    add_child(tree.nodes, path, tree.low[second], second)


@kernel
def move_start(tree: Tree, path: Array, leaf: int, low: Any) -> None:
    """Let a leaf that is not the first one start at `low`, still behind all keys of the leaf before it."""
    descend(tree.nodes, path, tree.low[leaf])
    tree.low[leaf] = low
    move_separator(tree.nodes, path, tree.low[leaf])


@kernel
def drop_empty_last(tree: Tree, leaf: int) -> None:
    """Give back the emptied last entry of a chain.

    Entries are linked one way, so walking to the one before the last would make a hot key quadratic: instead the second
    entry (all but the last hold equal keys) lends its tuples to the last one and goes.
    """
    llat = tree.llat
    second, last = llat.next[leaf], llat.last[leaf]
    if second == last:
        llat.next[leaf] = -1
        llat.last[leaf] = leaf
    else:
        width = llat.entry_capacity
        for k in range(width):
            llat.keys[last * width + k] = llat.keys[second * width + k]
            llat.ids[last * width + k] = llat.ids[second * width + k]
        llat.head[last] = width
        llat.next[leaf] = llat.next[second]
    llat.next[second] = -1
    llat.last[second] = second
    release(llat, second)


@kernel
def merge_small_leaves(tree: Tree, leaves: Array, lows: Array) -> None:
    """Merge each leaf of one entry that fits into the last entry of the leaf after it; then make all nodes anew."""
    llat = tree.llat
    width = llat.entry_capacity
    leaf, count = tree.first[0], 0
    while leaf >= 0:
        following = int(tree.after[leaf])
        if following >= 0 and llat.next[leaf] < 0 and llat.head[leaf] <= room_of(tree, following):
            hold(tree, following, 0, 0, llat.keys, llat.ids, leaf * width, leaf * width + llat.head[leaf])
            previous = tree.before[leaf]
            tree.before[following] = previous
            if previous >= 0:
                tree.after[previous] = following
            else:
                tree.first[0] = following
            tree.low[following] = tree.low[leaf]
            release(llat, leaf)
            tree.used[0] -= 1
        else:
            leaves[count], lows[count] = leaf, tree.low[leaf]
            count += 1
        leaf = following
    rebuild(tree.nodes, leaves, lows, count)
