"""A sample file as `panjoin advise` reads it: how many pairs a tuple finds, and whether keys move from first to last.

    orders.parquet, column price, band -5 .. 5   ──>   0.003 of all pairs match; drift 0.02

Rows count as arrivals, in the file's order. Matches are counted exactly among the sampled rows (each with the others):
the share of pairs that match, which times the window is the matches per tuple.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panjoin.errors import DataError, ParameterError
from panjoin.observation import SAMPLE, distance
from panjoin.suggest import choices

Array = npt.NDArray[Any]

#: Rows looked at; of a longer file, evenly spaced ones.
MOST_ROWS = 1_000_000


@dataclass(frozen=True)
class Sample:
    """What a file tells."""

    rows: int
    matching: float  #: share of all pairs that match
    drift: float


def read(path: Path, column: str, band: tuple[float, float]) -> Sample:
    """Look at one column; `band` is what the left key may be above the right one, (0, 0) for equality."""
    keys = _keys(_column(path, column), column, band)
    if len(keys) < 2:
        raise DataError(
            f"column {column!r} of {path} has {len(keys)} values; at least 2 are needed to see how they match"
        )
    return Sample(len(keys), _matching(keys, band), _drift(keys))


def _column(path: Path, column: str) -> pa.ChunkedArray:
    table = _table(path)
    if column not in table.column_names:
        raise DataError(f"{path} has no column {column!r}; {choices(column, table.column_names)}")
    return table.column(column)


def _table(path: Path) -> pa.Table:
    import pyarrow.csv  # noqa: PLC0415
    import pyarrow.feather  # noqa: PLC0415
    import pyarrow.json  # noqa: PLC0415
    import pyarrow.parquet  # noqa: PLC0415

    readers = {
        ".parquet": pyarrow.parquet.read_table,
        ".csv": pyarrow.csv.read_csv,
        ".json": pyarrow.json.read_json,
        ".jsonl": pyarrow.json.read_json,
        ".feather": pyarrow.feather.read_table,
        ".arrow": pyarrow.feather.read_table,
    }
    if path.suffix.lower() not in readers:
        raise ParameterError(f"{path} ends in {path.suffix!r}; {choices(path.suffix, readers)}")
    try:
        table: pa.Table = readers[path.suffix.lower()](str(path))
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    return table


def _keys(column: pa.ChunkedArray, name: str, band: tuple[float, float]) -> Array:
    stride = max(1, len(column) // MOST_ROWS)
    values = column.take(pa.array(np.arange(0, len(column), stride))).drop_null().combine_chunks()
    if pa.types.is_floating(values.type) or pa.types.is_integer(values.type):
        keys: Array = values.to_numpy(zero_copy_only=False)
        return keys
    if pa.types.is_decimal(values.type):
        return np.asarray(values.cast(pa.float64()))
    if pa.types.is_temporal(values.type) and not pa.types.is_duration(values.type):
        return np.asarray(values.cast(pa.timestamp("us"), safe=False).cast(pa.int64()))
    if any(band):
        raise ParameterError(
            f"column {name!r} is {values.type}, which has no order to lay a band over; leave --band out"
        )
    return np.asarray(pc.rank(values, tiebreaker="dense"))


def _matching(keys: Array, band: tuple[float, float]) -> float:
    ordered = np.sort(keys)
    low, high = band
    found = np.searchsorted(ordered, keys + high, "right") - np.searchsorted(ordered, keys + low, "left")
    own = 1 if low <= 0 <= high else 0
    return float(found.sum() - own * len(keys)) / (len(keys) * (len(keys) - 1))


def _drift(keys: Array) -> float:
    halves = keys[: len(keys) // 2], keys[len(keys) // 2 :]
    return distance(*(half[:: max(1, len(half) // SAMPLE)] for half in halves))
