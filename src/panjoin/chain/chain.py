"""The subwindows of one stream that one worker holds, oldest first.

    manager deals round robin:   0   1   2   3   4   5 ...
    worker 0 of 2                0       2       4            this chain: [0 2 4]
    worker 1 of 2                    1       3       5

New tuples go into the newest subwindow, the oldest expire whole, those in between never change. A probe visits every
subwindow that can hold a match, and touches no others: times and keys out of range are seen from the outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from panjoin.chain.batch import Batch
from panjoin.chain.expiry import Reach, Verdict, count_verdict
from panjoin.chain.match import Asked, Check, Match
from panjoin.chain.subwindow import Subwindow
from panjoin.index import Index

Array = npt.NDArray[Any]


class Chain:
    """Subwindows by number, in order."""

    def __init__(self) -> None:
        self._subwindows: dict[int, Subwindow] = {}

    def __iter__(self) -> Iterator[Subwindow]:
        """Subwindows oldest first, each followed by the late buffer beside it."""
        for subwindow in self._subwindows.values():
            yield subwindow
            if subwindow.late is not None:
                yield subwindow.late

    def __getitem__(self, number: int) -> Subwindow:
        return self._subwindows[number]

    def __len__(self) -> int:
        return len(self._subwindows)

    def add(self, subwindow: Subwindow) -> None:
        """Append the newest."""
        self._subwindows[subwindow.number] = subwindow

    def drop(self, number: int) -> None:
        """Expire one, whole."""
        del self._subwindows[number]

    def probe(
        self,
        batch: Batch,
        *,
        live_from: int | None,
        reach: Reach | None,
        negate: bool,
        verify: Callable[[Batch, Subwindow], Check] | None,
    ) -> list[Match]:
        """Matches of the batch in each subwindow that can have some."""
        if len(batch.keys) == 0:
            return []
        times = batch.time_range
        if reach is not None and times is None:
            return []
        found = []
        for subwindow in self:
            if subwindow.index.size == 0:
                continue
            verdict = _verdict(subwindow, times, live_from, reach)
            probes = [] if verdict is Verdict.SKIP else _probe_bands(batch, subwindow.index, negate)
            if not probes:
                continue
            checks = [] if verify is None else [verify(batch, subwindow)]
            if reach is not None and verdict is Verdict.FILTER:
                checks.insert(0, _time_check(batch, subwindow, reach))
            leaving = live_from if reach is None and verdict is Verdict.FILTER else None
            found.append(Match(batch, subwindow, probes, tuple(checks), leaving))
        return found


def _verdict(
    subwindow: Subwindow, times: tuple[int, int] | None, live_from: int | None, reach: Reach | None
) -> Verdict:
    """What a batch with event times in this range may see of the subwindow."""
    if reach is None:
        return Verdict.WHOLE if live_from is None else count_verdict(subwindow.first_no, subwindow.end_no, live_from)
    if times is None or subwindow.oldest is None or subwindow.newest is None:
        return Verdict.SKIP
    return reach.verdict((subwindow.oldest, subwindow.newest), times)


def _time_check(batch: Batch, subwindow: Subwindow, reach: Reach) -> Check:
    assert batch.times is not None
    probing, stored = batch.times, subwindow.times
    return lambda positions, ids: reach.holds(probing[positions], stored[ids])


def _probe_bands(batch: Batch, index: Index, negate: bool) -> list[Asked]:
    """One answer per band, over those probing tuples whose interval meets the subwindow's range of keys."""
    assert index.min_key is not None
    assert index.max_key is not None
    probes = []
    for low, high, rows in batch.bounds:
        probing = batch.order if rows is None else batch.order[rows]
        first, last = 0, len(low)
        if not negate:
            # In the type of the bounds: for a plain number numpy widens all of them, 0.1 ns each.
            first = int(np.searchsorted(high, high.dtype.type(index.min_key), "left"))
            last = int(np.searchsorted(low, low.dtype.type(index.max_key), "right"))
        if first < last:
            places = slice(first, last) if rows is None else rows[first:last]
            probe = index.probe(low[first:last], high[first:last], negate=negate)
            probes.append(Asked(probing[first:last], places, probe))
    return probes
