"""Aggregates of the opposite side per probing tuple: what `emit=["count", "sum(price)", "avg(right.qty)"]` asks for.

    left tuple l arrives, matches rights with price 5, 7, NULL:   count 3, count(price) 2, sum(price) 12, avg(price) 6

    "sum(price)"         of both sides when both have a `price`, else of the side that has it
    "sum(right.price)"   of right tuples, hence for left ones       Aggregate("sum", "price", of="right")
    "sum(`a.b`) as s"    any name in backticks, any name for the result

Invariants: as in SQL, NULLs are neither counted nor added, nothing but NULLs (or no match) gives NULL, and `count`
gives 0; results have the types that Spark gives them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from panjoin.errors import DataError, ParameterError
from panjoin.suggest import choices

FUNCTIONS = ("count", "sum", "min", "max", "avg")
_ALSO = {"mean": "avg", "average": "avg", "minimum": "min", "maximum": "max"}
_SIDES = ("left", "right")
_TEXT = re.compile(
    r"""\s*(?P<function>\w+)\s*
        (?:\(\s*(?:(?P<of>left|right)\s*\.\s*)?(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<column>[^`()]*?))\s*\))?
        (?:\s+as\s+(?:`(?P<quoted_name>(?:[^`]|``)+)`|(?P<name>\S+)))?\s*""",
    re.VERBOSE | re.IGNORECASE,
)
_EXAMPLE = "write for example 'count', 'sum(price)', 'avg(right.price) as mean'"


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a list given as `emit`; texts such as "avg(right.price) as mean" say the same.

    >>> Aggregate("avg", "price", name="mean", of="right") == Aggregate.parse("avg(right.price) as mean")
    True
    """

    function: str  #: count, sum, min, max or avg
    column: str | None = None  #: what is aggregated; only count does without
    name: str = ""  #: of the result column; unless given as written: `sum(price)`
    of: str | None = None  #: the side whose tuples are aggregated; None: every side that has the column

    def __post_init__(self) -> None:
        function = _ALSO.get(str(self.function).lower(), str(self.function).lower())
        if function not in FUNCTIONS:
            raise ParameterError(f"no aggregate is called {self.function!r}; {choices(self.function, FUNCTIONS)}")
        if self.column is None and function != "count":
            raise ParameterError(f"{function} needs a column, such as {function + '(price)'!r}")
        if self.of not in (None, *_SIDES):
            raise ParameterError(f"of must be 'left' or 'right', the side that is aggregated, not {self.of!r}")
        inside = ".".join(part for part in (self.of, self.column) if part is not None)
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "name", self.name or (f"{function}({inside})" if inside else function))

    @classmethod
    def parse(cls, text: str) -> Aggregate:
        """From text such as "sum(right.price) as total"."""
        found = _TEXT.fullmatch(text)
        if found is None:
            raise ParameterError(f"{text!r} is no aggregate; {_EXAMPLE}")
        column = found["column"] if found["quoted"] is None else found["quoted"].replace("``", "`")
        name = found["name"] if found["quoted_name"] is None else found["quoted_name"].replace("``", "`")
        of = None if found["of"] is None else found["of"].lower()
        return cls(found["function"], None if column in (None, "", "*") else column, name or "", of)

    def sides(self, left: pa.Schema, right: pa.Schema) -> tuple[str, ...]:
        """The sides whose tuples are aggregated; refused when a column is missing or cannot be aggregated."""
        schemas = {"left": left, "right": right}
        asked = _SIDES if self.of is None else (self.of,)
        having = tuple(side for side in asked if self.column is None or self.column in schemas[side].names)
        if not having:
            where = "either side" if self.of is None else f"the {self.of} side"
            known = [name for side in asked for name in schemas[side].names]
            raise DataError(
                f"{self.name!r}: no column {self.column!r} on {where}; {choices(self.column, dict.fromkeys(known))}"
            )
        if self.column is not None:
            for side in having:
                self.result_type(schemas[side].field(self.column).type)
        return having

    def result_type(self, kind: pa.DataType) -> pa.DataType:
        """The type of the result over a column of this type, as Spark has it."""
        if self.function == "count":
            return pa.int64()
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if self.function in ("min", "max"):
            if pa.types.is_nested(kind) or pa.types.is_null(kind):
                raise DataError(f"{self.name!r}: values of type {kind} have no order; aggregate another column")
            return kind
        if pa.types.is_decimal(kind):
            more_digits, more_scale = (10, 0) if self.function == "sum" else (4, 4)
            return pa.decimal128(min(38, kind.precision + more_digits), min(38, kind.scale + more_scale))
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise DataError(f"{self.name!r}: {self.function} needs numbers, not {kind}; cast the column, or use count")
        return pa.int64() if self.function == "sum" and pa.types.is_integer(kind) else pa.float64()


def aggregates(given: Iterable[Aggregate | str]) -> tuple[Aggregate, ...]:
    """A list of aggregates, each an Aggregate or its text; the names of the results must differ."""
    found = tuple(one if isinstance(one, Aggregate) else Aggregate.parse(_text(one)) for one in given)
    if not found:
        raise ParameterError(f"emit is an empty list of aggregates; {_EXAMPLE}")
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"two aggregates are called {name!r}; name one of them: '{name} as other'")
    return found


def refuse_collisions(found: Sequence[Aggregate], left: pa.Schema, right: pa.Schema) -> None:
    """Refuse aggregates whose names are columns of the tuples that they are given to."""
    for one in found:
        for side in one.sides(left, right):
            probing, schema = ("right", right) if side == "left" else ("left", left)
            if one.name in schema.names:
                raise ParameterError(
                    f"the aggregate {one.name!r} is called like a column of the {probing} tuples that it is given to; "
                    f"name it: '{one.name} as other'"
                )


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise ParameterError(f"an aggregate is text or an Aggregate, not {given!r}; {_EXAMPLE}")
    return given
