"""Which tuples of the opposite window may a batch still see, and when is a subwindow of no more use?

Expiry is whole: a subwindow goes when no tuple in it can match any more. Until then a probe may meet tuples that
have left the window, so each (batch, subwindow) gets one of three verdicts:

              oldest                                      newest
    chain  ──┤ sub 0  ├──┤ sub 1  ├──┤ sub 2  ├──┤ sub 3  ├──
    count      FILTER      WHOLE       WHOLE       WHOLE          arrival number >= live_from
    time       SKIP        FILTER      WHOLE       FILTER         reach.low <= t_probing - t_stored <= reach.high

Count windows: only the oldest subwindow can hold expired tuples. Time windows: any subwindow whose [oldest, newest]
is not wholly inside; one late tuple in it is enough, therefore the verdict looks at times, never at the position in
the chain. All arithmetic here is on Python integers: nothing overflows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Verdict(Enum):
    """What a batch may see of a subwindow."""

    SKIP = "nothing"
    FILTER = "some tuples: filter the matches"
    WHOLE = "every tuple"


@dataclass(frozen=True)
class Reach:
    """The event-time rule of one probing direction: low <= t_probing - t_stored <= high, None for no bound.

    For a time window with extents (left, right), a right tuple probing the left window has low = -right and
    high = left: the stored left tuple stays joinable for `left`, and may itself be later by up to `right`.
    """

    low: int | None
    high: int | None

    def verdict(self, stored: tuple[int, int], probing: tuple[int, int]) -> Verdict:
        """For stored tuples with times in [oldest, newest] and probing ones in another such range."""
        least, most = probing[0] - stored[1], probing[1] - stored[0]
        above = self.low is None or least >= self.low
        below = self.high is None or most <= self.high
        if above and below:
            return Verdict.WHOLE
        if (self.low is not None and most < self.low) or (self.high is not None and least > self.high):
            return Verdict.SKIP
        return Verdict.FILTER

    def holds(self, probing: Array, stored: Array) -> Array:
        """Per pair. Times are within +-2^61 us (checked at the door), so the difference cannot overflow."""
        apart = probing - stored
        if self.low is None:
            return np.asarray(apart <= self.high) if self.high is not None else np.ones(len(apart), bool)
        if self.high is None:
            return np.asarray(apart >= self.low)
        return np.asarray((apart >= self.low) & (apart <= self.high))


def count_verdict(first_no: int, end_no: int, live_from: int) -> Verdict:
    """For a subwindow holding arrival numbers [first_no, end_no) when numbers below `live_from` have left."""
    if live_from <= first_no:
        return Verdict.WHOLE
    return Verdict.SKIP if live_from >= end_no else Verdict.FILTER


def is_past(newest: int, extent: int, watermark: int) -> bool:
    """No tuple at or after the watermark can match one as old as `newest`: newest + extent is behind it."""
    return newest + extent < watermark
