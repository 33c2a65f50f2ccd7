"""What a push gives back: matches, tuples that are handed out alone, and tuples that came too late.

A result is read as needed. `count` costs what the index needs to count; `pairs()`, `to_arrow()` and `batches()` make
the pairs. Matches in a subwindow that is about to change are kept first (`Subwindow.insert`), so a result stays
readable after later pushes, and a result that nobody holds costs nothing.

    Result ── Outcome per processed batch ── Match per subwindow   pairs of arrival numbers, joined rows
                                          └─ Alone                 unmatched or semi-joined tuples, partner = -1
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.chain.batch import LEFT, RIGHT, Batch
from panjoin.chain.match import Match
from panjoin.engine.forms import Form
from panjoin.engine.worker import Alone
from panjoin.errors import StateError
from panjoin.expression import Side

Array = npt.NDArray[Any]

NO_PARTNER = -1


@dataclass(frozen=True)
class Shape:
    """How rows of the result look."""

    schema: pa.Schema
    columns: Mapping[str, Sequence[str]]  #: per side, in the order of the result: left ones first
    pairs: bool = True  #: False for semi and anti joins: tuples of the left side alone

    def joined(self, left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
        """Rows from two batches of equal length."""
        arrays = [left.column(name) for name in self.columns[LEFT]]
        if self.pairs:
            arrays += [right.column(name) for name in self.columns[RIGHT]]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def alone(self, side: Side, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of one side, NULLs beside them."""
        arrays, at = [], 0
        for each in (LEFT, RIGHT) if self.pairs else (LEFT,):
            for name in self.columns[each]:
                kind = self.schema.field(at).type
                arrays.append(rows.column(name) if each == side else pa.nulls(rows.num_rows, kind))
                at += 1
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


@dataclass
class Outcome:
    """Of one processed batch, or of time passing."""

    batch: Batch | None = None
    matches: list[Match] = field(default_factory=list)
    alone: list[Alone] = field(default_factory=list)
    parts: list[Any] = field(default_factory=list)  #: the workers' answers in a form other than rows


class Result:
    """What one call of the join gave; read as needed.

    `count` costs what the index needs to count; pairs and rows are made when they are asked for, also after later
    pushes. Rows have no promised order. `len(result)` is `result.count`.

    >>> import panjoin as pj
    >>> join = pj.StreamJoin(on=pj.equal("k"), window=pj.CountWindow(10), how="left")
    >>> _ = join.push("right", {"k": [5, 7]})
    >>> result = join.push("left", {"k": [7, 8]})
    >>> result.count, [numbers.tolist() for numbers in result.pairs()]
    (1, [[0], [1]])
    >>> join.finish().to_arrow().to_pylist()
    [{'k_left': 8, 'k_right': None}]
    """

    def __init__(
        self,
        outcomes: Iterable[Outcome],
        shape: Shape | None,
        form: Form | None = None,
        late: Mapping[str, pa.Table] | None = None,
    ) -> None:
        self._outcomes, self._shape, self._form = list(outcomes), shape, form
        self._late = dict(late or {})

    def joined_by(self, outcomes: Iterable[Outcome]) -> Result:
        """This result and what came after it."""
        return Result([*self._outcomes, *outcomes], self._shape, self._form, self._late)

    # ---- rows ----

    @property
    def count(self) -> int:
        """Number of rows: of pairs and unmatched tuples; with emit="counts" and aggregates one per probing tuple."""
        if self._form is not None:
            return int(self.to_arrow().num_rows)
        return sum(match.total for match in self._matches) + sum(len(alone.numbers) for alone in self._alone)

    def __len__(self) -> int:
        return self.count

    def pairs(self) -> tuple[Array, Array]:
        """Arrival numbers (left, right) of each row; -1 where a tuple stands alone."""
        self._refuse_form("pairs()")
        pieces = list(self._numbered())
        if not pieces:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return np.concatenate([left for left, _ in pieces]), np.concatenate([right for _, right in pieces])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, piece by piece, in bounded memory however many there are."""
        if self._shape is None:
            return
        if self._form is not None:
            yield from self.to_arrow().to_batches()
            return
        for match in self._matches:
            for positions, ids in match.pairs():
                assert match.batch.rows is not None
                own, other = match.batch.rows.take(pa.array(positions)), match.subwindow.rows.take(ids)
                yield self._shape.joined(*((own, other) if match.batch.side == LEFT else (other, own)))
        for alone in self._alone:
            if alone.rows is not None and alone.rows.num_rows:
                yield self._shape.alone(alone.side, alone.rows)

    def to_arrow(self) -> pa.Table:
        """The rows, as one table; empty and without columns as long as only one side has come."""
        if self._shape is None:
            return pa.table({})
        if self._form is None:
            return pa.Table.from_batches(self.batches(), schema=self._shape.schema)
        tables = [self._form.combine(each.batch, each.parts) for each in self._outcomes if each.batch is not None]
        return pa.concat_tables(tables) if tables else self._form.schema.empty_table()

    def ranges(self) -> pa.Table:
        """Range records, with emit="ranges"."""
        if self._form is None or self._form.name != "ranges":
            raise StateError('range records are made with emit="ranges"; this join emits something else')
        return self.to_arrow()

    # ---- what took no part ----

    @property
    def late(self) -> pa.Table:
        """The pushed rows that were behind the watermark, or dated too far ahead of it, and took no part."""
        tables = [self._late[side] for side in (LEFT, RIGHT) if side in self._late]
        return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})

    # ---- inside ----

    @property
    def _matches(self) -> Iterator[Match]:
        if self._shape is None or self._shape.pairs:
            for outcome in self._outcomes:
                yield from outcome.matches

    @property
    def _alone(self) -> Iterator[Alone]:
        for outcome in self._outcomes:
            yield from outcome.alone

    def _numbered(self) -> Iterator[tuple[Array, Array]]:
        for match in self._matches:
            for positions, ids in match.pairs():
                own, other = match.batch.arrival_numbers(positions), match.subwindow.numbers(ids)
                yield (own, other) if match.batch.side == LEFT else (other, own)
        for alone in self._alone:
            none = np.full(len(alone.numbers), NO_PARTNER, np.int64)
            yield (alone.numbers, none) if alone.side == LEFT else (none, alone.numbers)

    def _refuse_form(self, what: str) -> None:
        if self._form is not None:
            raise StateError(f'{what} needs emit="rows"; this join emits {self._form.name}')
