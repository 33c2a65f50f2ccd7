"""Spark's types in conditions, and how its ANSI mode (the default of 4.x) widens them; found by asking Spark 4.3.

    whole numbers with whole numbers     whole numbers, without overflow (Spark would raise; we compute past 64 bits)
    whole number or decimal, decimal     decimal, exactly
    float with float                     float (32 bits stay 32 bits)
    float or double with anything else   double, each operand rounded first
    date with timestamp                  timestamp: midnight in the session's time zone
    date + or - interval                 date when the interval is of whole days by its unit, else timestamp, as above
    timestamp_ntz with timestamp         timestamp: local time in the session's time zone
    string with number or date           refused: Spark would parse each string while joining, and raise at a bad one

A `Kind` is a family and, for exact families, a scale: the value is a whole number of 10^-scale units (days for dates,
seconds * 10^-6 for times and intervals). So sums and comparisons of exact kinds are whole-number arithmetic.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal as OneOf
from typing import NamedTuple

import pyarrow as pa

from panjoin.errors import ConditionError
from panjoin.expression import Literal

Family = OneOf[
    "integer", "decimal", "float", "double", "date", "timestamp", "timestamp_ntz", "interval",
    "boolean", "string", "binary", "null",
]  # fmt: skip

MICROS = 6  #: the scale of times
DECIMAL_DIGITS = 38
SECONDS_PER_DAY = 86_400
#: Sums that need more than 38 digits lose decimals in Spark, but keep so many.
KEPT_DECIMALS = 6


class Kind(NamedTuple):
    """A type, as far as conditions care."""

    family: Family
    scale: int = 0
    digits: int = 0  #: of decimals and whole numbers: how many may stand, before and after the point
    days: bool = False  #: an interval of whole days

    @property
    def exact(self) -> bool:
        """Values are whole numbers of 10^-scale units."""
        return self.family in ("integer", "decimal", "date", "timestamp", "timestamp_ntz", "interval")

    @property
    def numeric(self) -> bool:
        """Whole, decimal or floating."""
        return self.family in ("integer", "decimal", "float", "double")

    @property
    def floating(self) -> bool:
        """Float or double."""
        return self.family in ("float", "double")

    def __str__(self) -> str:
        return f"decimal({self.digits},{self.scale})" if self.family == "decimal" else self.family


FLOAT, DOUBLE = Kind("float"), Kind("double")
BOOLEAN, STRING, BINARY, NULL = Kind("boolean"), Kind("string"), Kind("binary"), Kind("null")
DATE = Kind("date")
TIMESTAMP, TIMESTAMP_NTZ = Kind("timestamp", MICROS), Kind("timestamp_ntz", MICROS)
INTERVAL, DAYS = Kind("interval", MICROS), Kind("interval", MICROS, days=True)
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}


def kind_of(arrow: pa.DataType) -> Kind | None:
    """The kind of a column, or None when no condition can use it."""
    types = pa.types
    if types.is_dictionary(arrow) or types.is_run_end_encoded(arrow):
        return kind_of(arrow.value_type)
    if types.is_integer(arrow):
        return None if arrow == pa.uint64() else Kind("integer", 0, _DIGITS[arrow.bit_width])
    if types.is_decimal(arrow):
        return None if types.is_decimal256(arrow) or arrow.scale < 0 else Kind("decimal", arrow.scale, arrow.precision)
    if types.is_timestamp(arrow):
        return TIMESTAMP_NTZ if arrow.tz is None else TIMESTAMP
    if types.is_binary(arrow) or types.is_large_binary(arrow) or types.is_binary_view(arrow):
        return BINARY
    if types.is_string(arrow) or types.is_large_string(arrow) or types.is_string_view(arrow):
        return STRING
    if types.is_fixed_size_binary(arrow):
        return BINARY
    if types.is_date(arrow):
        return DATE
    if types.is_duration(arrow):
        return INTERVAL
    return {pa.float32(): FLOAT, pa.float64(): DOUBLE, pa.bool_(): BOOLEAN, pa.null(): NULL}.get(arrow)


def kind_of_literal(literal: Literal) -> Kind:
    """The type that Spark gives a literal."""
    match literal.kind:
        case "int":
            return _kind_of_whole(int(literal.value or 0))
        case "decimal":
            shape = Decimal(str(literal.value)).as_tuple()
            scale = max(-int(shape.exponent), 0)
            return Kind("decimal", scale, max(len(shape.digits) + max(int(shape.exponent), 0), scale))
        case "string":
            return STRING
        case "boolean":
            return BOOLEAN
        case "null":
            return NULL
        case "interval":
            return INTERVAL
        case "days":
            return DAYS
        case floating:
            return Kind(floating)


def _kind_of_whole(value: int) -> Kind:
    if -(2**31) <= value < 2**31:
        return Kind("integer", 0, 10)
    if -(2**63) <= value < 2**63:
        return Kind("integer", 0, 20)
    if len(str(abs(value))) > DECIMAL_DIGITS:
        raise ConditionError(
            f"the number {value} has more than {DECIMAL_DIGITS} digits, Spark's limit; drop that bound"
        )
    return Kind("decimal", 0, len(str(abs(value))))


def common_kind(left: Kind, right: Kind) -> Kind | None:
    """What both operands of a comparison become, or None when Spark has no such comparison, or we refuse it."""
    if left.family == "null" or right.family == "null":
        return left if right.family == "null" else right
    if left.numeric and right.numeric:
        if left.floating or right.floating:
            return FLOAT if left.family == right.family == "float" else DOUBLE
        return _wider(left, right)
    if left.family == right.family:
        return left
    if {left.family, right.family} <= {"date", "timestamp", "timestamp_ntz"}:
        return TIMESTAMP if "timestamp" in (left.family, right.family) else TIMESTAMP_NTZ
    return None


def _wider(left: Kind, right: Kind) -> Kind | None:
    scale = max(left.scale, right.scale)
    digits = max(left.digits - left.scale, right.digits - right.scale) + scale
    if left.family == right.family == "integer":
        return Kind("integer", 0, digits)
    return Kind("decimal", scale, digits) if digits <= DECIMAL_DIGITS else None


def sum_kind(left: Kind, operator: str, right: Kind) -> Kind | str:
    """The type of a sum or difference, or the reason why there is none."""
    families = (left.family, right.family)
    if "null" in families:
        return left if right.family == "null" else right
    if left.numeric and right.numeric:
        return _numeric_sum(left, right)
    match families:
        case ("date", "integer") | ("integer", "date") if operator == "+" or left.family == "date":
            longest = (right if left.family == "date" else left).digits
            return DATE if longest <= 10 else "Spark adds INT days to a date, not BIGINT; cast the column to INT"
        case ("date", "date") if operator == "-":
            return DAYS
        case ("date", "interval") | ("interval", "date") if operator == "+" or left.family == "date":
            return DATE if (right if left.family == "date" else left).days else TIMESTAMP
        case ("timestamp" | "timestamp_ntz", "interval"):
            return left
        case ("interval", "timestamp" | "timestamp_ntz") if operator == "+":
            return right
        case ("date" | "timestamp" | "timestamp_ntz", "date" | "timestamp" | "timestamp_ntz") if operator == "-":
            return INTERVAL
        case ("interval", "interval"):
            return Kind("interval", MICROS, days=left.days and right.days)
        case _:
            return f"Spark has no {left} {operator} {right}" + _time_hint(left, right)


def _time_hint(left: Kind, right: Kind) -> str:
    times = {"timestamp", "timestamp_ntz"} & {left.family, right.family}
    return "; give the offset as an interval, such as INTERVAL '5' SECONDS" if times else ""


def _numeric_sum(left: Kind, right: Kind) -> Kind | str:
    if left.floating or right.floating:
        return FLOAT if left.family == right.family == "float" else DOUBLE
    scale = max(left.scale, right.scale)
    digits = max(left.digits - left.scale, right.digits - right.scale) + scale + 1
    if left.family == right.family == "integer":
        return Kind("integer", 0, digits)
    kept = max(DECIMAL_DIGITS - (digits - scale), min(scale, KEPT_DECIMALS))
    if digits > DECIMAL_DIGITS and scale > kept:
        return f"{left} and {right} need {digits} digits, and Spark rounds to {DECIMAL_DIGITS}; narrow a column"
    return Kind("decimal", scale, min(digits, DECIMAL_DIGITS))
