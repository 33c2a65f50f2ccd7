"""Windows: which tuples of one stream can still meet tuples of the other.

    CountWindow(1000)                            the last 1000 tuples of either side
    TimeWindow("10 minutes", on="ts")            event times at most 10 minutes apart
    TimeWindow(left="1 hour", right="0 s", on=("l_ts", "r_ts"))
                                                 a left tuple waits one hour for right ones, a right one never
    MixedWindow(left=CountWindow(1000), right=TimeWindow("1 hour", on="ts"))
                                                 the later arrival decides, by the rule of the other one's side

    time window around a left tuple at 12:00, left="1 hour", right="10 minutes":

      right.ts   11:50 |======| 12:00 |===================================| 13:00
                 waited 10 minutes    left waits 1 hour; both ends are inside, to the microsecond

Invariants: windows are frozen and normalised (one extent per side, in tuples or microseconds); what a time window
contains is a pure function of two event times, exact at the ends of 64 bits. A tuple without event time (NULL) is in
no time or mixed window: it matches nothing, and counts as unmatched in an outer join.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from panjoin.columns import Array, Column, Mask, microseconds, validity, values
from panjoin.durations import microseconds_of, spelled
from panjoin.errors import DataError, ParameterError
from panjoin.suggest import choices

SIDES = ("left", "right")
MOST_TUPLES = 2**62
MICROS_PER_DAY = 86_400_000_000
_MICROS = np.iinfo(np.int64)


@dataclass(frozen=True)
class Extent:
    """How long the tuples of one side stay: so many tuples, or so many microseconds of event time."""

    tuples: int | None = None
    micros: int | None = None

    @property
    def by_time(self) -> bool:
        """True when event time decides, not the number of tuples."""
        return self.micros is not None

    def __str__(self) -> str:
        return f"{self.tuples:,} tuples" if self.micros is None else spelled(self.micros)


class Window:
    """What every window can say; see the head of this file."""

    on: tuple[str, str] | None = None  #: the event-time columns of left and right; None when only tuples count
    lateness: int | None = None  #: microseconds that the watermark stays behind; None: not said, which means 0

    def extent(self, side: str) -> Extent:
        """The extent of one side's tuples."""
        raise NotImplementedError

    @property
    def timed(self) -> bool:
        """True when event times are needed."""
        return self.on is not None

    def visible(self, side: str, ts: Array) -> tuple[Array, Array]:
        """Event times (earliest, latest) of opposite tuples that arriving tuples of `side` can meet, both inclusive.

        Saturates at the ends of 64 bits, where nothing lies beyond. In a mixed window there is no latest.
        """
        opposite = self.extent("right" if side == "left" else "left")
        earliest = np.full_like(ts, _MICROS.min) if opposite.micros is None else _minus(ts, opposite.micros)
        return earliest, np.full_like(ts, _MICROS.max)

    def refuse_side(self, side: str, schema: pa.Schema) -> None:
        """Raise if one side's event-time column is missing or has no event time, whatever the other side's is."""
        if self.on is not None:
            _event_time(schema, self.on[SIDES.index(side)], side)

    def bind(self, left: pa.Schema, right: pa.Schema) -> BoundWindow:
        """The window over two schemas; refused when an event-time column is missing or has no event time."""
        if self.on is not None:
            kinds = [_event_time(s, name, side) for s, name, side in zip((left, right), self.on, SIDES, strict=True)]
            zoned = [pa.types.is_timestamp(kind) and kind.tz is not None for kind in kinds]
            if zoned[0] != zoned[1]:
                raise DataError(
                    f"event times cannot be compared: left.{self.on[0]} is {kinds[0]} and right.{self.on[1]} is "
                    f"{kinds[1]}; give both a time zone, or neither"
                )
        return BoundWindow(self)

    def describe(self) -> str:
        """The window in words."""
        left, right = self.extent("left"), self.extent("right")
        return "; ".join([_said("left", left, right), _said("right", right, left), *self._times()])

    def _times(self) -> list[str]:
        if self.on is None:
            return []
        columns = f"event time is left.{self.on[0]} and right.{self.on[1]}"
        return [columns if self.lateness is None else f"{columns}, at most {spelled(self.lateness)} late"]


@dataclass(frozen=True, init=False)
class CountWindow(Window):
    """The last n tuples of either side, in arrival order.

    `CountWindow(1000)`, or `CountWindow(left=1000, right=50)`, where `left` is how many left tuples are kept for right
    ones. A batch sees the tuples that were processed before it.

    >>> print(CountWindow(left=1000, right=50).describe())
    the last 1,000 left tuples can be joined; the last 50 right tuples can be joined
    """

    left: int
    right: int

    def __init__(self, n: int | None = None, /, *, left: int | None = None, right: int | None = None) -> None:
        for side, given in zip(SIDES, _both(n, left, right, "CountWindow", "1000"), strict=True):
            object.__setattr__(self, side, _count(given))

    def extent(self, side: str) -> Extent:
        """So many tuples."""
        return Extent(tuples=self.left if side == "left" else self.right)


@dataclass(frozen=True, init=False)
class TimeWindow(Window):
    """Event times not too far apart: `left` is how long a left tuple waits for later right ones, `right` likewise.

    Lengths are texts ("10 minutes", "1 hour 30 seconds"), timedeltas, or numpy's; `on` is the event-time column, or one
    for each side. Both ends are inside, to the microsecond. `lateness` is how far the watermark stays behind the newest
    tuples (0 unless given); in Spark the DataFrames' `withWatermark` says it instead.

    >>> window = TimeWindow(left="1 hour", right="0 seconds", on=("ordered", "paid"))
    >>> for said in window.describe().split("; "):
    ...     print(said)
    a left tuple can be joined for 1 hour of event time after it
    a right tuple can be joined for 0 seconds of event time after it
    event time is left.ordered and right.paid
    """

    left: int  #: microseconds
    right: int
    on: tuple[str, str]
    lateness: int | None

    def __init__(
        self,
        length: Any = None,
        /,
        *,
        left: Any = None,
        right: Any = None,
        on: str | tuple[str, str] | None = None,
        lateness: Any = None,
    ) -> None:
        for side, given in zip(SIDES, _both(length, left, right, "TimeWindow", "'10 minutes'"), strict=True):
            what = "the window's length" if length is not None else f"the window's {side}"
            object.__setattr__(self, side, microseconds_of(given, what))
        object.__setattr__(self, "on", _columns(on))
        late = None if lateness is None else microseconds_of(lateness, "lateness")
        object.__setattr__(self, "lateness", late)

    def __repr__(self) -> str:
        late = "" if self.lateness is None else f", lateness={spelled(self.lateness)!r}"
        return f"TimeWindow(left={spelled(self.left)!r}, right={spelled(self.right)!r}, on={self.on!r}{late})"

    def extent(self, side: str) -> Extent:
        """So many microseconds of event time."""
        return Extent(micros=self.left if side == "left" else self.right)

    def in_window(self, left_ts: Any, right_ts: Any) -> Mask:
        """Which pairs of event times (microseconds; arrays broadcast) are in the window."""
        left_ts, right_ts = np.asarray(left_ts, np.int64), np.asarray(right_ts, np.int64)
        # The difference of two int64 fits uint64 exactly once it is known which is greater.
        with np.errstate(over="ignore"):
            waited = right_ts.astype(np.uint64) - left_ts.astype(np.uint64)
            left_waits, right_waits = waited <= np.uint64(self.left), np.negative(waited) <= np.uint64(self.right)
        inside: Mask = np.where(left_ts <= right_ts, left_waits, right_waits)
        return inside

    def visible(self, side: str, ts: Array) -> tuple[Array, Array]:
        """As in Window; here there is a latest as well: the tuple's own waiting time."""
        own, opposite = (self.left, self.right) if side == "left" else (self.right, self.left)
        return _minus(ts, opposite), _plus(ts, own)


@dataclass(frozen=True, init=False)
class MixedWindow(Window):
    """One side by count, the other by time; the event times of both sides are needed.

    The later arrival decides, by the rule of the other one's side.

    >>> window = MixedWindow(left=CountWindow(1000), right=TimeWindow("1 hour", on="ts"))
    >>> for said in window.describe().split("; "):
    ...     print(said)
    the last 1,000 left tuples can be joined
    a right tuple can be joined for 1 hour of event time before the newcomer
    event time is left.ts and right.ts
    """

    left: CountWindow | TimeWindow
    right: CountWindow | TimeWindow
    on: tuple[str, str]
    lateness: int | None

    def __init__(self, *, left: CountWindow | TimeWindow, right: CountWindow | TimeWindow) -> None:
        for side, window in (("left", left), ("right", right)):
            if not isinstance(window, (CountWindow, TimeWindow)):
                raise ParameterError(f"{side} must be a CountWindow or a TimeWindow, not {window!r}")
            if window.left != window.right:
                raise ParameterError(f"{side} is one side's window, so it has one length, not two as in {window!r}")
            object.__setattr__(self, side, window)
        if type(left) is type(right):
            name = type(left).__name__
            raise ParameterError(f"two windows of one kind are no mixed window; use {name}(left=..., right=...)")
        timed = left if isinstance(left, TimeWindow) else right
        object.__setattr__(self, "on", timed.on)
        object.__setattr__(self, "lateness", timed.lateness)

    def __repr__(self) -> str:
        return f"MixedWindow(left={self.left!r}, right={self.right!r})"

    def extent(self, side: str) -> Extent:
        """Of that side's own window."""
        return self.left.extent("left") if side == "left" else self.right.extent("right")


@dataclass(frozen=True)
class BoundWindow:
    """A window whose event-time columns are known to exist and to be event times."""

    window: Window

    def time(self, side: str, batch: pa.RecordBatch) -> tuple[Array, Mask | None]:
        """Event times of a batch in microseconds since 1970, and where there is one (None: everywhere)."""
        if self.window.on is None:
            raise ParameterError("a count window has no event times; ask `window.timed` first")
        name = self.window.on[SIDES.index(side)]
        array = batch.column(name)
        column = Column(array, validity(array), f"{side}.{name}")
        if not pa.types.is_date(array.type):
            return microseconds(column), column.valid
        unit = 1 if pa.types.is_date32(array.type) else MICROS_PER_DAY // 1000
        raw = column.present(values(array, np.int32 if unit == 1 else np.int64)).astype(np.int64)
        factor = MICROS_PER_DAY if unit == 1 else 1000
        limit = _MICROS.max // factor
        far = "is too far for an event time (64-bit microseconds, about 292,000 years); make it NULL, or clamp it"
        column.refuse((raw > limit) | (raw < -limit), raw, far)
        return raw * factor, column.valid


def _both(both: Any, left: Any, right: Any, name: str, example: str) -> tuple[Any, Any]:
    """One value for both sides, or one for each."""
    if both is not None and (left is not None or right is not None):
        raise ParameterError(f"{name} takes one length for both sides, or left= and right=, not all of them")
    if both is None and (left is None or right is None):
        missing = "its length" if left is None and right is None else ("left=" if left is None else "right=")
        raise ParameterError(
            f"{name} needs {missing}; write {name}({example}) or {name}(left={example}, right={example})"
        )
    return (left, right) if both is None else (both, both)


def _count(given: Any) -> int:
    if isinstance(given, (bool, np.bool_)) or not hasattr(given, "__index__"):
        raise ParameterError(f"a count window is a whole number of tuples, not {given!r}")
    count = operator.index(given)
    if count == 0:
        raise ParameterError("a window of 0 tuples joins nothing; use at least 1")
    if not 0 < count <= MOST_TUPLES:
        raise ParameterError(f"a count window must be between 1 and 2^62 tuples, not {count}")
    return count


def _columns(on: Any) -> tuple[str, str]:
    if isinstance(on, str):
        return (on, on)
    if isinstance(on, (tuple, list)) and len(on) == 2 and all(isinstance(name, str) for name in on):
        return (on[0], on[1])
    wanted = "the event-time column, such as on='ts', or one for each side, on=('left_ts', 'right_ts')"
    if on is None:
        raise ParameterError(f"a time window needs {wanted}")
    raise ParameterError(f"on must be {wanted}, not {on!r}")


def _event_time(schema: pa.Schema, name: str, side: str) -> pa.DataType:
    if name not in schema.names:
        raise DataError(f"the {side} side has no event-time column {name!r}; {choices(name, schema.names)}")
    kind = schema.field(name).type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return kind
    how = "timestamp_micros(column) in SQL, column.cast(pyarrow.timestamp('us')) in Arrow"
    raise DataError(f"{side}.{name} is {kind}, but event time must be a timestamp or a date; convert it: {how}")


def _said(side: str, own: Extent, opposite: Extent) -> str:
    if own.by_time:
        bound = "after it" if opposite.by_time else "before the newcomer"
        return f"a {side} tuple can be joined for {own} of event time {bound}"
    return (
        f"the last {own.tuples:,} {side} tuples can be joined"
        if own.tuples != 1
        else f"the last {side} tuple can be joined"
    )


def _minus(ts: Array, micros: int) -> Array:
    """Ts - micros, stopping at the least int64."""
    return np.maximum(ts, _MICROS.min + micros) - micros


def _plus(ts: Array, micros: int) -> Array:
    """Ts + micros, stopping at the greatest int64."""
    return np.minimum(ts, _MICROS.max - micros) + micros
