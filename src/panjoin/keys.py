"""Order-preserving int32 or int64 keys for every orderable Spark type, and hashes for the rest (equality only).

    Arrow column             codec                      keys
    bool, byte, short, int   the number itself          int32
    date                     days since 1970            int32
    float                    total order of the bits    int32     -inf ... -1.5 ... 0.0 ... inf, NaN: ascending
    decimal, up to 9 digits  unscaled number            int32
    long, timestamp, ...     the number, microseconds   int64
    decimal, up to 18        unscaled number            int64
    double                   total order of the bits    int64
    string, binary           xxHash64 of the bytes      int64     equality only, verified on the value

Invariants, where `k` is the key of a valid value: k(x) < k(y) exactly when Spark says x < y, and k(x) == k(y) exactly
when Spark says x = y (NaN = NaN and is the greatest; -0.0 = 0.0); `decode` inverts. Under a NULL the key is whatever
the buffer held. Integers, dates, timestamps in microseconds: the keys are the Arrow buffer itself, not a copy.

Cost on the machine this was written on, against copying the same bytes (numpy), 8M values, one thread: see the bottom.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panjoin import keypack
from panjoin.columns import Array, Mask, bits, frozen, microseconds, prefix, validity, values
from panjoin.errors import DataError, ParameterError
from panjoin.kernels.jit import kernel
from panjoin.keyhash import combine, hash24, hash32, hash_bytes
from panjoin.keypack import pack

__all__ = ["KeyCodec", "codec", "combine", "hash24", "hash32", "hash_bytes", "pack"]

DIGITS_OF_INT32, DIGITS_OF_INT64 = 9, 18
MILLIS_PER_DAY = 86_400_000
NANOS_PER_DAY = 86_400_000_000_000
NANOS_PER_UNIT = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def codec(kind: pa.DataType) -> KeyCodec:
    """The codec of an Arrow type; dictionary and run-end encoded types get that of their values."""
    return _codec(kind)


class KeyCodec:
    """Keys of one type; see the head of this file.

    `physical` is the numpy type of the values that `decode` gives and `keys_of` takes: bool, whole numbers (days,
    microseconds, unscaled decimals), float32 or float64.
    """

    exact: ClassVar[bool] = True  #: equal keys mean equal values
    orderable: ClassVar[bool] = True  #: keys order as values do
    nan_key: int | None = None  #: the key of NaN, the greatest one; None for types without NaN

    def __init__(self, kind: pa.DataType, dtype: Any, physical: Any, lowest: int, highest: int) -> None:
        self.type = kind
        self.dtype = np.dtype(dtype)  #: of the keys: int32 or int64
        self.physical = np.dtype(physical)
        self.lowest, self.highest = lowest, highest  #: smallest and greatest key that a valid value can have

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.type}, {self.dtype})"

    def encode(self, array: pa.Array | pa.ChunkedArray, column: str | None = None) -> tuple[Array, Mask | None]:
        """The keys of a column, and where it is valid (None: everywhere). `column` is named in messages.

        A column of another type is cast first, as Spark widens (int to long, int to double, decimal to decimal).
        """
        if not isinstance(array, pa.ChunkedArray):
            return self._encode(array, column)
        if array.num_chunks == 1:
            return self._encode(array.chunk(0), column)
        return _join([self._encode(chunk, column) for chunk in array.chunks], self.dtype)

    def keys_of(self, values: Array) -> Array:
        """The keys of numpy values of the physical type: the inverse of `decode`."""
        return values.astype(self.dtype, copy=False)

    def decode(self, keys: Array) -> Array:
        """The values of keys, in the physical type."""
        return keys.astype(self.physical, copy=False)

    def narrow(self, keys: Array, bits: int) -> Array:
        """Keys as `bits`-bit numbers (in int64), monotone: x <= y implies narrow(x) <= narrow(y). See keypack.py."""
        keypack.check_bits(bits)
        return keys.astype(np.int64) if self.narrows_exactly(bits) else self._narrow(keys, bits)

    def narrows_exactly(self, bits: int) -> bool:
        """True when `narrow` to so many bits loses nothing, so that nothing needs to be verified."""
        return keypack.fits(self.lowest, self.highest, bits)

    def _narrow(self, keys: Array, bits: int) -> Array:
        centre = keypack.TIME_CENTRE if pa.types.is_timestamp(self.type) else 0
        return keypack.narrow_whole(keys, self.highest, bits, centre)

    def _encode(self, array: pa.Array, column: str | None) -> tuple[Array, Mask | None]:
        if pa.types.is_dictionary(array.type):
            return self._take(array, column)
        if pa.types.is_run_end_encoded(array.type):
            array = pc.run_end_decode(array)
        if not self._reads(array.type):
            array = _cast(array, self.type, column)
        valid = validity(array)
        return self._read(array, valid, column), valid

    def _take(self, array: pa.DictionaryArray, column: str | None) -> tuple[Array, Mask | None]:
        """Each distinct value is encoded once; the indices pick its key."""
        keys, present = self._encode(array.dictionary, column)
        indices, valid = values(array.indices, array.indices.type.to_pandas_dtype()), validity(array.indices)
        if valid is not None:
            indices = np.where(valid, indices, 0)
        if len(keys) == 0:
            return np.zeros(len(array), self.dtype), valid
        if present is not None:
            taken = present[indices]
            valid = taken if valid is None else taken & valid
        return keys[indices], valid

    def _reads(self, kind: pa.DataType) -> bool:
        return bool(kind == self.type)

    def _read(self, array: pa.Array, valid: Mask | None, column: str | None) -> Array:
        """The keys of an array that `_reads` accepts."""
        return values(array, self.physical).astype(self.dtype, copy=False)


class _Bool(KeyCodec):
    def _read(self, array: pa.Array, valid: Mask | None, column: str | None) -> Array:
        memory = array.buffers()[1]
        return bits(memory, len(array), array.offset).astype(np.int32) if len(array) else np.empty(0, np.int32)


class _Date64(KeyCodec):
    """Milliseconds that must be whole days."""

    def _read(self, array: pa.Array, valid: Mask | None, column: str | None) -> Array:
        millis = _present(values(array, np.int64), valid)
        days = millis // MILLIS_PER_DAY
        wrong = (days * MILLIS_PER_DAY != millis) | (days < self.lowest) | (days > self.highest)
        _refuse_first(wrong, millis, "ms is not a date (whole days, 32 bits); cast the column to date32", column)
        return days.astype(np.int32)


class _Micros(KeyCodec):
    """Timestamps (with or without zone) and durations, of any unit, in microseconds."""

    def _reads(self, kind: pa.DataType) -> bool:
        return bool(pa.types.is_timestamp(kind) if pa.types.is_timestamp(self.type) else pa.types.is_duration(kind))

    def _read(self, array: pa.Array, valid: Mask | None, column: str | None) -> Array:
        return microseconds(array, valid, column)


class _Time(KeyCodec):
    """Time of day in nanoseconds, as Spark's TIME keeps it."""

    def _reads(self, kind: pa.DataType) -> bool:
        return bool(pa.types.is_time(kind))

    def _read(self, array: pa.Array, valid: Mask | None, column: str | None) -> Array:
        raw = values(array, np.int32 if pa.types.is_time32(array.type) else np.int64)
        unit = NANOS_PER_UNIT[array.type.unit]
        present = _present(raw, valid)
        wrong = (present < 0) | (present >= NANOS_PER_DAY // unit)
        _refuse_first(wrong, present, f"{array.type.unit} is not a time of day", column)
        return raw.astype(np.int64, copy=False) if unit == 1 else present.astype(np.int64) * unit


class _Decimal(KeyCodec):
    """The unscaled number; precision and scale are the codec's."""

    def _reads(self, kind: pa.DataType) -> bool:
        if not pa.types.is_decimal(kind) or pa.types.is_decimal256(kind):
            return False
        return bool(kind.scale == self.type.scale and kind.precision <= self.type.precision)

    def _read(self, array: pa.Array, valid: Mask | None, column: str | None) -> Array:
        width = array.type.bit_width
        if width < 128:  # noqa: PLR2004  (decimal32 and decimal64 store the number itself)
            raw = values(array, np.int32 if width == 32 else np.int64)  # noqa: PLR2004
            self._refuse_outside(raw, raw >> (width - 1), valid, column)
            return raw.astype(self.dtype, copy=False)
        words = values(array, np.dtype("V16")).view(np.int64)
        out = np.empty(len(array), self.dtype)
        if _low_words(frozen(words), np.int64(self.highest), out):
            self._refuse_outside(words[::2], words[1::2], valid, column)
        return out

    def _refuse_outside(self, low: Array, high: Array, valid: Mask | None, column: str | None) -> None:
        wrong = (low > self.highest) | (low < self.lowest) | (high != low >> np.int64(63))
        if valid is not None:
            wrong &= valid
        _refuse_first(wrong, low, f"has more digits than {self.type} allows; the column's data is damaged", column)


class _Float(KeyCodec):
    """IEEE bits in total order: as they are when the sign is clear, all but the sign inverted when it is set."""

    def __init__(self, kind: pa.DataType, dtype: Any, physical: Any) -> None:
        self.infinity = int(np.array(np.inf, physical).view(dtype))  #: the key of +infinity
        self.nan_key = int(np.array(np.nan, physical).view(dtype)) & int(np.iinfo(dtype).max)
        super().__init__(kind, dtype, physical, self.infinity ^ -1, self.nan_key)

    def keys_of(self, values: Array) -> Array:
        limit = self.dtype.type(np.iinfo(self.dtype).max)
        pattern = frozen(np.ascontiguousarray(values, self.physical)).view(self.dtype)
        out = np.empty(len(pattern), self.dtype)
        _total_order(pattern, limit, self.dtype.type(self.infinity), self.dtype.type(self.nan_key or 0), out)
        return out

    def decode(self, keys: Array) -> Array:
        width = self.dtype.itemsize * 8
        limit = self.dtype.type(np.iinfo(self.dtype).max)
        pattern: Array = keys ^ ((keys >> self.dtype.type(width - 1)) & limit)
        return pattern.view(self.physical)

    def _narrow(self, keys: Array, bits: int) -> Array:
        return keypack.narrow_float(keys, bits)

    def _read(self, array: pa.Array, valid: Mask | None, column: str | None) -> Array:
        return self.keys_of(values(array, self.physical))


class _Hash(KeyCodec):
    """Strings and binaries: comparable for equality alone, and verified on the value."""

    exact = False
    orderable = False

    def decode(self, keys: Array) -> Array:
        raise ParameterError(f"keys of {self.type} are hashes, which cannot be decoded; read the column itself")

    def keys_of(self, values: Array) -> Array:
        raise ParameterError(f"keys of {self.type} are made from Arrow arrays; call encode(pa.array(values))")

    def narrow(self, keys: Array, bits: int) -> Array:
        raise ParameterError(f"keys of {self.type} are hashes, which have no order to keep; use hash24 or hash32")

    def _reads(self, kind: pa.DataType) -> bool:
        return _is_bytes(kind)

    def _read(self, array: pa.Array, valid: Mask | None, column: str | None) -> Array:
        return hash_bytes(array)


# ---- which codec ----


@cache
def _codec(kind: pa.DataType) -> KeyCodec:
    types = pa.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _codec(kind.value_type)
    if types.is_integer(kind) and kind != pa.uint64():
        limits = np.iinfo(kind.to_pandas_dtype())
        dtype = np.int32 if limits.max <= np.iinfo(np.int32).max else np.int64
        return KeyCodec(kind, dtype, limits.dtype, int(limits.min), int(limits.max))
    if types.is_boolean(kind):
        return _Bool(kind, np.int32, np.bool_, 0, 1)
    if types.is_float32(kind):
        return _Float(kind, np.int32, np.float32)
    if types.is_float64(kind):
        return _Float(kind, np.int64, np.float64)
    if types.is_date(kind):
        return _whole(KeyCodec if types.is_date32(kind) else _Date64, kind, np.int32)
    if types.is_timestamp(kind) or types.is_duration(kind):
        return _whole(_Micros, kind, np.int64)
    if types.is_time(kind):
        return _Time(kind, np.int64, np.int64, 0, NANOS_PER_DAY - 1)
    if types.is_decimal(kind) and kind.precision <= DIGITS_OF_INT64:
        dtype = np.int32 if kind.precision <= DIGITS_OF_INT32 else np.int64
        return _Decimal(kind, dtype, dtype, 1 - 10**kind.precision, 10**kind.precision - 1)
    if _is_bytes(kind):
        return _whole(_Hash, kind, np.int64)
    raise DataError(f"a column of type {kind} cannot be a join key; {_remedy(kind)}")


def _whole(family: type[KeyCodec], kind: pa.DataType, dtype: Any) -> KeyCodec:
    limits = np.iinfo(dtype)
    return family(kind, dtype, dtype, int(limits.min), int(limits.max))


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    plain = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    return bool(text or plain or types.is_fixed_size_binary(kind))


def _remedy(kind: pa.DataType) -> str:
    types = pa.types
    if types.is_decimal(kind):
        scale = min(kind.scale, DIGITS_OF_INT64)
        return f"keys hold {DIGITS_OF_INT64} digits: cast it to DECIMAL({DIGITS_OF_INT64}, {scale}) or DOUBLE"
    if types.is_nested(kind):
        return "join on one of its fields, in a column of its own"
    return {
        pa.uint64(): "Spark has no unsigned type: cast it to int64 (up to 2^63-1) or decimal128(18)",
        pa.float16(): "cast it to float32, which is exact",
        pa.null(): "it holds nothing but NULL: give it the other side's type",
    }.get(kind, "cast it to a number, date, timestamp, string or binary")


# ---- reading ----


def _join(parts: list[tuple[Array, Mask | None]], dtype: Any) -> tuple[Array, Mask | None]:
    keys = np.concatenate([part for part, _ in parts]) if parts else np.empty(0, dtype)
    if all(valid is None for _, valid in parts):
        return keys, None
    return keys, np.concatenate([np.ones(len(part), np.bool_) if valid is None else valid for part, valid in parts])


def _cast(array: pa.Array, kind: pa.DataType, column: str | None) -> pa.Array:
    """As Spark widens: whole numbers to floats round to nearest, everything else is exact or refused."""
    rounds = pa.types.is_floating(kind) and not pa.types.is_string(array.type)
    try:
        return array.cast(kind, safe=not rounds)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        complaint = f"{array.type} cannot be read as {kind}: {error}; cast the column first"
        raise DataError(f"{prefix(column)}{complaint}") from None


def _present(raw: Array, valid: Mask | None) -> Array:
    return raw if valid is None else np.where(valid, raw, raw.dtype.type(0))


def _refuse_first(wrong: Array, raw: Array, complaint: str, column: str | None) -> None:
    if wrong.any():
        at = int(np.argmax(wrong))
        raise DataError(f"{prefix(column)}{raw[at]} at row {at} {complaint}")


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
