"""One code per tuple for all equality columns, in a domain that both sides share.

    left.k int32 = right.k int64          both as whole numbers                      exact
    left.k int32 = right.k double         both as double, as Spark compares them     exact
    left.s string = right.s string        top 32 bits of the bytes' hash             inexact: verify
    three narrow columns                  side by side in at most 64 bits            exact
    anything wider                        32 bits of a hash over all of them         inexact: verify

Invariant: equal tuples (in Spark's sense, per column) have equal codes; where `exact`, codes are equal for these alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from panjoin.binding import BoundCondition, array_of
from panjoin.columns import Array, Mask
from panjoin.expression import Column, Side
from panjoin.keycodec import KeyCodec
from panjoin.keyhash import combine, hash24, hash32
from panjoin.keys import DIGITS_OF_INT64, codec
from panjoin.kinds import DOUBLE, Kind, common_kind
from panjoin.normal import Equality
from panjoin.typed import Typed, converted
from panjoin.vectors import vector_of

Codes = tuple[Array, Mask | None]

BITS_OF_HASH, BITS_OF_SHORT_HASH = 32, 24


class EqualityCode:
    """Codes of one or several equalities."""

    def __init__(self, bound: BoundCondition, equalities: tuple[Equality, ...]) -> None:
        self.parts = [_Part(bound, equality) for equality in equalities]
        widths = [part.width for part in self.parts]
        packs = all(part.exact for part in self.parts) and sum(widths) <= 64
        self.exact = packs
        self.alone = len(self.parts) == 1 and packs  # the codec's own keys, as they are
        #: The codec is that of the columns themselves, not of the type that the comparison converts them to.
        self.unconverted = self.alone and self.parts[0].unconverted
        #: Codes are signed numbers of so many bits.
        self.bits = _signed_bits(self.parts[0]) if self.alone else sum(widths) if packs else BITS_OF_HASH
        self.dtype = np.dtype(np.int32 if self.bits <= 32 else np.int64)

    def encode(self, side: Side, batch: Any) -> Codes:
        """The code of every row, and where no part is NULL (None: everywhere)."""
        encoded = [part.encode(side, batch) for part in self.parts]
        valid = _all_valid([valid for _, valid in encoded])
        return self._codes([keys for keys, _ in encoded]), valid

    def _codes(self, keys: list[Array]) -> Array:
        if self.alone:
            return keys[0].astype(self.dtype, copy=False)
        if not self.exact:
            hashed = keys[0] if len(keys) == 1 and self.parts[0].hashed else combine(keys)
            return hash32(hashed).astype(np.int32)
        packed = np.zeros(len(keys[0]), np.uint64)
        for part, column in zip(self.parts, keys, strict=True):
            offset = column.astype(np.int64).view(np.uint64) - np.uint64(part.lowest % 2**64)
            packed = (packed << np.uint64(part.width)) | offset if part.width < 64 else offset
        packed = packed - np.uint64(1 << (self.bits - 1))  # wraps, so that the codes are signed and fit their bits
        return packed.view(np.int64).astype(self.dtype)

    def shortened(self, codes: Array) -> Array:
        """The codes as 24-bit hashes, for a place beside a wide band key."""
        return hash24(combine([codes])) if self.exact else codes >> (BITS_OF_HASH - BITS_OF_SHORT_HASH)

    def describe(self) -> str:
        """In words, for explain()."""
        how = "exact" if self.exact else "hashed"
        return f"{' and '.join(str(part.equality) for part in self.parts)} ({self.bits} bits, {how})"


class _Part:
    """One equality: how each side's column becomes a key of the shared domain."""

    def __init__(self, bound: BoundCondition, equality: Equality) -> None:
        self.equality = equality
        names: dict[Side, str] = {"left": equality.left, "right": equality.right}
        kinds = {side: bound.kind(side, name) for side, name in names.items()}
        common = common_kind(kinds["left"], kinds["right"])
        assert common is not None  # binding has compiled the comparison
        self._names, self._bound, self._kinds = names, bound, kinds
        self.hashed, self.exact, self.unconverted = common.family in ("string", "binary"), True, False
        self._encode: Callable[[Side, Any], Codes]
        if "null" in (kinds["left"].family, kinds["right"].family):
            self.lowest, self.highest = 0, 0
            self._encode = _never
        elif _comparable_as_they_are(kinds["left"], kinds["right"]):
            codecs = {side: codec(bound.type_of(side, name)) for side, name in names.items()}
            self._take_range([*codecs.values()])
            self.exact, self.unconverted = not self.hashed, True
            self._encode = lambda side, array: codecs[side].encode(array, names[side])
        else:
            self._convert(common)
        #: Bits that keep all keys apart.
        self.width = max((self.highest - self.lowest).bit_length(), 1)

    def encode(self, side: Side, batch: Any) -> Codes:
        """Keys of this part's column."""
        return self._encode(side, array_of(batch, self._names[side]))

    def _take_range(self, codecs: list[KeyCodec]) -> None:
        self.lowest = min(each.lowest for each in codecs)
        self.highest = max(each.highest for each in codecs)

    def _convert(self, common: Kind) -> None:
        """Through the comparison's common type; wide decimals through double, which keeps equal numbers equal."""
        wide = common.family == "decimal" and common.digits > DIGITS_OF_INT64
        target = DOUBLE if wide else common
        shared = codec(_ARROW[target.family](target))
        self.exact = not wide
        self._take_range([shared])
        scope = self._bound.scope

        def encode(side: Side, array: Any) -> Codes:
            column = Column(side, self._names[side])
            source = Typed(self._kinds[side], lambda environment: environment[(side, column.name)])
            vector = vector_of(array, self._kinds[side])
            run = converted(source, target, scope).run
            values = np.asarray(run({(side, column.name): vector}).values)
            return shared.keys_of(values.astype(shared.physical, copy=False)), vector.valid

        self._encode = encode


_ARROW: dict[str, Callable[[Kind], pa.DataType]] = {
    "double": lambda kind: pa.float64(),
    "decimal": lambda kind: pa.decimal128(kind.digits, kind.scale),
    "timestamp": lambda kind: pa.timestamp("us", "UTC"),
    "timestamp_ntz": lambda kind: pa.timestamp("us"),
}


def _comparable_as_they_are(left: Kind, right: Kind) -> bool:
    """True when equal values have equal keys in their own codecs already."""
    if {left.family, right.family} <= {"integer", "decimal"}:
        short = all(kind.family == "integer" or kind.digits <= DIGITS_OF_INT64 for kind in (left, right))
        return left.scale == right.scale and short
    return left.family == right.family


def _never(side: Side, array: Any) -> Codes:  # noqa: ARG001
    return np.zeros(len(array), np.int32), np.zeros(len(array), np.bool_)


def _signed_bits(part: _Part) -> int:
    return (
        max(part.lowest.bit_length() if part.lowest >= 0 else (~part.lowest).bit_length(), part.highest.bit_length())
        + 1
    )


def _all_valid(masks: list[Mask | None]) -> Mask | None:
    present = [mask for mask in masks if mask is not None]
    if not present:
        return None
    result = present[0]
    for mask in present[1:]:
        result = result & mask
    return result
