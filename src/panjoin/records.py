"""What arrives becomes an Arrow RecordBatch: from RecordBatch, Table, pandas, polars, or a dict of arrays.

    push("left", anything) --to_batch--> RecordBatch --RecordDoor("left").admit--> RecordBatch of one schema for good

Invariants: the memory of Arrow data and of plain numpy columns is not copied, but for the few layouts that Arrow itself
cannot pick rows out of (panjoin.layouts); values are never changed on the way (64 bits beside a NULL stay 64 bits, a
NaN in a float column stays a NaN and is no NULL); after the first batch every batch of a side has the same names, types
and column order; a refused batch leaves the door as it was.

pandas: in float columns NaN stays NaN; in object columns None and NaN are NULL; NaT and pd.NA are NULL; the index is
not a column. (pandas itself turns [2**53 + 1, None] into floats: give such columns dtype "Int64" or object.)
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from panjoin.errors import DataError
from panjoin.layouts import in_layout, kept, same_values

_WHAT_WE_TAKE = "give a pyarrow RecordBatch or Table, a pandas or polars DataFrame, or a dict of arrays by column name"


def to_batch(data: Any, schema: pa.Schema | None = None, *, side: str = "the") -> pa.RecordBatch:
    """One RecordBatch with what `data` holds; `schema` gives the types where `data` has none of its own (lists)."""
    try:
        if isinstance(data, pa.RecordBatch):
            return data
        if isinstance(data, pa.Table):
            return _one_batch(data, side)
        if _is_pandas(data):
            return _from_pandas(data, schema, side)
        if isinstance(data, Mapping):
            return _from_mapping(data, schema, side)
        if hasattr(data, "__arrow_c_stream__"):  # polars, duckdb, and whatever speaks Arrow's C interface
            return _one_batch(pa.table(data), side)
        if hasattr(data, "__arrow_c_array__"):
            return pa.record_batch(data)
    except pa.ArrowException as error:
        raise DataError(f"{side} batch cannot be read as Arrow: {error}") from None
    raise DataError(f"{side} batch is a {type(data).__module__}.{type(data).__qualname__}; {_WHAT_WE_TAKE}")


class RecordDoor:
    """Where the batches of one side come in. The first one sets the schema, later ones must fit it.

    Columns may come in another order and with another nullability. A text, binary or dictionary column may come in
    another of Arrow's layouts of the same values; it is converted to the first one's. With `validate` every batch is
    checked to the last offset before anything reads it: for data from sources that are not trusted.
    """

    def __init__(self, side: str, schema: pa.Schema | None = None, *, validate: bool = False) -> None:
        self.side = side
        self.validate = validate
        self.schema = None if schema is None else _checked(schema, side)

    def admit(self, data: Any) -> pa.RecordBatch:
        """The batch with this side's schema; DataError, and no change, when it does not fit."""
        batch = to_batch(data, self.schema, side=self.side)
        if self.validate:
            try:
                batch.validate(full=True)
            except pa.ArrowException as error:
                raise DataError(f"{self.side} batch is malformed: {error}; nothing of it was used") from None
        if self.schema is None:
            schema = _checked(batch.schema, self.side)
        else:
            schema = self.schema
            self._refuse_other_names(batch.schema.names, schema.names)
        admitted = pa.RecordBatch.from_arrays([self._fit(batch, field) for field in schema], schema=schema)
        self.schema = schema
        return admitted

    def _refuse_other_names(self, names: list[str], known: list[str]) -> None:
        refuse_duplicates(names, self.side)
        missing, extra = [n for n in known if n not in names], [n for n in names if n not in known]
        if missing:
            raise DataError(
                f"{self.side} batch lacks column {missing[0]!r}, which the first one had; it has {_listed(names)}. "
                f"Add it, with NULLs if there is nothing to say"
            )
        if extra:
            raise DataError(
                f"{self.side} batch has a column {extra[0]!r} that the first one had not; "
                f"drop it, or start a new join with {_listed(names)}"
            )

    def _fit(self, batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
        column = batch.column(field.name)
        if column.type == field.type:
            return column
        if same_values(column.type, field.type):
            try:
                return in_layout(column, field.type)
            except pa.ArrowException as error:
                reason = f" ({error})"
        else:
            reason = ""
        raise DataError(
            f"{self.side} column {field.name!r} was {field.type} in the first batch and is {column.type} in this one"
            f"{reason}; cast it to {field.type}, or start a new join with the other type"
        )


def refuse_duplicates(names: list[str], side: str, *, case_sensitive: bool = True) -> None:
    """Refuse two columns of one name on one side."""
    seen = Counter(names if case_sensitive else [name.casefold() for name in names])
    for name in names:
        if seen[name if case_sensitive else name.casefold()] > 1:
            same = "" if case_sensitive else " (upper and lower case are the same here)"
            raise DataError(f"{side} batch has more than one column {name!r}{same}; rename all but one of them")


def _checked(schema: pa.Schema, side: str) -> pa.Schema:
    """The schema to remember: no duplicates, no column without a type, layouts that can be kept; any may hold NULLs."""
    if len(schema) == 0:
        raise DataError(f"{side} batch has no columns; {_WHAT_WE_TAKE}")
    refuse_duplicates(schema.names, side)
    for field in schema:
        if pa.types.is_null(field.type):
            raise DataError(
                f"{side} column {field.name!r} has no type: it holds nothing but NULL, or nothing at all; "
                f"in the first batch say which type it has, for example pyarrow.array(values, pyarrow.int64())"
            )
    try:
        return pa.schema([field.with_nullable(True).with_type(kept(field.type)) for field in schema])
    except DataError as error:
        raise DataError(f"{side} batch: {error}") from None


# ---- from what we take ----


def _one_batch(table: pa.Table, side: str) -> pa.RecordBatch:
    """A table as one batch: the very memory when it is in one piece, else one copy."""
    if table.num_rows == 0:
        return pa.RecordBatch.from_pylist([], schema=table.schema)
    batches = table.to_batches()
    if len(batches) > 1:
        batches = table.combine_chunks().to_batches()
    if len(batches) > 1:
        raise DataError(
            f"{side} table of {table.num_rows} rows does not fit one Arrow batch (a text column past 2 GB); "
            f"push it in pieces: for batch in table.to_batches()"
        )
    return batches[0]


def _is_pandas(data: Any) -> bool:
    """True for a pandas DataFrame; whoever has one has imported pandas, so we need not."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _from_pandas(frame: Any, schema: pa.Schema | None, side: str) -> pa.RecordBatch:
    names = list(frame.columns)
    _refuse_odd_names(names, side)
    columns = {}
    refuse_duplicates(names, side)
    for number, name in enumerate(names):
        series = frame.iloc[:, number]
        plain = isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf"
        columns[name] = _array(series.to_numpy() if plain else series, name, schema, side)
    return _from_columns(columns, side)


def _from_mapping(data: Mapping[Any, Any], schema: pa.Schema | None, side: str) -> pa.RecordBatch:
    _refuse_odd_names(list(data), side)
    return _from_columns({name: _array(values, name, schema, side) for name, values in data.items()}, side)


def _from_columns(columns: dict[str, pa.Array], side: str) -> pa.RecordBatch:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name!r}: {length}" for name, length in lengths.items())
        raise DataError(f"{side} columns must have one length, not {told}")
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _array(values: Any, name: str, schema: pa.Schema | None, side: str) -> pa.Array:
    """One column. Numbers of numpy keep their type; lists and objects take the schema's, if it is known."""
    if isinstance(values, np.ndarray) and not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    typed = isinstance(values, (pa.Array, pa.ChunkedArray)) or _is_stream(values)
    typed = typed or getattr(getattr(values, "dtype", None), "kind", "O") != "O"
    known = None
    if not typed and schema is not None and name in schema.names:
        known = schema.field(name).type
    try:
        array = pa.chunked_array(values) if _is_stream(values) else values
        if not isinstance(array, (pa.Array, pa.ChunkedArray)):
            array = pa.array(array, type=known)
        return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        wanted = "" if known is None else f" as {known}, its type in the first batch"
        raise DataError(f"{side} column {name!r} cannot be read{wanted}: {error}") from None


def _is_stream(values: Any) -> bool:
    """True for polars Series and the like; pandas Series and numpy arrays are better read by pyarrow itself."""
    pandas = sys.modules.get("pandas")
    ours = isinstance(values, (pa.Array, pa.ChunkedArray)) or (pandas and isinstance(values, pandas.Series))
    return hasattr(values, "__arrow_c_stream__") and not ours


def _refuse_odd_names(names: list[Any], side: str) -> None:
    for name in names:
        if not isinstance(name, str):
            raise DataError(f"{side} column names must be text, not {name!r} ({type(name).__name__}); rename it")


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))
