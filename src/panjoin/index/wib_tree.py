r"""WiB+-Tree: a B+-tree whose leaves are wide and unsorted (paper, section WiB+-Tree).

It adapts to whatever values come, drifting ones included, because the tree grows where the tuples are; and it inserts
fast, because a tuple is only appended to its leaf. Eight tuples in leaves of at most 4, fan-out 3:

    internal node             [  11  |  40  ]               separators: the smallest key of the child to the right
                             /       |       \
    leaves          [ 3 8 3 . ] [ 12 11 . . ] [ 41 40 44 . ]        unsorted; one chain of LLAT entries each,
    entries              0           2             1                linked in key order

Looking for all keys in [8, 11]: 8 < 11, so the lower end is in the first leaf; of 3 8 3, one key is inside. From there
the upper end is found by the path of the lower one: up to the node, 11 <= 11 < 40, so the second leaf; of 12 11, one is
inside. Leaves between the two would be counted without looking into them. Result: 2.

Inserting 4 and 9 (a batch ascends): both are < 11, so both belong to the first leaf, which has room for one. It is cut
at the distinct boundary nearest to the median of the five: 3 3 | 4 8 9. Equal keys are always in one leaf, so a leaf
of one single value cannot be cut, and goes on in another entry of the LLAT instead.

The internal nodes are in `wib_nodes.py`, growing and cutting leaves (and why the memory suffices) in `wib_leaves.py`,
probing in `wib_probe.py`.

Invariants (`check`): the tree, the list of leaves and the LLAT agree; every key is inside its leaf's range; no
separator occurs twice; entries in use never exceed those reserved, about 2.2 * capacity / width.

Measured with 8M uniform int32, one thread, million tuples/s, P = 8K / 64K / 256K. Insertion in sorted batches of 1K
(second half of the subwindow): 15 / 12 / 4, of 32K: 43 / 23 / 8, of 8M: 420 / 390 / 180; one by one 0.12, which is the
way through Python. An IIBTree of the BTrees package filled with the same batches of 32K: 2.8. A leaf that gets one
tuple of a batch is a cache miss, so insertion does depend on P as soon as there are more leaves than tuples in a
batch. In batches of 32K at P = 64K: increasing 117, decreasing 39, drifting 189, Zipf 61, constant 740. Equality
probing with S = 1, counts: batch 1K 3.1 / 2.4 / 1.5, 32K 9.2 / 7.3 / 3.9, 1M 23 / 34 / 21 (`np.searchsorted` for both
bounds: 1.9, 3.1, 17; IIBTree.get: 1.7); all pairs after that: about 4.5 at 32K.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from panjoin.errors import ParameterError
from panjoin.index.contract import Array, Index, Probe, register, whole
from panjoin.index.llat import Llat, entry_capacity, spare
from panjoin.index.wib_leaves import Tree, entries_for, insert_batch, merge_small_leaves, plant
from panjoin.index.wib_nodes import Nodes, check_nodes, new_path
from panjoin.index.wib_probe import Sight, WibProbe

SIGMA, FANOUT = 1.25, 64


@register
class WibTree(Index):
    """A wide B+-tree; `partitions` is about the number of its leaves, `sigma` their spare room."""

    name = "wib-tree"

    def __init__(
        self,
        *,
        capacity: int,
        partitions: int,
        dtype: Any,
        threads: int = 1,
        sigma: float | None = None,
        fanout: int | None = None,
        like: WibTree | None = None,
    ) -> None:
        super().__init__(capacity=capacity, partitions=partitions, dtype=dtype, threads=threads)
        self.sigma: float = (SIGMA if like is None else like.sigma) if sigma is None else spare(sigma)
        self.fanout: int = (FANOUT if like is None else like.fanout) if fanout is None else whole("fanout", fanout)
        if self.fanout < 3:
            raise ParameterError(f"fanout must be at least 3, not {fanout}; 64 suits the cache")
        width = min(entry_capacity(self.capacity, self.partitions, self.sigma), self.capacity)
        self._hold(plant(self.capacity, max(width, 2), self.fanout, self.dtype))

    def _hold(self, tree: Tree) -> None:
        self._tree, self._path, self._sight = tree, new_path(), Sight.of(tree)

    @property
    def width(self) -> int:
        """Tuples per LLAT entry: W, the width of a leaf."""
        return self._tree.llat.entry_capacity

    @property
    def leaves(self) -> int:
        """How many leaves there are now."""
        return len(self._leaves())

    def _leaves(self) -> list[int]:
        found, leaf = [], int(self._tree.first[0])
        while leaf >= 0:
            found.append(leaf)
            leaf = int(self._tree.after[leaf])
            assert len(found) <= self._tree.llat.entries, f"the list of leaves runs in a circle: {found}"
        return found

    def _insert(self, keys: Array, ids: Array) -> None:
        if not (keys.flags.writeable and ids.flags.writeable):  # one compiled version, for arrays that could be written
            keys, ids = keys.copy(), ids.copy()
        self.version += 1
        done = insert_batch(self._tree, self._path, keys, ids, 0)
        while done < len(keys):
            self._merge_small_leaves()
            before, done = done, insert_batch(self._tree, self._path, keys, ids, done)
            assert done > before, f"no room for tuple {before} of {len(keys)} with {self._tree.used[0]} entries used"

    def _merge_small_leaves(self) -> None:
        entries = self._tree.llat.entries
        merge_small_leaves(self._tree, np.empty(entries, np.int64), np.empty(entries, self.dtype))

    def _probe(self, low: Array, high: Array, negate: bool) -> Probe:
        return WibProbe(self._sight, low, high, self.size, negate, self.threads)

    @property
    def partition_sizes(self) -> Array:
        """Tuples per leaf; of an empty tree none."""
        tree = self._tree
        leaves = np.flatnonzero(tree.size)
        lows = np.where(leaves == tree.first[0], np.iinfo(self.dtype).min, tree.low[leaves])  # the first has no low
        sizes: Array = tree.size[leaves[np.argsort(lows, kind="stable")]]
        return sizes

    @property
    def memory_bytes(self) -> int:
        """Bytes of all arrays: about 2.2 times the tuples, plus 4% for nodes and lists at 128 tuples per leaf."""
        return self._tree.memory_bytes

    def check(self) -> None:
        """Assert every invariant of nodes, leaves and LLAT."""
        tree, width, leaves = self._tree, self.width, self._leaves()
        llat = tree.llat
        llat.check(leaves)
        check_nodes(tree.nodes, leaves, {leaf: int(tree.low[leaf]) for leaf in leaves})
        info = np.iinfo(self.dtype)
        entries, total = 0, 0
        for number, leaf in enumerate(leaves):
            assert tree.before[leaf] == (leaves[number - 1] if number else -1), f"before[{leaf}]: {tree.before[leaf]}"
            low = int(tree.low[leaf]) if number else info.min
            high = int(tree.low[leaves[number + 1]]) - 1 if number + 1 < len(leaves) else info.max
            chain, keys = llat.entries_of(leaf), llat.tuples_of(leaf)[0]
            state = f"leaf {leaf} of [{low}, {high}] in entries {chain} of {width}: {keys}"
            assert len(keys) == tree.size[leaf] and (len(keys) or len(leaves) == 1), state
            assert ((keys >= low) & (keys <= high)).all(), state
            assert (keys[: (len(chain) - 1) * width] == keys[:1]).all(), f"a chain of several values: {state}"
            entries, total = entries + len(chain), total + len(keys)
        assert total == self.size, f"{total} tuples in the leaves, {self.size} in the index"
        assert entries == tree.used[0] <= llat.entries, f"{entries} entries found, {tree.used[0]} counted"
        assert self.sealed or llat.entries == entries_for(self.capacity, width), f"{llat.entries} entries of {width}"
        held = [int(key) for leaf in leaves for key in llat.tuples_of(leaf)[0]]
        ends = (min(held), max(held)) if held else (None, None)
        assert (self.min_key, self.max_key) == ends, f"keys in {ends}, noted {self.min_key}..{self.max_key}"

    def arrays(self) -> dict[str, Array]:
        """Everything up to PtrG and the last node, and what `create` was told."""
        tree, llat = self._tree, self._tree.llat.used()
        top, rows = llat.entries, int(tree.nodes.root[2])
        ends = (0, 0) if self.min_key is None or self.max_key is None else (self.min_key, self.max_key)
        shape = [self.capacity, self.partitions, self.fanout, self.width, self.size, self.version, *ends]
        return {
            **{name: part for name, part in llat._asdict().items() if isinstance(part, np.ndarray)},
            **{part: getattr(tree, part)[:top] for part in ("low", "size", "after", "before")},
            **{part: getattr(tree, part) for part in ("first", "used")},
            "node_low": tree.nodes.low[:rows],
            "node_child": tree.nodes.child[:rows],
            "node_fill": tree.nodes.fill[:rows],
            "root": tree.nodes.root,
            "shape": np.array(shape, np.int64),
            "sigma": np.array([self.sigma]),
        }

    @classmethod
    def open(cls, arrays: Mapping[str, Array]) -> WibTree:
        """The opposite of `arrays`."""
        part = {name: np.asarray(array) for name, array in arrays.items()}
        capacity, partitions, fanout, width, size, version, low, high = (int(number) for number in part["shape"])
        index = cls.__new__(cls)
        Index.__init__(index, capacity=capacity, partitions=partitions, dtype=part["keys"].dtype)
        index.sigma, index.fanout = float(part["sigma"][0]), fanout
        index.size, index.version, index.sealed = size, version, True
        if size:
            index.min_key, index.max_key = low, high
        llat = Llat(**{name: part[name] for name in Llat._fields[:-1]}, entry_capacity=width)
        nodes = Nodes.of(part["node_low"], part["node_child"], part["node_fill"], part["root"])
        lists = {name: part[name] for name in ("low", "size", "after", "before", "first", "used")}
        scratch = {f"{name}_keys": np.empty(0, index.dtype) for name in ("part", "work")}
        scratch |= {f"{name}_ids": np.empty(0, np.int32) for name in ("part", "work")}
        scratch |= {name: np.empty(0, np.int64) for name in ("run_leaf", "run_end")}
        index._hold(Tree(llat=llat, nodes=nodes, **lists, **scratch))  # noqa: SLF001  (our own)
        return index
