"""A B+-tree as textbooks have it, to say what WiB+-Tree's unsorted leaves bring: its leaves are kept in order.

    leaf, before      3  5  8 12  .  .           the batch 4 9 is merged in from the back: 12, 9, 8, 5, 4 move
    leaf, after       3  4  5  8  9 12           once each; a leaf without room is cut in the middle first

Everything else is WiB+-Tree's own: internal nodes, the path of the tuple before, leaves of the same width, a run of a
batch put into its leaf in one go. So what the two differ by is the order inside the leaves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from panjoin.errors import StateError
from panjoin.index.contract import Array
from panjoin.index.wib_nodes import Nodes, add_child, descend, new_path, reserve_nodes
from panjoin.kernels.jit import kernel
from panjoin.kernels.search import gallop_lower


class Leaves(NamedTuple):
    """The leaves, in order of their making; `low` is the smallest key of a leaf's range, `after` the next leaf."""

    keys: Array
    ids: Array
    size: Array
    low: Array
    after: Array
    used: Array  #: how many there are


class SortedLeaves:
    """A tree for `capacity` tuples in leaves of at most `width`, filled with ascending batches."""

    def __init__(self, capacity: int, width: int, fanout: int = 64, dtype: Any = np.int32) -> None:
        count = 3 * (capacity // width + 1)  # a cut leaves two halves, or what is nearest to it
        self._nodes = reserve_nodes(count, fanout, dtype)
        self._path = new_path()
        self._leaves = Leaves(
            np.empty((count, width), dtype),
            np.empty((count, width), np.int32),
            np.zeros(count, np.int32),
            np.full(count, np.iinfo(dtype).min, dtype),
            np.full(count, -1, np.int32),
            np.ones(1, np.int64),
        )

    def insert(self, keys: Array, ids: Array) -> None:
        """Add an ascending batch."""
        done = insert_in_order(self._nodes, self._leaves, self._path, keys, ids)
        if done < len(keys):
            raise StateError(f"key {keys[done]} fills a whole leaf, which cannot be cut; use distinct keys")

    def tuples(self) -> tuple[Array, Array]:
        """All keys and ids, leaf by leaf in key order."""
        leaves, found, leaf = self._leaves, [], 0
        while leaf >= 0:
            found.append((leaves.keys[leaf, : leaves.size[leaf]], leaves.ids[leaf, : leaves.size[leaf]]))
            leaf = int(leaves.after[leaf])
        return np.concatenate([keys for keys, _ in found]), np.concatenate([ids for _, ids in found])


@kernel
def insert_in_order(nodes: Nodes, leaves: Leaves, path: Array, keys: Array, ids: Array) -> int:
    """Insert a batch run by run; returns its length, or where a leaf of one single key cannot be cut."""
    width, n, i = leaves.keys.shape[1], len(keys), 0
    while i < n:
        leaf = descend(nodes, path, keys[i])
        following = leaves.after[leaf]
        end = n if following < 0 else gallop_lower(keys, leaves.low[following], i)
        held = int(leaves.size[leaf])
        if held == width:
            if not cut(nodes, leaves, path, leaf):
                return i
            continue
        end = min(end, i + width - held)
        a, b, to = held - 1, end - 1, held + end - i - 1
        while b >= i:
            if a >= 0 and leaves.keys[leaf, a] > keys[b]:
                leaves.keys[leaf, to] = leaves.keys[leaf, a]
                leaves.ids[leaf, to] = leaves.ids[leaf, a]
                a -= 1
            else:
                leaves.keys[leaf, to] = keys[b]
                leaves.ids[leaf, to] = ids[b]
                b -= 1
            to -= 1
        leaves.size[leaf] += end - i
        i = end
    return n


@kernel
def cut(nodes: Nodes, leaves: Leaves, path: Array, leaf: int) -> bool:
    """The upper half of a full leaf becomes a leaf; the cut is where the key changes, nearest to the middle."""
    held = int(leaves.size[leaf])
    lower, upper = held // 2, held // 2
    while lower > 0 and leaves.keys[leaf, lower - 1] == leaves.keys[leaf, lower]:
        lower -= 1
    while upper < held and leaves.keys[leaf, upper - 1] == leaves.keys[leaf, upper]:
        upper += 1
    at = lower if lower > 0 and held // 2 - lower <= upper - held // 2 else upper
    if at == held:
        at = lower
    if at == 0:
        return False
    new = leaves.used[0]
    leaves.used[0] += 1
    for k in range(at, held):
        leaves.keys[new, k - at] = leaves.keys[leaf, k]
        leaves.ids[new, k - at] = leaves.ids[leaf, k]
    leaves.size[new] = held - at
    leaves.size[leaf] = at
    leaves.low[new] = leaves.keys[new, 0]
    leaves.after[new] = leaves.after[leaf]
    leaves.after[leaf] = new
    add_child(nodes, path, leaves.low[new], new)
    return True
