"""What every codec can do: between the values of one type and the int32 or int64 keys that kernels see.

    Arrow column --encode--> keys, validity      physical values --keys_of--> keys --decode--> physical values
                                                                   keys --narrow(b)--> b-bit numbers (keypack.py)

Invariants, where k(x) is the key of a valid value x: k(x) < k(y) exactly when Spark says x < y, and k(x) == k(y)
exactly when Spark says x = y; `decode` inverts `keys_of`; every k(x) lies in `lowest`..`highest`. A codec that cannot
keep order says `orderable = False`, one whose equal keys may hide unequal values says `exact = False`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panjoin import keypack
from panjoin.columns import Array, Column, Mask, prefix, validity, values
from panjoin.errors import DataError


class KeyCodec:
    """Keys of one type; this class itself serves whole numbers, which are their own keys.

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

        Under a NULL the key is whatever the buffer held. Arrays of another type are cast first, as Spark widens (int
        to long, int to double, decimal to decimal).
        """
        if not isinstance(array, pa.ChunkedArray):
            return self._encode(array, column)
        if array.num_chunks == 1:
            return self._encode(array.chunk(0), column)
        return _join([self._encode(chunk, column) for chunk in array.chunks], self.dtype)

    def keys_of(self, values: Array) -> Array:
        """Encode numpy values of the physical type; `decode` is the way back."""
        return values.astype(self.dtype, copy=False)

    def decode(self, keys: Array) -> Array:
        """The values of keys, in the physical type."""
        return keys.astype(self.physical, copy=False)

    def narrow(self, keys: Array, bits: int) -> Array:
        """Keys as `bits`-bit numbers, in int64, in an order that never turns round but may merge. See keypack.py."""
        keypack.check_bits(bits)
        return keys.astype(np.int64) if self.narrows_exactly(bits) else self._narrow(keys, bits)

    def narrows_exactly(self, bits: int) -> bool:
        """True when `narrow` to so many bits loses nothing, so that nothing needs to be verified."""
        return keypack.fits(self.lowest, self.highest, bits)

    # ---- what a family of types does its own way ----

    def _narrow(self, keys: Array, bits: int) -> Array:
        return keypack.narrow_whole(keys, self.highest, bits)

    def _reads(self, kind: pa.DataType) -> bool:
        """True when `_read` takes arrays of this type as they are."""
        return bool(kind == self.type)

    def _read(self, column: Column) -> Array:
        """The keys of an array that `_reads` accepts."""
        return values(column.array, self.physical).astype(self.dtype, copy=False)

    # ---- layouts that every type can come in ----

    def _encode(self, array: pa.Array, name: str | None) -> tuple[Array, Mask | None]:
        if pa.types.is_dictionary(array.type):
            return self._take(array, name)
        if pa.types.is_run_end_encoded(array.type):
            array = pc.run_end_decode(array)
        if not self._reads(array.type):
            array = _cast(array, self.type, name)
        column = Column(array, validity(array), name)
        return self._read(column), column.valid

    def _take(self, array: pa.DictionaryArray, name: str | None) -> tuple[Array, Mask | None]:
        """Each distinct value is encoded once; the indices pick its key."""
        keys, present = self._encode(array.dictionary, name)
        valid = validity(array.indices)
        picks = Column(array, valid).present(values(array.indices, array.indices.type.to_pandas_dtype()))
        if len(keys) == 0:
            return np.zeros(len(array), self.dtype), valid
        outside = (picks < 0) | (picks >= len(keys))
        if outside.any():
            wrong = int(picks[np.argmax(outside)])
            raise DataError(
                f"{prefix(name)}malformed Arrow data: index {wrong} into a dictionary of {len(keys)} values"
            )
        if present is not None:
            valid = present[picks] if valid is None else present[picks] & valid
        return keys[picks], valid


def _join(parts: list[tuple[Array, Mask | None]], dtype: Any) -> tuple[Array, Mask | None]:
    keys = np.concatenate([part for part, _ in parts]) if parts else np.empty(0, dtype)
    if all(valid is None for _, valid in parts):
        return keys, None
    return keys, np.concatenate([np.ones(len(part), np.bool_) if valid is None else valid for part, valid in parts])


def _cast(array: pa.Array, kind: pa.DataType, name: str | None) -> pa.Array:
    """As Spark widens: whole numbers to floats round to nearest, everything else is exact or refused."""
    rounds = pa.types.is_floating(kind) and (pa.types.is_integer(array.type) or pa.types.is_decimal(array.type))
    try:
        return array.cast(kind, safe=not rounds)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = f"{array.type} cannot be read as {kind} ({error}); cast the column first"
        raise DataError(f"{prefix(name)}{reason}") from None
