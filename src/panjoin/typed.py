"""Values with Spark's types: columns, literals, sums and signs, compiled to run on whole columns.

    compile_value(left.x - 5)  ->  Typed(kind=double, run)      run({(side, name): Vector}) -> Vector

Operands are converted to the type that Spark's ANSI mode chooses (panjoin.kinds) before they meet, so float32 stays
float32 and a decimal beside a double rounds once. Invariant: a compiled value depends on its row alone, so it may be
run on any selection of rows.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from panjoin.errors import ConditionError
from panjoin.expression import MICROS_PER_DAY, Absolute, Column, Literal, Negative, Side, Sum, Value
from panjoin.kinds import (
    DATE,
    MICROS,
    SECONDS_PER_DAY,
    TIMESTAMP,
    Kind,
    common_kind,
    kind_of_literal,
    sum_kind,
)
from panjoin.vectors import INT64, Vector, absolute, doubles, float_sum, negative, plus, times
from panjoin.zones import Zone

Environment = Mapping[tuple[Side, str], Vector]
Run = Callable[[Environment], Vector]


class Typed(NamedTuple):
    """A compiled value."""

    kind: Kind
    run: Run


class Scope(NamedTuple):
    """What names mean: the kind of each column, and the session's time zone."""

    kinds: Mapping[Column, Kind]
    zone: Zone


def compile_value(value: Value, scope: Scope) -> Typed:
    """Type a value by Spark's rules; `ConditionError` when it has no type."""
    match value:
        case Column():
            key = (value.side, value.name)
            return Typed(scope.kinds[value], lambda environment: environment[key])
        case Literal():
            return _constant(value)
        case Negative(operand):
            return _signed(value, compile_value(operand, scope), negative)
        case Absolute(operand):
            return _signed(value, compile_value(operand, scope), absolute)
        case Sum():
            return _sum(value, compile_value(value.left, scope), compile_value(value.right, scope), scope)


def _constant(literal: Literal) -> Typed:
    kind = kind_of_literal(literal)
    vector = Vector(literal.value)
    if kind.exact:
        number = literal.value
        if isinstance(number, Decimal):  # scaleb rounds to 28 digits
            number = int(Fraction(number) * 10**kind.scale)
        assert isinstance(number, int)
        held = np.array(number, np.int64 if INT64[0] <= number <= INT64[1] else object)
        vector = Vector(held, None, (number, number))
    elif kind.floating:
        assert isinstance(literal.value, float)
        vector = Vector(np.float32(literal.value) if kind.family == "float" else np.float64(literal.value))
    elif kind.family == "boolean":
        vector = Vector(np.bool_(literal.value))
    elif kind.family == "null":
        vector = Vector(np.int64(0), np.bool_(False))
    return Typed(kind, lambda _: vector)


def _signed(value: Value, operand: Typed, function: Callable[[Vector, bool], Vector]) -> Typed:
    kind = operand.kind
    if not (kind.numeric or kind.family in ("interval", "null")):
        raise ConditionError(f"cannot take {str(value)!r} of a {kind}; only numbers and intervals have a sign")
    return Typed(kind, lambda environment: function(operand.run(environment), kind.exact))


def _sum(value: Sum, left: Typed, right: Typed, scope: Scope) -> Typed:
    kind = sum_kind(left.kind, value.operator, right.kind)
    if isinstance(kind, str):
        raise ConditionError(f"cannot compute {str(value)!r}: {kind}")
    _refuse_moving_zone(value, left, right, kind, scope)
    if kind.floating:
        one, other = converted(left, kind, scope), converted(right, kind, scope)
        function = python.add if value.operator == "+" else python.sub
        return Typed(kind, lambda environment: float_sum(function, one.run(environment), other.run(environment)))
    one, other = _addends(left, right, kind, scope)
    operator = value.operator
    added = Typed(kind, lambda environment: plus(one.run(environment), other.run(environment), operator))
    if {left.kind.family, right.kind.family} == {"date"}:  # a difference of dates: days, wanted in microseconds
        return Typed(kind, lambda environment: times(added.run(environment), MICROS_PER_DAY))
    return added


def _addends(left: Typed, right: Typed, kind: Kind, scope: Scope) -> tuple[Typed, Typed]:
    """Both operands of an exact sum in one unit."""
    if kind == DATE:
        return _in_days(left), _in_days(right)
    if kind == TIMESTAMP and "date" in (left.kind.family, right.kind.family):  # INTERVAL '24' HOUR is no whole day
        one, other = (converted(each, kind, scope) if each.kind == DATE else each for each in (left, right))
        return one, other
    families = {left.kind.family, right.kind.family}
    if kind.family == "interval" and families not in ({"interval"}, {"date"}):
        meeting = common_kind(left.kind, right.kind)  # a difference of times
        assert meeting is not None
        return converted(left, meeting, scope), converted(right, meeting, scope)
    return at_scale(left, kind.scale), at_scale(right, kind.scale)


def _in_days(typed: Typed) -> Typed:
    if typed.kind.family != "interval":
        return typed
    return Typed(DATE, lambda environment: _whole_days(typed.run(environment)))


def _whole_days(vector: Vector) -> Vector:
    low, high = vector.span
    return Vector(vector.values // MICROS_PER_DAY, vector.valid, (low // MICROS_PER_DAY, high // MICROS_PER_DAY))


def at_scale(typed: Typed, scale: int) -> Typed:
    """An exact value in units of 10^-scale."""
    if typed.kind.family == "date" or typed.kind.scale == scale:
        return typed
    factor = 10 ** (scale - typed.kind.scale)
    return Typed(typed.kind._replace(scale=scale), lambda environment: times(typed.run(environment), factor))


def _refuse_moving_zone(value: Sum, left: Typed, right: Typed, kind: Kind, scope: Scope) -> None:
    """Where clocks change, Spark's timestamp differences and whole days follow local time, not elapsed time."""
    families = (left.kind.family, right.kind.family)
    if scope.zone.fixed:
        return
    if "date" in families and kind == TIMESTAMP:
        raise ConditionError(
            f"{str(value)!r} counts from local midnight of {scope.zone.name}, where clocks change; set "
            "spark.sql.session.timeZone to UTC, or add whole days to a date, such as INTERVAL '1' DAY"
        )
    if "timestamp" not in families:
        return
    literal = value.right if isinstance(value.right, Literal) else value.left
    short = isinstance(literal, Literal) and abs(int(literal.value or 0)) < MICROS_PER_DAY
    if not short:
        raise ConditionError(
            f"{str(value)!r} follows the local clock of {scope.zone.name}, where days differ in length; set "
            "spark.sql.session.timeZone to UTC, use timestamp_ntz columns, or add an INTERVAL below one day to a column"
        )


def converted(typed: Typed, kind: Kind, scope: Scope) -> Typed:
    """A value as the common kind of a comparison or sum."""
    source = typed.kind
    if source.family == "null" or (source.family == kind.family and source.scale == kind.scale):
        return typed
    if kind.floating:
        dtype = np.float32 if kind.family == "float" else np.float64
        if source.floating:
            return Typed(kind, lambda environment: _cast(typed.run(environment), dtype))
        return Typed(kind, lambda environment: _as_double(typed.run(environment), source.scale))
    if kind.family in ("timestamp", "timestamp_ntz"):
        return _as_time(typed, kind, scope)
    return at_scale(typed, kind.scale)


def _cast(vector: Vector, dtype: Any) -> Vector:
    return vector._replace(values=vector.values.astype(dtype))


def _as_double(vector: Vector, scale: int) -> Vector:
    return Vector(doubles(vector.values, scale), vector.valid)


def _as_time(typed: Typed, kind: Kind, scope: Scope) -> Typed:
    """Dates and local times as instants of the session's zone, and dates as local midnight."""
    factor = SECONDS_PER_DAY * 10**MICROS if typed.kind.family == "date" else 1
    shift = 0
    if kind == TIMESTAMP:
        if not scope.zone.fixed:
            raise ConditionError(
                f"a {typed.kind} beside a timestamp means local time of {scope.zone.name}, where clocks change; "
                "set spark.sql.session.timeZone to UTC, or give both columns one type"
            )
        shift = scope.zone.offset_micros
    offset = Vector(np.array(shift, np.int64), None, (shift, shift))
    return Typed(kind, lambda environment: plus(times(typed.run(environment), factor), offset, "-"))
