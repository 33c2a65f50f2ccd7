"""The join as Spark's tasks know it: a small value, made and checked at the call, that travels with the query.

    stream_join(...) on the driver ── JoinPlan ──> Packer       which columns cross the shuffle, in which types
                                              └──> processor    a Join with one worker, rebuilt from state when needed

`parameters` is what the state remembers of it. A restarted query may change some of them (`refuse_other`):

    accepted   index, partitions, subwindow size, batch size, suffixes, name, emit (if the columns it reads are kept)
    refused    condition, window, how, number of workers, placement, type of a column, a column that was not kept; the
               session's time zone where the condition depends on it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from panjoin.chain.batch import LEFT, RIGHT
from panjoin.chain.watermark import GivenWatermark
from panjoin.engine.build import assemble, shape, specify
from panjoin.engine.crew import LoneCrew
from panjoin.engine.local import Join
from panjoin.engine.result import Shape
from panjoin.engine.spec import JoinSpec
from panjoin.errors import StateError
from panjoin.expression import Side
from panjoin.options import Options
from panjoin.predicate import Condition
from panjoin.spark.placement import Placement
from panjoin.spark.residence import Residence
from panjoin.window import Window

SIDES: tuple[Side, Side] = (LEFT, RIGHT)
_INDEX = {LEFT: 0, RIGHT: 1}


@dataclass(frozen=True)
class JoinPlan:
    """One join; `options.workers` is a number."""

    condition: Condition
    window: Window
    schemas: tuple[pa.Schema, pa.Schema]  #: of the columns that cross the shuffle
    options: Options
    name: str = "the join"
    residence: Residence = field(default_factory=Residence)  #: where windows lie as files

    @classmethod
    def of(
        cls, condition: Condition, window: Window, schemas: tuple[pa.Schema, pa.Schema], options: Options, name: str
    ) -> JoinPlan:
        """With those columns that the join reads; raises what is wrong with any of it."""
        spec = specify(condition, window, *schemas, options)
        narrow = []
        for side, schema in zip(SIDES, schemas, strict=True):
            needed = {*spec.sides[side].columns, *spec.condition.columns(side)}
            needed |= set() if window.on is None else {window.on[_INDEX[side]]}
            narrow.append(pa.schema([field.with_nullable(True) for field in schema if field.name in needed]))
        return cls(condition, window, (narrow[0], narrow[1]), options, name)

    def schema(self, side: Side) -> pa.Schema:
        """Of the columns of one side that cross the shuffle."""
        return self.schemas[_INDEX[side]]

    @property
    def workers(self) -> int:
        """How many there are."""
        assert self.options.workers is not None
        return self.options.workers

    @property
    def by_key(self) -> bool:
        """Whether tuples go to workers by their key; each worker then has a join of its own over its tuples."""
        return self.options.placement == "key"

    def seat(self, number: int) -> int:
        """The number of a worker in the join that it is part of."""
        return 0 if self.by_key else number

    @property
    def numbered(self) -> bool:
        """Whether arrival numbers must be those of the whole stream: tuples leave by them, or the result shows them."""
        counted = any(self.window.extent(side).tuples is not None for side in SIDES)
        return counted or self.options.emit not in ("rows", "total")

    def placement(self) -> Placement | None:
        """Who gets what; None when everybody gets everything."""
        return Placement(self.spec(), self.workers) if self.by_key else None

    def spec(self) -> JoinSpec:
        """The join, spelled out. Subwindows keep every column that has come, for state is written from them."""
        spec = specify(self.condition, self.window, *self.schemas, self.options)
        sides = {side: replace(spec.sides[side], columns=tuple(self.schema(side).names)) for side in SIDES}
        return replace(spec, sides=sides)

    def join(self, spec: JoinSpec, crew: LoneCrew) -> Join:
        """The join, as far as one worker goes."""
        shared, share = (1, self.workers) if self.by_key else (self.workers, 1)
        return assemble(spec, self.options, crew, shared, GivenWatermark(), share=share)

    def shape(self, spec: JoinSpec) -> Shape:
        """How result rows look."""
        return shape(spec, self.options.suffixes)

    # ---- what the state remembers ----

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "condition": str(self.condition.expression),
            "window": repr(self.window),
            "how": self.options.how,
            "workers": self.workers,
            "timezone": self._timezone,
            "placement": self.options.placement,
            "numbered": self.numbered or not self.by_key,
            "columns": {side: {field.name: str(field.type) for field in self.schema(side)} for side in SIDES},
        }

    @property
    def _timezone(self) -> str | None:
        """The session's time zone if the condition compares timestamps with dates or with times that have no zone."""
        families = {kind.family for kind in self.spec().condition.scope.kinds.values()}
        return self.options.timezone if "timestamp" in families and families & {"date", "timestamp_ntz"} else None

    def refuse_other(self, stored: Mapping[str, Any]) -> None:
        """Raise when the state was made by a join that this one cannot go on from."""
        if stored == self.parameters:
            return
        for what in ("condition", "window", "how", "workers", "placement", "timezone"):
            if stored.get(what) != self.parameters[what]:
                self._refuse(f"{what} was {stored.get(what)!r} and is now {self.parameters[what]!r}", what)
        if self.parameters["numbered"] and not stored["numbered"]:
            self._refuse(f"emit is now {self.options.emit!r}, and the tuples in it have no numbers to be shown", "emit")
        for side in SIDES:
            known = stored["columns"][side]
            for column, kind in self.parameters["columns"][side].items():
                if column not in known:
                    self._refuse(f"the windows in it do not keep column {column!r} of the {side} side", "emit")
                if known[column] != kind:
                    self._refuse(f"{side} column {column!r} was {known[column]} and is now {kind}", "type")

    def _refuse(self, difference: str, what: str) -> None:
        raise StateError(
            f"{self.name} cannot go on from this checkpoint: {difference}. "
            f"Give it the {what} that it had, or start with a new checkpointLocation"
        )
