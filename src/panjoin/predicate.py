"""Join conditions: what a user says, as SQL text over `left` and `right` or as objects, in normal form.

    parse("left.k = right.k AND left.x BETWEEN right.x - 5 AND right.x + 5")
    parse(equal("k") & band("x", -5, 5))                                         the same Condition

      text ──sqltext──┐                              ┌── equalities   left.k = right.k        indexed, hashed or exact
                      ├── expression ── normal form ─┼── band         x - x in [-5, 5]        indexed, at most one
      objects ────────┘                              └── residual     everything else         evaluated on candidates

A pair matches when Spark's batch inner join with the same ON text returns it. `Condition` knows no types;
`bind` fits it to two schemas (panjoin.binding), and panjoin.bounds turns the result into keys and intervals of keys.
Invariant: a condition mentions both sides, and equalities AND band AND residual is what was written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from panjoin import sqltext
from panjoin.binding import BoundCondition
from panjoin.errors import ConditionError
from panjoin.expression import (
    SIDES,
    Column,
    Comparison,
    Expression,
    Operator,
    Value,
    columns,
    conjunction,
    disjunction,
    number,
    total,
)
from panjoin.normal import Band, End, Equality, Interval, NormalForm, normal_form

__all__ = [
    "Band", "BoundCondition", "Condition", "End", "Equality", "Interval",
    "band", "equal", "greater", "greater_equal", "less", "less_equal", "not_equal", "parse",
]  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """One join condition, as `equal`, `band` and their like make it. Combine with & and |; equal when written alike.

    >>> condition = equal("k") & band("x", -5, 5) & less("y", "z")
    >>> print(condition.explain())
    condition  left.k = right.k AND left.x >= right.x - 5 AND left.x <= right.x + 5 AND left.y < right.z
    equality   left.k = right.k
    band       left.x - right.x in [-5, 5] (two-sided)
    residual   left.y < right.z (evaluated on candidate pairs)
    """

    expression: Expression

    def __post_init__(self) -> None:
        mentioned = {column.side for column in columns(self.expression)}
        for side in SIDES:
            if side not in mentioned:
                raise ConditionError(
                    f"the condition {str(self.expression)!r} does not mention the {side} side; "
                    "compare a column of left with one of right, and filter one stream before the join"
                )
        object.__setattr__(self, "_form", normal_form(self.expression))

    @property
    def form(self) -> NormalForm:
        """Equalities, band and residual at once."""
        form: NormalForm = object.__getattribute__(self, "_form")
        return form

    @property
    def equalities(self) -> tuple[Equality, ...]:
        """Pairs of columns that must be equal."""
        return self.form.equalities

    @property
    def band(self) -> Band | None:
        """The indexed pair of columns with its intervals."""
        return self.form.band

    @property
    def residual(self) -> Expression | None:
        """What is evaluated on candidate pairs."""
        return self.form.residual

    @property
    def scans(self) -> bool:
        """True when nothing can be indexed, so that every pair in the window is a candidate."""
        return not self.equalities and self.band is None

    def __and__(self, other: Condition) -> Condition:
        return Condition(conjunction(self.expression, _condition(other).expression))

    def __or__(self, other: Condition) -> Condition:
        return Condition(disjunction(self.expression, _condition(other).expression))

    def __str__(self) -> str:
        return str(self.expression)

    def explain(self) -> str:
        """What is indexed and what is not, in a few lines."""
        lines = [f"condition  {self}"]
        lines += [f"equality   {equality}" for equality in self.equalities]
        if self.band is not None:
            what = "all but one" if self.band.unequal else ("two-sided", "one-sided")[min(self.band.rank, 1)]
            lines.append(f"band       {self.band} ({what})")
        if self.residual is not None:
            lines.append(f"residual   {self.residual} (evaluated on candidate pairs)")
        if self.scans:
            lines.append("index      none: nothing here can be indexed, so every pair in the window is tried (scan)")
        return "\n".join(lines)

    def bind(self, left: pa.Schema, right: pa.Schema, *, timezone: str = "UTC") -> BoundCondition:
        """Fit the condition to the columns; `timezone` is Spark's session time zone."""
        return BoundCondition(self.form, self.expression, left, right, timezone=timezone)


def parse(on: str | Condition) -> Condition:
    """The condition of a text such as "left.k = right.k AND left.x < right.y", or a Condition as it is."""
    return Condition(sqltext.read(on)) if isinstance(on, str) else _condition(on)


def equal(left_col: str, right_col: str | None = None) -> Condition:
    """The left column equals the right one; one name serves both sides.

    >>> print(equal("k") & equal("symbol", "ticker"))
    left.k = right.k AND left.symbol = right.ticker
    """
    return _compared("=", left_col, right_col)


def not_equal(left_col: str, right_col: str | None = None) -> Condition:
    """The left column differs from the right one; NULL matches nothing here either."""
    return _compared("!=", left_col, right_col)


def less(left_col: str, right_col: str | None = None) -> Condition:
    """The left column is less than the right one."""
    return _compared("<", left_col, right_col)


def less_equal(left_col: str, right_col: str | None = None) -> Condition:
    """The left column is less than the right one, or equal to it."""
    return _compared("<=", left_col, right_col)


def greater(left_col: str, right_col: str | None = None) -> Condition:
    """The left column is greater than the right one."""
    return _compared(">", left_col, right_col)


def greater_equal(left_col: str, right_col: str | None = None) -> Condition:
    """The left column is greater than the right one, or equal to it."""
    return _compared(">=", left_col, right_col)


def band(left_col: str, low: Any, high: Any, right_col: str | None = None) -> Condition:
    """The left column lies between the right one + low and the right one + high, both ends inside.

    Offsets are numbers, or timedeltas for columns of time; None leaves an end open.

    >>> print(band("x", -5, 5) | band("x", 20, 35, "y"))
    (left.x >= right.x - 5 AND left.x <= right.x + 5) OR (left.x >= right.y + 20 AND left.x <= right.y + 35)
    >>> from datetime import timedelta
    >>> print(band("ts", timedelta(minutes=-5), None))
    left.ts >= right.ts - INTERVAL '300' SECOND
    """
    left, right = _pair(left_col, right_col)
    ends: tuple[tuple[Operator, Any], ...] = ((">=", low), ("<=", high))
    parts = [Comparison(operator, left, _shifted(right, offset)) for operator, offset in ends if offset is not None]
    if not parts:
        raise ConditionError(f"band({left_col!r}, None, None) has no bound; give a low or a high offset")
    return Condition(conjunction(*parts))


def _shifted(column: Column, offset: Any) -> Value:
    return total(column, "+", number(offset))


def _compared(operator: Operator, left_col: str, right_col: str | None) -> Condition:
    left, right = _pair(left_col, right_col)
    return Condition(Comparison(operator, left, right))


def _pair(left_col: str, right_col: str | None) -> tuple[Column, Column]:
    for name in (left_col, right_col):
        if name is not None and (not isinstance(name, str) or not name):
            raise ConditionError(f"a column is named by a string that is not empty, not {name!r}")
    return Column("left", left_col), Column("right", left_col if right_col is None else right_col)


def _condition(on: Any) -> Condition:
    if not isinstance(on, Condition):
        raise ConditionError(
            f"a condition is SQL text or made by equal, band, less, ... combined with & and |, not {on!r}"
        )
    return on
