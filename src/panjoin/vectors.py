"""Columns as vectors: values, validity, and for exact values the span that says whether 64 bits suffice.

    int64 [3, -7, 9]  span (-7, 9)   plus   int64 2^63-1  span (2^63-1, 2^63-1)
        -> span (2^63-8, 2^63+8) leaves 64 bits, so the sum is made of Python's own integers: slower, never wrong

Whole numbers, decimals, dates, times and intervals are mathematical whole numbers of 10^-scale units. Invariant: every
exact value of a vector lies in its span.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panjoin.columns import Array, microseconds, validity, values
from panjoin.columns import Column as ArrowColumn
from panjoin.kinds import Kind

INT64 = (-(2**63), 2**63 - 1)
_EXACT_IN_DOUBLE = 2**53


class Vector(NamedTuple):
    """Values of one column or sub-expression; `valid` is None when none is NULL, `span` holds all exact values."""

    values: Any
    valid: Any = None
    span: tuple[int, int] = (0, 0)


def vector_of(array: Any, kind: Kind) -> Vector:
    """An Arrow column as a Vector."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    valid = validity(array)
    if kind.family == "null":
        return Vector(np.zeros(len(array), np.int64), np.zeros(len(array), np.bool_))
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


# ---- arithmetic ----


def held(numbers: Any, span: tuple[int, int]) -> Any:
    """The numbers in a type that holds the span: int64, or Python's integers."""
    within = INT64[0] <= span[0] and span[1] <= INT64[1]
    if within and not isinstance(numbers, int):  # arithmetic on a scalar object array gives a Python integer
        return numbers
    return np.asarray(numbers).astype(object)


def times(vector: Vector, factor: int) -> Vector:
    """Every value multiplied."""
    if factor == 1:
        return vector
    span = (vector.span[0] * factor, vector.span[1] * factor)
    return Vector(held(vector.values, span) * factor, vector.valid, span)


def plus(one: Vector, other: Vector, operator: str) -> Vector:
    """A sum or difference of exact values."""
    low, high = other.span if operator == "+" else (-other.span[1], -other.span[0])
    span = (one.span[0] + low, one.span[1] + high)
    function = python.add if operator == "+" else python.sub
    return Vector(function(held(one.values, span), held(other.values, span)), both_valid(one.valid, other.valid), span)


def both_valid(one: Any, other: Any) -> Any:
    """Where neither is NULL (None: everywhere)."""
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


def negative(vector: Vector, exact: bool) -> Vector:
    """Signs turned around."""
    if not exact:
        return vector._replace(values=-vector.values)
    span = (-vector.span[1], -vector.span[0])
    return Vector(-held(vector.values, span), vector.valid, span)


def absolute(vector: Vector, exact: bool) -> Vector:
    """Signs dropped."""
    if not exact:
        return vector._replace(values=np.abs(vector.values))
    low, high = vector.span
    span = (0, max(abs(low), abs(high)))
    return Vector(abs(held(vector.values, span)), vector.valid, span)


def float_sum(function: Callable[[Any, Any], Any], one: Vector, other: Vector) -> Vector:
    """A sum or difference in the operands' own float type."""
    with np.errstate(all="ignore"):
        return Vector(function(one.values, other.values), both_valid(one.valid, other.valid))
