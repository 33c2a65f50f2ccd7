"""Typed expressions over whole columns, with Spark's values: what decides whether a candidate pair matches.

    compile_condition(left.x - right.x <= 5 ...) ─→ run({(side, name): Vector}) ─→ Truth(true, false)

Three-valued logic travels as two masks (neither set: NULL), so AND and OR are two numpy operations, and NOT swaps.
Whole numbers, decimals, dates, times and intervals are mathematical whole numbers: every Vector knows its span, and
when the span of a result leaves 64 bits, the arithmetic goes on in Python's own integers. (That is rare and slower;
it is never wrong.) Floats are IEEE in the width that Spark uses; NaN equals NaN and is greater than everything else.

Invariant: a compiled node's result depends on its row alone, so it may be run on any selection of rows.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panjoin.columns import Array, microseconds, validity, values
from panjoin.columns import Column as ArrowColumn
from panjoin.errors import ConditionError
from panjoin.expression import (
    MICROS_PER_DAY,
    Absolute,
    And,
    Column,
    Comparison,
    Expression,
    IsNull,
    Literal,
    Negative,
    Not,
    Or,
    Side,
    Sum,
    Value,
)
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
from panjoin.zones import Zone

Mask = np.ndarray[Any, np.dtype[np.bool_]]

_INT64 = (-(2**63), 2**63 - 1)
_EXACT_IN_DOUBLE = 2**53


class Vector(NamedTuple):
    """Values of one column or sub-expression; `valid` is None when none is NULL, `span` holds all exact values."""

    values: Any
    valid: Any = None
    span: tuple[int, int] = (0, 0)


class Truth(NamedTuple):
    """Where a condition is TRUE and where FALSE; elsewhere it is NULL."""

    true: Any
    false: Any


Environment = Mapping[tuple[Side, str], Vector]
Run = Callable[[Environment], Vector]
RunTruth = Callable[[Environment], Truth]


class Typed(NamedTuple):
    """A compiled value."""

    kind: Kind
    run: Run


class Scope(NamedTuple):
    """What names mean: the kind of each column, and the session's time zone."""

    kinds: Mapping[Column, Kind]
    zone: Zone


def vector_of(array: Any, kind: Kind) -> Vector:
    """An Arrow column as a Vector."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    valid = validity(array)
    if kind.exact:
        numbers = _whole_numbers(ArrowColumn(array, valid))
        return Vector(numbers, valid, span_of(numbers))
    if kind.floating or kind.family == "boolean":
        if kind.family == "boolean":
            return Vector(np.asarray(array.fill_null(False).to_numpy(zero_copy_only=False), np.bool_), valid)
        return Vector(values(array, np.float32 if kind.family == "float" else np.float64), valid)
    wide = {"string": pa.large_string(), "binary": pa.large_binary()}.get(kind.family)
    return Vector(array if wide is None else array.cast(wide), valid)


def span_of(numbers: Array) -> tuple[int, int]:
    """Smallest and greatest of exact values."""
    return (int(numbers.min()), int(numbers.max())) if numbers.size else (0, 0)


def _whole_numbers(column: ArrowColumn) -> Array:
    """Days, microseconds, unscaled decimals or the numbers themselves, zeros under the NULLs."""
    kind = column.array.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return column.present(microseconds(column))
    if pa.types.is_date64(kind):
        return column.present(values(column.array.cast(pa.date32()), np.int32)).astype(np.int64)
    if pa.types.is_decimal(kind):
        return _unscaled(column)
    dtype = np.int32 if pa.types.is_date32(kind) else np.dtype(kind.to_pandas_dtype())
    return column.present(values(column.array, dtype)).astype(np.int64, copy=False)


def _unscaled(column: ArrowColumn) -> Array:
    kind = column.array.type
    if kind.bit_width < 128:
        return column.present(values(column.array, np.int32 if kind.bit_width == 32 else np.int64)).astype(np.int64)
    words = values(column.array, "V16").view(np.int64)
    low, high = column.present(words[::2]), column.present(words[1::2])
    if np.array_equal(high, low >> 63):
        return low
    whole: Array = high.astype(object) * 2**64 + low.view(np.uint64).astype(object)
    return whole


# ---- exact arithmetic ----


def _held(numbers: Any, span: tuple[int, int]) -> Any:
    """The numbers in a type that holds the span: int64, or Python's integers."""
    within = _INT64[0] <= span[0] and span[1] <= _INT64[1]
    if within and not isinstance(numbers, int):  # arithmetic on a scalar object array gives a Python integer
        return numbers
    return np.asarray(numbers).astype(object)


def _times(vector: Vector, factor: int) -> Vector:
    if factor == 1:
        return vector
    span = (vector.span[0] * factor, vector.span[1] * factor)
    return Vector(_held(vector.values, span) * factor, vector.valid, span)


def _plus(one: Vector, other: Vector, operator: str) -> Vector:
    low, high = other.span if operator == "+" else (-other.span[1], -other.span[0])
    span = (one.span[0] + low, one.span[1] + high)
    function = python.add if operator == "+" else python.sub
    return Vector(function(_held(one.values, span), _held(other.values, span)), _both(one.valid, other.valid), span)


def _both(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def doubles(numbers: Any, scale: int) -> Any:
    """Whole numbers of 10^-scale as the nearest float64, ties to even, as Java's BigDecimal.doubleValue gives it."""
    numbers = np.asarray(numbers)
    if numbers.dtype != object and scale == 0:
        return numbers.astype(np.float64)
    if numbers.dtype != object and scale <= 22 and not np.any(np.abs(numbers) > _EXACT_IN_DOUBLE):
        return numbers.astype(np.float64) / 10.0**scale  # both exact, so one rounding: the right one
    flat = [int(number) / 10**scale for number in numbers.ravel()]  # Python rounds quotients of integers correctly
    return np.array(flat, np.float64).reshape(numbers.shape)


# ---- values ----


def compile_value(value: Value, scope: Scope) -> Typed:
    """Type a value by Spark's rules; `ConditionError` when it has no type."""
    match value:
        case Column():
            key = (value.side, value.name)
            return Typed(scope.kinds[value], lambda environment: environment[key])
        case Literal():
            return _constant(value)
        case Negative(operand):
            return _signed(value, compile_value(operand, scope), _negative)
        case Absolute(operand):
            return _signed(value, compile_value(operand, scope), _absolute)
        case Sum():
            return _sum(value, compile_value(value.left, scope), compile_value(value.right, scope), scope)


def _constant(literal: Literal) -> Typed:
    kind = kind_of_literal(literal)
    vector = Vector(literal.value)
    if kind.exact:
        number = int(literal.value.scaleb(kind.scale)) if literal.kind == "decimal" else literal.value  # type: ignore[union-attr]
        assert isinstance(number, int)
        held = np.array(number, np.int64 if _INT64[0] <= number <= _INT64[1] else object)
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


def _negative(vector: Vector, exact: bool) -> Vector:
    if not exact:
        return vector._replace(values=-vector.values)
    span = (-vector.span[1], -vector.span[0])
    return Vector(-_held(vector.values, span), vector.valid, span)


def _absolute(vector: Vector, exact: bool) -> Vector:
    if not exact:
        return vector._replace(values=np.abs(vector.values))
    low, high = vector.span
    span = (0, max(abs(low), abs(high)))
    return Vector(abs(_held(vector.values, span)), vector.valid, span)


def _sum(value: Sum, left: Typed, right: Typed, scope: Scope) -> Typed:
    kind = sum_kind(left.kind, value.operator, right.kind)
    if isinstance(kind, str):
        raise ConditionError(f"cannot compute {str(value)!r}: {kind}")
    _refuse_moving_zone(value, left, right, scope)
    if kind.floating:
        one, other = converted(left, kind, scope), converted(right, kind, scope)
        function = python.add if value.operator == "+" else python.sub
        return Typed(kind, lambda environment: _float_sum(function, one.run(environment), other.run(environment)))
    one, other = _addends(left, right, kind, scope)
    operator = value.operator
    plus = Typed(kind, lambda environment: _plus(one.run(environment), other.run(environment), operator))
    if {left.kind.family, right.kind.family} == {"date"}:  # a difference of dates: days, wanted in microseconds
        return Typed(kind, lambda environment: _times(plus.run(environment), MICROS_PER_DAY))
    return plus


def _float_sum(function: Callable[[Any, Any], Any], one: Vector, other: Vector) -> Vector:
    with np.errstate(all="ignore"):
        return Vector(function(one.values, other.values), _both(one.valid, other.valid))


def _addends(left: Typed, right: Typed, kind: Kind, scope: Scope) -> tuple[Typed, Typed]:
    """Both operands of an exact sum in one unit."""
    if kind == DATE:
        return _in_days(left), _in_days(right)
    families = {left.kind.family, right.kind.family}
    if kind.family == "interval" and families not in ({"interval"}, {"date"}):
        meeting = common_kind(left.kind, right.kind)  # a difference of times
        assert meeting is not None
        return converted(left, meeting, scope), converted(right, meeting, scope)
    return _at_scale(left, kind.scale), _at_scale(right, kind.scale)


def _in_days(typed: Typed) -> Typed:
    if typed.kind.family != "interval":
        return typed
    return Typed(DATE, lambda environment: _whole_days(typed.run(environment)))


def _whole_days(vector: Vector) -> Vector:
    low, high = vector.span
    return Vector(vector.values // MICROS_PER_DAY, vector.valid, (low // MICROS_PER_DAY, high // MICROS_PER_DAY))


def _at_scale(typed: Typed, scale: int) -> Typed:
    if typed.kind.family == "date" or typed.kind.scale == scale:
        return typed
    factor = 10 ** (scale - typed.kind.scale)
    return Typed(typed.kind._replace(scale=scale), lambda environment: _times(typed.run(environment), factor))


def _refuse_moving_zone(value: Sum, left: Typed, right: Typed, scope: Scope) -> None:
    """Where clocks change, Spark's timestamp differences and whole days follow local time, not elapsed time."""
    families = (left.kind.family, right.kind.family)
    if scope.zone.fixed or "timestamp" not in families:
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
    return _at_scale(typed, kind.scale)


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
    return Typed(kind, lambda environment: _plus(_times(typed.run(environment), factor), offset, "-"))


# ---- conditions ----


def compile_condition(expression: Expression, scope: Scope) -> RunTruth:
    """Type a condition by Spark's rules."""
    match expression:
        case Comparison():
            return _comparison(expression, scope)
        case And(parts):
            runs = [compile_condition(part, scope) for part in parts]
            return lambda environment: _all(runs, environment)
        case Or(parts):
            runs = [compile_condition(part, scope) for part in parts]
            return lambda environment: _any(runs, environment)
        case Not(operand):
            run = compile_condition(operand, scope)
            return lambda environment: Truth(*reversed(run(environment)))
        case IsNull(operand):
            value = compile_value(operand, scope)
            return lambda environment: _is_null(value.run(environment))
        case _:
            return _boolean_value(expression, scope)


def _all(runs: list[RunTruth], environment: Environment) -> Truth:
    parts = [run(environment) for run in runs]
    true, false = parts[0]
    for part in parts[1:]:
        true, false = true & part.true, false | part.false
    return Truth(true, false)


def _any(runs: list[RunTruth], environment: Environment) -> Truth:
    parts = [run(environment) for run in runs]
    true, false = parts[0]
    for part in parts[1:]:
        true, false = true | part.true, false & part.false
    return Truth(true, false)


def _is_null(vector: Vector) -> Truth:
    present = np.ones(_length(vector), np.bool_) if vector.valid is None else vector.valid
    return Truth(~present, present)


def _length(vector: Vector) -> Any:
    return len(vector.values) if isinstance(vector.values, pa.Array) else np.shape(vector.values)


def _boolean_value(value: Value, scope: Scope) -> RunTruth:
    typed = compile_value(value, scope)
    if typed.kind.family not in ("boolean", "null"):
        raise ConditionError(f"{str(value)!r} is a {typed.kind}, not a condition; compare it with something")
    return lambda environment: _known(typed.run(environment))


def _known(vector: Vector) -> Truth:
    true = np.asarray(vector.values, np.bool_)
    return _masked(true, vector.valid)


def _masked(true: Any, valid: Any) -> Truth:
    return Truth(true, ~true) if valid is None else Truth(true & valid, ~true & valid)


def _comparison(comparison: Comparison, scope: Scope) -> RunTruth:
    left, right = compile_value(comparison.left, scope), compile_value(comparison.right, scope)
    kind = common_kind(left.kind, right.kind)
    if kind is None:
        raise ConditionError(
            f"cannot compare a {left.kind} with a {right.kind} in {str(comparison)!r}; {_advice(left, right)}"
        )
    if kind.family in ("string", "binary") and comparison.operator not in ("=", "!=", "<=>"):
        raise ConditionError(
            f"cannot order a {left.kind} and a {right.kind} in {str(comparison)!r}: strings and binaries are compared "
            "for equality only; compare numbers, dates or timestamps instead"
        )
    one, other = converted(left, kind, scope), converted(right, kind, scope)
    if kind.exact and one.kind.scale != other.kind.scale:
        scale = max(one.kind.scale, other.kind.scale)
        one, other = _at_scale(one, scale), _at_scale(other, scale)
    compare = _comparing(kind)[comparison.operator if comparison.operator != "<=>" else "="]
    if comparison.operator == "<=>":
        return lambda environment: _null_safe(compare, one.run(environment), other.run(environment))
    return lambda environment: _compared(compare, one.run(environment), other.run(environment))


def _advice(left: Typed, right: Typed) -> str:
    families = {left.kind.family, right.kind.family}
    if families & {"string", "binary"}:
        return "Spark would parse each string while joining; cast one column so that both have one type"
    if "interval" in families:
        return "give the bound as an interval, such as INTERVAL '5' SECONDS"
    return "cast one column so that both have one type"


def _compared(compare: Callable[[Any, Any], Any], one: Vector, other: Vector) -> Truth:
    return _masked(compare(one.values, other.values), _both(one.valid, other.valid))


def _null_safe(compare: Callable[[Any, Any], Any], one: Vector, other: Vector) -> Truth:
    equal = compare(one.values, other.values)
    if one.valid is None and other.valid is None:
        return Truth(equal, ~equal)
    here = np.True_ if one.valid is None else one.valid
    there = np.True_ if other.valid is None else other.valid
    true = (equal & here & there) | (~here & ~there)
    return Truth(true, ~true)


def _comparing(kind: Kind) -> Mapping[str, Callable[[Any, Any], Any]]:
    if kind.floating:
        return _FLOATS
    return _BYTES if kind.family in ("string", "binary") else _WHOLE


def _bytes_equal(one: Any, other: Any) -> Any:
    if not isinstance(one, pa.Array) and not isinstance(other, pa.Array):
        return np.bool_(one == other)
    equal = pc.equal(
        *(value if isinstance(value, pa.Array) else pa.scalar(value, pa.large_string()) for value in (one, other))
    )
    return np.asarray(equal.fill_null(False).to_numpy(zero_copy_only=False), np.bool_)


_BYTES: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": _bytes_equal,
    "!=": lambda a, b: ~_bytes_equal(a, b),
}
_WHOLE: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip


def _less(a: Any, b: Any) -> Any:
    return (a < b) | (np.isnan(b) & ~np.isnan(a))


def _less_equal(a: Any, b: Any) -> Any:
    return (a <= b) | np.isnan(b)


def _equal(a: Any, b: Any) -> Any:
    return (a == b) | (np.isnan(a) & np.isnan(b))


_FLOATS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": _equal,
    "!=": lambda a, b: ~_equal(a, b),
    "<": _less,
    "<=": _less_equal,
    ">": lambda a, b: _less(b, a),
    ">=": lambda a, b: _less_equal(b, a),
}
