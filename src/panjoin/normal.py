"""The normal form of a condition: equalities, at most one band, and a residual.

    left.k = right.k AND abs(left.x - right.x) <= 5 AND left.ts < right.ts AND left.a + right.a > 3
    └──── equality ┘     └──── band: x - x in [-5, 5] ┘   └──────────── residual ───────────────────┘

A *band* is a pair of columns (l, r) and a union of intervals for the offset l - r. Every comparison in which one left
and one right column occur once each, with opposite signs, among sums and differences with literals, is such an
interval: one-sided for <, <=, >, >=, a point for =, two open rays for !=. AND on one pair of columns intersects, OR
unites. The offsets here are exact fractions: they order and describe intervals and serve exact arithmetic (whole
numbers, decimals, times); an interval also keeps its comparisons *as written*, which decide for floats.

Choice: all equalities; then the best band: points and two-sided before one-sided before !=, the first written among
equals; beside equalities a bare != is not worth a place in the key. What is not chosen is residual, in the order
written. Invariant: equalities AND band AND residual is the condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Literal as OneOf
from typing import NamedTuple

from panjoin.expression import (
    And,
    Column,
    Comparison,
    Expression,
    In,
    Literal,
    Negative,
    Not,
    Operator,
    Or,
    Sum,
    Value,
    conjunction,
    negation,
)

#: A union of more intervals than this is not indexed: each is one probe.
MAX_INTERVALS = 16

#: What offsets are counted in: the columns' own unit, or microseconds (the literals were intervals).
Unit = OneOf["number", "interval"]


@dataclass(frozen=True)
class Equality:
    """`left.{left} = right.{right}`."""

    left: str
    right: str

    def __str__(self) -> str:
        return f"{Column('left', self.left)} = {Column('right', self.right)}"


@dataclass(frozen=True)
class End:
    """One end of an interval of left - right."""

    offset: Fraction
    closed: bool


@dataclass(frozen=True)
class Interval:
    """The offsets between two ends (None: no bound), which are those where all `comparisons` hold."""

    low: End | None
    high: End | None
    comparisons: tuple[Comparison, ...]

    def __str__(self) -> str:
        low = "(-inf" if self.low is None else f"{'[' if self.low.closed else '('}{_shown(self.low.offset)}"
        high = "inf)" if self.high is None else f"{_shown(self.high.offset)}{']' if self.high.closed else ')'}"
        return f"{low}, {high}"


@dataclass(frozen=True)
class Band:
    """`left.{left} - right.{right}` lies in one of the intervals (ascending by their lower ends; they may overlap)."""

    left: str
    right: str
    unit: Unit
    intervals: tuple[Interval, ...]

    @property
    def unequal(self) -> bool:
        """True for `l != r + c` and nothing else: all offsets but one."""
        if len(self.intervals) != 2:
            return False
        below, above = self.intervals
        return (
            below.low is None and above.high is None and below.high == above.low
            and below.high is not None and not below.high.closed
            and len(below.comparisons) == len(above.comparisons) == 1
        )  # fmt: skip

    @property
    def bare(self) -> bool:
        """True when columns are compared as they are: an offset of 0, which is 0 in any unit."""
        written = (comparison for part in self.intervals for comparison in part.comparisons)
        return all(
            isinstance(each.left, Column) and isinstance(each.right, Column) and not each.beside for each in written
        )

    @property
    def rank(self) -> int:
        """0 for two-sided, 1 for one-sided, 2 for !=."""
        if self.unequal:
            return 2
        return 0 if all(part.low is not None and part.high is not None for part in self.intervals) else 1

    def __str__(self) -> str:
        unit = " microseconds" if self.unit == "interval" else ""
        spans = " or ".join(map(str, self.intervals))
        return f"{Column('left', self.left)} - {Column('right', self.right)} in {spans}{unit}"


class NormalForm(NamedTuple):
    """The three parts of a condition; their conjunction is the condition."""

    equalities: tuple[Equality, ...]
    band: Band | None
    residual: Expression | None


def normal_form(expression: Expression) -> NormalForm:
    """Split a condition; see the head of this file."""
    parts = expression.parts if isinstance(expression, And) else (expression,)
    equalities: list[Equality] = []
    bands: dict[tuple[str, str, Unit], tuple[Band, set[int]]] = {}
    for at, part in enumerate(parts):
        equality = _equality(part)
        if equality is not None:
            if equality not in equalities:
                equalities.append(equality)
            continue
        band = band_of(part)
        if band is None:
            continue
        known = bands.get((band.left, band.right, band.unit))
        if known is None:
            bands[(band.left, band.right, band.unit)] = (band, {at})
        elif (both := _intersection(known[0], band)) is not None:
            bands[(band.left, band.right, band.unit)] = (both, {*known[1], at})
    _settle_bare(bands)
    equal = {(equality.left, equality.right) for equality in equalities}
    usable = [
        entry for entry in bands.values()
        if (entry[0].left, entry[0].right) not in equal and not (equalities and entry[0].rank == 2)
    ]  # fmt: skip
    band, taken = min(usable, key=lambda entry: entry[0].rank, default=(None, set()))
    rest = [part for at, part in enumerate(parts) if at not in taken and _equality(part) is None]
    return NormalForm(tuple(equalities), band, conjunction(*rest) if rest else None)


def _settle_bare(bands: dict[tuple[str, str, Unit], tuple[Band, set[int]]]) -> None:
    """Bare comparisons join the band with intervals on their columns: ts >= ts - INTERVAL 5 MINUTES AND ts <= ts."""
    for key, (bare, parts) in list(bands.items()):
        timed = bands.get((bare.left, bare.right, "interval"))
        if (
            key[2] == "number"
            and bare.bare
            and timed is not None
            and (both := _intersection(timed[0], bare)) is not None
        ):
            bands[(bare.left, bare.right, "interval")] = (both, timed[1] | parts)
            del bands[key]


def without_band(expression: Expression) -> Expression | None:
    """What is residual when no band can be indexed: everything but the equalities, as written."""
    parts = expression.parts if isinstance(expression, And) else (expression,)
    rest = [part for part in parts if _equality(part) is None]
    return conjunction(*rest) if rest else None


def band_of(expression: Expression) -> Band | None:
    """The expression as one band, if it is one."""
    match expression:
        case Comparison():
            return _comparison_band(expression)
        case And(parts):
            return _combined(parts, _intersection)
        case Or(parts):
            return _combined(parts, _union)
        case In():
            return band_of(expression.expanded)
        case Not(In() as listed):
            return band_of(negation(listed.expanded))
        case _:
            return None


def _equality(part: Expression) -> Equality | None:
    match part:
        case Comparison("=", Column("left", left), Column("right", right)):
            return Equality(left, right)
        case Comparison("=", Column("right", right), Column("left", left)):
            return Equality(left, right)
        case _:
            return None


def _comparison_band(comparison: Comparison) -> Band | None:
    terms = [*_terms(comparison.left, 1), *_terms(comparison.right, -1)]
    named = [(term, sign) for term, sign in terms if isinstance(term, Column)]
    literals = [(term, sign) for term, sign in terms if isinstance(term, Literal)]
    if len(named) != 2 or len(named) + len(literals) != len(terms) or comparison.operator == "<=>":
        return None
    named.sort(key=lambda term: term[0].side)
    (left, sign), (right, other) = named
    if (left.side, right.side) != ("left", "right") or sign != -other:
        return None
    kinds = {"interval" if literal.kind in ("interval", "days") else literal.kind for literal, _ in literals}
    if not (kinds == {"interval"} or kinds <= {"int", "decimal", "double", "float"}):
        return None
    # sign*(l - r) + constant OP 0, so l - r OP' offset
    constant = sum((Fraction(_exact(literal)) * side for literal, side in literals), Fraction(0))
    operator = comparison.operator if sign > 0 else _MIRRORED[comparison.operator]
    intervals = tuple(_rays(comparison, operator, -constant * sign, sign))
    return Band(left.name, right.name, "interval" if kinds == {"interval"} else "number", intervals)


_MIRRORED: dict[str, Operator] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _rays(comparison: Comparison, operator: Operator, offset: Fraction, sign: int) -> Iterator[Interval]:
    match operator:
        case "=":
            yield Interval(End(offset, True), End(offset, True), (comparison,))
        case "<" | "<=":
            yield Interval(None, End(offset, operator == "<="), (comparison,))
        case ">" | ">=":
            yield Interval(End(offset, operator == ">="), None, (comparison,))
        case _:  # != is < or >, because the order is total; as written, < on a negated left column is > on its offset
            ordered: tuple[Operator, Operator] = ("<", ">") if sign > 0 else (">", "<")
            below, above = ordered
            yield Interval(None, End(offset, False), (replace(comparison, operator=below),))
            yield Interval(End(offset, False), None, (replace(comparison, operator=above),))


def _terms(value: Value, sign: int) -> Iterator[tuple[Value, int]]:
    """The summands with their signs; what is no sum is a summand."""
    match value:
        case Negative(operand):
            yield from _terms(operand, -sign)
        case Sum(operator, left, right):
            yield from _terms(left, sign)
            yield from _terms(right, sign if operator == "+" else -sign)
        case _:
            yield value, sign


def _exact(literal: Literal) -> int | Decimal | float:
    assert isinstance(literal.value, int | float | Decimal)
    return literal.value


def _combined(parts: tuple[Expression, ...], combine: object) -> Band | None:
    assert callable(combine)
    result: Band | None = None
    for part in parts:
        band = band_of(part)
        if band is None:
            return None
        result = band if result is None else combine(result, band)
        if result is None:
            return None
    return result


def _common_unit(first: Band, second: Band) -> Unit | None:
    """What both count their offsets in, when they are on one pair of columns."""
    if (first.left, first.right) != (second.left, second.right):
        return None
    if first.unit == second.unit or second.bare:
        return first.unit
    return second.unit if first.bare else None


def _intersection(first: Band, second: Band) -> Band | None:
    unit = _common_unit(first, second)
    if unit is None or len(first.intervals) * len(second.intervals) > MAX_INTERVALS:
        return None
    return _band(first, unit, [_meet(one, other) for one, other in product(first.intervals, second.intervals)])


def _union(first: Band, second: Band) -> Band | None:
    unit = _common_unit(first, second)
    if unit is None or len(first.intervals) + len(second.intervals) > MAX_INTERVALS:
        return None
    return _band(first, unit, [*first.intervals, *second.intervals])


def _band(like: Band, unit: Unit, intervals: list[Interval]) -> Band:
    distinct = sorted(dict.fromkeys(intervals), key=_order)
    return Band(like.left, like.right, unit, tuple(distinct))


def _meet(one: Interval, other: Interval) -> Interval:
    lows = [part.low for part in (one, other) if part.low is not None]
    highs = [part.high for part in (one, other) if part.high is not None]
    return Interval(
        max(lows, key=lambda end: (end.offset, not end.closed), default=None),
        min(highs, key=lambda end: (end.offset, end.closed), default=None),
        tuple(dict.fromkeys((*one.comparisons, *other.comparisons))),
    )


def _order(interval: Interval) -> tuple[bool, Fraction, bool, bool, Fraction, bool]:
    """Unbounded below first, then by low end, then by high end; open after closed."""
    low, high = interval.low, interval.high
    return (
        low is not None, low.offset if low else Fraction(0), bool(low and not low.closed),
        high is None, high.offset if high else Fraction(0), bool(high and high.closed),
    )  # fmt: skip


def _shown(offset: Fraction) -> str:
    return str(offset) if offset.denominator == 1 else repr(float(offset))
