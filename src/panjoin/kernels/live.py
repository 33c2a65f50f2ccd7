"""Counting in the subwindow that is being expired: ranges of positions in which only some tuples still live.

A range of a sorted subwindow holds ids scattered by key, and those below `first_live` have left the window. Looking at
each pair costs as much as the pairs; a prefix count of the living costs one pass over the subwindow, whatever the
selectivity, after which any range is two reads:

    ids         5  0  3  7  1  6          first_live 3: 0 and 1 have left
    prefix   0  1  1  2  3  3  4          range 1..5 holds prefix[5] - prefix[1] = 3 - 1 = 2 living tuples

8M ids take 9 ms, so the pass pays from about one candidate pair per tuple of the subwindow on.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from panjoin.kernels.jit import kernel

Array = npt.NDArray[Any]


@kernel
def live_prefix(ids: Array, first_live: int, prefix: Array) -> None:
    """prefix[i] = how many of ids[:i] are `first_live` or more; one longer than ids."""
    living = 0
    prefix[0] = 0
    for i in range(len(ids)):
        living += ids[i] >= first_live
        prefix[i + 1] = living


@kernel
def count_live(prefix: Array, starts: Array, ends: Array, where: Array, counts: Array) -> None:
    """counts[where[i]] grows by the living in starts[i] .. ends[i]."""
    for i in range(len(starts)):
        if ends[i] > starts[i]:
            counts[where[i]] += prefix[ends[i]] - prefix[starts[i]]


@kernel
def total_live(prefix: Array, starts: Array, ends: Array) -> int:
    """The living in all ranges together."""
    total = 0
    for i in range(len(starts)):
        if ends[i] > starts[i]:
            total += prefix[ends[i]] - prefix[starts[i]]
    return total
