"""Spark's values as Python's: comparison, addition and three-valued logic over compiled pieces of a condition.

A piece is (kind, function of (left row, right row)). Kinds, and what Spark (ANSI mode, session time zone UTC) was seen
to do with them:

    exact      integers and decimals: added and compared exactly. Spark raises when an integer overflows; here there is
               no end of the type, which the join promises. (Spark's decimals lose digits past 38; not modelled.)
    double     with any other number: both become double (so bigint 2^53 + 1 equals double 2^53)
    float      float with float stays float32, rounded after each operation; with every other number: both double
    date, timestamp   microseconds since 1970; date + whole number adds days; date - date is an interval
    interval   microseconds; no months and years, whose length depends on where they start
    string, binary, boolean   only compared with their own kind
    null       the literal NULL

NULL is None; NaN = NaN and greater than all numbers; -0.0 = 0.0 (Python agrees on the last).
"""

from __future__ import annotations

import decimal
import math
import struct
from collections.abc import Callable
from typing import Any

Row = tuple[Any, ...]
Function = Callable[[Row, Row], Any]
Piece = tuple[str, Function]

DAY = 86_400_000_000
NUMBERS = ("exact", "float", "double")
_EXACT = decimal.Context(prec=120)
_TIMES = ("date", "timestamp")


class NotUnderstoodError(Exception):
    """The text is outside of the grammar, or Spark would refuse its types."""


def to_float32(value: float) -> float:
    """Nearest float32, as a Python float."""
    try:
        rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def is_nan(value: Any) -> bool:
    """Also for strings and bytes, which math.isnan refuses."""
    return bool(value != value)  # noqa: PLR0124  (only NaN is unequal to itself)


def magnitude(value: Any) -> Any:
    """abs(); NaN stays NaN."""
    return -value if value < 0 else value


def compare(a: Any, b: Any) -> int:
    """-1, 0 or 1 in Spark's order: NaN is equal to itself and above everything."""
    if is_nan(a) or is_nan(b):
        return int(is_nan(a)) - int(is_nan(b))
    return int(a > b) - int(a < b)


def _as_kind(piece: Piece, kind: str) -> Function:
    """The piece's function with its numbers widened to `kind`."""
    function = piece[1]
    if kind != "double" or piece[0] in ("double", "float", "null"):
        return function

    def widened(left: Row, right: Row) -> Any:
        value = function(left, right)
        return None if value is None else float(value)

    return widened


def _together(a: str, b: str, what: str) -> str:
    """The kind in which values of kinds a and b meet."""
    if "null" in (a, b):
        return b if a == "null" else a
    if a == b:
        return a
    if a in NUMBERS and b in NUMBERS:
        return "double"
    if a in _TIMES and b in _TIMES:
        return "timestamp"
    raise NotUnderstoodError(f"{what}: {a} and {b} do not go together")


def comparison(sign: str, a: Piece, b: Piece) -> Piece:
    kind = _together(a[0], b[0], sign)
    x, y = _as_kind(a, kind), _as_kind(b, kind)
    if sign == "<=>":

        def same(left: Row, right: Row) -> bool:
            u, v = x(left, right), y(left, right)
            return u is v if u is None or v is None else compare(u, v) == 0

        return "boolean", same
    accepted = {
        "=": (0,),
        "==": (0,),
        "!=": (-1, 1),
        "<>": (-1, 1),
        "<": (-1,),
        "<=": (-1, 0),
        ">": (1,),
        ">=": (0, 1),
    }[sign]

    def compared(left: Row, right: Row) -> bool | None:
        u, v = x(left, right), y(left, right)
        return None if u is None or v is None else compare(u, v) in accepted

    return "boolean", compared


def _sum_kind(sign: str, a: str, b: str) -> str:
    if a in _TIMES and b == "interval":
        return "timestamp"  # a date plus whole days stays a date in Spark; it compares the same
    if a == "interval" and b in _TIMES and sign == "+":
        return "timestamp"
    if a in _TIMES and b in _TIMES and sign == "-":
        return "interval"
    if (a == "date" and b == "exact") or (a == "exact" and b == "date" and sign == "+"):
        return "date"
    kind = _together(a, b, sign)
    if kind not in (*NUMBERS, "interval", "null"):
        raise NotUnderstoodError(f"{a} {sign} {b}")
    return kind


def add(sign: str, a: Piece, b: Piece) -> Piece:
    kind = _sum_kind(sign, a[0], b[0])
    x, y = _as_kind(a, kind), _as_kind(b, kind)
    x_unit = DAY if kind == "date" and a[0] == "exact" else 1
    y_unit = DAY if kind == "date" and b[0] == "exact" else 1
    operate = _EXACT.add if sign == "+" else _EXACT.subtract

    def summed(left: Row, right: Row) -> Any:
        u, v = x(left, right), y(left, right)
        if u is None or v is None:
            return None
        if isinstance(u, decimal.Decimal) or isinstance(v, decimal.Decimal):
            return operate(u, v)
        total = u * x_unit + v * y_unit if sign == "+" else u * x_unit - v * y_unit
        return to_float32(total) if kind == "float" else total

    return kind, summed


def membership(a: Piece, others: list[Piece]) -> Piece:
    """IN: unlike BETWEEN, whose two comparisons are typed apart, it brings all its values to one kind first."""
    kind = a[0]
    for other in others:
        kind = _together(kind, other[0], "IN")
    pieces = [(kind, _as_kind(piece, kind)) for piece in (a, *others)]
    function = comparison("=", pieces[0], pieces[1])[1]
    for piece in pieces[2:]:
        function = either(function, comparison("=", pieces[0], piece)[1])
    return "boolean", function


def either(a: Function, b: Function) -> Function:
    """OR: true wins over unknown, unknown wins over false."""

    def decide(left: Row, right: Row) -> bool | None:
        u = a(left, right)
        if u:
            return True
        v = b(left, right)
        if v:
            return True
        return None if u is None or v is None else False

    return decide


def negation(a: Function) -> Function:
    def decide(left: Row, right: Row) -> bool | None:
        u = a(left, right)
        return None if u is None else not u

    return decide


def both(a: Function, b: Function) -> Function:
    """AND: false wins over unknown, unknown wins over true."""

    def decide(left: Row, right: Row) -> bool | None:
        u = a(left, right)
        if u is False:
            return False
        v = b(left, right)
        if v is False:
            return False
        return None if u is None or v is None else True

    return decide
