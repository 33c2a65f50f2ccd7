"""RBSNLJ: a red-black tree per subwindow; subwindows by arrival, expired as a whole (Ya-xin et al.).

    window of 8, subwindows of 4          [ 0 . . 3 ]  [ 4 . . 7 ]  [ 8 9 ]
                                           expired      alive        the newest: insertions go here alone
    a batch sees numbers [2, 10)           2 and 3 left

The oldest subwindow is probed as long as one of its tuples is in the window; its expired ones are found and left out,
since nodes are numbered by arrival. Cores share a batch, each one part of its tuples. Batches come as they arrive:
sorting them before the descent is a part of what PanJoin adds.

Invariant: the trees hold the last W tuples at least, and less than one subwindow of older ones; each
tuple is in one tree.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from panjoin.bench.baselines.contract import OPPOSITE, Array, Baseline
from panjoin.bench.baselines.red_black import KEY, LEFT, NONE, RIGHT, UP, count_all, find_all, insert_all
from panjoin.errors import ParameterError
from panjoin.kernels.threads import run_all


class Tree:
    """One subwindow: `nodes` (see red_black.py), the number of its first tuple, how many it holds."""

    def __init__(self, nodes: Array, first_no: int) -> None:
        self.nodes, self.first_no, self.size = nodes, first_no, 0
        nodes[NONE] = 0

    @property
    def room(self) -> int:
        """How many tuples still fit."""
        return len(self.nodes) - 1 - self.size

    def insert(self, keys: Array) -> None:
        """Add the keys, which fit."""
        insert_all(self.nodes, self.size + 1, keys)
        self.size += len(keys)

    def check(self) -> None:
        """Order, colours and links, for tests: walked without the kernels."""
        nodes = [tuple(int(number) for number in row) for row in self.nodes[: self.size + 1]]
        state = f"tree of {self.size} from {self.first_no}: {nodes}"
        found: list[int] = []

        def blacks(at: int, parent: int) -> int:
            if at == NONE:
                return 0
            row = nodes[at]
            red = row[UP] % 2
            assert row[UP] // 2 == parent and not (red and nodes[parent][UP] % 2), state
            left = blacks(row[LEFT], at)
            found.append(row[KEY])
            assert blacks(row[RIGHT], at) == left, state
            return left + 1 - red

        blacks(nodes[NONE][LEFT], NONE)
        assert nodes[NONE][RIGHT:] == (NONE, NONE), state
        assert found == sorted(row[KEY] for row in nodes[1:]), state


class RedBlackJoin(Baseline):
    """See the head of this file; `subwindow` defaults to an eighth of the smaller window."""

    name = "rbsnlj"

    def __init__(self, *, subwindow: int | None = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        if subwindow is None:
            subwindow = max(1, min(self.windows.values()) // 8)
        if subwindow < 1:
            raise ParameterError(f"subwindow must be at least 1, not {subwindow}")
        self.subwindow = min(int(subwindow), max(self.windows.values()))
        self.trees: dict[str, deque[Tree]] = {"left": deque(), "right": deque()}
        self._free: list[Array] = []

    def _push(self, side: str, keys: Array, low: Array, high: Array) -> Array:
        counts = np.zeros(len(keys), np.int64)
        other = OPPOSITE[side]
        run_all([partial(self._count, other, low[p], high[p], counts[p]) for p in self.parts(len(keys))])
        self._store(side, keys)
        return counts

    def _count(self, other: str, low: Array, high: Array, counts: Array) -> None:
        for tree, oldest_node in self._visible(other):
            count_all(tree.nodes, low, high, oldest_node, counts)

    def _pairs(self, side: str, low: Array, high: Array) -> tuple[Array, Array]:
        positions, numbers = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for tree, oldest_node in self._visible(OPPOSITE[side]):
            counts = np.zeros(len(low), np.int64)
            count_all(tree.nodes, low, high, oldest_node, counts)
            found = np.empty(int(counts.sum()), np.int64)
            find_all(tree.nodes, low, high, oldest_node, np.cumsum(counts) - counts, found)
            positions.append(np.repeat(np.arange(len(low)), counts))
            numbers.append(tree.first_no + found - 1)
        return np.concatenate(positions), np.concatenate(numbers)

    def _visible(self, other: str) -> Iterator[tuple[Tree, int]]:
        """The trees of a window, with the first node of each that is not expired."""
        for tree in self.trees[other]:
            yield tree, max(1, self.oldest(other) - tree.first_no + 1)

    def _store(self, side: str, keys: Array) -> None:
        trees, first_no = self.trees[side], self.arrived[side]
        begin = 0
        while begin < len(keys):
            if not trees or trees[-1].room == 0:
                trees.append(Tree(self._nodes(), first_no + begin))
            part = keys[begin : begin + trees[-1].room]
            trees[-1].insert(part)
            begin += len(part)
            self._expire(side, first_no + begin)

    def _nodes(self) -> Array:
        return self._free.pop() if self._free else np.empty((self.subwindow + 1, 4), self.dtype)

    def _expire(self, side: str, arrived: int) -> None:
        trees = self.trees[side]
        while trees[0].first_no + trees[0].size <= arrived - self.windows[side]:
            self._free.append(trees.popleft().nodes)

    @property
    def memory_bytes(self) -> int:
        """Bytes of all nodes, also of the free arrays."""
        held = [tree.nodes for trees in self.trees.values() for tree in trees]
        return sum(nodes.nbytes for nodes in [*held, *self._free])
