"""A column of a subwindow's stored tuples as numbers that fold: values by id, and trees over them in key order.

    rows     price  7  NULL  5  9         by id
    numbers         7   *    5  9         int64 or float64; * is where `valid` says that nothing is there
    in key order    trees of sums, minima and maxima (kernels/fold.py), prefix sums of whole numbers

Made once per sealed subwindow and column, when first asked for; an unsealed one has values for single tuples only.
Whole numbers that need more than 33 bits are summed in two halves, so that no sum of fewer than 2^31 values can wrap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.kernels.fold import MAX, MIN, SUM, neutral, tree
from panjoin.keys import codec

Array = npt.NDArray[Any]

#: Whole numbers below this add up to int64 for any count that fits 31 bits.
NARROW = 1 << 32
HALF_BITS = 32
_LOW_HALF = np.int64((1 << HALF_BITS) - 1)


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type can be folded as int64 or float64."""
    if pa.types.is_decimal(kind):
        return bool(kind.precision <= 18)
    fixed = (pa.types.is_integer, pa.types.is_floating, pa.types.is_temporal, pa.types.is_boolean)
    return any(bool(belongs(kind)) for belongs in fixed) and not pa.types.is_interval(kind)


def numbers_of(column: pa.Array) -> tuple[Array, Array | None]:
    """(int64 or float64 values, where there is one; None: everywhere)."""
    if pa.types.is_floating(column.type):
        valid = None if column.null_count == 0 else column.is_valid().to_numpy(zero_copy_only=False)
        values = (column if valid is None else column.fill_null(0)).to_numpy(zero_copy_only=False)
        return values.astype(np.float64, copy=False), valid
    keys, valid = codec(column.type).encode(column)
    return keys.astype(np.int64, copy=False), valid


@dataclass
class Summary:
    """One column of a sealed subwindow whose index keeps its tuples in key order."""

    values: Array  #: in key order
    valid: Array | None
    _trees: dict[int, tuple[Array, Array]] = field(default_factory=dict)
    _prefixes: dict[str, Array] = field(default_factory=dict)

    @classmethod
    def of(cls, column: pa.Array, order: Array) -> Summary:
        """`order` lists ids in key order."""
        values, valid = numbers_of(column)
        return cls(values[order], None if valid is None else valid[order])

    @property
    def wide(self) -> bool:
        """Whether sums need two halves."""
        values = self.values
        return values.dtype.kind == "i" and len(values) > 0 and not -NARROW < values.min() <= values.max() < NARROW

    def tree(self, operation: int) -> tuple[Array, Array]:
        """For `fold_ranges`; missing values are neutral."""
        if operation not in self._trees:
            nothing = neutral(operation, self.values.dtype)
            values = self.values if self.valid is None else np.where(self.valid, self.values, nothing)
            self._trees[operation] = tree(values, operation)
        return self._trees[operation]

    def prefix(self, what: str) -> Array:
        """For `difference`: prefix sums of the "low" and "high" parts of the values, or of "valid"."""
        if what not in self._prefixes:
            self._prefixes[what] = np.concatenate([[0], np.cumsum(self._part(what), dtype=np.int64)])
        return self._prefixes[what]

    def _part(self, what: str) -> Array:
        if what == "valid":
            assert self.valid is not None
            return self.valid
        values = self.values if self.valid is None else np.where(self.valid, self.values, 0)
        low, high = halves(values, self.wide)
        return low if what == "low" else high

    @property
    def memory_bytes(self) -> int:
        """Bytes of everything made so far."""
        arrays = [self.values, *(nodes for nodes, _ in self._trees.values()), *self._prefixes.values()]
        return sum(array.nbytes for array in arrays)


def halves(values: Array, wide: bool) -> tuple[Array, Array]:
    """(low, high) with value = high * 2^32 + low; narrow values are all low."""
    if not wide:
        return values, np.zeros(1, np.int64)
    return values & _LOW_HALF, values >> HALF_BITS


__all__ = ["MAX", "MIN", "SUM", "Summary", "halves", "is_number", "numbers_of"]
