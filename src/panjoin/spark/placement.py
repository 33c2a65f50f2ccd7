"""Key placement: which workers a tuple goes to, as a function of its key alone.

    arrival (the paper)   subwindows dealt round robin; every tuple crosses the network once per worker
    key                   home side: one worker, where the tuple is kept and asks
                          other side: every worker that may hold a match of it, kept there and asking there

A pair is found once, at the worker of its home tuple, by whichever of the two comes later; and all matches of a home
tuple meet at one worker, so that it also knows who stays alone (outer, semi and anti joins).

    condition           cells                                    home           the other side
    equality (+ band)   one per value of the equality            both sides     -
    bounded band        CELLS reaches of key space each          one cell       the cells that its interval touches
    anything else       one per position                         one cell       every worker

Cells are dealt to workers by a hash (panjoin.kernels.deal). Tasks that pack cannot read state and do not talk to each
other, and a repeated micro-batch must give the same messages: so no splitters that follow the data, docs/paper-map.md
has the reasons and what it costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.chain.batch import LEFT, OPPOSITE, RIGHT
from panjoin.engine.spec import JoinSpec
from panjoin.expression import Side
from panjoin.kernels.deal import deal

Array = npt.NDArray[Any]

#: Width of a cell over the reach of the band. Narrow cells balance better, wide ones are touched by fewer intervals:
#: a tuple of the other side is sent to 1 + 1/CELLS workers or less.
CELLS = 8
#: Cells of values lie within this; infinities and NaN beside it.
_FAR = 1 << 61


@dataclass(frozen=True)
class Cells:
    """Equal parts of the home side's values: `width` of them each, in whole numbers or in floats."""

    width: float
    whole: bool

    def of(self, values: Array) -> Array:
        """Their numbers; monotone, so that a value inside an interval is in a cell that the interval touches."""
        if self.whole:
            return values.astype(np.int64) >> (int(self.width).bit_length() - 1)
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.floor(values / self.width)
        finite = np.where(np.isnan(scaled), np.inf, scaled)
        return np.clip(finite, -_FAR, _FAR).astype(np.int64)


class Placement:
    """Of one join among its workers."""

    def __init__(self, spec: JoinSpec, workers: int) -> None:
        self.spec, self.workers = spec, workers
        self.home: Side = RIGHT if spec.how == "right" else LEFT
        self.by_value = spec.keys.equal
        self.cells = None if self.by_value else _cells(spec, self.home)

    @property
    def bounded(self) -> bool:
        """Whether a tuple goes to few workers."""
        return self.by_value or self.cells is not None

    @property
    def complete(self) -> bool:
        """Whether all matches of every tuple that can be unmatched meet at one worker."""
        return self.by_value or self.spec.how != "full"

    def settled(self, asked: str) -> str:
        """What "auto" means here: by key where that spares messages or tells workers who stays alone."""
        if asked != "auto":
            return asked
        return "key" if self.complete and (self.bounded or self.spec.how != "inner") else "arrival"

    def is_home(self, side: Side) -> bool:
        """Whether a tuple of this side goes to exactly one worker."""
        return self.by_value or side == self.home

    def route(self, side: Side, rows: pa.RecordBatch, first: int) -> list[Array]:
        """Per worker the ascending positions of the tuples that go there; `first` is the number of the first tuple."""
        count = rows.num_rows
        anywhere = np.arange(first, first + count, dtype=np.int64)
        if self.by_value:
            codes, valid = self.spec.keys.codes(side, rows)
            return self._with_strangers(side, codes.astype(np.int64), valid, anywhere)
        if self.cells is None and side == self.home:
            return deal(anywhere, anywhere, self.workers)
        if self.cells is None:
            return [np.arange(count, dtype=np.int32)] * self.workers
        if side == self.home:
            keys, valid = self.spec.keys.encode(side, rows)
            return self._with_strangers(side, self.cells.of(self._values(keys)), valid, anywhere)
        return self._replicas(side, rows, anywhere)

    def heard_before(self, side: Side, rows: pa.RecordBatch, worker: int) -> int:
        """How many of these tuples, all of which came to `worker`, came to one before it, too: counts that add up."""
        if worker == 0 or self.is_home(side):
            return 0
        if self.cells is None:
            return int(rows.num_rows)
        before = np.zeros(rows.num_rows, bool)
        for dealt, places in self._dealt(self.cells, side, rows):
            for own in dealt[:worker]:
                before[own if places is None else places[own]] = True
        return int(np.count_nonzero(before))

    def _with_strangers(self, side: Side, cells: Array, valid: Array | None, anywhere: Array) -> list[Array]:
        """One cell per tuple. Tuples that can match nothing go anywhere, or nowhere when nobody asks for them."""
        if valid is None or valid.all():
            return deal(cells, cells, self.workers)
        if self._wants_strangers(side):
            cells = np.where(valid, cells, anywhere)
            return deal(cells, cells, self.workers)
        here = np.flatnonzero(valid).astype(np.int32)
        return [here[places] for places in deal(cells[here], cells[here], self.workers)]

    def _replicas(self, side: Side, rows: pa.RecordBatch, anywhere: Array) -> list[Array]:
        assert self.cells is not None
        found: list[list[Array]] = [[] for _ in range(self.workers)]
        matchable = np.zeros(len(anywhere), bool)
        for dealt, places in self._dealt(self.cells, side, rows):
            matchable[slice(None) if places is None else places] = True
            for worker, own in enumerate(dealt):
                found[worker].append(own if places is None else places[own].astype(np.int32))
        if self._wants_strangers(side) and not matchable.all():
            strangers = np.flatnonzero(~matchable).astype(np.int32)
            for worker, own in enumerate(deal(anywhere[strangers], anywhere[strangers], self.workers)):
                found[worker].append(strangers[own])
        return [_union(each) for each in found]

    def _dealt(self, cells: Cells, side: Side, rows: pa.RecordBatch) -> Iterator[tuple[list[Array], Array | None]]:
        """Per interval: for each worker the tuples whose cells are its own, and where these tuples stand."""
        for low, high, places in self.spec.keys.bounds(side, rows):
            yield deal(cells.of(self._values(low)), cells.of(self._values(high)), self.workers), places

    def _wants_strangers(self, side: Side) -> bool:
        """Counts and aggregates have a row for every tuple, outer joins keep the unmatched ones."""
        form = self.spec.form
        return self.spec.preserves(side) or (form is not None and form.name != "total")

    def _values(self, keys: Array) -> Array:
        codec = self.spec.keys.codec(self.home)
        return codec.decode(keys.astype(codec.dtype, copy=False))


def _union(pieces: list[Array]) -> Array:
    if len(pieces) == 1:
        return pieces[0]
    return np.unique(np.concatenate([np.empty(0, np.int32), *pieces]))


def _cells(spec: JoinSpec, home: Side) -> Cells | None:
    """Cells for a band whose intervals are short; None for any other condition.

    The reach is that of the interval of one tuple: offsets are constant, so all have it.
    """
    keys = spec.keys
    if keys.scans or keys.negate:
        return None
    other = OPPOSITE[home]
    schema = spec.sides[other].schema
    name = keys.band_column(other)
    one = pa.RecordBatch.from_arrays([pa.array([0], schema.field(name).type)], [name])
    codec = keys.codec(home)
    reach = 0.0
    whole = np.issubdtype(codec.physical, np.integer)
    for low, high, _ in keys.bounds(other, one):
        if low[0] <= codec.lowest or high[0] >= codec.highest:
            return None
        ends = codec.decode(np.array([low[0], high[0]], codec.dtype))
        reach = max(reach, float(ends[1]) - float(ends[0]) + whole)
    if not 0 < reach < np.inf:
        return None
    return Cells(1 << (int(reach * CELLS) - 1).bit_length(), whole) if whole else Cells(reach * CELLS, whole)
