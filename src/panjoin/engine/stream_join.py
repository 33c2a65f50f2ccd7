"""`StreamJoin`: the join in one process, over Arrow batches. For tests, notebooks and services.

    push ──> door ──> collector ──> Join: watermark, preprocess, manager, crew ──> Result
             schema    batches            (local.py)                              read as needed

The condition is fitted to the columns when the first rows of both sides have come; what arrives before that waits,
without having missed anything, for the opposite window is empty. A refused call raises before anything is taken in:
what was accepted before is not lost, and the join goes on.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin import index as structures
from panjoin.chain.batch import LEFT, RIGHT, Batch
from panjoin.durations import instant
from panjoin.engine.build import (
    build,
    half_shape,
    plain_form,
    refuse_missing,
    refuse_times,
    refuse_values,
    seconds,
    shape,
)
from panjoin.engine.collector import Collector
from panjoin.engine.local import Join, Prepared
from panjoin.engine.result import Outcome, Result, Shape
from panjoin.engine.spec import PRESERVED
from panjoin.engine.worker import Alone
from panjoin.errors import PanJoinError, ParameterError, StateError
from panjoin.expression import Side
from panjoin.options import Options
from panjoin.predicate import Condition, parse
from panjoin.records import RecordDoor
from panjoin.window import CountWindow, MixedWindow, TimeWindow

Array = npt.NDArray[Any]

SIDES = (LEFT, RIGHT)


@dataclass(frozen=True)
class Waiting:
    """Rows of the side that came first; they match nothing, for the opposite window is empty."""

    side: Side
    rows: pa.RecordBatch
    first_no: int
    advanced: int | None  #: where the caller had moved event time before they came

    @property
    def batch(self) -> Batch:
        """As far as an answer of zeros needs one."""
        nothing = np.empty(0, np.int32)
        return Batch(self.side, self.first_no, self.rows.num_rows, nothing, nothing, ())


class StreamJoin:
    """Joins two streams of Arrow batches, pandas or polars DataFrames, or dicts of arrays, push by push.

    >>> import panjoin as pj
    >>> with pj.StreamJoin(on=pj.band("price", -5, 5), window=pj.CountWindow(1000)) as join:
    ...     _ = join.push("right", {"price": [998, 1017]})
    ...     result = join.push("left", {"price": [1000, 1030]})
    >>> result.to_arrow().to_pylist()
    [{'price_left': 1000, 'price_right': 998}]

    A tuple sees the opposite tuples that were pushed before it and are in the window, so each pair comes once, with the
    later of its two. Tuples of each side are numbered as they are pushed. Calls come one at a time; threads are inside.
    """

    def __init__(
        self,
        *,
        on: str | Condition,
        window: CountWindow | TimeWindow | MixedWindow,
        schemas: tuple[pa.Schema, pa.Schema] | None = None,
        validate: bool = False,
        clock: Callable[[], float] = time.monotonic,
        **options: Any,
    ) -> None:
        """`on` is SQL text over `left` and `right`, or a condition object; `options` are the fields of `Options`.

        `schemas`, those of left and right, lets the condition be checked here instead of at the first push. With
        `validate`, every batch is checked to the last offset before anything reads it: for Arrow data from sources
        that are not trusted. `clock` gives seconds, for `batch_time` and `idle_timeout`; tests pass one of their own.
        """
        self.condition, self.window = parse(on), window
        self.options = Options.of(options)
        self.options.check_index(structures.names())
        self.options.check_window(window)
        self._clock = clock
        given = (None, None) if schemas is None else _two_schemas(schemas)
        self._doors = {
            side: RecordDoor(side, schema, validate=validate) for side, schema in zip(SIDES, given, strict=True)
        }
        self._collector = Collector(count=self.options.batch_size, seconds=seconds(self.options.batch_time))
        self._waiting: list[Waiting] = []
        self._owed: list[Prepared | Waiting] = []  #: read ahead by a stream() that nobody read to its end
        self._join: Join | None = None
        self._form = plain_form(self.options.emit)
        self._shape = None if self._form is None else Shape(self._form.schema, {})
        self._advanced: int | None = None
        self._finished = False
        self._open()

    # ---- verbs ----

    def push(self, side: Side, data: Any) -> Result:
        """Take in tuples of one side; the result is what they match in the opposite window.

        `side` is "left" or "right". `data` is a pyarrow RecordBatch or Table, a pandas or polars DataFrame, or a dict
        of arrays or lists, with the columns of the side's first batch. A call that raises has taken nothing in.
        """
        self._refuse_if_finished("push")
        return self._execute(self._prepare(side, data))

    def flush(self) -> Result:
        """Process what has been collected so far (`batch_size`, `batch_time`), without waiting for a full batch."""
        self._refuse_if_finished("flush")
        return self._drain()

    def advance(self, watermark: Any) -> Result:
        """Event time has come to `watermark` (a datetime, or microseconds since 1970): older tuples will be late.

        What has been collected is processed first. Then subwindows expire, and unmatched tuples of outer and anti joins
        whose window has passed are handed out. Moving back is ignored.
        """
        self._refuse_if_finished("advance")
        if not self.window.timed:
            raise ParameterError("advance() moves event time, which a CountWindow does not have; use a TimeWindow")
        to = instant(watermark)
        result = self._drain()
        if self._join is None:
            self._advanced = to if self._advanced is None else max(to, self._advanced)
            return result
        return result.joined_by(self._join.advance(to))

    def finish(self) -> Result:
        """Both streams are over: what is collected is processed, and everything unmatched is handed out."""
        self._refuse_if_finished("finish")
        result = self._drain()
        if self._join is not None:
            result = result.joined_by(self._join.end())
        elif self._waiting:
            result = self._one_sided()
        self.close()
        return result

    def stream(self, batches: Iterable[tuple[Side, Any]]) -> Iterator[Result]:
        """Push one batch after another; while one is joined, the next is read, encoded and sorted by another thread.

        >>> import panjoin as pj
        >>> batches = [("right", {"k": [1, 2]}), ("left", {"k": [2]}), ("right", {"k": [2, 2]})]
        >>> with pj.StreamJoin(on=pj.equal("k"), window=pj.CountWindow(10)) as join:
        ...     print([result.count for result in join.stream(batches)])
        [0, 1, 2]

        What a stream has read ahead when its reader goes away, or when `batches` raises, is joined by the next call.
        """
        steps: deque[Future[list[Prepared | Waiting]]] = deque()
        with ThreadPoolExecutor(1, "panjoin-prepare") as ahead:
            try:
                for side, data in batches:
                    self._refuse_if_finished("push")
                    steps.append(ahead.submit(self._prepare, side, data))
                    if len(steps) > 1:
                        yield self._execute(steps.popleft().result())
                while steps:
                    yield self._execute(steps.popleft().result())
            finally:
                for step in steps:
                    self._owed += step.result()

    def resolve(self, records: pa.Table) -> tuple[Array, Array]:
        """The pairs (left, right) of arrival numbers that range records stand for, from the manager's mirror.

        Records are of the moment: once a subwindow has been merged again or has expired, resolving one is a StateError.
        """
        if self._join is None or self._join.mirror is None:
            raise StateError('only a join with emit="ranges" has records to resolve')
        return self._join.mirror.resolve(records)

    def stats(self) -> dict[str, Any]:
        """What the join holds and has seen: tuples that arrived, late ones, subwindows, bytes.

        Until the first rows of both sides have come, how many wait.
        """
        held = self._collector.held
        if self._join is None:
            waiting = {side: sum(each.rows.num_rows for each in self._waiting if each.side == side) for side in SIDES}
            return {"collected": held, "waiting": waiting}
        return {"collected": held, **self._join.stats()}

    def explain(self) -> str:
        """What is indexed and how, how far the window reaches, and, once rows have come, which structures and why."""
        lines = [self.condition.explain(), f"window     {self.window.describe()}"]
        if self._join is not None:
            lines += [f"key        {self._join.spec.keys.describe()}", *self._join.advisor.explain()]
        return "\n".join(lines)

    def close(self) -> None:
        """Let the threads go without finishing; the join takes no more calls."""
        self._finished = True
        if self._join is not None:
            self._join.crew.close()

    def __enter__(self) -> StreamJoin:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- inside ----

    def _refuse_if_finished(self, verb: str) -> None:
        if self._finished:
            raise StateError(f"cannot {verb}: this join is finished; make a new StreamJoin")

    def _admit(self, side: Side, data: Any) -> pa.RecordBatch:
        """Rows that fit; nothing is changed when they do not."""
        if side not in SIDES:
            raise ParameterError(f"side must be 'left' or 'right', not {side!r}")
        door = self._doors[side]
        known, join = door.schema, self._join
        rows = door.admit(data)
        try:
            if known is None:
                assert door.schema is not None
                refuse_missing(self.condition, self.window, side, door.schema)
            refuse_values(self.condition, side, rows)
            if join is None:
                refuse_times(self.window, side, rows)
            self._open()
            if self._join is not None and (self._collector.collects or self._waiting):
                self._join.check(side, rows)  # later it would be refused together with rows that are good
        except PanJoinError:
            door.schema = known
            if join is None:
                self._shut()
            raise
        return rows

    def _open(self) -> None:
        left, right = (self._doors[side].schema for side in SIDES)
        if self._join is not None or left is None or right is None:
            return
        self._join = build(self.condition, self.window, left, right, self.options)
        self._form = self._join.spec.form
        self._shape = shape(self._join.spec, self.options.suffixes)

    def _shut(self) -> None:
        """Undo what `_open` did: the rows that it was for are refused."""
        if self._join is not None:
            self._join.crew.close()
            self._join, self._form = None, plain_form(self.options.emit)
            self._shape = None if self._form is None else Shape(self._form.schema, {})

    def _prepare(self, side: Side, data: Any) -> list[Prepared | Waiting]:
        rows, now = self._admit(side, data), self._clock()
        self._collector.add(side, rows, now)
        return self._prepare_all(self._collector.due(now), now)

    def _prepare_all(self, batches: list[tuple[Side, pa.RecordBatch]], now: float) -> list[Prepared | Waiting]:
        if self._join is None:
            first = sum(waiting.rows.num_rows for waiting in self._waiting)
            new = [Waiting(side, rows, first, self._advanced) for side, rows in batches]
            self._waiting += new
            return list(new)
        prepared: list[Prepared | Waiting] = []
        while self._waiting:
            waiting = self._waiting.pop(0)
            answered = self.options.emit == "counts"
            self._move_time(waiting.advanced)
            prepared.append(replace(self._join.prepare(waiting.side, waiting.rows, now), answered=answered))
        self._move_time(self._advanced)
        self._advanced = None
        return prepared + [self._join.prepare(side, rows, now) for side, rows in batches]

    def _move_time(self, advanced: int | None) -> None:
        """What advance() said while the other side's columns were not known, in its turn: no earlier tuple is late."""
        if self._join is not None and advanced is not None:
            self._join.watermark.advance(advanced)

    def _execute(self, batches: list[Prepared | Waiting]) -> Result:
        outcomes: list[Outcome] = []
        late: dict[str, list[pa.RecordBatch]] = {}
        batches, self._owed = [*self._owed, *batches], []
        for prepared in batches:
            if isinstance(prepared, Waiting):
                outcomes += [Outcome(prepared.batch)] if self.options.emit == "counts" else []
                continue
            assert self._join is not None
            found = self._join.execute(prepared)
            outcomes += [] if prepared.answered else found
            if prepared.dropped is not None:
                late.setdefault(prepared.batch.side, []).append(prepared.dropped)
        tables = {side: pa.Table.from_batches(pieces) for side, pieces in late.items()}
        return Result(outcomes, self._shape, self._form, tables)

    def _drain(self) -> Result:
        return self._execute(self._prepare_all(self._collector.drain(), self._clock()))

    def _one_sided(self) -> Result:
        """The other side never came: its columns are not known, and every tuple is unmatched."""
        side = self._waiting[0].side
        rows = pa.concat_batches([waiting.rows for waiting in self._waiting])
        alone = []
        if side in PRESERVED[self.options.how]:
            alone.append(Alone(side, np.arange(rows.num_rows, dtype=np.int64), rows))
        return Result([Outcome(alone=alone)], half_shape(side, rows.schema))


def _two_schemas(given: Any) -> tuple[pa.Schema, pa.Schema]:
    schemas = tuple(given) if isinstance(given, (tuple, list)) else ()
    if len(schemas) != len(SIDES) or not all(isinstance(schema, pa.Schema) for schema in schemas):
        raise ParameterError(f"schemas must be two pyarrow schemas, those of left and right, not {given!r}")
    return (schemas[0], schemas[1])
