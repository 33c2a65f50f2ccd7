"""One join, spelled out: what manager and workers share and nobody changes.

Made once the schemas of both streams are known. It answers: which columns a subwindow has to keep, on which side
unmatched tuples matter, how far a probing tuple may reach in event time, and whether candidates need verification.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.bounds import JoinKeys
from panjoin.chain.batch import LEFT, NO_TIME, OPPOSITE, RIGHT, Batch
from panjoin.chain.expiry import Reach
from panjoin.chain.match import Check
from panjoin.chain.subwindow import Subwindow
from panjoin.durations import FARTHEST
from panjoin.engine.forms import Form
from panjoin.errors import DataError
from panjoin.expression import Side
from panjoin.predicate import BoundCondition
from panjoin.window import BoundWindow

Array = npt.NDArray[Any]

#: Join types by the sides whose tuples are handed out unmatched when they leave their window.
PRESERVED = {
    "inner": (),
    "left": (LEFT,),
    "right": (RIGHT,),
    "full": (LEFT, RIGHT),
    "left_semi": (),
    "left_anti": (LEFT,),
}


@dataclass(frozen=True)
class SideSpec:
    """One stream of the join."""

    schema: pa.Schema
    columns: tuple[str, ...]  #: kept with each tuple
    count: int | None  #: window in tuples, or
    extent: int | None  #: window in microseconds


@dataclass(frozen=True)
class JoinSpec:
    """The join."""

    sides: Mapping[Side, SideSpec]
    condition: BoundCondition
    keys: JoinKeys
    window: BoundWindow
    how: str = "inner"
    form: Form | None = None  #: None for rows

    @property
    def timed(self) -> bool:
        """Whether event times matter."""
        return any(side.extent is not None for side in self.sides.values())

    def preserves(self, side: Side) -> bool:
        """Whether unmatched tuples of this side are part of the result."""
        return side in PRESERVED[self.how]

    def tracks(self, side: Side) -> bool:
        """Whether it matters if a tuple of this side has found a match."""
        return self.preserves(side) or (self.how == "left_semi" and side == LEFT)

    def reach(self, probing: Side) -> Reach | None:
        """The event-time rule when a batch of `probing` meets the opposite window; None when that counts tuples."""
        stored = self.sides[OPPOSITE[probing]].extent
        if stored is None:
            return None
        own = self.sides[probing].extent
        return Reach(low=None if own is None else -own, high=stored)

    def times(self, side: Side, rows: pa.RecordBatch) -> Array | None:
        """Event times in microseconds, `NO_TIME` where there is none; None when only tuples count."""
        return event_times(self.window, side, rows) if self.timed else None

    @property
    def verifies(self) -> bool:
        """Whether index answers are only candidates: keys that lose bits, or a residual."""
        return not self.keys.exact or self.condition.rest is not None

    def verify(self, batch: Batch, subwindow: Subwindow) -> Check:
        """The check of candidate pairs on real values."""
        mine, other = self.keys.verified_columns(batch.side), self.keys.verified_columns(OPPOSITE[batch.side])
        assert batch.rows is not None
        rows = batch.rows.select(mine)

        def check(positions: Array, ids: Array) -> Array:
            own, stored = rows.take(pa.array(positions)), subwindow.rows.take(ids, other)
            holds = self.keys.verify(own, stored) if batch.side == LEFT else self.keys.verify(stored, own)
            return np.ones(len(ids), bool) if holds is None else np.asarray(holds)

        return check


def event_times(window: BoundWindow, side: Side, rows: pa.RecordBatch) -> Array:
    """Event times in microseconds, `NO_TIME` where there is none; refused when one is beyond reason."""
    times, valid = window.time(side, rows)
    if valid is not None:
        times = np.where(valid, times, 0)
    if len(times) and (times.min() < -FARTHEST or times.max() > FARTHEST):
        raise DataError(
            f"event time {times[np.argmax(np.abs(times))]} us is more than 73,000 years from 1970; "
            "make it NULL, or filter it out"
        )
    return times if valid is None else np.where(valid, times, NO_TIME)
