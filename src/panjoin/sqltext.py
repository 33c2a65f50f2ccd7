"""SQL text in, expression tree out: the front end of conditions, on sqlglot's Spark dialect.

sqlglot accepts much more than a join condition may hold, so this file is a list of what is understood; every other
node is refused with its own text quoted. Nothing is guessed: where sqlglot is more lenient than Spark (an alias
after an expression, BETWEEN SYMMETRIC, two strings side by side) the text is refused here too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from typing import Any

import sqlglot
from sqlglot import TokenType, exp

from panjoin.errors import ConditionError
from panjoin.expression import (
    MICROS_PER_DAY,
    NULL,
    SIDES,
    Absolute,
    Column,
    Comparison,
    Expression,
    IsNull,
    Literal,
    LiteralKind,
    Operator,
    Value,
    among,
    compared,
    conjunction,
    disjunction,
    negated,
    negation,
    total,
)
from panjoin.kinds import DECIMAL_DIGITS, kind_of_literal

_COMPARISONS: dict[type[Any], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_MICROS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": MICROS_PER_DAY,
    "WEEK": 7 * MICROS_PER_DAY,
}
_AMOUNTS = (TokenType.NUMBER, TokenType.STRING)
_ENDS_OF_INTERVAL = (
    TokenType.AND, TokenType.OR, TokenType.L_PAREN, TokenType.R_PAREN, TokenType.COMMA, TokenType.PLUS, TokenType.LT,
    TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.EQ, TokenType.NEQ, TokenType.NULLSAFE_EQ,
)  # fmt: skip
_BEFORE_A_SIGN = (
    None,
    TokenType.NOT,
    TokenType.DASH,
    TokenType.BETWEEN,
    *(kind for kind in _ENDS_OF_INTERVAL if kind != TokenType.R_PAREN),
)
_CALENDAR = ("MONTH", "YEAR", "QUARTER")
_ORDER = ("DAY", "HOUR", "MINUTE", "SECOND")
_SUFFIXES: dict[str, LiteralKind] = {
    "TINYINT": "int",
    "SMALLINT": "int",
    "INT": "int",
    "BIGINT": "int",
    "DOUBLE": "double",
    "FLOAT": "float",
    "DECIMAL": "decimal",
}
#: Spark reads a number with an exponent as DOUBLE, one with a point as DECIMAL, any other as a whole number.
_DIGITS = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_PIECE = re.compile(r"\s*([+-]?\s*\d+(?:\.\d+)?|[+-]?\.\d+)\s*([A-Za-z]+)")


def read(text: str) -> Expression:
    """The tree of one condition; `ConditionError` for everything else, quoting what was not understood."""
    if not text.strip():
        raise ConditionError("the condition is empty; write one over left and right, such as 'left.k = right.k'")
    try:
        _refuse_what_sqlglot_bends(text)
        tree = sqlglot.parse_one(text, into=exp.Condition, dialect="spark")
        return _boolean(tree)
    except ConditionError:
        raise
    except sqlglot.errors.SqlglotError as error:
        raise ConditionError(f"cannot read the condition {text!r} as SQL: {_reason(error)}") from None
    except RecursionError:
        raise ConditionError(f"the condition {text[:60]!r}... is nested too deeply") from None
    except (
        Exception
    ) as error:  # a parser fed by users must not fail in its own words (sqlglot has asserts and KeyErrors)
        raise ConditionError(f"cannot read the condition {text!r} as SQL: {type(error).__name__}") from error


def _refuse_what_sqlglot_bends(text: str) -> None:
    """Two readings of sqlglot that are not Spark's.

    `t - INTERVAL 1 DAY + 2 HOURS` is one interval of 26 hours to it, and no SQL to Spark. A sign + disappears, while
    Spark makes a DOUBLE of the string behind it.
    """
    inside, before = False, None
    for token, after in pairwise(sqlglot.tokenize(text, read="spark")):
        if token.token_type == TokenType.INTERVAL:
            inside = True
        elif token.token_type == TokenType.PLUS and inside and after.token_type in _AMOUNTS:
            raise ConditionError(
                f"not understood in a join condition: '+ {after.text}' after an interval in {text!r}; "
                "say INTERVAL again before it, or put the number first"
            )
        elif token.token_type == TokenType.PLUS and before in _BEFORE_A_SIGN and after.token_type != TokenType.NUMBER:
            raise ConditionError(
                f"not understood in a join condition: the sign in '+{after.text}' of {text!r}; leave it out"
            )
        elif token.token_type in _ENDS_OF_INTERVAL:
            inside = False
        before = token.token_type


def _boolean(node: Any) -> Expression:
    """A node in a place where a condition is wanted."""
    if type(node) in _COMPARISONS:
        operator = _COMPARISONS[type(node)]
        return compared(_value(node.this), operator, _value(node.expression))
    rule = _BOOLEANS.get(type(node))
    if rule is not None:
        return rule(node)
    value = _value(node)
    if isinstance(value, Column) or (isinstance(value, Literal) and value.kind in ("boolean", "null")):
        return value
    raise _refused(node, "it is not a condition; compare it with something")


def _between(node: Any) -> Expression:
    if node.args.get("symmetric"):
        raise _refused(node, "Spark has no BETWEEN SYMMETRIC; put the smaller bound first")
    middle = _value(node.this)
    return conjunction(
        compared(middle, ">=", _value(node.args["low"])), compared(middle, "<=", _value(node.args["high"]))
    )


def _among(node: Any) -> Expression:
    choices = node.args.get("expressions")
    if not choices or node.args.get("query") or node.args.get("unnest"):
        raise _refused(node, "IN takes a list of values here")
    return among(_value(node.this), tuple(_value(choice) for choice in choices))


def _is(node: Any) -> Expression:
    if isinstance(node.expression, exp.Null):
        return IsNull(_value(node.this))
    if isinstance(node.expression, exp.Boolean):
        return Comparison("<=>", _value(node.this), Literal(bool(node.expression.this), "boolean"))
    raise _refused(node, "IS takes NULL, TRUE or FALSE")


_BOOLEANS: dict[type[Any], Callable[[Any], Expression]] = {
    exp.And: lambda node: conjunction(_boolean(node.this), _boolean(node.expression)),
    exp.Or: lambda node: disjunction(_boolean(node.this), _boolean(node.expression)),
    exp.Not: lambda node: negation(_boolean(node.this)),
    exp.Paren: lambda node: _boolean(node.this),
    exp.Between: _between,
    exp.In: _among,
    exp.Is: _is,
    exp.NullSafeNEQ: lambda node: negation(compared(_value(node.this), "<=>", _value(node.expression))),
}


def _value(node: Any) -> Value:
    """A node in a place where a value is wanted."""
    rule = _VALUES.get(type(node))
    if rule is not None:
        return rule(node)
    if type(node) in _COMPARISONS or type(node) in _BOOLEANS:
        raise _refused(node, "a condition stands where a value is wanted; join conditions with AND, OR and NOT")
    raise _refused(
        node,
        "only columns, literals, + and -, abs(...) and intervals are; compute anything else as a column beforehand",
    )


def _column(node: Any) -> Value:
    name, table = node.this, node.args.get("table")
    if not isinstance(name, exp.Identifier):
        raise _refused(node, "name a column")
    if node.args.get("db") or node.args.get("catalog"):
        raise _refused(node, "fields of structs are not; a column whose name holds a dot is written left.`a.b`")
    side = table.name.lower() if table is not None else ""
    if side not in SIDES:
        raise _refused(node, f"say which side it is of: left.{name.name} or right.{name.name}")
    return Column("left" if side == "left" else "right", name.name)


def _literal(node: Any) -> Value:
    text = str(node.this)
    if node.is_string:
        return Literal(text, "string")
    if "e" in text.lower():
        return _finite(node, Literal(float(text), "double"))
    if "." in text:
        return _decimal(node, text)
    return Literal(int(text), "int")


def _decimal(node: Any, text: str) -> Literal:
    value = Decimal(text)
    digits, exponent = len(value.as_tuple().digits), int(value.as_tuple().exponent)
    if max(digits + max(exponent, 0), -exponent) > DECIMAL_DIGITS:
        raise _refused(node, f"a DECIMAL holds {DECIMAL_DIGITS} digits at most")
    return Literal(value, "decimal")


def _suffixed(node: Any) -> Value:
    """5L, 1.5D, 1.5BD: sqlglot gives them as casts of a literal, 1.5BD as one of '1.5' to DECIMAL(2, 1)."""
    number, kind = node.this, _SUFFIXES.get(node.to.this.name)
    if not isinstance(number, exp.Literal) or (number.is_string and kind != "decimal") or kind is None:
        raise _refused(node, "casts are not; compute the cast as a column beforehand")
    text = str(number.this)
    if kind == "int" and text.isdigit():
        return Literal(int(text), "int")
    if kind == "decimal" and _DIGITS.fullmatch(text) and node.to.expressions == _shape_of(text):
        return _decimal(node, text)
    if kind in ("double", "float"):
        return _finite(node, Literal(float(text), kind))
    raise _refused(node, "casts are not; compute the cast as a column beforehand")


def _shape_of(text: str) -> list[Any]:
    """The precision and scale that sqlglot, like Spark, reads off a decimal literal."""
    kind = kind_of_literal(Literal(Decimal(text), "decimal"))
    return [exp.DataTypeParam(this=exp.Literal.number(part)) for part in (kind.digits, kind.scale)]


def _finite(node: Any, literal: Literal) -> Literal:
    if literal.value in (float("inf"), float("-inf")):
        raise _refused(node, "it is past the largest DOUBLE")
    return literal


def _interval(node: Any) -> Value:
    unit, amount = node.args.get("unit"), node.this
    if isinstance(unit, exp.IntervalSpan):
        return _span(node, amount.name, unit.this.name.upper(), unit.expression.name.upper())
    sign = 1
    if isinstance(amount, exp.Neg):
        sign, amount = -1, amount.this
    if not isinstance(amount, exp.Literal):
        raise _refused(node, "an interval is a literal, such as INTERVAL '10' MINUTES")
    text = str(amount.this)
    return _sum_of_units(node, text if unit is None else f"{text} {unit.name}", sign)


def _sum_of_units(node: Any, text: str, sign: int) -> Literal:
    micros, days, at = Decimal(0), True, 0
    text = re.sub(r"^\s*interval\b", "", text, flags=re.IGNORECASE).strip()
    while at < len(text) or not text:
        piece = _PIECE.match(text, at)
        if piece is None:
            raise _refused(node, "an interval is numbers with units, such as INTERVAL '10 minutes 30 seconds'")
        amount, unit = Decimal(piece[1].replace(" ", "")), piece[2].upper().removesuffix("S")
        if unit in _CALENDAR:
            raise _refused(
                node,
                "months and years have no fixed length; use DAY, HOUR, MINUTE or SECOND, or add it in a column",
            )
        if unit not in _MICROS:
            raise _refused(node, f"{piece[2]} is no unit of time; there are {', '.join(_MICROS)}")
        if amount != int(amount) and unit != "SECOND":
            raise _refused(node, "only seconds take a fraction")
        micros, days, at = micros + amount * _MICROS[unit], days and unit in ("DAY", "WEEK"), piece.end()
    return _within_micros(node, sign * micros, days)


def _span(node: Any, text: str, first: str, last: str) -> Literal:
    """INTERVAL '1 02:03:04.5' DAY TO SECOND and its shorter relatives."""
    if first not in _ORDER or last not in _ORDER or _ORDER.index(first) >= _ORDER.index(last):
        raise _refused(node, "only spans from DAY, HOUR or MINUTE to a smaller unit have a fixed length")
    units = _ORDER[_ORDER.index(first) : _ORDER.index(last) + 1]
    shape = {"DAY": r"(\d+)", "HOUR": r"(\d{1,2})", "MINUTE": r"(\d{1,2})", "SECOND": r"(\d{1,2}(?:\.\d{1,9})?)"}
    pattern = "".join(
        ("" if at == 0 else " " if units[at - 1] == "DAY" else ":") + (r"(\d+)" if at == 0 else shape[unit])
        for at, unit in enumerate(units)
    )
    found = re.fullmatch(r"\s*([+-]?)" + pattern + r"\s*", text)
    if found is None:
        raise _refused(node, f"the text does not read as {first} TO {last}")
    limits = {"HOUR": 24, "MINUTE": 60, "SECOND": 60}
    amounts = [Decimal(part) for part in found.groups()[1:]]
    if any(amount >= limits[unit] for amount, unit in zip(amounts[1:], units[1:], strict=True)):
        raise _refused(node, "a part is past its unit's end")
    micros = sum((amount * _MICROS[unit] for amount, unit in zip(amounts, units, strict=True)), Decimal(0))
    return _within_micros(node, -micros if found[1] == "-" else micros, days=False)


def _within_micros(node: Any, micros: Decimal, days: bool) -> Literal:
    if micros != int(micros):
        raise _refused(node, "Spark's intervals are whole microseconds")
    if not -(2**63) <= micros < 2**63:
        raise _refused(node, "it is longer than Spark's longest interval (about 292,000 years)")
    return Literal(int(micros), "days" if days else "interval")


def _sum(node: Any, operator: Any) -> Value:
    left, right = _value(node.this), _value(node.expression)
    if isinstance(left, Literal) and isinstance(right, Literal) and {left.kind, right.kind} <= {"interval", "days"}:
        other = right if operator == "+" else negated(right)  # INTERVAL 1 DAY 2 HOURS comes as a sum of two
        assert isinstance(other, Literal)
        micros = int(left.value or 0) + int(other.value or 0)
        return _within_micros(node, Decimal(micros), left.kind == right.kind == "days")
    return total(left, operator, right)


_VALUES: dict[type[Any], Callable[[Any], Value]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: lambda node: Literal(bool(node.this), "boolean"),
    exp.Null: lambda _: NULL,
    exp.Paren: lambda node: _value(node.this),
    exp.Neg: lambda node: negated(_value(node.this)),
    exp.Add: lambda node: _sum(node, "+"),
    exp.Sub: lambda node: _sum(node, "-"),
    exp.Abs: lambda node: Absolute(_value(node.this)),
    exp.Interval: _interval,
    exp.Cast: _suffixed,
    exp.TryCast: _suffixed,
}


def _refused(node: Any, remedy: str) -> ConditionError:
    try:
        fragment = node.sql(dialect="spark", comments=False)
    except Exception:  # noqa: BLE001  (the generator fails on some nodes that the parser makes)
        fragment = type(node).__name__
    return ConditionError(f"not understood in a join condition: {fragment!r}; {remedy}")


def _reason(error: Any) -> str:
    """The parser's own first complaint, with the place, in one line."""
    details = [detail for detail in getattr(error, "errors", None) or [] if detail.get("line")]
    if not details:
        return str(error.__cause__ or error).split("\n", 1)[0].rstrip(". ") or "syntax error"
    last = details[-1]
    return f"syntax error near {last.get('highlight')!r}, line {last.get('line')}, column {last.get('col')}"
