"""From ranges to pairs: the second pass of a probe, into output whose exact size the first pass has counted.

    probing tuple   0       1       2              probe_no  0  0  2  2  2
    start .. end    1..3    3..3    2..5      ->   ids       c  a  a  e  b
    ids             d c a e b                       (ids[1:3], nothing, ids[2:5])

The complements answer "not equal": everything of the array but start .. end, in the array's order.
An empty interval has start >= end, and a complement of everything.
"""

from typing import Any

import numpy.typing as npt

from panjoin.kernels.jit import kernel

Array = npt.NDArray[Any]


@kernel
def emit_ranges(starts: Array, ends: Array, ids: Array, first: int, last: int, probe_no: Array, out_ids: Array) -> int:
    """Write the pairs of probing tuples first .. last - 1; returns how many there were."""
    at = 0
    for i in range(first, last):
        for j in range(starts[i], ends[i]):
            probe_no[at] = i
            out_ids[at] = ids[j]
            at += 1
    return at


@kernel
def emit_complements(
    starts: Array, ends: Array, ids: Array, first: int, last: int, probe_no: Array, out_ids: Array
) -> int:
    """Write (i, every id outside of starts[i] .. ends[i]) for i in first .. last - 1; returns how many there were."""
    at = 0
    for i in range(first, last):
        for j in range(starts[i]):
            probe_no[at] = i
            out_ids[at] = ids[j]
            at += 1
        for j in range(max(starts[i], ends[i]), len(ids)):
            probe_no[at] = i
            out_ids[at] = ids[j]
            at += 1
    return at


@kernel
def emit_part(
    starts: Array, ends: Array, ids: Array, first: int, negate: bool, cursors: Array, probe_no: Array, out_ids: Array
) -> None:
    """One part's share of the pairs: those of tuple first + k go to cursors[k] and on, and the cursor moves along.

    A structure of several parts calls this once per part, so that a tuple's pairs stay together in the output.
    """
    for k in range(len(cursors)):
        at, start, end = cursors[k], starts[first + k], max(starts[first + k], ends[first + k])
        if negate:
            for j in range(start):
                probe_no[at] = first + k
                out_ids[at] = ids[j]
                at += 1
            start, end = end, len(ids)
        for j in range(start, end):
            probe_no[at] = first + k
            out_ids[at] = ids[j]
            at += 1
        cursors[k] = at
