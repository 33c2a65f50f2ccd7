r"""A red-black tree over an array of nodes: the kernels of RBSNLJ. No deletion, for subwindows expire as a whole.

    inserted   5 2 8 8 1 9 4                nodes     0    1    2    3    4    5    6    7
                                            KEY       -    5    2    8    8    1    9    4
                  5b                        LEFT      1    2    5    0    3    0    0    0
               /      \                     RIGHT     0    4    7    0    6    0    0    0
             2b        8b                   UP        0    0    2    9    2    5    9    5
            /  \      /  \                            (twice the parent, + 1 if red)
          1r    4r  8r    9r

    how many in [4, 8]?   descend to the first key >= 4 (node 7), then walk in order while the key is <= 8:
                          7 (4), 1 (5), 3 (8), 4 (8); node 6 (9) ends it: count 4

A node is a row of four numbers (16 bytes for int32 keys): one cache miss per step. Node k + 1 is the k-th tuple that
arrived in the subwindow, so expired tuples of the oldest subwindow are nodes below a number. Node 0 is "none", and
stands above the root as its left child: rotations need no special case there.

Invariants: no red node has a red parent; every way from the root down passes as many black nodes; keys ascend in order
(equal ones may lie on either side of each other). So the depth is at most 2 log2(n + 1).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from panjoin.kernels.jit import kernel

Array = npt.NDArray[Any]

KEY, LEFT, RIGHT, UP = 0, 1, 2, 3
NONE = 0


@kernel
def insert_all(nodes: Array, first_node: Any, keys: Array) -> None:
    """Insert the keys as nodes first_node, first_node + 1 .."""
    for i in range(len(keys)):
        insert(nodes, first_node + i, keys[i])


@kernel
def insert(nodes: Array, node: Any, key: Any) -> None:
    """Hang the node below a leaf, red, and restore the colours."""
    parent, at, side = np.int64(NONE), np.int64(nodes[NONE, LEFT]), LEFT
    while at != NONE:
        parent = at
        side = LEFT if key < nodes[at, KEY] else RIGHT
        at = np.int64(nodes[at, side])
    nodes[node, KEY], nodes[node, LEFT], nodes[node, RIGHT], nodes[node, UP] = key, NONE, NONE, 2 * parent + 1
    nodes[parent, side] = node
    restore(nodes, node)


@kernel
def restore(nodes: Array, node: Any) -> None:
    """The node is red; where its parent is red as well, recolour upwards or rotate, at most twice."""
    at = np.int64(node)
    while True:
        parent = np.int64(nodes[at, UP]) >> 1
        if nodes[parent, UP] & 1 == 0:
            break
        grandparent = np.int64(nodes[parent, UP]) >> 1
        side = LEFT if nodes[grandparent, LEFT] == parent else RIGHT
        other = LEFT + RIGHT - side
        uncle = np.int64(nodes[grandparent, other])
        if nodes[uncle, UP] & 1 != 0:
            nodes[parent, UP] -= 1
            nodes[uncle, UP] -= 1
            nodes[grandparent, UP] += 1
            at = grandparent
            continue
        if nodes[parent, other] == at:
            rotate(nodes, parent, side)
            parent = at
        nodes[parent, UP] -= 1
        nodes[grandparent, UP] += 1
        rotate(nodes, grandparent, other)
        break
    nodes[nodes[NONE, LEFT], UP] = 2 * NONE  # the root is black


@kernel
def rotate(nodes: Array, node: Any, side: Any) -> None:
    """The node goes down to `side`; its child on the other side takes its place."""
    other = LEFT + RIGHT - side
    child, parent = np.int64(nodes[node, other]), np.int64(nodes[node, UP]) >> 1
    inner = np.int64(nodes[child, side])
    nodes[node, other] = inner
    if inner != NONE:
        nodes[inner, UP] = 2 * node + (nodes[inner, UP] & 1)
    nodes[child, UP] = 2 * parent + (nodes[child, UP] & 1)
    nodes[parent, LEFT if nodes[parent, LEFT] == node else RIGHT] = child
    nodes[child, side] = node
    nodes[node, UP] = 2 * child + (nodes[node, UP] & 1)


@kernel
def first_not_below(nodes: Array, low: Any) -> Any:
    """The first node in order whose key is >= low, or NONE."""
    found, at = np.int64(NONE), np.int64(nodes[NONE, LEFT])
    while at != NONE:
        if nodes[at, KEY] >= low:
            found, at = at, np.int64(nodes[at, LEFT])
        else:
            at = np.int64(nodes[at, RIGHT])
    return found


@kernel
def following(nodes: Array, node: Any) -> Any:
    """The next node in order, or NONE."""
    at = np.int64(nodes[node, RIGHT])
    if at != NONE:
        while nodes[at, LEFT] != NONE:
            at = np.int64(nodes[at, LEFT])
        return at
    at = np.int64(node)
    parent = np.int64(nodes[at, UP]) >> 1
    while parent != NONE and nodes[parent, RIGHT] == at:
        at, parent = parent, np.int64(nodes[parent, UP]) >> 1
    return parent


@kernel
def count_all(nodes: Array, low: Array, high: Array, oldest_node: Any, counts: Array) -> None:
    """counts[i] += the nodes from `oldest_node` on with low[i] <= key <= high[i]."""
    for i in range(len(low)):
        at = first_not_below(nodes, low[i])
        while at != NONE and nodes[at, KEY] <= high[i]:
            if at >= oldest_node:
                counts[i] += 1
            at = following(nodes, at)


@kernel
def find_all(nodes: Array, low: Array, high: Array, oldest_node: Any, ends: Array, out: Array) -> None:
    """Write the same nodes to `out`; the output of tuple i starts at ends[i], which moves along."""
    for i in range(len(low)):
        at = first_not_below(nodes, low[i])
        while at != NONE and nodes[at, KEY] <= high[i]:
            if at >= oldest_node:
                out[ends[i]] = at
                ends[i] += 1
            at = following(nodes, at)
