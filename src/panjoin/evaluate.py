"""Conditions over whole columns, with Spark's logic: what decides whether a candidate pair matches.

    compile_condition(left.x - right.x <= 5 ...)  ->  run({(side, name): Vector})  ->  Truth(true, false)

Three-valued logic travels as two masks (neither set: NULL), so AND and OR are two numpy operations, and NOT swaps.
Floats compare as Spark compares them: NaN equals NaN and is greater than everything else, -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panjoin.errors import ConditionError
from panjoin.expression import And, Comparison, Expression, In, IsNull, Not, Or, Value
from panjoin.kinds import Kind, common_kind
from panjoin.typed import Environment, Scope, Typed, at_scale, compile_value, converted
from panjoin.vectors import Vector, both_valid


class Truth(NamedTuple):
    """Where a condition is TRUE and where FALSE; elsewhere it is NULL."""

    true: Any
    false: Any


RunTruth = Callable[[Environment], Truth]


def compile_condition(expression: Expression, scope: Scope) -> RunTruth:
    """Type a condition by Spark's rules."""
    match expression:
        case Comparison():
            return _comparison(expression, scope)
        case In():
            return compile_condition(expression.expanded, scope)
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
    kind = meeting_kind(comparison, scope)
    if "null" in (left.kind.family, right.kind.family):
        return _with_null(comparison.operator, left, right)
    if kind.family in ("string", "binary") and comparison.operator not in ("=", "!=", "<=>"):
        raise ConditionError(
            f"cannot order a {left.kind} and a {right.kind} in {str(comparison)!r}: strings and binaries are compared "
            "for equality only; compare numbers, dates or timestamps instead"
        )
    one, other = converted(left, kind, scope), converted(right, kind, scope)
    if kind.exact and one.kind.scale != other.kind.scale:
        scale = max(one.kind.scale, other.kind.scale)
        one, other = at_scale(one, scale), at_scale(other, scale)
    compare = _comparing(kind)[comparison.operator if comparison.operator != "<=>" else "="]
    if comparison.operator == "<=>":
        return lambda environment: _null_safe(compare, one.run(environment), other.run(environment))
    return lambda environment: _compared(compare, one.run(environment), other.run(environment))


def meeting_kind(comparison: Comparison, scope: Scope) -> Kind:
    """What both operands of a comparison become; beside the other values of an IN, what all of them become."""
    left, right = compile_value(comparison.left, scope), compile_value(comparison.right, scope)
    kind = left.kind
    for other in (right, *(compile_value(value, scope) for value in comparison.beside)):
        wider = common_kind(kind, other.kind)
        if wider is None:
            raise ConditionError(
                f"cannot compare a {left.kind} with a {other.kind} in {str(comparison)!r}; {_advice(left, other)}"
            )
        kind = wider
    return kind


def _with_null(operator: str, left: Typed, right: Typed) -> RunTruth:
    """Beside NULL everything is unknown, and `<=>` asks whether the other operand is NULL as well."""
    if operator != "<=>":
        return lambda _: Truth(np.bool_(False), np.bool_(False))
    other = right if left.kind.family == "null" else left
    return lambda environment: _is_null(other.run(environment))


def _advice(left: Typed, right: Typed) -> str:
    families = {left.kind.family, right.kind.family}
    if families & {"string", "binary"}:
        return "Spark would parse each string while joining; cast one column so that both have one type"
    if "interval" in families:
        return "give the bound as an interval, such as INTERVAL '5' SECONDS"
    return "cast one column so that both have one type"


def _compared(compare: Callable[[Any, Any], Any], one: Vector, other: Vector) -> Truth:
    return _masked(compare(one.values, other.values), both_valid(one.valid, other.valid))


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
