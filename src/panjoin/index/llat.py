"""Linked List Adaptive Table: room for skewed partitions in one block that is reserved once (paper, section LLAT).

The table is cut into entries of equal capacity. Partition i owns *normal* entry i; a partition that outgrows it goes on
in a *reserved* entry, taken at PtrG, and so on: a chain. Eight tuples over P = 4 partitions, entries of 3 tuples:

    entry      0          1          2          3          4          5          6..
            normal: one per partition                    reserved: for whoever is full
          [ 12 15 . ][ 27 21 24 ][ . . . ][ 48 . . ]   [ 22 29 . ][ . . . ]   ...
    head     2          3           0        1             2          0
    next     -          4           -        -             -          -
    last     0          4           2        3                                        PtrG = 5, free list empty

Looking for 29 in partition 1: entry 1 holds 27 21 24; its `next` is 4, which holds 22 29: found; next is -1: the end.
Appending 26 to partition 1 does not walk: last[1] = 4 has room, so it goes there, however long the chain is (following
the chain instead makes one hot key quadratic). In a kernel of a caller:

    entry = chain                                     # a chain is named by its first entry
    while entry >= 0:
        base = entry * llat.entry_capacity
        ... llat.keys[base + llat.tail[entry] : base + llat.head[entry]] ...
        entry = llat.next[entry]

Invariants (`Llat.check`): chains and the free list are acyclic and disjoint, and hold every entry below PtrG; only the
last entry of a chain has room at its head; an entry beyond the first is never empty; tail <= head <= capacity.

Why the entries suffice. With entry capacity C = ceil(N/P * sigma) and sigma > 1, C >= N/P. *Next* is set lazily here,
when a tuple comes for a full entry; so every reserved entry in use hangs behind a full one, and no two behind the same.
With N tuples at most floor(N/C) <= P entries are full. So P + floor(N/C) entries, never more than the paper's 2P, hold
any N tuples. (The paper sets *Next* when the entry fills: the same bound holds, but it takes an entry that may never
be used, and leaves empty entries at chain ends. With floor instead of ceil, C may be below N/P, and 2P is too few at
N = 15, P = 8, sigma = 1.05.) The proof counts tuples appended: a table that is filled, deleted from and filled again
without end can need more, and `append` then says how far it came. The wide tree, whose chains come and go, asks for
its own number of entries (`reserve`), has PtrG start at the first entry, and gives entries back through the free list.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from panjoin.errors import ParameterError
from panjoin.kernels.copy import copy
from panjoin.kernels.jit import kernel
from panjoin.kernels.lanes import prefetch
from panjoin.kernels.masks import WIDTH
from panjoin.kernels.views import read_only

Array = npt.NDArray[Any]

_AHEAD = 16  #: runs ahead of which the places are fetched; 8 takes 5% longer


class Llat(NamedTuple):
    """The arrays of one table; passed whole to kernels. A chain is named by the number of its first entry."""

    keys: Array  #: entry e holds keys[e * C + tail[e] : e * C + head[e]]; WIDTH more may be read behind the last entry
    ids: Array  #: int32, beside `keys`
    head: Array  #: where the next tuple of the entry goes
    tail: Array  #: its first tuple that is not deleted
    next: Array  #: the entry that follows in the chain, or -1; also links the free list
    last: Array  #: of a chain's first entry: the chain's last entry
    ptr_g: Array  #: [PtrG], the first entry never used so far
    free: Array  #: [first entry of the free list, or -1]
    entry_capacity: int

    @property
    def entries(self) -> int:
        """Number of entries, used or not."""
        return len(self.head)

    @property
    def memory_bytes(self) -> int:
        """Bytes of all arrays, touched or not (the operating system maps untouched pages lazily)."""
        return sum(part.nbytes for part in self if isinstance(part, np.ndarray))

    def read_only(self) -> Llat:
        """The same memory for kernels that only look, which then need not care whether it is a memory map."""
        views: dict[str, Any] = {
            name: read_only(part) for name, part in self._asdict().items() if isinstance(part, np.ndarray)
        }
        return self._replace(**views)

    def used(self) -> Llat:
        """The same memory without the entries that were never used."""
        entries = int(self.ptr_g[0])
        tuples = entries * self.entry_capacity
        return self._replace(
            keys=self.keys[: tuples + WIDTH],
            ids=self.ids[:tuples],
            head=self.head[:entries],
            tail=self.tail[:entries],
            next=self.next[:entries],
            last=self.last[:entries],
        )

    def entries_of(self, chain: int) -> list[int]:
        """The entries of a chain, in order."""
        found: list[int] = []
        entry = chain
        while entry >= 0:
            assert entry not in found, f"chain {chain} runs in a circle: {found} then {entry}"
            found.append(entry)
            entry = int(self.next[entry])
        return found

    def tuples_of(self, chain: int) -> tuple[Array, Array]:
        """Keys and ids of a chain in order of arrival (copies)."""
        spans = [e * self.entry_capacity + np.arange(self.tail[e], self.head[e]) for e in self.entries_of(chain)]
        at = np.concatenate(spans)
        return self.keys[at], self.ids[at]

    def check(self, chains: Iterable[int]) -> None:
        """Assert every invariant, given the first entries of all chains. Slow."""
        used: dict[int, str] = {}
        for chain in chains:
            entries = self.entries_of(chain)
            assert self.last[chain] == entries[-1], f"last[{chain}] is {self.last[chain]}, but the chain is {entries}"
            for number, entry in enumerate(entries):
                assert entry not in used, f"entry {entry} is in chain {chain} and in {used[entry]}"
                used[entry] = f"chain {chain}"
                tail, head = int(self.tail[entry]), int(self.head[entry])
                assert 0 <= tail <= head <= self.entry_capacity, f"entry {entry}: tail {tail}, head {head}"
                assert number == 0 or tail < head, f"entry {entry} of chain {chain} is empty"
                full = head == self.entry_capacity
                assert full or entry == entries[-1], f"entry {entry} has room, but the chain goes on: {entries}"
        for entry in self.entries_of(int(self.free[0])) if self.free[0] >= 0 else []:
            assert entry not in used, f"free entry {entry} is in {used[entry]}"
            used[entry] = "the free list"
        ptr_g = int(self.ptr_g[0])
        assert ptr_g <= self.entries, f"PtrG {ptr_g} of {self.entries} entries"
        assert sorted(used) == list(range(ptr_g)), f"PtrG is {ptr_g}, but in use are {sorted(used)}"


def spare(sigma: Any) -> float:
    """Sigma at the door: a number greater than 1, or chains of full entries would need more than there are."""
    if isinstance(sigma, bool) or not isinstance(sigma, (int, float, np.number)) or not 1 < sigma < math.inf:
        raise ParameterError(
            f"sigma must be greater than 1 (1.10 to 1.25 is usual), not {sigma!r}; 1.25 leaves a quarter of spare room"
        )
    return float(sigma)


def entry_capacity(capacity: int, partitions: int, sigma: float) -> int:
    """Tuples per entry: ceil(N/P * sigma), at least 1 (and no more than all N, however large sigma)."""
    return max(1, min(capacity, math.ceil(capacity / partitions * sigma)))


def reserve(entries: int, capacity: int, dtype: Any, *, normal: int = 0) -> Llat:
    """An empty table of `entries` entries with room for `capacity` tuples each.

    The first `normal` entries are chains already (one per partition); PtrG starts behind them.
    """
    return Llat(
        keys=np.zeros(entries * capacity + WIDTH, dtype),
        ids=np.zeros(entries * capacity, np.int32),
        head=np.zeros(entries, np.int32),
        tail=np.zeros(entries, np.int32),
        next=np.full(entries, -1, np.int32),
        last=np.arange(entries, dtype=np.int32),
        ptr_g=np.array([normal], np.int64),
        free=np.array([-1], np.int64),
        entry_capacity=capacity,
    )


def reserve_for(capacity: int, partitions: int, sigma: float, dtype: Any) -> Llat:
    """An empty table that holds any `capacity` tuples over `partitions` partitions (the proof is above)."""
    room = entry_capacity(capacity, partitions, sigma)
    return reserve(partitions + capacity // room, room, dtype, normal=partitions)


@kernel
def take(llat: Llat) -> int:
    """An empty entry that is a chain of its own, from the free list or PtrG; -1 when there is none left."""
    entry = llat.free[0]
    if entry >= 0:
        llat.free[0] = llat.next[entry]
    elif llat.ptr_g[0] < llat.head.size:
        entry = llat.ptr_g[0]
        llat.ptr_g[0] += 1
    else:
        return -1
    llat.head[entry] = 0
    llat.tail[entry] = 0
    llat.next[entry] = -1
    llat.last[entry] = entry
    return int(entry)


@kernel
def release(llat: Llat, chain: int) -> None:
    """Give all entries of a chain back, in O(1): the chain becomes the front of the free list."""
    llat.next[llat.last[chain]] = llat.free[0]
    llat.free[0] = chain


@kernel
def append(llat: Llat, chain: Any, keys: Array, ids: Array, begin: Any, end: Any) -> Any:
    """Put tuples [begin, end) of a batch at the end of a chain; returns `end`, or where the entries ran out."""
    entry = llat.last[chain]
    while begin < end:
        room = llat.entry_capacity - llat.head[entry]
        if room == 0:
            fresh = take(llat)
            if fresh < 0:
                return begin
            llat.next[entry] = fresh
            llat.last[chain] = fresh
            entry = fresh
            room = llat.entry_capacity
        count = min(room, end - begin)
        at = entry * llat.entry_capacity + llat.head[entry]
        copy(keys, begin, begin + count, llat.keys, at)
        copy(ids, begin, begin + count, llat.ids, at)
        llat.head[entry] += count
        begin += count
    return begin


@kernel
def append_runs(llat: Llat, chains: Array, starts: Array, keys: Array, ids: Array) -> Any:
    """Put tuples [starts[r], starts[r + 1]) of a batch at the end of chains[r], for each r; returns how many fitted.

    The usual run fits the chain's last entry and is copied right here, and the places of later runs are fetched ahead:
    11 ns per run of a 32K batch over 64K chains that have 26K runs, 50 without the fetching.
    """
    to_keys, to_ids, head, last, room = llat.keys, llat.ids, llat.head, llat.last, llat.entry_capacity
    done = np.int64(0)
    for run in range(len(chains)):
        if run + _AHEAD < len(chains):
            entry = np.int64(last[chains[run + _AHEAD]])
            prefetch(to_keys, entry * room + head[entry])
            prefetch(to_ids, entry * room + head[entry])
        chain, begin, end = chains[run], np.int64(starts[run]), np.int64(starts[run + 1])
        entry = np.int64(last[chain])
        if head[entry] + end - begin <= room:
            at = entry * room + head[entry]
            copy(keys, begin, end, to_keys, at)
            copy(ids, begin, end, to_ids, at)
            head[entry] += end - begin
            done += end - begin
        else:
            done += append(llat, chain, keys, ids, begin, end) - begin
    return done


@kernel
def delete(llat: Llat, chain: int) -> int:
    """Delete the oldest tuple of a chain: Tail advances. Returns the position it had in `keys`; -1 when there is none.

    The paper follows *Next* over empty entries. Here an emptied entry behind the first is given back, and an emptied
    chain starts again at zero, so at most one empty entry is ever passed.
    """
    entry = chain
    if llat.tail[entry] == llat.head[entry]:
        entry = llat.next[entry]
        if entry < 0:
            return -1
    at = entry * llat.entry_capacity + llat.tail[entry]
    llat.tail[entry] += 1
    if llat.tail[entry] == llat.head[entry]:
        if entry != chain:
            llat.next[chain] = llat.next[entry]
            if llat.last[chain] == entry:
                llat.last[chain] = chain
            release(llat, entry)
        if llat.next[chain] < 0:
            llat.head[chain] = 0
            llat.tail[chain] = 0
    return int(at)
