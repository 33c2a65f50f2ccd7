r"""The small language of join conditions: what SQL text and Python objects both turn into.

    left.x BETWEEN right.x - 5 AND right.x + 5        (text, through panjoin.sqltext)
    band("x", -5, 5)                                  (objects, through panjoin.predicate)

              AND
            /     \
          >=       <=           Comparison: always as written, because float bounds are those
         /  \     /  \          of the expression as written (x >= y - 5 and x + 5 >= y round differently)
    left.x   -  left.x  +
            / \        / \
     right.x   5  right.x  5

Invariant: a tree is a value: frozen, hashable, equal when it is written alike. It knows no types and no schema;
names are as the user wrote them. `conjunction`, `disjunction`, `negated` and `negation` are the ways to build the
boolean and signed nodes: they flatten AND and OR, push NOT down to the comparisons (De Morgan holds in three-valued
logic, and Spark's order is total, NaN included, so NOT a < b is a >= b) and fold the sign of literals, so that
`x + -5` and `x - 5` are the same tree.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal as OneOf
from typing import TypeAlias

from panjoin.errors import ConditionError

Side: TypeAlias = OneOf["left", "right"]
SIDES: tuple[Side, Side] = ("left", "right")

#: Spark's type families that a literal can have; "days" is an interval of whole days (its unit was DAY or WEEK).
LiteralKind: TypeAlias = OneOf["int", "decimal", "double", "float", "string", "boolean", "null", "interval", "days"]

Operator: TypeAlias = OneOf["=", "!=", "<", "<=", ">", ">=", "<=>"]

MICROS_PER_DAY = 86_400_000_000
_OPPOSITE: dict[str, Operator] = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True)
class Column:
    """`left.name` or `right.name`, as written."""

    side: Side
    name: str

    def __str__(self) -> str:
        plain = self.name.isidentifier() and self.name.isascii()
        return f"{self.side}.{self.name}" if plain else f"{self.side}.`{self.name.replace('`', '``')}`"


@dataclass(frozen=True)
class Literal:
    """A constant; intervals hold microseconds."""

    value: int | Decimal | float | str | bool | None
    kind: LiteralKind

    def __str__(self) -> str:
        if self.kind == "days":
            return f"INTERVAL '{int(self.value or 0) // MICROS_PER_DAY}' DAY"
        if self.kind == "interval":
            return f"INTERVAL '{Decimal(int(self.value or 0)).scaleb(-6).normalize():f}' SECOND"
        if self.kind == "string":
            return "'" + str(self.value).replace("\\", "\\\\").replace("'", "\\'") + "'"
        if self.kind == "decimal":
            text = f"{self.value:f}"
            return text if "." in text else f"{text}BD"
        if self.kind in ("double", "float"):
            return f"{self.value!r}{'D' if self.kind == 'double' else 'F'}"
        if self.kind == "null":
            return "NULL"
        return str(self.value).upper() if self.kind == "boolean" else str(self.value)


NULL = Literal(None, "null")


@dataclass(frozen=True)
class Negative:
    """`- operand`."""

    operand: Value

    def __str__(self) -> str:
        return f"-{_inner(self.operand)}"


@dataclass(frozen=True)
class Absolute:
    """`abs(operand)`."""

    operand: Value

    def __str__(self) -> str:
        return f"abs({self.operand})"


@dataclass(frozen=True)
class Sum:
    """`left + right` or `left - right`."""

    operator: OneOf["+", "-"]
    left: Value
    right: Value

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {_inner(self.right)}"


@dataclass(frozen=True)
class Comparison:
    """`left operator right`, as written; `beside` are the other values of its IN, which share in the common type."""

    operator: Operator
    left: Value
    right: Value
    beside: tuple[Value, ...] = ()

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True)
class In:
    """`tested IN (choices)`, two or more. Spark brings all its values to one type, unlike the two halves of BETWEEN."""

    tested: Value
    choices: tuple[Value, ...]

    def __str__(self) -> str:
        return f"{self.tested} IN ({', '.join(map(str, self.choices))})"

    @property
    def expanded(self) -> Expression:
        """The same as an OR of comparisons that know of one another."""
        return disjunction(*(_beside(compared(self.tested, "=", each), self.choices) for each in self.choices))


@dataclass(frozen=True)
class IsNull:
    """`operand IS NULL`."""

    operand: Value

    def __str__(self) -> str:
        return f"{_inner(self.operand)} IS NULL"


@dataclass(frozen=True)
class Not:
    """NOT of what cannot take it in itself: IS NULL, <=>, a boolean column."""

    operand: Expression

    def __str__(self) -> str:
        return f"NOT ({self.operand})"


@dataclass(frozen=True)
class And:
    """All of two or more parts, none of which is an And."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " AND ".join(f"({part})" if isinstance(part, Or) else str(part) for part in self.parts)


@dataclass(frozen=True)
class Or:
    """Any of two or more parts, none of which is an Or."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " OR ".join(f"({part})" if isinstance(part, And) else str(part) for part in self.parts)


#: What has a value of any type; a boolean value may be a condition.
Value: TypeAlias = Column | Literal | Negative | Absolute | Sum
Expression: TypeAlias = Value | Comparison | In | IsNull | Not | And | Or


def conjunction(*parts: Expression) -> Expression:
    """AND of the parts, flat; one part is itself."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, And) else (part,))]
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def disjunction(*parts: Expression) -> Expression:
    """OR of the parts, flat; one part is itself."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Or) else (part,))]
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def negation(expression: Expression) -> Expression:
    """NOT, pushed down as far as it goes."""
    match expression:
        case And(parts):
            return disjunction(*(negation(part) for part in parts))
        case Or(parts):
            return conjunction(*(negation(part) for part in parts))
        case Not(operand):
            return operand
        case Comparison(operator) if operator in _OPPOSITE:
            return replace(expression, operator=_OPPOSITE[operator])
        case _:
            return Not(expression)


def negated(value: Value) -> Value:
    """`-value`, with the sign of a literal folded in."""
    if isinstance(value, Literal) and isinstance(value.value, int | float | Decimal) and value.kind != "boolean":
        flipped = (
            value.value.copy_negate() if isinstance(value.value, Decimal) else -value.value
        )  # -Decimal rounds to 28 digits
        return Literal(flipped, value.kind)
    return Negative(value)


def total(left: Value, operator: OneOf["+", "-"], right: Value) -> Value:
    """`left + right` or `left - right`; a negative literal on the right turns the operator around."""
    if isinstance(right, Literal) and isinstance(right.value, int | float | Decimal) and _is_negative(right):
        return Sum("-" if operator == "+" else "+", left, negated(right))
    return Sum(operator, left, right)


def compared(left: Value, operator: Operator, right: Value) -> Expression:
    """A comparison. `abs(e)` beside a literal comes apart: abs(e) <= c is e <= c AND e >= -c, exactly, NaN included."""
    if isinstance(left, Literal) and isinstance(right, Absolute):
        mirrored: dict[str, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
        return compared(right, mirrored.get(operator, operator), left)
    if isinstance(left, Absolute) and isinstance(right, Literal) and _is_number(right):
        inner, low = left.operand, negated(right)
        if operator in ("<", "<="):
            return conjunction(
                Comparison(">" if operator == "<" else ">=", inner, low), Comparison(operator, inner, right)
            )
        if operator in (">", ">="):
            return disjunction(
                Comparison("<" if operator == ">" else "<=", inner, low), Comparison(operator, inner, right)
            )
        if operator == "=" and not _is_negative(right):
            return disjunction(Comparison("=", inner, low), Comparison("=", inner, right))
    return Comparison(operator, left, right)


def among(tested: Value, choices: tuple[Value, ...]) -> Expression:
    """`tested IN (choices)`; one choice is a plain comparison."""
    return In(tested, choices) if len(choices) > 1 else compared(tested, "=", choices[0])


def _beside(expression: Expression, others: tuple[Value, ...]) -> Expression:
    match expression:
        case Comparison():
            return replace(expression, beside=others)
        case Or(parts):
            return Or(tuple(_beside(part, others) for part in parts))
        case _:
            return expression


def columns(expression: Expression) -> Iterator[Column]:
    """Every column mentioned, in the order written, with repeats."""
    match expression:
        case Column():
            yield expression
        case Negative(operand) | Absolute(operand) | IsNull(operand) | Not(operand):
            yield from columns(operand)
        case Sum(_, left, right) | Comparison(_, left, right):
            yield from columns(left)
            yield from columns(right)
        case In(tested, choices):
            for value in (tested, *choices):
                yield from columns(value)
        case And(parts) | Or(parts):
            for part in parts:
                yield from columns(part)


def number(value: object) -> Literal:
    """A Python number or timedelta as the literal that SQL makes of its text: 0.5 is a DECIMAL, 1e-9 a DOUBLE."""
    if isinstance(value, dt.timedelta):
        micros = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
        return Literal(micros, "days" if micros % MICROS_PER_DAY == 0 else "interval")
    if hasattr(value, "item"):  # numpy scalars
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ConditionError(f"an offset must be a number or a timedelta, not {value!r}")
    if isinstance(value, int):
        return Literal(value, "int")
    if not Decimal(value).is_finite():
        raise ConditionError(f"an offset must be finite, not {value!r}; leave the bound out (None) for no bound")
    text = repr(value) if isinstance(value, float) else str(value)
    return Literal(float(text), "double") if "e" in text.lower() else Literal(Decimal(text), "decimal")


def _is_number(literal: Literal) -> bool:
    return isinstance(literal.value, int | float | Decimal) and literal.kind != "boolean"


def _is_negative(literal: Literal) -> bool:
    return isinstance(literal.value, int | float | Decimal) and literal.value < 0


def _inner(value: Value) -> str:
    return f"({value})" if isinstance(value, Sum | Negative) else str(value)
