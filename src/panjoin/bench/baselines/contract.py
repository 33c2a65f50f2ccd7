"""What every baseline can do, and the door where its arguments are checked.

A baseline joins two streams of int32 or int64 keys under `left BETWEEN right + low AND right + high` (low = high = 0 is
equality) in count windows. Tuples of a side are numbered as they arrive; a batch sees the last W tuples of the other
side that came before it, and nothing of itself:

    window_right = 3            right   4  9  9  4 | 7           numbers 0 .. 3, then 4
    push("left", [9, 4])        sees       9  9  4               counts [2, 1], whatever comes later
    push("right", [7])          sees what the left window holds: 9 and 4

    push(side, keys)     matches of each tuple, int64[n]; then the batch is stored
    pairs(side, keys)    what that push would match, as (position in batch, number of the other tuple); changes nothing
    store(side, keys)    the batch is stored unanswered: how an experiment fills its windows

Invariants: `arrived` counts what was stored; a refused call changes nothing; the kernels get contiguous keys of one
type and inclusive intervals, where low > high is empty.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from panjoin.errors import DataError, ParameterError

Array = npt.NDArray[Any]

OPPOSITE = {"left": "right", "right": "left"}
#: Slots are 32-bit numbers, and the red-black tree keeps a colour beside one.
MOST_TUPLES = 2**30 - 1


class Baseline(ABC):
    """See the head of this file."""

    name: ClassVar[str]

    def __init__(
        self, *, window_left: int, window_right: int, low: int = 0, high: int = 0, cores: int = 2, dtype: Any = np.int32
    ) -> None:
        for name, window in (("window_left", window_left), ("window_right", window_right)):
            if not 1 <= window <= MOST_TUPLES:
                raise ParameterError(f"{name} must be 1 to {MOST_TUPLES:,} tuples, not {window:,}")
        if low > high:
            raise ParameterError(f"low must not be greater than high, but low is {low} and high is {high}")
        if cores < 1:
            raise ParameterError(f"cores must be at least 1, not {cores}")
        if np.dtype(dtype) not in (np.dtype(np.int32), np.dtype(np.int64)):
            raise ParameterError(f"dtype must be int32 or int64, not {np.dtype(dtype)}")
        self.windows = {"left": int(window_left), "right": int(window_right)}
        self.low, self.high, self.cores, self.dtype = int(low), int(high), int(cores), np.dtype(dtype)
        self.arrived = {"left": 0, "right": 0}

    # ---- verbs ----

    def push(self, side: str, keys: Any) -> Array:
        """Matches per tuple of the batch, which is stored."""
        keys = self._at_the_door(side, keys)
        counts = self._push(side, keys, *self.intervals(side, keys))
        self.arrived[side] += len(keys)
        return counts

    def pairs(self, side: str, keys: Any) -> tuple[Array, Array]:
        """The pairs that `push` would count, ordered by the position in the batch."""
        keys = self._at_the_door(side, keys)
        positions, numbers = self._pairs(side, *self.intervals(side, keys))
        order = np.lexsort((numbers, positions))
        return positions[order], numbers[order]

    def store(self, side: str, keys: Any) -> None:
        """Take the batch in without looking for its matches."""
        keys = self._at_the_door(side, keys)
        self._store(side, keys)
        self.arrived[side] += len(keys)

    @property
    @abstractmethod
    def memory_bytes(self) -> int:
        """Bytes of all arrays held."""

    # ---- what a baseline implements; `self.arrived` is still that before the batch ----

    @abstractmethod
    def _push(self, side: str, keys: Array, low: Array, high: Array) -> Array: ...

    @abstractmethod
    def _pairs(self, side: str, low: Array, high: Array) -> tuple[Array, Array]: ...

    @abstractmethod
    def _store(self, side: str, keys: Array) -> None: ...

    # ---- what they share ----

    def oldest(self, side: str) -> int:
        """The number of the oldest tuple of a side that is in its window."""
        return max(0, self.arrived[side] - self.windows[side])

    def intervals(self, side: str, keys: Array) -> tuple[Array, Array]:
        """The keys of the other side that each tuple matches; seen from the left the band is inverted."""
        if side == "right":
            return interval(keys, self.low, self.high)
        return interval(keys, -self.high, -self.low)

    def parts(self, size: int) -> list[slice]:
        """A batch cut into one part per core."""
        return [slice(*edges) for edges in pairwise(size * part // self.cores for part in range(self.cores + 1))]

    def _at_the_door(self, side: str, keys: Any) -> Array:
        if side not in OPPOSITE:
            raise ParameterError(f"side must be 'left' or 'right', not {side!r}")
        keys = np.asarray(keys)
        if keys.ndim != 1:
            raise DataError(f"keys must have one dimension, not {keys.ndim}")
        if keys.dtype != self.dtype and len(keys):
            raise DataError(f"keys must be {self.dtype}, not {keys.dtype}; convert with .astype(np.{self.dtype})")
        contiguous: Array = np.ascontiguousarray(keys, self.dtype)
        return contiguous


def interval(keys: Array, below: int, above: int) -> tuple[Array, Array]:
    """[key + below, key + above] for each key, cut to what the type holds; low > high where nothing of it is inside."""
    least, most = int(np.iinfo(keys.dtype).min), int(np.iinfo(keys.dtype).max)
    low, high = _moved(keys, below, least, most), _moved(keys, above, least, most)
    outside = (keys > most - below) | (keys < least - above)
    low[outside], high[outside] = most, least
    return low, high


def _moved(keys: Array, offset: int, least: int, most: int) -> Array:
    """Each key + offset, or the type's end where that would pass it. Right modulo 2^bits is right wherever it fits."""
    unsigned = np.dtype(f"u{keys.dtype.itemsize}")
    moved: Array = (keys.view(unsigned) + unsigned.type(offset % 2 ** (8 * unsigned.itemsize))).view(keys.dtype)
    moved[keys > most - offset] = most
    moved[keys < least - offset] = least
    return moved
