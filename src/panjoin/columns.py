"""Arrow columns as numpy arrays: values, validity and microseconds, without copying where Arrow's layout allows it.

    pa.Array (offset 2, length 3)      values(array, np.int32)
    values   | 7 | 7 | 1 | ? | 5 |       ->  view [1, ?, 5]        '?' is whatever the buffer holds under a NULL
    validity | 1 | 1 | 1 | 0 | 1 |     validity(array)
                                         ->  [True, False, True], or None when nothing is NULL

Invariants: views are read-only (the memory is Arrow's) and aligned; what lies under a NULL is never looked at when a
value is judged; a conversion of units is exact or refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.errors import DataError
from panjoin.kernels.jit import kernel

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

MICROS_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}
NANOS_PER_MICRO = 1_000


class Column(NamedTuple):
    """One Arrow array at the door: its validity, and the name that messages call it by."""

    array: pa.Array
    valid: Mask | None
    name: str | None = None

    def present(self, raw: Array) -> Array:
        """The values with zeros under the NULLs, so that only real values are judged."""
        return raw if self.valid is None else np.where(self.valid, raw, raw.dtype.type(0))

    def refuse(self, wrong: Array, raw: Array, complaint: str, unit: str = "") -> None:
        """Refuse the column when a value is wrong, quoting the first such value."""
        if wrong.any():
            at = int(np.argmax(wrong))
            quoted = f"{raw[at]} {unit}".rstrip()
            raise DataError(f"{prefix(self.name)}{quoted} at row {at} {complaint}")


def prefix(column: str | None) -> str:
    """The beginning of a message about a column."""
    return "" if column is None else f"column {column!r}: "


def values(array: pa.Array, dtype: Any) -> Array:
    """The fixed-width values of an array as a read-only view."""
    memory = array.buffers()[1]
    if memory is None or len(array) == 0:
        return frozen(np.zeros(len(array), dtype))
    return view(memory, dtype, len(array), array.offset)


def view(memory: pa.Buffer, dtype: Any, count: int, first: int = 0) -> Array:
    """`count` items of a buffer from item `first` on; read-only; copied only when the memory is not aligned."""
    dtype = np.dtype(dtype)
    if memory.size < (first + count) * dtype.itemsize:
        raise DataError(
            f"malformed Arrow data: {first + count} items of {dtype.itemsize} bytes are said to be "
            f"in {memory.size} bytes"
        )
    items = np.frombuffer(memory, dtype, count=count, offset=first * dtype.itemsize)
    return frozen(items if items.flags.aligned else items.copy())


def frozen(items: Array) -> Array:
    """A read-only view. Kernels that read Arrow memory are compiled for these alone, hence once."""
    items = items.view()
    items.flags.writeable = False
    return items


def validity(array: pa.Array) -> Mask | None:
    """True where a value is present, or None when all are."""
    if array.null_count == 0:
        return None
    bitmap = array.buffers()[0]
    if bitmap is None:  # null type, and types that keep their NULLs elsewhere
        return np.asarray(array.is_valid())
    return bits(bitmap, len(array), array.offset)


def bits(memory: pa.Buffer, count: int, first: int = 0) -> Mask:
    """`count` bits of a bitmap from bit `first` on, one boolean each."""
    first_byte, first_bit = divmod(first, 8)
    packed = view(memory, np.uint8, (first_bit + count + 7) // 8, first_byte)
    return np.unpackbits(packed, count=first_bit + count, bitorder="little")[first_bit:].view(np.bool_)


def microseconds(column: Column) -> Array:
    """A timestamp or duration of any unit, in whole microseconds as Spark keeps it; refused when that is not exact."""
    unit = column.array.type.unit
    raw = values(column.array, np.int64)
    if unit == "us":
        return raw
    out = np.empty(len(raw), np.int64)
    if unit == "ns":
        if _whole_micros(raw, out):
            present = column.present(raw)
            column.refuse(
                present % NANOS_PER_MICRO != 0,
                present,
                "is not a whole number of microseconds, which is what Spark keeps; round the column first, for example "
                "with pyarrow.compute.floor_temporal(column, unit='microsecond')",
                unit,
            )
        return out
    factor = MICROS_PER_UNIT[unit]
    limit = np.iinfo(np.int64).max // factor
    if _scaled(raw, np.int64(factor), np.int64(limit), out):
        present = column.present(raw)
        column.refuse(
            (present > limit) | (present < -limit),
            present,
            "does not fit 64-bit microseconds (about 292,000 years); make such values NULL, or clamp them",
            unit,
        )
    return out


# ---- kernels: one pass that converts and counts what does not fit, values under a NULL included ----


@kernel
def _whole_micros(nanos: Array, out: Array) -> int:
    inexact = 0
    for i in range(len(out)):
        micros = nanos[i] // NANOS_PER_MICRO
        inexact += micros * NANOS_PER_MICRO != nanos[i]
        out[i] = micros
    return inexact


@kernel
def _scaled(raw: Array, factor: Any, limit: Any, out: Array) -> int:
    outside = 0
    for i in range(len(out)):
        outside += (raw[i] > limit) | (raw[i] < -limit)
        out[i] = raw[i] * factor
    return outside
