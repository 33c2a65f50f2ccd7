"""The internal nodes of a WiB+-Tree: from a key to the leaf whose range holds it (paper, section WiB+-Tree).

All nodes lie in arrays; a pointer is a row number, so nothing is ever allocated per node. A node of `fill` children has
fill - 1 separators, strictly ascending: `low[node, i]` is the smallest key that belongs to child i (low[node, 0] is
never read: the smallest key of the first child is the node's own, which stands in an ancestor). Fan-out 3, five leaves:

    level 1                     node 2: low  -  40
                                        child 0   1
    level 0        node 0: low  -  10  25      node 1: low  -  60
                         child A   B   C             child D   E

Looking for 30: in node 2, 40 > 30, so child 0; in node 0, two separators (10, 25) are <= 30, so child 2: leaf C. The
path is (node 2, slot 0), (node 0, slot 2). Looking for 55 next (batches ascend) starts from that path: at level 0 there
is no separator to the right of C, so up; at level 1, 40 is to the right and 55 >= 40, so up; that was the root, so the
root is searched again: child 1, node 1, slot 0: leaf D. Looking for 57 then reads one separator: 57 < 60, still D.

Invariants: every node but the root holds at least ceil(fanout / 2) children, the root at least 2; all leaves are
equally deep. Children are only added (a full node splits in two); `rebuild` makes all nodes anew when leaves have been
merged. So A leaves need at most A/h + A/h^2 + ... < A/(h - 1) nodes with h = ceil(fanout / 2), plus a root.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from panjoin.kernels.jit import inlined, kernel
from panjoin.kernels.lanes import LANE, not_larger
from panjoin.kernels.views import read_only

Array = npt.NDArray[Any]

#: Levels that a path has room for: half of fan-out 3 is 2, and 2^32 leaves are more than ids can tell apart.
MAX_HEIGHT = 32
ROOT, HEIGHT, USED = 0, 1, 2  # what stands where in `Nodes.root`


class Nodes(NamedTuple):
    """The arrays of all internal nodes; passed whole to kernels."""

    low: Array  #: [node, i]: smallest key that belongs to child i, for i >= 1; the type's largest key from `fill` on
    line: Array  #: the same memory as one row, which is compared by lanes
    child: Array  #: [node, i]: a node of the level below, or a leaf on level 0
    fill: Array  #: children of each node
    root: Array  #: [the root (a leaf when the height is 0), the height, rows used]

    @classmethod
    def of(cls, low: Array, child: Array, fill: Array, root: Array) -> Nodes:
        """Nodes over these arrays."""
        return cls(low, low.reshape(-1), child, fill, root)

    def read_only(self) -> Nodes:
        """The same memory for kernels that only look."""
        return Nodes(*map(read_only, self))

    @property
    def memory_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(part.nbytes for part in (self.low, self.child, self.fill, self.root))


def nodes_for(leaves: int, fanout: int) -> int:
    """How many nodes `leaves` leaves can ever need."""
    half, total, level = (fanout + 1) // 2, 1, leaves // ((fanout + 1) // 2)
    while level > 0:
        total += level
        level //= half
    return total


def reserve_nodes(leaves: int, fanout: int, dtype: Any) -> Nodes:
    """No nodes, with room for all that `leaves` leaves can need; leaf 0 is the root."""
    rows = nodes_for(leaves, fanout)
    low = np.full((rows, -(-fanout // LANE) * LANE), np.iinfo(dtype).max, dtype)
    child, fill = np.zeros((rows, fanout), np.int32), np.zeros(rows, np.int32)
    return Nodes.of(low, child, fill, np.zeros(3, np.int64))


def new_path() -> Array:
    """Room for one path: [0, level] is the node, [1, level] the slot of its child that was taken."""
    return np.zeros((2, MAX_HEIGHT), np.int64)


@inlined
def slot_of(nodes: Nodes, node: int, key: Any) -> int:
    """The child of `node` whose range holds `key`.

    All separators are compared, a lane at a time and without a branch, those that are not there too: a row is filled
    up with the largest key, which only that key itself would count. Binary search would mispredict three of its six
    steps. (With the kernels of this file inlined: 13 ns per tuple of a 32K batch over 64K leaves; as calls, and with a
    loop that ends at `fill`, 17.)
    """
    width = nodes.low.shape[1]
    count = not_above(nodes.line, node * width, (node + 1) * width, key)
    return min(count - int(nodes.low[node, 0] <= key), int(nodes.fill[node]) - 1)


@inlined
def not_above(line: Array, begin: int, end: int, key: Any) -> int:
    """How many of line[begin:end] are <= key."""
    count = 0
    for at in range(begin, end, LANE):
        count += not_larger(line, at, key)
    return count


@inlined
def descend(nodes: Nodes, path: Array, key: Any) -> int:
    """The leaf whose range holds `key`, from the root; leaves its path in `path`."""
    return down(nodes, path, key, nodes.root[1] - 1, nodes.root[0])


@inlined
def down(nodes: Nodes, path: Array, key: Any, level: int, node: int) -> int:
    """The leaf under `node` (of the given level) whose range holds `key`."""
    while level >= 0:
        slot = slot_of(nodes, node, key)
        path[0, level] = node
        path[1, level] = slot
        node = nodes.child[node, slot]
        level -= 1
    return int(node)


@inlined
def advance(nodes: Nodes, path: Array, key: Any) -> int:
    """Like `descend`, for a key that is not smaller than the one whose path is given (paper, Batch Mode).

    Up to the first level where a separator to the right is larger than the key: there the old path still holds.
    """
    height = nodes.root[1]
    level = 0
    while level < height:
        node, right = path[0, level], path[1, level] + 1
        if right < nodes.fill[node] and key < nodes.low[node, right]:
            return down(nodes, path, key, level - 1, nodes.child[node, right - 1])
        level += 1
    return down(nodes, path, key, height - 1, nodes.root[0])


@kernel
def fresh_node(nodes: Nodes) -> int:
    """The next row, without children."""
    node = nodes.root[2]
    nodes.root[2] += 1
    nodes.low[node, :] = np.iinfo(nodes.low.dtype).max
    return int(node)


@kernel
def add_child(nodes: Nodes, path: Array, low: Any, child: int) -> None:
    """Put leaf `child`, whose range starts at `low`, behind the leaf at the end of `path`; full nodes split."""
    fanout = nodes.child.shape[1]
    half = (fanout + 2) // 2  # of fanout + 1 children
    nothing = np.iinfo(nodes.low.dtype).max
    for level in range(nodes.root[1]):
        node, at = path[0, level], path[1, level] + 1
        if nodes.fill[node] < fanout:
            put(nodes, node, at, low, child)
            return
        sibling = fresh_node(nodes)
        first = half if at >= half else half - 1  # the first child that moves over
        for i in range(first, fanout):
            nodes.low[sibling, i - first] = nodes.low[node, i]
            nodes.low[node, i] = nothing
            nodes.child[sibling, i - first] = nodes.child[node, i]
        nodes.fill[node] = first
        nodes.fill[sibling] = fanout - first
        if at >= half:
            put(nodes, sibling, at - half, low, child)
        else:
            put(nodes, node, at, low, child)
        low = nodes.low[sibling, 0]
        child = sibling
    top = fresh_node(nodes)
    nodes.child[top, 0] = nodes.root[0]
    nodes.low[top, 1] = low
    nodes.child[top, 1] = child
    nodes.fill[top] = 2
    nodes.root[0] = top
    nodes.root[1] += 1


@kernel
def put(nodes: Nodes, node: int, at: int, low: Any, child: int) -> None:
    """Insert a child into a node that has room."""
    for i in range(nodes.fill[node], at, -1):
        nodes.low[node, i] = nodes.low[node, i - 1]
        nodes.child[node, i] = nodes.child[node, i - 1]
    nodes.low[node, at] = low
    nodes.child[node, at] = child
    nodes.fill[node] += 1


@kernel
def replace_child(nodes: Nodes, path: Array, child: int) -> None:
    """Another leaf at the end of `path`, with the same range."""
    if nodes.root[1] == 0:
        nodes.root[0] = child
    else:
        nodes.child[path[0, 0], path[1, 0]] = child


@kernel
def move_separator(nodes: Nodes, path: Array, low: Any) -> None:
    """Let the leaf at the end of `path`, which is not the first leaf, start at `low`."""
    level = 0
    while path[1, level] == 0:
        level += 1
    nodes.low[path[0, level], path[1, level]] = low


@kernel
def rebuild(nodes: Nodes, children: Array, lows: Array, count: int) -> None:
    """All nodes anew over `count` leaves in order and the start of each one's range (both arrays are used up).

    k = ceil(count / fanout) parents share the children evenly, so each has at least ceil(fanout / 2).
    """
    fanout = nodes.child.shape[1]
    nodes.root[1] = 0
    nodes.root[2] = 0
    while count > 1:
        parents = (count + fanout - 1) // fanout
        begin = 0
        for p in range(parents):
            node = fresh_node(nodes)
            end = count * (p + 1) // parents
            for i in range(begin, end):
                nodes.low[node, i - begin] = lows[i]
                nodes.child[node, i - begin] = children[i]
            nodes.fill[node] = end - begin
            lows[p] = lows[begin]
            children[p] = node
            begin = end
        count = parents
        nodes.root[1] += 1
    nodes.root[0] = children[0]


def check_nodes(nodes: Nodes, leaves: list[int], lows: dict[int, int]) -> None:
    """Assert every invariant, given all leaves in order and the smallest key of each one's range."""
    fanout = nodes.child.shape[1]
    root, height, used = (int(number) for number in nodes.root)
    found: list[int] = []
    seen: set[int] = set()

    def walk(node: int, level: int, low: int | None, high: int | None) -> None:
        if level < 0:
            assert low is None or lows[node] == low, f"leaf {node} starts at {lows[node]}, its separator is {low}"
            found.append(node)
            return
        assert node not in seen and 0 <= node < used, f"node {node} of {used}, seen {seen}"
        seen.add(node)
        fill = int(nodes.fill[node])
        least = 2 if (node, level) == (root, height - 1) else (fanout + 1) // 2
        assert least <= fill <= fanout, f"node {node} on level {level} has {fill} children, fan-out {fanout}"
        cuts = [int(key) for key in nodes.low[node, 1:fill]]
        assert (nodes.low[node, fill:] == np.iinfo(nodes.low.dtype).max).all(), f"node {node}: {nodes.low[node]}"
        edges = [low, *cuts, high]
        inner = [edge for edge in edges if edge is not None]
        assert inner == sorted(set(inner)), f"node {node}: separators {cuts} between {low} and {high}"
        for i in range(fill):
            walk(int(nodes.child[node, i]), level - 1, edges[i], edges[i + 1])

    walk(root, height - 1, None, None)
    assert found == leaves, f"the tree leads to leaves {found}, their list is {leaves}"
    assert len(seen) == used <= len(nodes.fill), f"{used} rows used, {len(seen)} nodes in the tree"
