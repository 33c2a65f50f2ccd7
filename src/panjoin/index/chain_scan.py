"""Scanning one chain of an LLAT: how many tuples lie in an interval, which, and the copy of them all.

The tuples of a partition are unsorted, so this is the inner part of the nested loop of RaP-Table and WiB+-Tree. An
entry is a contiguous stretch of keys, compared 32 at a time (`kernels/masks.py`); what a chain costs is the number of
its masks, and a little for each match:

    entry, 7 of 10 taken     27 21 24 22 29 28 23  .  .  .        in [22, 24]?
    mask                      0  0  1  1  0  0  1 (1  0  1)       the last three are not ours: cut off by low_bits(7)
    count                     ones: 3
    positions                 first: 2; taken away, first: 3; taken away, first: 6

Per probing tuple over about 128 int32 tuples in the cache: 8 ns to count, 20 to find one match. A plain loop that LLVM
vectorises counts in 9; finding by such a count of each 32, and a scalar loop where it is not 0, made the whole second
pass of a probe take 1.6 times as long.

The paper's loop has partition tuples outside and the related batch tuples inside. Measured with plain loops, per
probing tuple of 128 partition tuples, with 1, 4, 16, 128, 1024 related ones: 153, 93, 28, 12, 10 ns; with the batch
tuples outside: 23 (all cache misses), 8, 7, 7, 7. So batch tuples are outside here; the partition stays in the
first-level cache meanwhile, which is the shared memory access that the paper is after.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from panjoin.index.llat import Llat
from panjoin.kernels.copy import copy
from panjoin.kernels.jit import kernel
from panjoin.kernels.lanes import prefetch
from panjoin.kernels.masks import WIDTH, first, low_bits, ones, within

Array = npt.NDArray[Any]

CACHE_LINE = 64


@kernel
def count_in_chain(llat: Llat, chain: Any, low: Any, high: Any) -> Any:
    """How many tuples of the chain lie in [low, high]."""
    count, entry = np.int64(0), np.int64(chain)
    while entry >= 0:
        begin = entry * llat.entry_capacity + llat.tail[entry]
        end = entry * llat.entry_capacity + llat.head[entry]
        for at in range(begin, end, WIDTH):
            count += ones(within(llat.keys, at, low, high) & low_bits(end - at))
        entry = np.int64(llat.next[entry])
    return count


@kernel
def find_matches(llat: Llat, chain: Any, low: Any, high: Any, inside: bool, out: Array, to: Any) -> Any:
    """Write the positions of the tuples that lie in [low, high] (or, not `inside`, outside); returns the output's end.

    Positions, and their ids only later (`take_ids`): the cache miss of an id would hold up the search for the next.
    """
    flip = np.uint64(0) if inside else ~np.uint64(0)
    entry = np.int64(chain)
    while entry >= 0:
        begin = entry * llat.entry_capacity + llat.tail[entry]
        end = entry * llat.entry_capacity + llat.head[entry]
        for at in range(begin, end, WIDTH):
            mask = (within(llat.keys, at, low, high) ^ flip) & low_bits(end - at)
            while mask != 0:
                out[to] = np.uint32(at + first(mask))
                mask &= mask - np.uint64(1)
                to += 1
        entry = np.int64(llat.next[entry])
    return to


@kernel
def prefetch_ids(ids: Array, positions: Array, begin: Any, end: Any) -> None:
    """Start fetching the ids at positions[begin:end], or the first few of them."""
    for k in range(begin, min(end, begin + 16)):
        prefetch(ids, int(positions[k]))


@kernel
def take_ids(ids: Array, begin: Any, end: Any, positions: Array, out: Array) -> None:
    """out[begin:end] = the ids at positions[begin:end]; `out` is the same memory."""
    for k in range(begin, end):
        out[k] = ids[positions[k]]


@kernel
def copy_chain(llat: Llat, chain: Any, out: Array, at: Any) -> Any:
    """Write the ids of all tuples of the chain; returns the end of the output."""
    entry = np.int64(chain)
    while entry >= 0:
        base = entry * llat.entry_capacity
        at = copy(llat.ids, base + llat.tail[entry], base + llat.head[entry], out, at)
        entry = np.int64(llat.next[entry])
    return at


@kernel
def prefetch_keys(llat: Llat, entry: Any) -> None:
    """Start fetching the keys of an entry; there is no harm when they do not come in use."""
    base = np.int64(entry) * llat.entry_capacity
    for k in range(base, base + llat.head[entry], CACHE_LINE // llat.keys.itemsize):
        prefetch(llat.keys, k)
