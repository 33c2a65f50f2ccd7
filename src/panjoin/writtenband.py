"""Edges of a band that floats take part in: the comparison as written decides.

    left.x - right.x >= 2.5, probed by left.x = 4.0            (a lower bound on l - r: an upper bound on r)

    keys of right.x   -inf | -MAX ......... 1.4999.. 1.5 | 1.5000..2 ........ MAX | inf  NaN
    comparison          T  |   T  T  T  T  T   T      T  |    F  F  F  F  F    F  |  F    T
                       (1) |                      edge --'                        | (1)  (1)

Rounding is monotone, so over the finite keys a comparison is true on one side of one edge. The edge is guessed by
inverting the offset and then searched with the written comparison (panjoin.keysearch): about 20 ns per comparison and
tuple. Where the other side's column stands alone (`left.x >= right.x - 5` probed from the right) and the comparison is
in its own type, nothing is searched: the edge is the key of the other operand (5 ns), and keys order NaN as Spark does.

(1) -inf, inf and NaN are tried one by one: inf - inf is NaN, which is greater than everything, so no order can be
relied on there. Finite operands that overflow on the way keep the order: what should be infinite becomes NaN at most
beyond the point where it was infinite already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from panjoin.binding import BoundCondition
from panjoin.columns import Array
from panjoin.evaluate import RunTruth, meeting_kind
from panjoin.expression import Column, Comparison, Operator, Side
from panjoin.keycodec import KeyCodec
from panjoin.keysearch import first_true
from panjoin.kinds import Kind
from panjoin.normal import Band, Interval, band_of
from panjoin.typed import Run, Scope, compile_value, converted
from panjoin.vectors import Vector, doubles, span_of, vector_of

_INT64 = np.iinfo(np.int64)

Span = tuple[Array, Array]


class _Direct(NamedTuple):
    """A comparison `column operator value`, in the column's own type: the edge is the key of the value."""

    operator: Operator
    run: Run


class _Test(NamedTuple):
    """One comparison: is it a lower bound on l - r, by how much, and how it is evaluated."""

    lower: bool
    offset: float
    run: RunTruth
    direct: Mapping[Side, _Direct]  #: for the sides whose column stands alone


_OTHER: Mapping[Side, Side] = {"left": "right", "right": "left"}


class WrittenBand:
    """Edges found by trying the written comparisons."""

    def __init__(
        self, band: Band, kinds: Mapping[Side, Kind], codecs: Mapping[Side, KeyCodec], bound: BoundCondition
    ) -> None:
        self.names: dict[Side, str] = {"left": band.left, "right": band.right}
        self.kinds, self.codecs = kinds, codecs
        self.intervals = [_tests(part, bound) for part in band.intervals]

    def spans(self, side: Side, array: Any) -> list[Span]:
        """The intervals in the opposite side's keys; empty where low > high."""
        other = _OTHER[side]
        probe = vector_of(array, self.kinds[side])
        kind, target = self.kinds[other], self.codecs[other]
        first, last = target.lowest, target.highest
        if kind.floating:
            limit = np.finfo(target.physical).max
            first, last = (int(key) for key in target.keys_of(np.array([-limit, limit], target.physical)))
        if kind.floating and all(other in test.direct for tests in self.intervals for test in tests):
            ordered = self.intervals if side == "right" else reversed(self.intervals)
            return [self._direct(side, probe, [test.direct[other] for test in tests]) for tests in ordered]
        spans = [
            self._finite(side, probe, tests, first, last, np.asarray(doubles_of(probe, self.kinds[side])))
            for tests in (self.intervals if side == "right" else reversed(self.intervals))
        ]
        return self._with_specials(side, probe, spans, first, last) if kind.floating else spans

    def _direct(self, side: Side, probe: Vector, tests: list[_Direct]) -> Span:
        """The interval between the keys of the operands."""
        target, environment = self.codecs[_OTHER[side]], {(side, self.names[side]): probe}
        low: Any = np.full(len(probe.values), target.lowest, np.int64)
        high: Any = np.full(len(probe.values), target.highest, np.int64)
        for test in tests:
            edge = target.keys_of(np.asarray(test.run(environment).values)).astype(np.int64, copy=False)
            if test.operator in (">", ">="):
                low = np.maximum(low, edge + (test.operator == ">"))
            else:
                high = np.minimum(high, edge - (test.operator == "<"))
        return low, high

    def _finite(self, side: Side, probe: Vector, tests: list[_Test], first: int, last: int, numbers: Array) -> Span:
        """The interval among the finite keys [first, last]."""
        count = len(numbers)
        low, high = np.full(count, first, np.int64), np.full(count, last, np.int64)
        alive = np.ones(count, np.bool_)
        for test in tests:
            rising = test.lower == (side == "right")  # true for great keys, so that it bounds them from below
            guess = self._guess(side, numbers, test)
            edge, some = first_true(self._trial(side, probe, test.run, negate=not rising), guess, first, last)
            if rising:
                low = np.maximum(low, edge)
                alive &= some
            else:  # `edge` is the first key where the comparison fails
                alive &= ~(some & (edge == first))
                high = np.minimum(high, np.where(some & (edge > first), edge - (edge > first), last))
        return np.where(alive, low, _INT64.max), np.where(alive, high, _INT64.min)

    def _guess(self, side: Side, numbers: Array, test: _Test) -> Array:
        """A key near the edge: the offset inverted in float64."""
        kind, target = self.kinds[_OTHER[side]], self.codecs[_OTHER[side]]
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
        other = _OTHER[side]
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
        target = self.codecs[_OTHER[side]]
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
        keys = np.array([key], np.int64)  # one key beside every row
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
            direct = dict(_directly(comparison, bound.scope))
            tests.append(_Test(ray.low is not None, float(end.offset), bound.compile(comparison), direct))
    return tests


_MIRRORED: Mapping[str, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _directly(comparison: Comparison, scope: Scope) -> Iterator[tuple[Side, _Direct]]:
    """For each side whose column is one of the operands, in the type of the comparison: the other operand."""
    operands = (
        (comparison.left, comparison.operator, comparison.right),
        (comparison.right, _MIRRORED[comparison.operator], comparison.left),
    )
    for column, operator, value in operands:
        if isinstance(column, Column):
            kind, typed = scope.kinds[column], compile_value(value, scope)
            if meeting_kind(comparison, scope) == kind:
                yield column.side, _Direct(operator, converted(typed, kind, scope).run)


def _both_ways(written: Comparison) -> tuple[Comparison, Comparison]:
    return replace(written, operator=">="), replace(written, operator="<=")
