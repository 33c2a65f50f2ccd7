"""Edges of a band between whole numbers: integers, decimals, dates, times and intervals on both sides.

    left.d decimal(9,2) BETWEEN right.i - 1 AND right.i      keys are unscaled: 1.50 is 150
    l - 100 * r in [-100, 0]                                  so, for a right tuple with r = 7:  l in [600, 700]

a*l - b*r in [low, high] is solved for either side by multiplication and division rounded inwards, in 64 bits where
they suffice and in Python's integers where they do not. An end past the end of the type is no bound, or leaves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor, gcd
from typing import Any

import numpy as np

from panjoin.columns import Array
from panjoin.expression import MICROS_PER_DAY, Side
from panjoin.keycodec import KeyCodec
from panjoin.kinds import MICROS, Kind
from panjoin.normal import Band, Interval
from panjoin.vectors import span_of

_INT64 = np.iinfo(np.int64)
_OTHER: Mapping[Side, Side] = {"left": "right", "right": "left"}

Span = tuple[Array, Array]


class WholeBand:
    """a*l - b*r in one of a few disjoint intervals of whole numbers, where l and r are the keys themselves."""

    def __init__(
        self, band: Band, kinds: Mapping[Side, Kind], codecs: Mapping[Side, KeyCodec], zone_offset: int
    ) -> None:
        self.codecs = codecs
        times = any(kind.family in ("timestamp", "timestamp_ntz", "interval") for kind in kinds.values())
        scale = MICROS if times else max(kind.scale for kind in kinds.values())
        factors = {side: _units_per_key(kind, scale, days=not times) for side, kind in kinds.items()}
        unit = _units_of_offset(band.unit, scale, times=times)
        shift = zone_offset * (_is_local(kinds, "right") - _is_local(kinds, "left"))
        common = gcd(factors["left"], factors["right"])
        self.factors = {side: factor // common for side, factor in factors.items()}
        self.intervals = merged(_whole_interval(part, unit, shift, common) for part in band.intervals)

    def spans(self, side: Side, keys: Array) -> list[Span]:
        """The intervals in the opposite side's keys; empty where low > high."""
        other = _OTHER[side]
        target = self.codecs[other]
        spans = []
        for low, high in self.intervals if side == "right" else reversed(self.intervals):  # ascending for the target
            # From the right, l runs from (low + b*r) / a; from the left, r runs from (a*l - high) / b.
            first, last = (low, high) if side == "right" else (_minus(high), _minus(low))
            spans.append(self._span(side, keys, first, last, target))
        return spans

    def _span(self, side: Side, keys: Array, first: int | None, last: int | None, target: KeyCodec) -> Span:
        mine, theirs = self.factors[side], self.factors[_OTHER[side]]
        extremes = span_of(keys)
        low, past = _solved(keys, extremes, mine, first, theirs, target, upper=False)
        high, before = _solved(keys, extremes, mine, last, theirs, target, upper=True)
        if past is None and before is None:
            return low, high
        empty = _either(past, before)
        return np.where(empty, _INT64.max, low), np.where(empty, _INT64.min, high)


def _units_of_offset(unit: str, scale: int, *, times: bool) -> Fraction:
    """How many units one step of an offset is. Numbers beside times are days: Spark adds them to dates alone."""
    if times:
        return Fraction(1 if unit == "interval" else MICROS_PER_DAY)
    return Fraction(1, MICROS_PER_DAY) if unit == "interval" else Fraction(10**scale)


def _units_per_key(kind: Kind, scale: int, *, days: bool) -> int:
    """How many units of 10^-scale one step of the key is; days count as 1 beside days."""
    if kind.family == "date":
        return 1 if days else MICROS_PER_DAY
    return 1 if kind.family in ("boolean", "interval") else int(10 ** (scale - kind.scale))


def _is_local(kinds: Mapping[Side, Kind], side: Side) -> int:
    """1 where a date or local time meets a timestamp, and so means an instant of the session's zone."""
    local = kinds[side].family in ("date", "timestamp_ntz")
    return int(local and any(kind.family == "timestamp" for kind in kinds.values()))


def _whole_interval(part: Interval, unit: Fraction, shift: int, common: int) -> tuple[int | None, int | None]:
    """The whole numbers n = (a*l - b*r) / common of an interval: its ends made closed and whole."""
    low = high = None
    if part.low is not None:
        edge = (part.low.offset * unit - shift) / common
        low = ceil(edge) if part.low.closed else floor(edge) + 1
    if part.high is not None:
        edge = (part.high.offset * unit - shift) / common
        high = floor(edge) if part.high.closed else ceil(edge) - 1
    return low, high


def merged(intervals: Any) -> list[tuple[int | None, int | None]]:
    """A union of intervals of whole numbers (None: no bound) as disjoint ones that do not even touch, ascending."""
    alive = [(low, high) for low, high in intervals if low is None or high is None or low <= high]
    result: list[tuple[int | None, int | None]] = []
    for low, high in sorted(alive, key=lambda ends: (ends[0] is not None, ends[0] or 0)):
        before = result[-1][1] if result else None
        if result and (before is None or low is None or low <= before + 1):
            result[-1] = (result[-1][0], None if before is None or high is None else max(before, high))
        else:
            result.append((low, high))
    return result


def _minus(end: int | None) -> int | None:
    return None if end is None else -end


def _solved(
    keys: Array,
    extremes: tuple[int, int],
    factor: int,
    offset: int | None,
    divisor: int,
    target: KeyCodec,
    *,
    upper: bool,
) -> tuple[Array, Array | None]:
    """The end (factor * key + offset) / divisor, rounded inwards; and where it is past all keys."""
    lowest, highest = target.lowest, target.highest
    if offset is None:
        return np.full(
            len(keys), highest if upper else lowest, keys.dtype if highest <= _limit(keys) else np.int64
        ), None
    smallest, greatest = factor * extremes[0] + offset, factor * extremes[1] + offset
    if factor == divisor == 1 and lowest <= smallest and greatest <= highest:
        return _shifted(keys, offset, smallest, greatest), None  # nothing to clip: the hot path, one addition per key
    steps = (factor * extremes[0], factor * extremes[1], offset, smallest, greatest)
    held = np.int64 if _INT64.min < min(steps) and max(steps) <= _INT64.max else object
    numbers = keys.astype(held) * factor + offset
    if divisor != 1:
        numbers = numbers // divisor if upper else -(-numbers // divisor)
    beyond = numbers < lowest if upper else numbers > highest
    inside = np.minimum(np.maximum(numbers, lowest), highest).astype(np.int64)
    return inside, beyond if beyond.any() else None


def _shifted(keys: Array, offset: int, smallest: int, greatest: int) -> Array:
    """Keys + offset, in the keys' own type where it holds the result."""
    if -_limit(keys) <= min(smallest, offset) and max(greatest, offset) <= _limit(keys):
        shifted: Array = keys + keys.dtype.type(offset)
        return shifted
    if abs(offset) <= _INT64.max:
        return keys.astype(np.int64) + np.int64(offset)
    return (keys.astype(object) + offset).astype(np.int64)


def _limit(keys: Array) -> int:
    return int(np.iinfo(keys.dtype).max)


def _either(one: Array | None, other: Array | None) -> Array:
    if one is None or other is None:
        only = other if one is None else one
        assert only is not None
        return only
    either: Array = one | other
    return either
