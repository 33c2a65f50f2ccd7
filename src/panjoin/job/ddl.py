"""Columns as Spark's DDL writes them, read without Spark: "ts timestamp, symbol string, price decimal(10,2)".

    columns   =  name [:] type [NOT NULL] [COMMENT 'text'], ...           name: a word, or anything in backticks
    type      =  int | decimal(p,s) | array<type> | map<type,type> | struct<columns> | ...

Invariant: what `columns_of` reads, Spark reads as the same types; what it does not know is refused with the fragment.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from panjoin.errors import ParameterError
from panjoin.suggest import choices

_UTC = pa.timestamp("us", tz="UTC")
_SIMPLE: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(), "byte": pa.int8(),
    "smallint": pa.int16(), "short": pa.int16(),
    "int": pa.int32(), "integer": pa.int32(),
    "bigint": pa.int64(), "long": pa.int64(),
    "float": pa.float32(), "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(), "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": _UTC, "timestamp_ltz": _UTC, "timestamp_ntz": pa.timestamp("us"),
}  # fmt: skip
_TEXTS = ("char", "character", "varchar")
_DECIMALS = ("decimal", "dec", "numeric")
#: For messages: each type once.
_KNOWN = (
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "binary", "date",
    "timestamp", "timestamp_ntz", "array", "map", "struct",
)  # fmt: skip
_TOKEN = re.compile(r"\s*(`(?:``|[^`])+`|'(?:\\.|[^'\\])*'|\w+|[<>(),:]|$|.)")
_WORD = re.compile(r"\w+|`.*`", re.DOTALL)


def columns_of(text: str, what: str = "schema") -> pa.Schema:
    """The columns; `what` is how messages name the text."""
    reader = _Reader(text, what)
    fields = reader.fields("")
    names = [field.name for field in fields]
    for name in names:
        if sum(other.casefold() == name.casefold() for other in names) > 1:
            raise ParameterError(f"{what} names column {name!r} twice; Spark does not tell upper from lower case")
    return pa.schema(fields)


class _Reader:
    def __init__(self, text: str, what: str) -> None:
        self._what, self._text = what, text
        self._tokens = [token for token in _TOKEN.findall(text) if token]
        self._at = 0

    def fields(self, closing: str) -> list[pa.Field]:
        """Columns up to `closing`, which is "" for the end of the text."""
        found = [self._field()]
        while self._peek() == ",":
            self._next()
            found.append(self._field())
        self._expect(closing)
        return found

    def _field(self) -> pa.Field:
        name = self._next()
        if not _WORD.fullmatch(name):
            stands = f"{name!r} stands" if name else "the text ends"
            raise self._refused(f"{stands} where a column's name should be", "quote odd names in backticks")
        name = name[1:-1].replace("``", "`") if name.startswith("`") else name
        if self._peek() == ":":
            self._next()
        kind = self._type(name)
        nullable = True
        if self._peek().lower() == "not":
            self._next()
            self._expect("null")
            nullable = False
        if self._peek().lower() == "comment":
            self._next()
            self._next()
        return pa.field(name, kind, nullable)

    def _type(self, column: str) -> pa.DataType:
        name = self._next()
        kind = name.lower()
        if kind in _SIMPLE:
            return _SIMPLE[kind]
        if kind in _TEXTS:
            self._arguments()
            return pa.string()
        if kind in _DECIMALS:
            digits = [*self._arguments(), 10, 0][:2] if self._peek() == "(" else [10, 0]
            if not 1 <= digits[0] <= 38 or digits[1] > digits[0]:
                raise self._refused(f"decimal({digits[0]},{digits[1]}) does not exist", "at most 38 digits in all")
            return pa.decimal128(digits[0], digits[1] if len(digits) > 1 else 0)
        if kind in ("array", "map", "struct"):
            return self._nested(kind, column)
        missing = f"column {column!r} has no type" if not name else f"column {column!r} has the type {name!r}"
        raise self._refused(missing, choices(name, _KNOWN))

    def _nested(self, kind: str, column: str) -> pa.DataType:
        self._expect("<")
        if kind == "struct":
            return pa.struct(self.fields(">"))
        first = self._type(column)
        if kind == "array":
            self._expect(">")
            return pa.list_(first)
        self._expect(",")
        second = self._type(column)
        self._expect(">")
        return pa.map_(first, second)

    def _arguments(self) -> list[int]:
        self._expect("(")
        numbers = [self._number()]
        while self._peek() == ",":
            self._next()
            numbers.append(self._number())
        self._expect(")")
        return [*numbers, 0] if len(numbers) == 1 else numbers

    def _number(self) -> int:
        token = self._next()
        if not token.isdecimal():
            raise self._refused(f"{token!r} stands where a number should", "write for example decimal(10,2)")
        return int(token)

    def _expect(self, wanted: str) -> None:
        token = self._next()
        if token.lower() != wanted:
            here = f"{token!r} follows" if token else "the text ends"
            raise self._refused(f"{here} where {wanted!r} should stand" if wanted else f"{token!r} follows", "")

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _refused(self, reason: str, remedy: str) -> ParameterError:
        before = " ".join(self._tokens[max(0, self._at - 3) : self._at]) or self._text
        tail = f"; {remedy}" if remedy else ""
        return ParameterError(
            f"{self._what} is no list of columns such as 'ts timestamp, price int': near {before!r}, {reason}{tail}"
        )


def spark_ddl(schema: pa.Schema) -> str:
    """The columns as Spark reads them, every name quoted."""
    return ", ".join(_spelled(field) for field in schema)


def _spelled(field: Any, between: str = " ") -> str:
    name = field.name.replace("`", "``")
    return f"`{name}`{between}{spark_type(field.type)}{'' if field.nullable else ' NOT NULL'}"


def spark_type(kind: pa.DataType) -> str:
    """A type's name in Spark's SQL."""
    types = pa.types
    if types.is_struct(kind):
        return f"struct<{', '.join(_spelled(field, ': ') for field in kind)}>"
    if types.is_map(kind):
        return f"map<{spark_type(kind.key_type)}, {spark_type(kind.item_type)}>"
    if types.is_list(kind) or types.is_large_list(kind):
        return f"array<{spark_type(kind.value_type)}>"
    if types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if types.is_large_string(kind):
        return "string"
    if types.is_large_binary(kind):
        return "binary"
    found = next((name for name, known in _SIMPLE.items() if known == kind), None)
    if found is None:
        raise ParameterError(f"Spark has no type for Arrow's {kind}; convert the column before it is written")
    return found
