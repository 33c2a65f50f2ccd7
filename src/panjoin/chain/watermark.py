"""The watermark: a promise that nothing older will be joined any more.

    watermark = min over sides (newest event time seen) - lateness             never goes back

Evaluated before a batch: its tuples older than the watermark are late and take no part. Two guards:

- idle: a side that has been silent for `idle_timeout` on the caller's clock does not hold the watermark back;
- future: a tuple dated more than `max_advance` beyond everything seen is put in quarantine, so that one event from
  2038 cannot expire the windows of today. Before the first batch the reference is that batch's median.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from panjoin.chain.batch import LEFT, NO_TIME, RIGHT
from panjoin.expression import Side

Array = npt.NDArray[Any]


class Watermark:
    """Event-time progress of two streams; times in microseconds, clocks are arguments."""

    def __init__(self, *, lateness: int = 0, idle_timeout: float | None = None, max_advance: int | None = None) -> None:
        self.value: int | None = None
        self._lateness, self._idle_timeout, self._max_advance = lateness, idle_timeout, max_advance
        self._newest: dict[str, int] = {}
        self._heard: dict[str, float] = {}

    def late(self, times: Array) -> Array:
        """Which tuples are behind the watermark. Those without a time are not: they never join, and hold nothing up."""
        if self.value is None:
            return np.zeros(len(times), bool)
        return np.asarray((times < self.value) & (times != NO_TIME))

    def too_far(self, times: Array) -> Array:
        """Which tuples are dated further ahead than `max_advance` allows."""
        timed = times[times != NO_TIME]
        if self._max_advance is None or len(timed) == 0:
            return np.zeros(len(times), bool)
        seen = [self.value] if self.value is not None else []
        reference = max([*self._newest.values(), *seen], default=int(np.sort(timed)[(len(timed) - 1) // 2]))
        return np.asarray(times > reference + self._max_advance)

    def observe(self, side: Side, times: Array, now: float) -> None:
        """Tuples of these times have been processed at `now`."""
        if not self._heard:
            self._heard = {LEFT: now, RIGHT: now}  # a side that never comes counts as idle from here
        self._heard[side] = now
        timed = times[times != NO_TIME]
        if len(timed):
            self._newest[side] = max(int(timed.max()), self._newest.get(side, NO_TIME))
        awaited = [s for s in (LEFT, RIGHT) if not self._idle(s, now)]
        if awaited and all(s in self._newest for s in awaited):
            self.advance(min(self._newest[s] for s in awaited) - self._lateness)

    def advance(self, to: int) -> None:
        """The caller's word that nothing older will come; moving back is ignored, as in Spark."""
        self.value = to if self.value is None else max(self.value, to)

    def _idle(self, side: Side, now: float) -> bool:
        return self._idle_timeout is not None and now - self._heard[side] >= self._idle_timeout


class GivenWatermark(Watermark):
    """One that somebody else keeps (Spark, for all its operators): event times seen here do not move it."""

    def observe(self, side: Side, times: Array, now: float) -> None:
        """Nothing: `advance` alone moves it."""
