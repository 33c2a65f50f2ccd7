"""Late tuples: the small buffer beside an old subwindow (paper, Out-of-Order Window).

A tuple that is out of order, though not behind the watermark, would stretch the newest subwindow's time range far into
the past: probes would have to look into it and filter, and it would stay alive longer. So it goes beside the old
subwindow that its time falls into, and expires with it:

    time ──────────────────────────────────>
    [ sub 3      ][ sub 4      ][ sub 5 (newest) ...
       + late                     ^
                                  a tuple of sub 3's time goes to the buffer of sub 3, not here

Buffers are scans: a few tuples need no index. Where a tuple goes changes no result, only what a probe costs; when a
buffer is full, tuples go into the newest subwindow as they would without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from panjoin import index
from panjoin.chain.batch import NO_TIME
from panjoin.chain.subwindow import Subwindow

Array = npt.NDArray[Any]

#: Tuples in one late buffer. Scanning 1,024 keys costs about as much as one probe into an 8M array.
LATE_CAPACITY = 1024


def late_buffer(subwindow: Subwindow) -> Subwindow:
    """The buffer beside `subwindow`, made when first needed."""
    if subwindow.late is None:
        structure = index.create("scan", capacity=LATE_CAPACITY, partitions=1, dtype=subwindow.index.dtype)
        subwindow.late = Subwindow(
            subwindow.side,
            subwindow.number,
            structure,
            first_no=0,
            timed=True,
            tracked=subwindow.matched is not None,
        )
    return subwindow.late


def route(times: Array, newest_from: int, old: Sequence[tuple[int, int, int]]) -> list[tuple[int, Array]]:
    """Which positions go beside which old subwindow: [(place in `old`, positions)].

    `old` lists (oldest, newest, room in the late buffer), oldest subwindow first; `newest_from` is the oldest time in
    the newest subwindow. Positions that appear nowhere go into the newest subwindow.
    """
    loose = (times < newest_from) & (times != NO_TIME)
    routed = []
    for place in range(len(old) - 1, -1, -1):
        if not loose.any():
            break
        oldest, newest, room = old[place]
        positions = np.flatnonzero(loose & (times >= oldest) & (times <= newest))[:room]
        if len(positions):
            loose[positions] = False
            routed.append((place, positions))
    return routed
