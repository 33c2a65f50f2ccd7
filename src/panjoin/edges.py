"""Where a band begins and ends in the other side's keys, exactly, for every mixture of types.

One probing tuple, the written comparison, and the keys of the other side in their order:

    left.x - right.x >= 2.5, probed by left.x = 4.0            (a lower bound on l - r: an upper bound on r)

    keys of right.x   -inf | -MAX ......... 1.4999.. 1.5 | 1.5000..2 ........ MAX | inf  NaN
    comparison          T  |   T  T  T  T  T   T      T  |    F  F  F  F  F    F  |  F    T
                       (1) |                      edge ─┘                         | (1)  (1)

Two ways, both exact:

- *Whole numbers* (integers, decimals, dates, times on both sides): a*l - b*r in [low, high] is solved by division, past
  64 bits where it must be; "past the end of the type" means "no bound", or nothing at all.
- *Floats*: the comparison as written decides. Rounding is monotone, so over the finite keys it is true on one side of
  one edge. The edge is guessed by inverting the offset (right, or one off, nearly always), the two neighbours are
  tried, and where that fails a galloping and bisecting search over the key space finds it (at most 64 + 64 trials).
  (1) -inf, inf and NaN are tried one by one: inf - inf is NaN, which is greater than everything.

Invariant: a key of the other side lies in one of the intervals exactly when the comparisons hold for its value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, gcd
from typing import Any, NamedTuple

import numpy as np

from panjoin.binding import BoundCondition
from panjoin.columns import Array
from panjoin.evaluate import RunTruth, Vector, doubles, span_of, vector_of
from panjoin.expression import MICROS_PER_DAY, Comparison, Side, literals
from panjoin.keycodec import KeyCodec
from panjoin.keys import codec
from panjoin.kinds import MICROS, Kind
from panjoin.normal import Band, Interval, band_of

_INT64 = np.iinfo(np.int64)

#: Inclusive intervals of keys, one per probing tuple; empty where low > high.
Span = tuple[Array, Array]


class Edges:
    """The intervals of a band, seen from either side."""

    def __init__(self, bound: BoundCondition, band: Band) -> None:
        self.band = band
        self.names: dict[Side, str] = {"left": band.left, "right": band.right}
        self.kinds: dict[Side, Kind] = {side: bound.kind(side, name) for side, name in self.names.items()}
        self.codecs: dict[Side, KeyCodec] = {
            side: codec(bound.type_of(side, name)) for side, name in self.names.items()
        }
        whole = all(kind.exact or kind.family == "boolean" for kind in self.kinds.values()) and not any(
            literal.kind in ("double", "float") for literal in literals(band.expression)
        )
        self.whole = _WholeBand(self, bound) if whole else None
        self.written = None if whole else _WrittenBand(self, bound)

    def spans(self, side: Side, array: Any, keys: Array) -> list[Span]:
        """The intervals in the opposite side's key space for the tuples of `side`, whose keys are `keys` (no NULLs)."""
        spans = self.whole.spans(side, keys) if self.whole is not None else []
        if self.written is not None:
            spans = self.written.spans(side, array)
        return spans


def opposite(side: Side) -> Side:
    """The other side."""
    return "right" if side == "left" else "left"


# ---- whole numbers ----


class _WholeBand:
    """a*l - b*r in one of a few disjoint intervals of whole numbers, where l and r are the keys themselves."""

    def __init__(self, edges: Edges, bound: BoundCondition) -> None:
        self.codecs = edges.codecs
        kinds = edges.kinds
        times = any(kind.family in ("timestamp", "timestamp_ntz", "interval") for kind in kinds.values())
        scale = MICROS if times else max(kind.scale for kind in kinds.values())
        factors = {side: _units_per_key(kind, scale, days=not times) for side, kind in kinds.items()}
        unit = _units_of_offset(edges.band.unit, scale, times=times)
        shift = _zone_shift(kinds, bound)
        common = gcd(factors["left"], factors["right"])
        self.factors = {side: factor // common for side, factor in factors.items()}
        self.intervals = merged(_whole_interval(part, unit, shift, common) for part in edges.band.intervals)

    def spans(self, side: Side, keys: Array) -> list[Span]:
        other = opposite(side)
        target = self.codecs[other]
        spans = []
        for low, high in self.intervals if side == "right" else reversed(self.intervals):  # ascending for the target
            # From the right, l runs from (low + b*r) / a; from the left, r runs from (a*l - high) / b.
            first, last = (low, high) if side == "right" else (_minus(high), _minus(low))
            spans.append(self._span(side, keys, first, last, target))
        return spans

    def _span(self, side: Side, keys: Array, first: int | None, last: int | None, target: KeyCodec) -> Span:
        mine, theirs = self.factors[side], self.factors[opposite(side)]
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


def _zone_shift(kinds: dict[Side, Kind], bound: BoundCondition) -> int:
    """What to add to a*l - b*r because a date or local time on one side means an instant of the session's zone."""
    if "timestamp" not in (kinds["left"].family, kinds["right"].family):
        return 0
    local = {side: kind.family in ("date", "timestamp_ntz") for side, kind in kinds.items()}
    return bound.scope.zone.offset_micros * (int(local["right"]) - int(local["left"]))


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


# ---- floats: the comparison as written ----


class _Test(NamedTuple):
    """One comparison: is it a lower bound on l - r, by how much, and how it is evaluated."""

    lower: bool
    offset: float
    run: RunTruth


class _WrittenBand:
    """Edges found by trying the written comparisons."""

    def __init__(self, edges: Edges, bound: BoundCondition) -> None:
        self.names, self.kinds, self.codecs = edges.names, edges.kinds, edges.codecs
        self.intervals = [_tests(part, bound) for part in edges.band.intervals]

    def spans(self, side: Side, array: Any) -> list[Span]:
        other = opposite(side)
        probe = vector_of(array, self.kinds[side])
        kind, target = self.kinds[other], self.codecs[other]
        first, last = target.lowest, target.highest
        if kind.floating:
            limit = np.finfo(target.physical).max
            first, last = (int(key) for key in target.keys_of(np.array([-limit, limit], target.physical)))
        spans = [
            self._finite(side, probe, tests, first, last, np.asarray(doubles_of(probe, self.kinds[side])))
            for tests in (self.intervals if side == "right" else reversed(self.intervals))
        ]
        return self._with_specials(side, probe, spans, first, last) if kind.floating else spans

    def _finite(self, side: Side, probe: Vector, tests: list[_Test], first: int, last: int, numbers: Array) -> Span:
        """The interval among the finite keys [first, last]."""
        count = len(numbers)
        low, high = np.full(count, first, np.int64), np.full(count, last, np.int64)
        alive = np.ones(count, np.bool_)
        for test in tests:
            rising = test.lower == (side == "right")  # true for great keys, so that it bounds them from below
            guess = self._guess(side, numbers, test)
            edge, some = _first_true(self._trial(side, probe, test.run, negate=not rising), guess, first, last)
            if rising:
                low = np.maximum(low, edge)
                alive &= some
            else:  # `edge` is the first key where the comparison fails
                alive &= ~(some & (edge == first))
                high = np.minimum(high, np.where(some & (edge > first), edge - (edge > first), last))
        return np.where(alive, low, _INT64.max), np.where(alive, high, _INT64.min)

    def _guess(self, side: Side, numbers: Array, test: _Test) -> Array:
        """A key near the edge: the offset inverted in float64."""
        kind, target = self.kinds[opposite(side)], self.codecs[opposite(side)]
        with np.errstate(all="ignore"):
            values = numbers + (test.offset if side == "right" else -test.offset)
            guess: Array
            if kind.floating:
                guess = target.keys_of(values.astype(target.physical)).astype(np.int64)
                return guess
            scaled = np.nan_to_num(np.rint(values * 10.0**kind.scale), nan=0.0)
        keys = np.clip(scaled, -(2.0**63), 2.0**63 - 1024).astype(np.int64)
        guess = np.clip(keys, target.lowest, target.highest)
        return guess

    def _trial(self, side: Side, probe: Vector, run: RunTruth, *, negate: bool) -> Callable[[Array, Any], Array]:
        """Does the comparison hold (fail) for the rows `at` (None: all) and these keys of the other side?"""
        other = opposite(side)
        kind, target = self.kinds[other], self.codecs[other]
        mine, theirs = (side, self.names[side]), (other, self.names[other])

        def trial(keys: Array, at: Any) -> Array:
            tried = target.decode(keys.astype(target.dtype, copy=False))
            held = tried.astype(np.int64) if kind.exact else tried
            rows = probe if at is None else probe._replace(values=probe.values[at])
            opponent = Vector(held, None, span_of(held) if kind.exact else (0, 0))
            true: Array = run({mine: rows._replace(valid=None), theirs: opponent}).true
            return ~true if negate else true

        return trial

    def _with_specials(self, side: Side, probe: Vector, spans: list[Span], first: int, last: int) -> list[Span]:
        """Add -inf, inf and NaN where they match: to an interval that reaches them, else as intervals of their own."""
        target = self.codecs[opposite(side)]
        values = np.array([-np.inf, np.inf, np.nan], target.physical)
        below, above, nan = (int(key) for key in target.keys_of(values))
        alone = []
        for key, at_end, reach in ((below, 0, first), (above, 1, last), (nan, 1, above)):
            holds = self._special(side, probe, key)
            if not holds.any():
                continue
            for span in spans:
                grows = holds & (span[at_end] == reach) & (span[0] <= span[1])
                span[at_end][grows] = key
                holds &= ~grows
            if holds.any():
                span = (np.where(holds, key, _INT64.max), np.where(holds, key, _INT64.min))
                alone.append((key == below, span))
                spans = [span, *spans] if key == below else [*spans, span]
        return spans

    def _special(self, side: Side, probe: Vector, key: int) -> Array:
        count = len(probe.values)
        holds = np.zeros(count, np.bool_)
        keys = np.full(count, key, np.int64)
        for tests in self.intervals:
            every = np.ones(count, np.bool_)
            for test in tests:
                every &= self._trial(side, probe, test.run, negate=False)(keys, None)
            holds |= every
        return holds


def doubles_of(vector: Vector, kind: Kind) -> Array:
    """Any numeric vector as float64."""
    return doubles(vector.values, kind.scale) if kind.exact else np.asarray(vector.values, np.float64)


def _tests(part: Interval, bound: BoundCondition) -> list[_Test]:
    """The comparisons of an interval; `=` is <= and >=, which it is in a total order."""
    tests = []
    for written in part.comparisons:
        split = (written,) if written.operator != "=" else _both_ways(written)
        for comparison in split:
            band = band_of(comparison)
            assert band is not None
            ray = band.intervals[0]
            end = ray.low or ray.high
            assert end is not None
            tests.append(_Test(ray.low is not None, float(end.offset), bound.compile(comparison)))
    return tests


def _both_ways(written: Comparison) -> tuple[Comparison, Comparison]:
    return replace(written, operator=">="), replace(written, operator="<=")


def _first_true(trial: Callable[[Array, Any], Array], guess: Array, first: int, last: int) -> tuple[Array, Array]:
    """For each row the first key of [first, last] where the monotone trial holds, and whether there is one."""
    some = trial(np.full(len(guess), last, np.int64), None)
    key = np.clip(guess, first, last)
    here = trial(key, None)
    # The neighbour: below where the trial holds (is it the first?), above where it does not.
    beside = np.where(here, np.maximum(key, first + 1) - 1, np.minimum(key, last - 1) + 1)
    there = trial(beside, None)
    answer = np.where(here, key, beside)
    answer = np.where(here & (key == first), first, answer)
    open_rows = np.flatnonzero(some & (here == there) & ~(here & (key == first)))
    if len(open_rows):
        answer[open_rows] = _searched(trial, open_rows, key[open_rows], here[open_rows], first, last)
    return answer, some


def _searched(
    trial: Callable[[Array, Any], Array], rows: Array, key: Array, here: Array, first: int, last: int
) -> Array:
    """Gallop away from the key until the trial turns, then bisect. The trial holds at `last` for all these rows."""
    low = np.where(here, np.int64(first), key)  # the answer lies in [low, high]
    high = np.where(here, key, np.int64(last))
    going = np.arange(len(rows))
    step = np.uint64(2)
    while len(going) and step:
        down = here[going]
        room = high[going].view(np.uint64) - low[going].view(np.uint64)
        stride = np.minimum(step, room)
        tried = np.where(
            down,
            (high[going].view(np.uint64) - stride).view(np.int64),
            (low[going].view(np.uint64) + stride).view(np.int64),
        )
        holds = trial(tried, rows[going])
        high[going] = np.where(holds, tried, high[going])
        low[going] = np.where(holds, low[going], np.minimum(tried, last - 1) + 1)
        going = going[(holds == down) & (stride < room)]
        step = step << np.uint64(1)
    going = np.flatnonzero(low < high)
    while len(going):
        half = (high[going].view(np.uint64) - low[going].view(np.uint64)) >> np.uint64(1)
        middle = (low[going].view(np.uint64) + half).view(np.int64)
        holds = trial(middle, rows[going])
        high[going] = np.where(holds, middle, high[going])
        low[going] = np.where(holds, low[going], middle + 1)
        going = going[low[going] < high[going]]
    return high
