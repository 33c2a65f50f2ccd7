"""A condition fitted to two schemas: names resolved, types checked, ready to be evaluated and turned into keys.

    left.X = right.x          names: exact case first, then Spark's default (any case), refused when ambiguous
    int32 with float32        types: both become double, as Spark does (panjoin.kinds)

    full(left, right)         bool per row pair: the whole condition
    residual(left, right)     bool per row pair: what equalities and band leave open; None when nothing is

Rows are pairs already: row i of `left` meets row i of `right`. NULL (unknown) is False: it matches nothing.
Invariant: full == equalities AND band AND residual on every pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from panjoin.columns import Array
from panjoin.errors import ConditionError
from panjoin.evaluate import RunTruth, compile_condition
from panjoin.expression import (
    SIDES,
    Absolute,
    And,
    Column,
    Comparison,
    Expression,
    In,
    IsNull,
    Literal,
    Negative,
    Not,
    Or,
    Side,
    Sum,
    Value,
    columns,
)
from panjoin.kinds import Kind, kind_of
from panjoin.normal import Band, Equality, Interval, NormalForm, without_band
from panjoin.typed import Environment, Scope
from panjoin.vectors import Vector, vector_of
from panjoin.zones import zone

#: A RecordBatch, a Table, or a mapping of names to arrays.
Columns: TypeAlias = Any


class BoundCondition:
    """See the head of this file. `equalities`, `band` and `rest` carry the schemas' own names."""

    def __init__(
        self, form: NormalForm, expression: Expression, left: pa.Schema, right: pa.Schema, *, timezone: str = "UTC"
    ) -> None:
        self._form, self._written = form, expression
        self.schemas: dict[Side, pa.Schema] = {"left": left, "right": right}
        names = {column: self._resolve(column) for column in dict.fromkeys(columns(expression))}
        self.expression = _renamed(expression, names)
        self.scope = Scope({column: self._kind(column) for column in names.values()}, zone(timezone))
        self.equalities = tuple(
            Equality(names[Column("left", pair.left)].name, names[Column("right", pair.right)].name)
            for pair in form.equalities
        )
        self.band = None if form.band is None else _renamed_band(form.band, names)
        self.rest = None if form.residual is None else _renamed(form.residual, names)
        self._full = compile_condition(self.expression, self.scope)
        if self.band is not None and not self._orderable(self.band):  # no order in keys: evaluated on candidates
            self.band, self.rest = None, without_band(self.expression)
        self._residual = None if self.rest is None else compile_condition(self.rest, self.scope)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as its arguments: what is compiled is made again."""
        left, right = self.schemas["left"], self.schemas["right"]
        return partial(BoundCondition, timezone=self.scope.zone.name), (self._form, self._written, left, right)

    def full(self, left: Columns, right: Columns) -> Array:
        """Where the whole condition holds."""
        return self._evaluate(self._full, self.expression, left, right)

    def residual(self, left: Columns, right: Columns) -> Array | None:
        """Where the residual holds, or None when there is none."""
        if self._residual is None or self.rest is None:
            return None
        return self._evaluate(self._residual, self.rest, left, right)

    def columns(self, side: Side) -> list[str]:
        """The columns of a side that the condition needs, in the order of the schema."""
        needed = {column.name for column in self.scope.kinds if column.side == side}
        return [name for name in self.schemas[side].names if name in needed]

    def residual_columns(self, side: Side) -> list[str]:
        """The columns of a side that the residual alone needs."""
        if self.rest is None:
            return []
        needed = {column.name for column in columns(self.rest) if column.side == side}
        return [name for name in self.schemas[side].names if name in needed]

    def type_of(self, side: Side, name: str) -> pa.DataType:
        """The Arrow type of a column, looked up by its exact name."""
        return self.schemas[side].field(name).type

    def kind(self, side: Side, name: str) -> Kind:
        """The kind of a column that the condition needs."""
        return self.scope.kinds[Column(side, name)]

    def compile(self, expression: Expression) -> RunTruth:
        """A part of the condition, ready to run on vectors."""
        return compile_condition(expression, self.scope)

    # ---- names and types ----

    def _resolve(self, column: Column) -> Column:
        names = self.schemas[column.side].names
        found = [name for name in names if name == column.name]
        if not found:
            found = [name for name in names if name.lower() == column.name.lower()]
        if len(found) == 1:
            return Column(column.side, found[0])
        if found:
            raise ConditionError(
                f"{column} is ambiguous: the {column.side} side has {', '.join(map(repr, found))}; rename one"
            )
        raise ConditionError(
            f"there is no column {column}; the {column.side} side has {', '.join(map(repr, names)) or 'none'}"
        )

    def _kind(self, column: Column) -> Kind:
        return comparable(column, self.schemas[column.side].field(column.name).type)

    def _orderable(self, band: Band) -> bool:
        """Keys order numbers, dates, times and booleans; decimals only up to 18 digits."""
        kinds = (self.kind("left", band.left), self.kind("right", band.right))
        return all(
            kind.family not in ("string", "binary", "null") and not (kind.family == "decimal" and kind.digits > 18)
            for kind in kinds
        )

    # ---- evaluation ----

    def _evaluate(self, run: RunTruth, expression: Expression, left: Columns, right: Columns) -> Array:
        sources: dict[Side, Columns] = {"left": left, "right": right}
        environment: dict[tuple[Side, str], Vector] = {}
        for column in dict.fromkeys(columns(expression)):
            array = array_of(sources[column.side], column.name)
            environment[(column.side, column.name)] = vector_of(array, self.scope.kinds[column])
        length = max((_rows(sources[side]) for side in SIDES), default=0)
        return _full_length(run, environment, length)


def _full_length(run: RunTruth, environment: Environment, length: int) -> Array:
    true = np.asarray(run(environment).true, np.bool_)
    return np.broadcast_to(true, (length,)) if true.ndim == 0 else true


def _rows(source: Columns) -> int:
    if isinstance(source, pa.RecordBatch | pa.Table):
        return int(source.num_rows)
    return max((len(array) for array in source.values()), default=0)


def comparable(column: Column, arrow: pa.DataType) -> Kind:
    """The kind of a column of this type; refused when no condition can compare it."""
    kind = kind_of(arrow)
    if kind is None:
        raise ConditionError(
            f"{column} is {arrow}, which a condition cannot compare; cast it to a number, date or string"
        )
    return kind


def array_of(source: Columns, name: str) -> Any:
    """One column of a batch, as an Arrow array."""
    array = source[name] if isinstance(source, Mapping) else source.column(source.schema.get_field_index(name))
    return array if isinstance(array, pa.Array | pa.ChunkedArray) else pa.array(array)


# ---- renaming ----


def _renamed_band(band: Band, names: Mapping[Column, Column]) -> Band:
    intervals = tuple(
        Interval(part.low, part.high, tuple(_renamed_comparison(written, names) for written in part.comparisons))
        for part in band.intervals
    )
    left, right = names[Column("left", band.left)], names[Column("right", band.right)]
    return Band(left.name, right.name, band.unit, intervals)


def _renamed_comparison(comparison: Comparison, names: Mapping[Column, Column]) -> Comparison:
    left, right, *beside = (
        _renamed_value(value, names) for value in (comparison.left, comparison.right, *comparison.beside)
    )
    return Comparison(comparison.operator, left, right, tuple(beside))


def _renamed(expression: Expression, names: Mapping[Column, Column]) -> Expression:
    """The same tree with the schemas' own names."""
    match expression:
        case Comparison():
            return _renamed_comparison(expression, names)
        case In(tested, choices):
            return In(_renamed_value(tested, names), tuple(_renamed_value(choice, names) for choice in choices))
        case And(parts):
            return And(tuple(_renamed(part, names) for part in parts))
        case Or(parts):
            return Or(tuple(_renamed(part, names) for part in parts))
        case Not(operand):
            return Not(_renamed(operand, names))
        case IsNull(operand):
            return IsNull(_renamed_value(operand, names))
        case _:
            return _renamed_value(expression, names)


def _renamed_value(value: Value, names: Mapping[Column, Column]) -> Value:
    match value:
        case Column():
            return names[value]
        case Literal():
            return value
        case Negative(operand):
            return Negative(_renamed_value(operand, names))
        case Absolute(operand):
            return Absolute(_renamed_value(operand, names))
        case Sum(operator, left, right):
            return Sum(operator, _renamed_value(left, names), _renamed_value(right, names))
