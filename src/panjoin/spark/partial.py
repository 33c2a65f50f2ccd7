"""Counts and aggregates of several workers: each has seen its own part of the window, their answers are added.

    worker 0   left 0 .. 99,999     2 0 1 ...  ┐ cut by arrival number          ┌ left/0   2 0 5 ...
    worker 1   left 0 .. 99,999     0 0 4 ...  ┴─ left/0 │ left/1 ── shuffle ───┴ left/1   ...

All workers answer for a tuple in the micro-batch that brought it, so nothing has to be remembered: the pieces with one
label meet in one task. A piece is a few narrow columns; that of 2^16 tuples crosses the shuffle as one row.

Invariant: a piece holds each of its tuples once; pieces of one label may hold different ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.chain.batch import LEFT, RIGHT, Batch
from panjoin.engine.forms import Form, PerTuple
from panjoin.engine.result import Outcome
from panjoin.expression import Side
from panjoin.spark.pack import opened
from panjoin.spark.plan import JoinPlan

Array = npt.NDArray[Any]

#: Tuples of a piece: their arrival numbers in it take two bytes.
PIECE = 1 << 16
_LABEL = b"panjoin.label"
_NO = "no"


def adds_up(form: Form | None, workers: int) -> TypeGuard[PerTuple]:
    """Whether workers answer in pieces that have to be added."""
    return workers > 1 and isinstance(form, PerTuple)


def label_of(batch: pa.RecordBatch) -> str | None:
    """Of a piece; None when a batch is a result as it stands."""
    label = (batch.schema.metadata or {}).get(_LABEL)
    return None if label is None else label.decode()


def pieces(form: PerTuple, outcomes: Iterable[Outcome]) -> Iterator[pa.RecordBatch]:
    """A worker's answers, labelled; tuples for which nobody was asked have their piece too, for zero is an answer."""
    for outcome in outcomes:
        batch = outcome.batch
        if batch is None or batch.size == 0:
            continue
        numbers = batch.arrival_numbers(np.arange(batch.size))
        arrays = form.arrays(outcome.parts[0] if outcome.parts else form.part(batch.side, batch.size))
        cuts = np.searchsorted(numbers, np.arange(numbers[0] // PIECE + 1, numbers[-1] // PIECE + 1) * PIECE)
        for first, last in zip([0, *cuts], [*cuts, batch.size], strict=True):
            if first < last:
                yield _piece(batch.side, numbers[first:last], {name: each[first:last] for name, each in arrays.items()})


def _piece(side: Side, numbers: Array, arrays: Mapping[str, Array]) -> pa.RecordBatch:
    place = int(numbers[0]) // PIECE
    columns = {_NO: (numbers - place * PIECE).astype(np.uint16)}
    columns |= {name: _narrow(array) for name, array in arrays.items()}
    batch = pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()})
    return batch.replace_schema_metadata({_LABEL: f"{side}/{place}"})


def _narrow(array: Array) -> Array:
    """Most counts are small: in one byte instead of eight."""
    if array.dtype.kind == "f" or not len(array):
        return array
    kind = np.promote_types(np.min_scalar_type(array.min()), np.min_scalar_type(array.max()))
    return array.astype(kind) if kind.kind in "iu" and kind.itemsize < array.dtype.itemsize else array


@dataclass(frozen=True)
class Combiner:
    """For `mapInArrow` behind a shuffle by label: pieces into rows, under the names of the result."""

    plan: JoinPlan
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of this task."""
        form = self.plan.spec().form
        assert isinstance(form, PerTuple)
        held: dict[str, list[pa.RecordBatch]] = {}
        for batch in batches:
            for label, payload in zip(batch["label"], batch["payload"], strict=True):
                held.setdefault(label.as_py(), []).extend(opened(payload.as_buffer()))
        for label in sorted(held):
            for rows in combined(form, label, held.pop(label)).to_batches():
                yield pa.RecordBatch.from_arrays(rows.columns, schema=self.schema)


def combined(form: PerTuple, label: str, found: list[pa.RecordBatch]) -> pa.Table:
    """The result for the tuples of one label."""
    name, _, place = label.partition("/")
    side: Side = LEFT if name == LEFT else RIGHT
    places = np.unique(np.concatenate([batch[_NO].to_numpy() for batch in found]))
    numbers = places.astype(np.int64) + int(place) * PIECE
    parts = []
    for batch in found:
        arrays = {each: batch[each].to_numpy() for each in batch.schema.names}
        parts.append(form.part(side, len(places), arrays, np.searchsorted(places, arrays.pop(_NO))))
    return form.combine(_tuples(side, numbers), parts)


def _tuples(side: Side, numbers: Array) -> Batch:
    """As much of a batch as naming its tuples takes."""
    nothing = np.empty(0, np.int32)
    return Batch(side, int(numbers[0]), len(numbers), nothing, nothing, (), numbers=numbers)
