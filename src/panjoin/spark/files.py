"""Files of a packed source as Arrow batches, whole or in part; what is wrong with one is said with its name.

    Parquet   row group 0 │ row group 1 │ ...      Arrow file   batch 0 │ batch 1 │ ...      Arrow stream   whole
              └──────── a Part: first .. last ────────┘

Columns are taken by name and have the types that the join was told. Spark's INT96 timestamps are UTC, though nothing in
the file says so. Arrow files carry no checksums: every batch is checked to its last offset before it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type, to_arrow_schema
from pyspark.sql.types import DataType, StructType

from panjoin.errors import DataError
from panjoin.spark.listing import Taken

FORMATS = ("parquet", "arrow")
_MAGIC = b"ARROW1"
#: Rows read at once.
_ROWS = 1 << 20


@dataclass(frozen=True)
class Part:
    """Row groups, or batches, `first` to before `last` of a file; all of it when `last` is None."""

    file: Taken
    first: int = 0
    last: int | None = None


def sizes(directory: Path, file: Taken, form: str) -> list[int]:
    """Bytes, more or less, of each part that a file can be cut into."""
    with _named(directory / file.name), (directory / file.name).open("rb") as handle:
        if form == "parquet":
            meta = pq.ParquetFile(handle).metadata
            return [meta.row_group(number).total_byte_size for number in range(meta.num_row_groups)]
        if handle.read(len(_MAGIC)) != _MAGIC:
            return [file.size]
        handle.seek(0)
        count = int(pa.ipc.open_file(handle).num_record_batches)
        return [file.size // max(1, count)] * count


def schema_of(path: Path, form: str) -> StructType:
    """Spark's types of the columns of a file."""
    with _named(path), path.open("rb") as handle:
        if form == "parquet":
            found = pq.ParquetFile(handle, coerce_int96_timestamp_unit="us")
            return from_arrow_schema(_in_utc(found.schema_arrow, _int96(found)))
        arrow = handle.read(len(_MAGIC)) == _MAGIC
        handle.seek(0)
        return from_arrow_schema((pa.ipc.open_file(handle) if arrow else pa.ipc.open_stream(handle)).schema)


def rows(directory: Path, part: Part, form: str, schema: StructType) -> Iterator[pa.RecordBatch]:
    """The rows of a part, in the columns and types of `schema`."""
    path = directory / part.file.name
    with _named(path), path.open("rb") as handle:
        _refuse_changed(path, part.file)
        batches = _parquet(handle, part, path, schema) if form == "parquet" else _arrow(handle, part, path, schema)
        yield from batches
        _refuse_changed(path, part.file)


def _parquet(handle: Any, part: Part, path: Path, schema: StructType) -> Iterator[pa.RecordBatch]:
    found = pq.ParquetFile(handle, coerce_int96_timestamp_unit="us", page_checksum_verification=True)
    last = found.num_row_groups if part.last is None else part.last
    utc = _int96(found)
    refuse_mismatch(path, _in_utc(found.schema_arrow, utc), schema)
    columns, wanted = schema.names, to_arrow_schema(schema, timezone="UTC")
    for batch in found.iter_batches(_ROWS, row_groups=list(range(part.first, last)), columns=columns):
        yield _as(batch, wanted, utc)


def _arrow(handle: Any, part: Part, path: Path, schema: StructType) -> Iterator[pa.RecordBatch]:
    wanted = to_arrow_schema(schema, timezone="UTC")
    arrow = handle.read(len(_MAGIC)) == _MAGIC
    handle.seek(0)
    if arrow:
        found = pa.ipc.open_file(handle)
        last = found.num_record_batches if part.last is None else part.last
        batches = (found.get_batch(number) for number in range(part.first, last))
    else:
        found = pa.ipc.open_stream(handle)
        batches = iter(found)
    refuse_mismatch(path, found.schema, schema)
    for batch in batches:
        chosen = batch.select(schema.names)
        chosen.validate(full=True)
        yield _as(chosen, wanted, ())


def _as(batch: pa.RecordBatch, wanted: pa.Schema, utc: Sequence[str]) -> pa.RecordBatch:
    columns = []
    for field in wanted:
        column = batch.column(field.name)
        if field.name in utc:
            column = column.cast(pa.timestamp(column.type.unit, "UTC"))
        columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=wanted)


def refuse_mismatch(path: Path, found: pa.Schema, wanted: StructType) -> None:
    """Refuse a file whose columns are not those that the join was told."""
    for field in wanted.fields:
        places = found.get_all_field_indices(field.name)
        if len(places) != 1:
            has = "has no" if not places else f"has {len(places)} columns called"
            raise DataError(
                f"{path} {has} column {field.name!r}, only {found.names}; the schema of the source says "
                f"{field.dataType.simpleString()}: keep files of another shape in a directory of their own"
            )
        kind = found.field(places[0]).type
        if _spark_type(kind) != field.dataType.simpleString():
            raise DataError(
                f"{path}: column {field.name!r} is {kind}, and the schema of the source says "
                f"{field.dataType.simpleString()}; write the file anew, or give the source the schema of its files"
            )


def _spark_type(kind: pa.DataType) -> str | None:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    try:
        found: DataType = from_arrow_type(kind)
    except Exception:  # noqa: BLE001  (whatever pyspark raises for a type that it does not know)
        return None
    return str(found.simpleString())


def _int96(found: pq.ParquetFile) -> list[str]:
    schema = found.schema
    columns = (schema.column(number) for number in range(len(schema)))
    return [column.path for column in columns if column.physical_type == "INT96"]


def _in_utc(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    utc = pa.timestamp("us", "UTC")
    return pa.schema([field.with_type(utc) if field.name in names else field for field in schema])


def _refuse_changed(path: Path, file: Taken) -> None:
    at = path.stat()
    if (at.st_size, at.st_mtime_ns) != (file.size, file.changed):
        raise DataError(
            f"{path} has changed since the micro-batch took it: it had {file.size} bytes and has {at.st_size}. Files "
            f"of a packed source stay as they are: write under a name that begins with '_', then rename; put the file "
            f"back, or start with a new checkpointLocation"
        )


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Whatever goes wrong with a file is said with its name."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataError(
            f"{path} is gone, and a micro-batch that took it is not done; put it back, or start with a new "
            f"checkpointLocation"
        ) from error
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{path} cannot be read: {error}. Mend it, or start with a new checkpointLocation and without it; "
            f"writers should write under a name that begins with '_', then rename"
        ) from error
