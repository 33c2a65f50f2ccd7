"""A preprocessed batch: the tuples of one stream that are processed together (the paper's Preprocessing step).

Rows stay in arrival order; beside them stand the keys in ascending order with the arrival position of each, so that
every index sees sorted keys and nobody loses the arrival numbers that sorting would destroy:

    arrival no.      70  71  72  73        numbers  (contiguous from `first_no`, or listed)
    rows              a   b   c   d        arrival order
    keys             2   5   9             ascending; 72 has a NULL key: it can match nothing and is in no index
    order            3   0   1             arrival position of each key
    bounds           per band: intervals [low, high] of opposite keys, and the places of the keys they belong to
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.bounds import Bounds
from panjoin.expression import Side
from panjoin.kernels.between import between

Array = npt.NDArray[Any]

LEFT: Side = "left"
RIGHT: Side = "right"
OPPOSITE: dict[Side, Side] = {LEFT: RIGHT, RIGHT: LEFT}

#: The event time of a tuple that has none; far from every real time, and never joined.
NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Batch:
    """Tuples of one side, preprocessed."""

    side: Side
    first_no: int
    size: int
    keys: Array
    order: Array
    bounds: tuple[Bounds, ...]
    rows: pa.RecordBatch | None = None
    times: Array | None = None
    numbers: Array | None = None  #: arrival numbers where they are not first_no, first_no + 1, ...
    end_no: int | None = None  #: one past the last arrival number, when late tuples at the end were set aside

    def arrival_numbers(self, positions: Array) -> Array:
        """Arrival numbers of the tuples at these arrival positions."""
        if self.numbers is not None:
            return self.numbers[positions]
        return positions.astype(np.int64) + self.first_no

    def keys_between(self, first: int, last: int) -> tuple[Array, Array]:
        """Keys, still ascending, and positions of the tuples whose arrival position is in [first, last)."""
        if first == 0 and last == self.size:
            return self.keys, self.order
        return between(self.keys, self.order, first, last)

    def number_at(self, position: int) -> int:
        """The arrival number of one tuple."""
        return self.first_no + position if self.numbers is None else int(self.numbers[position])

    @property
    def next_no(self) -> int:
        """The arrival number of the tuple after this batch: late tuples have taken numbers, too."""
        return self.first_no + self.size if self.end_no is None else self.end_no

    @property
    def time_range(self) -> tuple[int, int] | None:
        """Oldest and newest event time in the batch; None when no tuple has one."""
        if self.times is None:
            return None
        timed = self.times[self.times != NO_TIME]
        return (int(timed.min()), int(timed.max())) if len(timed) else None

    def pick(self, positions: Array) -> Batch:
        """The tuples at these ascending arrival positions, as a batch of their own; bounds are not needed there."""
        place = np.full(self.size, -1, np.int32)
        place[positions] = np.arange(len(positions), dtype=np.int32)
        order = place[self.order]
        here = order >= 0
        return Batch(
            side=self.side,
            first_no=self.first_no,
            size=len(positions),
            keys=self.keys[here],
            order=order[here],
            bounds=(),
            rows=None if self.rows is None else self.rows.take(pa.array(positions)),
            times=None if self.times is None else self.times[positions],
            numbers=self.arrival_numbers(positions),
        )
