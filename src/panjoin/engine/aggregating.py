"""The form `emit=["count", "sum(price)", ...]`: aggregates of the opposite side, one row per probing tuple.

    side    id   count   sum(price)         a left tuple aggregates right prices; a column that only one side has
    left     7       3           12         is NULL for that side's own tuples
    right    4       0         NULL

Values follow Spark: NULLs are left out, the sum of no values is NULL, NaN is the greatest number, and a sum of whole
numbers that leaves 64 bits is an error, never a wrong number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.aggregates import Aggregate
from panjoin.chain.batch import LEFT, OPPOSITE, RIGHT, Batch
from panjoin.chain.match import Match, counts_of
from panjoin.chain.summary import HALF_BITS, is_number
from panjoin.engine.fold import Fold
from panjoin.engine.forms import PerTuple, identity
from panjoin.errors import DataError, ParameterError
from panjoin.expression import Side
from panjoin.kernels.fold import MAX, MIN, SUM

Array = npt.NDArray[Any]
Key = tuple[str, int]

#: A count of values comes with any fold of its column.
OPERATIONS = {"sum": SUM, "avg": SUM, "min": MIN, "max": MAX, "count": MAX}
LONG = np.iinfo(np.int64)


class Aggregates(PerTuple):
    """Folds columns of the stored side."""

    name = "aggregates"

    def __init__(self, wanted: Sequence[Aggregate], left: pa.Schema, right: pa.Schema) -> None:
        self._wanted = tuple(wanted)
        self._schemas = {LEFT: left, RIGHT: right}
        self._sides: dict[Aggregate, tuple[Side, ...]] = {
            one: tuple(side for side in (LEFT, RIGHT) if side in one.sides(left, right)) for one in self._wanted
        }
        self._schema = pa.schema([*_IDENTITY, *(pa.field(one.name, self._result_type(one)) for one in self._wanted)])

    @property
    def schema(self) -> pa.Schema:
        """Of the table."""
        return self._schema

    def columns(self, side: Side) -> Sequence[str]:
        """The aggregated columns of a side."""
        return tuple(dict.fromkeys(column for column, _ in self._folds(side)))

    def answer(self, batch: Batch, matches: Sequence[Match]) -> dict[Key | None, Any]:
        """Counts of matches under None, and a Fold per (column, operation)."""
        answer = self.part(batch.side, batch.size)
        answer[None] += counts_of(batch, matches)
        for key, fold in answer.items():
            if key is not None:
                for match in matches:
                    fold.match(match, key[0])
        return answer

    def combine(self, batch: Batch, parts: Sequence[dict[Key | None, Any]]) -> pa.Table:
        """One row per probing tuple, also for those without a match."""
        total = self.part(batch.side, batch.size)
        for part in parts:
            total[None] = total[None] + part[None]
            for key, fold in part.items():
                if key is not None:
                    total[key].add(fold)
        stored = OPPOSITE[batch.side]
        return pa.table(
            [*identity(batch), *(self._column(one, stored, total) for one in self._wanted)], schema=self._schema
        )

    def arrays(self, part: dict[Key | None, Any]) -> dict[str, Array]:
        """Counts of matches, and the arrays of each fold under its place."""
        found = {"matches": part[None]}
        for place, fold in enumerate(fold for key, fold in part.items() if key is not None):
            found |= {f"{place} {name}": array for name, array in fold.arrays().items()}
        return found

    def part(
        self, side: Side, size: int, arrays: Mapping[str, Array] | None = None, where: Any = None
    ) -> dict[Key | None, Any]:
        """Of a side's probing tuples: no match, nothing folded, but for what is given."""
        stored, place = OPPOSITE[side], slice(None) if where is None else where
        part: dict[Key | None, Any] = {None: np.zeros(size, np.int64)}
        for column, operation in self._folds(stored):
            dtype = np.float64 if pa.types.is_floating(self._kind(stored, column)) else np.int64
            part[column, operation] = Fold.empty(size, operation, dtype)
        if arrays is not None:
            for name, array in self.arrays(part).items():
                array[place] = arrays[name]
        return part

    def matches(self, part: dict[Key | None, Any]) -> int:
        """All that were folded."""
        return int(part[None].sum())

    def _folds(self, side: Side) -> list[Key]:
        asked = [one for one in self._wanted if one.column is not None and side in self._sides[one]]
        return list(dict.fromkeys((str(one.column), OPERATIONS[one.function]) for one in asked))

    def _kind(self, side: Side, column: str) -> pa.DataType:
        return self._schemas[side].field(column).type

    def _result_type(self, one: Aggregate) -> pa.DataType:
        kinds = {None if one.column is None else self._kind(side, one.column) for side in self._sides[one]}
        for kind in kinds:
            if kind is not None and not is_number(kind):
                raise DataError(
                    f"{one.name!r}: column {one.column!r} is {kind}; aggregates are made of numbers, decimals up to 18 "
                    "digits, dates, times and booleans; use emit='rows' and aggregate those"
                )
        results = {one.result_type(kind) for kind in kinds}
        if len(results) > 1:
            raise ParameterError(
                f"{one.name!r} would be {' and '.join(sorted(map(str, results)))}, for the two columns have different "
                f"types; ask for each side by itself, such as '{one.function}(left.{one.column}) as from_left'"
            )
        return results.pop()

    def _column(self, one: Aggregate, stored: Side, folds: Mapping[Key | None, Any]) -> pa.Array:
        kind = self._schema.field(one.name).type
        if stored not in self._sides[one]:
            return pa.nulls(len(folds[None]), kind)
        if one.column is None:
            return pa.array(folds[None])
        fold: Fold = folds[one.column, OPERATIONS[one.function]]
        if one.function == "count":
            return pa.array(fold.present)
        nothing = fold.present == 0
        if one.function in ("min", "max"):
            return _arrow(np.where(nothing, 0, fold.values), nothing, kind)
        if fold.high is None:
            sums = fold.values if one.function == "sum" else fold.values / np.maximum(fold.present, 1)
            return pa.array(sums, kind, mask=nothing)
        if one.function == "sum":
            return _sums(_exact(fold), nothing, kind, one.name)
        return _averages(_exact(fold), fold.present, self._kind(stored, one.column), kind)


_IDENTITY = (pa.field("side", pa.string(), nullable=False), pa.field("id", pa.int64(), nullable=False))


def _exact(fold: Fold) -> Array:
    """Sums of whole numbers: int64 when all of them surely fit, else Python integers."""
    assert fold.high is not None
    small = len(fold.high) == 0 or (int(np.abs(fold.high).max()) < 1 << 30 and int(np.abs(fold.values).max()) < 1 << 61)
    kind = np.int64 if small else object
    sums: Array = (fold.high.astype(kind) << HALF_BITS) + fold.values.astype(kind)
    return sums


def _sums(totals: Array, nothing: Array, kind: pa.DataType, name: str) -> pa.Array:
    if not pa.types.is_decimal(kind) and len(totals):
        worst = max(int(totals.max()), -int(totals.min()) - 1)
        if worst > LONG.max:
            raise DataError(
                f"{name!r} leaves 64 bits ({worst}); cast the column to a decimal or a double before the join"
            )
        totals = totals.astype(np.int64)
    return _arrow(totals, nothing, kind)


def _averages(totals: Array, present: Array, column: pa.DataType, kind: pa.DataType) -> pa.Array:
    """Doubles; of decimals a decimal with four more digits, rounded half away from zero as Spark rounds."""
    nothing = present == 0
    counts = np.maximum(present, 1)
    if not pa.types.is_decimal(column):
        return pa.array((totals / counts).astype(np.float64), mask=nothing)
    more = 10 ** (kind.scale - column.scale)
    exact = [
        (1 if total >= 0 else -1) * ((2 * abs(total) * more + count) // (2 * count))
        for total, count in zip(totals.tolist(), counts.tolist(), strict=True)
    ]
    return _arrow(np.array(exact, object), nothing, kind)


def _arrow(values: Array, nothing: Array, kind: pa.DataType) -> pa.Array:
    """Folded numbers as a column of the result's type."""
    if pa.types.is_decimal(kind):
        scaled = [
            None if none else Decimal(int(value)).scaleb(-kind.scale)
            for value, none in zip(values, nothing, strict=True)
        ]
        return pa.array(scaled, kind)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        micros = pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else pa.duration("us")
        return pa.array(values, pa.int64(), mask=nothing).cast(micros).cast(kind)
    if pa.types.is_date32(kind):
        return pa.array(values.astype(np.int32), mask=nothing).cast(kind)
    return pa.array(values, mask=nothing).cast(kind)
