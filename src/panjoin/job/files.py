"""What files that are there say of themselves: the columns of Parquet, and how many rows a bounded job will read."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from panjoin.errors import ParameterError
from panjoin.job.ddl import spark_type

#: Text is counted line by line up to so many bytes; beyond that nobody wants to wait for a progress bar.
_MOST_COUNTED = 256 << 20
_BLOCK = 1 << 20


def data_files(place: str, ending: str = "") -> Iterator[Path]:
    """Files that Spark would read: those whose path has no part that begins with '_' or '.'."""
    root = Path(place)
    if root.is_file():
        yield root
        return
    for path in sorted(root.rglob(f"*{ending}")):
        inner = path.relative_to(root).parts
        if path.is_file() and not any(part.startswith(("_", ".")) for part in inner):
            yield path


def parquet_columns(place: str) -> pa.Schema | None:
    """The columns of the first Parquet file as Spark sees them; None when there is none, or only Spark can tell."""
    path = next(data_files(place, ".parquet"), None)
    if path is None or any("=" in part for part in path.relative_to(place).parts[:-1]):  # columns in directories' names
        return None
    try:
        schema = pq.read_schema(path)
        for field in schema:
            spark_type(_in_micros(field.type))
    except (OSError, pa.ArrowException, ParameterError):  # Spark says what is wrong with it
        return None
    return pa.schema([pa.field(field.name, _in_micros(field.type)) for field in schema])


def _in_micros(kind: pa.DataType) -> pa.DataType:
    if not pa.types.is_timestamp(kind):
        return kind
    return pa.timestamp("us") if kind.tz is None else pa.timestamp("us", tz="UTC")


def rows_in(place: str, fmt: str, *, header: bool = False) -> int | None:
    """How many rows are there, when that is cheap to know."""
    if fmt == "parquet":
        return sum(int(pq.read_metadata(path).num_rows) for path in data_files(place, ".parquet"))
    files = list(data_files(place))
    if fmt not in ("csv", "json") or sum(path.stat().st_size for path in files) > _MOST_COUNTED:
        return None
    return sum(max(0, _lines(path) - int(header)) for path in files)


def _lines(path: Path) -> int:
    lines, last = 0, b"\n"
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            lines += block.count(b"\n")
            last = block[-1:]
    return lines + (last != b"\n")
