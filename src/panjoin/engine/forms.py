"""Forms of the result (`emit=`): rows, counts, their total, aggregates, ranges. A worker answers, the manager adds up.

Rows stay where they are until somebody reads them. The other forms are computed while the batch is processed, in the
worker, and only their small answers travel: one number per probing tuple instead of one per pair.

    worker 0   counts  2 0 1 ┐
    worker 1   counts  0 0 4 ┴─ combine ─> 2 0 5 ──> table (side, id, count)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.chain.batch import Batch
from panjoin.chain.match import Match, counts_of
from panjoin.expression import Side

Array = npt.NDArray[Any]


class Form(ABC):
    """One form of result."""

    name: str

    @abstractmethod
    def answer(self, batch: Batch, matches: Sequence[Match]) -> Any:
        """A worker's part."""

    @abstractmethod
    def combine(self, batch: Batch, parts: Sequence[Any]) -> pa.Table:
        """The answer for the batch, from all workers' parts (there may be none)."""

    @abstractmethod
    def matches(self, part: Any) -> int:
        """How many matches a worker's part stands for."""

    def columns(self, side: Side) -> Sequence[str]:
        """The columns of a side's stored tuples that this form reads."""
        return ()

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Of the table."""


class PerTuple(Form):
    """A form with one row per probing tuple: parts of several workers add up tuple by tuple, also far from here.

    A part is a few arrays, all as long as the batch. They can travel, and be laid out over more tuples than the
    worker has seen.
    """

    @abstractmethod
    def arrays(self, part: Any) -> dict[str, Array]:
        """What a part is made of."""

    @abstractmethod
    def part(self, side: Side, size: int, arrays: Mapping[str, Array] | None = None, where: Any = None) -> Any:
        """A part over `size` tuples of a side, with `arrays` at the places `where` (None: all), nothing elsewhere."""


class Counts(PerTuple):
    """Matches per probing tuple."""

    name = "counts"
    schema = pa.schema(
        [
            pa.field("side", pa.string(), nullable=False),
            pa.field("id", pa.int64(), nullable=False),
            pa.field("count", pa.int64(), nullable=False),
        ]
    )

    def answer(self, batch: Batch, matches: Sequence[Match]) -> Array:
        """Counts in arrival order."""
        return counts_of(batch, matches)

    def combine(self, batch: Batch, parts: Sequence[Any]) -> pa.Table:
        """One row per probing tuple, also for those without a match."""
        counts = sum(parts, np.zeros(batch.size, np.int64))
        return pa.table([*identity(batch), pa.array(counts)], schema=self.schema)

    def matches(self, part: Any) -> int:
        """All that were counted."""
        return int(part.sum())

    def arrays(self, part: Array) -> dict[str, Array]:
        """The counts."""
        return {"count": part}

    def part(self, side: Side, size: int, arrays: Mapping[str, Array] | None = None, where: Any = None) -> Array:
        """Zero where no worker has counted."""
        counts = np.zeros(size, np.int64)
        if arrays is not None:
            counts[slice(None) if where is None else where] = arrays["count"]
        return counts


class Total(Form):
    """Matches of a whole batch: what is left of counting when nothing is told of single tuples."""

    name = "total"
    schema = pa.schema([pa.field("side", pa.string(), nullable=False), pa.field("count", pa.int64(), nullable=False)])

    def answer(self, batch: Batch, matches: Sequence[Match]) -> int:
        """The sum."""
        return sum(match.total for match in matches)

    def combine(self, batch: Batch, parts: Sequence[Any]) -> pa.Table:
        """One row."""
        return pa.table([[batch.side], [sum(parts)]], schema=self.schema)

    def matches(self, part: int) -> int:
        """The part itself."""
        return part


def identity(batch: Batch) -> list[pa.Array]:
    """The columns `side` and `id` of a batch's tuples."""
    return [pa.repeat(pa.scalar(batch.side), batch.size), pa.array(batch.arrival_numbers(np.arange(batch.size)))]
