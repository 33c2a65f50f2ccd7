"""Order-preserving int32 or int64 keys for every orderable Spark type, and hashes for the rest (equality only).

    Arrow column             key                        dtype
    bool, byte, short, int   the number itself          int32
    date                     days since 1970            int32
    float                    total order of the bits    int32     -inf ... -1.5 ... 0.0 ... inf, NaN: ascending
    decimal, up to 9 digits  unscaled number            int32
    long, timestamp, ...     the number, microseconds   int64
    decimal, up to 18        unscaled number            int64
    double                   total order of the bits    int64
    string, binary           xxHash64 of the bytes      int64     equality only, verified on the value

Invariants: those of keycodec.py, with Spark's comparison: NaN equals NaN and is greater than everything, -0.0 equals
0.0. The keys of ints, longs, dates and timestamps in microseconds are the Arrow buffer itself, not a copy.

Time of `encode` over that of copying the keys, 8M values, one thread (a copy took 5.5 ms for int64): int, long and
timestamp 0.0 (0.06 with NULLs, for the mask), double and float 1.05, decimal(18) 1.4, timestamp in ms 1.05, in ns 2.1
(it divides). Strings of seven bytes: 160M/s; long strings: 18 GB/s.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from panjoin import keypack
from panjoin.columns import Array, Column, bits, frozen, microseconds, values
from panjoin.errors import DataError, ParameterError
from panjoin.kernels.jit import kernel
from panjoin.keycodec import KeyCodec
from panjoin.keyhash import combine, hash24, hash32, hash_bytes
from panjoin.keypack import pack

__all__ = ["KeyCodec", "codec", "combine", "hash24", "hash32", "hash_bytes", "pack"]

DIGITS_OF_INT32, DIGITS_OF_INT64 = 9, 18
MILLIS_PER_DAY = 86_400_000
NANOS_PER_DAY = 86_400_000_000_000
NANOS_PER_UNIT = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


@cache
def codec(kind: pa.DataType) -> KeyCodec:
    """The codec of an Arrow type; dictionary and run-end encoded types get that of their values."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return codec(kind.value_type)
    for belongs, make in _FAMILIES:
        if belongs(kind):
            return make(kind)
    raise DataError(f"a column of type {kind} cannot be a join key; {_remedy(kind)}")


class _Bool(KeyCodec):
    """One bit per value in Arrow, one number here."""

    def _read(self, column: Column) -> Array:
        array = column.array
        return (
            bits(array.buffers()[1], len(array), array.offset).astype(np.int32) if len(array) else np.empty(0, np.int32)
        )


class _Date64(KeyCodec):
    """Milliseconds that must be whole days."""

    def _read(self, column: Column) -> Array:
        millis = column.present(values(column.array, np.int64))
        days = millis // MILLIS_PER_DAY
        wrong = (days * MILLIS_PER_DAY != millis) | (days < self.lowest) | (days > self.highest)
        column.refuse(wrong, millis, "is not a date (whole days in 32 bits); cast the column to date32", "ms")
        return days.astype(np.int32)


class _Micros(KeyCodec):
    """Timestamps (with or without zone) and durations, of any unit, in microseconds."""

    def _narrow(self, keys: Array, bits: int) -> Array:
        centre = keypack.TIME_CENTRE if pa.types.is_timestamp(self.type) else 0
        return keypack.narrow_whole(keys, self.highest, bits, centre)

    def _reads(self, kind: pa.DataType) -> bool:
        return bool(pa.types.is_timestamp(kind) if pa.types.is_timestamp(self.type) else pa.types.is_duration(kind))

    def _read(self, column: Column) -> Array:
        return microseconds(column)


class _Time(KeyCodec):
    """Time of day in nanoseconds, as Spark's TIME keeps it."""

    def _reads(self, kind: pa.DataType) -> bool:
        return bool(pa.types.is_time(kind))

    def _read(self, column: Column) -> Array:
        kind = column.array.type
        unit = NANOS_PER_UNIT[kind.unit]
        raw = column.present(values(column.array, np.int32 if pa.types.is_time32(kind) else np.int64))
        column.refuse((raw < 0) | (raw >= NANOS_PER_DAY // unit), raw, "is not a time of day", kind.unit)
        nanos: Array = raw.astype(np.int64, copy=False) * np.int64(unit)
        return nanos


class _Decimal(KeyCodec):
    """The unscaled number; precision and scale are the codec's."""

    def _reads(self, kind: pa.DataType) -> bool:
        if not pa.types.is_decimal(kind) or pa.types.is_decimal256(kind):
            return False
        return bool(kind.scale == self.type.scale and kind.precision <= self.type.precision)

    def _read(self, column: Column) -> Array:
        width = column.array.type.bit_width
        if width < 128:  # decimal32 and decimal64 store the number itself
            raw = values(column.array, np.int32 if width == 32 else np.int64)
            self._refuse_outside(column, raw, raw >> (width - 1))
            return raw.astype(self.dtype, copy=False)
        words = values(column.array, "V16").view(np.int64)
        out = np.empty(len(column.array), self.dtype)
        if _low_words(words, np.int64(self.highest), out):
            self._refuse_outside(column, words[::2], words[1::2])
        return out

    def _refuse_outside(self, column: Column, low: Array, high: Array) -> None:
        wrong = (low > self.highest) | (low < self.lowest) | (high != low >> (low.dtype.itemsize * 8 - 1))
        if column.valid is not None:
            wrong &= column.valid
        column.refuse(wrong, low, f"(unscaled) has more digits than {self.type} allows; the data is damaged")


class _Float(KeyCodec):
    """IEEE bits in total order: as they are when the sign is clear, all but the sign inverted when it is set."""

    def __init__(self, kind: pa.DataType, dtype: Any, physical: Any) -> None:
        infinity, nan = np.array([np.inf, np.nan], physical).view(dtype)
        self.infinity = int(infinity)  #: the key of +infinity
        self.nan_key: int = int(nan) & int(np.iinfo(dtype).max)
        super().__init__(kind, dtype, physical, lowest=~self.infinity, highest=self.nan_key)

    def keys_of(self, values: Array) -> Array:
        number = self.dtype.type
        pattern = frozen(np.ascontiguousarray(values, self.physical)).view(self.dtype)
        out = np.empty(len(pattern), self.dtype)
        _total_order(pattern, number(np.iinfo(number).max), number(self.infinity), number(self.nan_key), out)
        return out

    def decode(self, keys: Array) -> Array:
        number = self.dtype.type
        sign_bit = number(self.dtype.itemsize * 8 - 1)
        pattern: Array = keys ^ ((keys >> sign_bit) & number(np.iinfo(number).max))
        return pattern.view(self.physical)

    def _narrow(self, keys: Array, bits: int) -> Array:
        return keypack.narrow_float(keys, bits)

    def _read(self, column: Column) -> Array:
        return self.keys_of(values(column.array, self.physical))


class _Hash(KeyCodec):
    """Strings and binaries: comparable for equality alone, and verified on the value."""

    exact = False
    orderable = False

    def keys_of(self, values: Array) -> Array:
        raise ParameterError(f"cannot hash {len(values)} numpy values as {self.type}; call encode(pa.array(values))")

    def decode(self, keys: Array) -> Array:
        raise ParameterError(f"cannot decode {len(keys)} keys of {self.type}: they are hashes; read the column itself")

    def narrow(self, keys: Array, bits: int) -> Array:
        raise ParameterError(
            f"cannot narrow {len(keys)} keys of {self.type} to {bits} bits: hashes have no order; use hash24 or hash32"
        )

    def _reads(self, kind: pa.DataType) -> bool:
        return _is_bytes(kind)

    def _read(self, column: Column) -> Array:
        return hash_bytes(column.array)


# ---- which family a type belongs to ----


def _integer(kind: pa.DataType) -> KeyCodec:
    limits = np.iinfo(kind.to_pandas_dtype())
    dtype = np.int32 if limits.max <= np.iinfo(np.int32).max else np.int64
    return KeyCodec(kind, dtype, limits.dtype, int(limits.min), int(limits.max))


def _decimal(kind: pa.DataType) -> KeyCodec:
    if pa.types.is_decimal256(kind):  # a container with much room to spare; such columns are cast
        kind = pa.decimal128(kind.precision, kind.scale)
    dtype = np.int32 if kind.precision <= DIGITS_OF_INT32 else np.int64
    return _Decimal(kind, dtype, dtype, 1 - 10**kind.precision, 10**kind.precision - 1)


def _all_of(family: type[KeyCodec], dtype: Any) -> Callable[[pa.DataType], KeyCodec]:
    """A family whose values use the whole range of the dtype."""
    limits = np.iinfo(dtype)
    return lambda kind: family(kind, dtype, dtype, int(limits.min), int(limits.max))


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    plain = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    return bool(text or plain or types.is_fixed_size_binary(kind))


_FAMILIES: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], KeyCodec]], ...] = (
    (lambda kind: pa.types.is_integer(kind) and not pa.types.is_uint64(kind), _integer),
    (pa.types.is_boolean, lambda kind: _Bool(kind, np.int32, np.bool_, 0, 1)),
    (pa.types.is_float32, lambda kind: _Float(kind, np.int32, np.float32)),
    (pa.types.is_float64, lambda kind: _Float(kind, np.int64, np.float64)),
    (pa.types.is_date32, _all_of(KeyCodec, np.int32)),
    (pa.types.is_date64, _all_of(_Date64, np.int32)),
    (lambda kind: pa.types.is_timestamp(kind) or pa.types.is_duration(kind), _all_of(_Micros, np.int64)),
    (pa.types.is_time, lambda kind: _Time(kind, np.int64, np.int64, 0, NANOS_PER_DAY - 1)),
    (lambda kind: pa.types.is_decimal(kind) and kind.precision <= DIGITS_OF_INT64, _decimal),
    (_is_bytes, _all_of(_Hash, np.int64)),
)


def _remedy(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        scale = min(kind.scale, DIGITS_OF_INT64)
        return f"keys hold {DIGITS_OF_INT64} digits: cast it to DECIMAL({DIGITS_OF_INT64}, {scale}) or DOUBLE"
    if pa.types.is_nested(kind):
        return "join on one of its fields, in a column of its own"
    return {
        pa.uint64(): "Spark has no unsigned type: cast it to int64 (up to 2^63-1) or decimal128(18)",
        pa.float16(): "cast it to float32, which is exact",
        pa.null(): "it holds nothing but NULL: give it the other side's type",
    }.get(kind, "cast it to a number, date, timestamp, string or binary")


# ---- kernels ----


@kernel
def _total_order(pattern: Array, limit: Any, infinity: Any, nan_key: Any, out: Array) -> None:
    for i in range(len(pattern)):
        b = pattern[i]
        magnitude = b & limit
        key = b if b >= 0 else b ^ limit
        key = key if magnitude != 0 else 0  # -0.0 equals 0.0
        out[i] = nan_key if magnitude > infinity else key


@kernel
def _low_words(words: Array, limit: Any, out: Array) -> int:
    """The low halves of 128-bit numbers; how many do not fit the limit (those under a NULL included)."""
    outside = 0
    for i in range(len(out)):
        low = words[2 * i]
        outside += (low > limit) | (low < -limit) | (words[2 * i + 1] != low >> np.int64(63))
        out[i] = low
    return outside
