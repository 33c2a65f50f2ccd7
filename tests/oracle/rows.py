"""Arrow tables as plain Python rows, with the kinds that the condition evaluator knows.

integers -> int                   "exact"          date       -> int, microseconds since 1970    "date"
decimal  -> decimal.Decimal       "exact"          timestamp  -> int, microseconds since 1970    "timestamp"
float32  -> float, exactly        "float"          string     -> str                             "string"
float64  -> float                 "double"         binary     -> bytes, boolean -> bool          their own names
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import types

from tests.oracle.values import DAY

Row = tuple[Any, ...]


def kind_of(type_: pa.DataType) -> str:
    """The kind of an Arrow type."""
    tests = {
        "boolean": types.is_boolean,
        "exact": lambda x: types.is_integer(x) or types.is_decimal(x),
        "float": types.is_float32,
        "double": types.is_float64,
        "date": types.is_date,
        "timestamp": lambda x: types.is_timestamp(x) and x.unit != "ns",
        "string": lambda x: types.is_string(x) or types.is_large_string(x),
        "binary": lambda x: types.is_binary(x) or types.is_large_binary(x),
        "null": types.is_null,
    }
    for kind, test in tests.items():
        if test(type_):
            return kind
    raise ValueError(f"no kind for {type_}: Spark has no such column, or it cannot be compared")


def columns_of(schema: pa.Schema) -> dict[str, tuple[int, str]]:
    """Name -> (position in the row, kind); columns that cannot be compared are left out."""
    known = {}
    for at, field in enumerate(schema):
        try:
            known[field.name] = (at, kind_of(field.type))
        except ValueError:
            continue
    return known


def rows_of(table: pa.Table) -> list[Row]:
    """All rows of a table, in order."""
    if table.num_columns == 0:
        return [()] * table.num_rows
    return list(zip(*(_values(column) for column in table.columns), strict=True))


def _values(column: pa.ChunkedArray) -> list[Any]:
    if types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_pylist()
    if types.is_date(column.type):
        return [None if day is None else day * DAY for day in column.cast(pa.date32()).cast(pa.int32()).to_pylist()]
    return column.to_pylist()
