"""From ranges to pairs: the second pass of a probe, into output whose exact size the first pass has counted.

    probing tuple   0       1       2              probe_no  0  0  2  2  2
    start .. end    1..3    3..3    2..5      ->   ids       c  a  a  e  b
    ids             d c a e b                       (ids[1:3], nothing, ids[2:5])

The complements answer "not equal": everything of the array but start .. end, in the array's order.
An empty interval has start >= end, and a complement of everything.

Short ranges wait for memory, so the ids of a range are fetched a few probing tuples ahead; long ones are copied as a
block. Million pairs per second for ranges of 1, 16, 64 and 4096 among 8M tuples: 142, 1408, 2980, 3533 (one pair
at a time, nothing fetched ahead: 120, 966, 368, 1159).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from panjoin.kernels.jit import kernel
from panjoin.kernels.lanes import move, prefetch

Array = npt.NDArray[Any]

#: Ids from which a range is copied as a block.
BLOCK_FROM = 16
#: Probing tuples between fetching ids and copying them.
AHEAD = 16


@kernel
def emit_range(ids: Array, start: int, end: int, number: int, at: int, probe_no: Array, out_ids: Array) -> int:
    """Write (number, id) for ids[start:end] from `at` on; returns where the next pair goes."""
    size = end - start
    if size <= 0:
        return at
    if size < BLOCK_FROM:
        for j in range(size):
            out_ids[np.uintp(at + j)] = ids[np.uintp(start + j)]
            probe_no[np.uintp(at + j)] = number
    else:
        move(out_ids, at, ids, start, size)
        probe_no[at : at + size] = number
    return at + size


@kernel
def emit_ranges(starts: Array, ends: Array, ids: Array, first: int, last: int, probe_no: Array, out_ids: Array) -> int:
    """Write the pairs of probing tuples first .. last - 1; returns how many there were."""
    at = 0
    for i in range(first, last):
        prefetch(ids, int(starts[min(i + AHEAD, last - 1)]))
        at = emit_range(ids, int(starts[i]), int(ends[i]), i, at, probe_no, out_ids)
    return at


@kernel
def emit_complements(
    starts: Array, ends: Array, ids: Array, first: int, last: int, probe_no: Array, out_ids: Array
) -> int:
    """Write (i, every id outside of starts[i] .. ends[i]) for i in first .. last - 1; returns how many there were."""
    at = 0
    for i in range(first, last):
        start, end = int(starts[i]), int(ends[i])
        at = emit_range(ids, 0, start, i, at, probe_no, out_ids)
        at = emit_range(ids, max(start, end), len(ids), i, at, probe_no, out_ids)
    return at


@kernel
def emit_part(
    starts: Array, ends: Array, ids: Array, first: int, negate: bool, cursors: Array, probe_no: Array, out_ids: Array
) -> None:
    """One part's share of the pairs: those of tuple first + k go to cursors[k] and on, and the cursor moves along.

    A structure of several parts calls this once per part, so that a tuple's pairs stay together in the output.
    """
    for k in range(len(cursors)):
        at, start, end = int(cursors[k]), int(starts[first + k]), int(ends[first + k])
        if negate:
            at = emit_range(ids, 0, start, first + k, at, probe_no, out_ids)
            start, end = max(start, end), len(ids)
        cursors[k] = emit_range(ids, start, end, first + k, at, probe_no, out_ids)
