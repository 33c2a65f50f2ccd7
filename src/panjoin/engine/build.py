"""From what the user said to a join that runs: condition and window meet the two schemas here."""

from __future__ import annotations

import os

import pyarrow as pa

from panjoin.advisor import AUTO, Advisor
from panjoin.binding import comparable
from panjoin.bounds import JoinKeys
from panjoin.chain.batch import LEFT, RIGHT
from panjoin.chain.watermark import Watermark
from panjoin.engine.aggregating import Aggregates
from panjoin.engine.crew import Crew
from panjoin.engine.forms import Counts, Form, Total
from panjoin.engine.local import Join
from panjoin.engine.manager import Manager
from panjoin.engine.ranges import Ranges
from panjoin.engine.result import Shape
from panjoin.engine.spec import JoinSpec, SideSpec, event_times
from panjoin.errors import DataError
from panjoin.expression import Side
from panjoin.expression import columns as condition_columns
from panjoin.keys import codec
from panjoin.names import joined_schema
from panjoin.options import SORTED_INDEX, Options
from panjoin.predicate import Condition
from panjoin.suggest import choices
from panjoin.window import BoundWindow, Extent, Window

#: Join types whose result has the left side's columns alone.
LEFT_ONLY = ("left_semi", "left_anti")

#: Forms of result that only sorted tuples can give, or give without making pairs; and the reason as told.
SORTED_EMITS = {
    "ranges": "for range records name positions of sorted tuples",
    "aggregates": "for sorted tuples are aggregated without making pairs",
}


def build(condition: Condition, window: Window, left: pa.Schema, right: pa.Schema, options: Options) -> Join:
    """A join over these schemas; raises what is wrong with the condition, the window or the options."""
    spec = specify(condition, window, left, right, options)
    workers = options.workers or os.cpu_count() or 1
    watermark = Watermark(
        lateness=window.lateness or 0, idle_timeout=seconds(options.idle_timeout), max_advance=options.max_advance
    )
    return assemble(spec, options, Crew(workers, spec), workers, watermark)


def assemble(
    spec: JoinSpec, options: Options, crew: Crew, workers: int, watermark: Watermark, *, share: int = 1
) -> Join:
    """A join of `workers` workers, of which `crew` has those that are here.

    `share` is of how many parts these tuples are one: others are joined elsewhere, and counted here.
    """
    advisor = advise(spec, options)
    size = options.subwindow or Extent()
    manager = Manager(spec, advisor, workers=workers, subwindow=size.tuples, span=size.micros, share=share)
    return Join(spec, manager, crew, watermark, advisor)


def advise(spec: JoinSpec, options: Options) -> Advisor:
    """Who chooses structures, as far as there is a choice."""
    if spec.keys.scans:
        return Advisor("scan", why="for nothing in the condition can be indexed")
    if options.index != AUTO:
        return Advisor(options.index, partitions=options.partitions)
    if options.emit in SORTED_EMITS:
        return Advisor(SORTED_INDEX, partitions=options.partitions, why=SORTED_EMITS[options.emit])
    return Advisor(partitions=options.partitions)


def specify(condition: Condition, window: Window, left: pa.Schema, right: pa.Schema, options: Options) -> JoinSpec:
    """The join, spelled out."""
    bound = condition.bind(left, right, timezone=options.timezone)
    keys = JoinKeys(bound)
    form = _form(options, left, right)
    sides = {}
    for side, schema in ((LEFT, left), (RIGHT, right)):
        needed = set(keys.verified_columns(side))
        if form is not None:
            needed |= set(form.columns(side))
        elif side == LEFT or options.how not in LEFT_ONLY:
            needed |= set(schema.names)
        extent = window.extent(side)
        columns = tuple(name for name in schema.names if name in needed)
        sides[side] = SideSpec(schema, columns, extent.tuples, extent.micros)
    return JoinSpec(sides, bound, keys, window.bind(left, right), options.how, form)


def _form(options: Options, left: pa.Schema, right: pa.Schema) -> Form | None:
    if options.emit == "rows":
        return None
    if options.emit == "aggregates":
        return Aggregates(options.aggregates, left, right)
    return Ranges() if options.emit == "ranges" else plain_form(options.emit)


def plain_form(emit: str) -> Form | None:
    """A form that does not depend on the sides' columns; None for others."""
    return {"counts": Counts(), "total": Total()}.get(emit)


def shape(spec: JoinSpec, suffixes: tuple[str, str]) -> Shape:
    """How result rows look."""
    left, right = spec.sides[LEFT].schema, spec.sides[RIGHT].schema
    schema = spec.form.schema if spec.form is not None else joined_schema(left, right, spec.how, suffixes)
    return Shape(schema, {LEFT: left.names, RIGHT: right.names}, pairs=spec.how not in LEFT_ONLY)


def half_shape(side: Side, schema: pa.Schema) -> Shape:
    """How rows look when the other side has never been seen: its columns are not known."""
    return Shape(schema, {LEFT: [], RIGHT: [], side: schema.names})


def refuse_missing(condition: Condition, window: Window, side: Side, schema: pa.Schema) -> None:
    """Raise if a side lacks a column that the condition or the window names: known before the other side comes."""
    names = {name.casefold() for name in schema.names}
    wanted = [column.name for column in condition_columns(condition.expression) if column.side == side]
    wanted += [] if window.on is None else [window.on[(LEFT, RIGHT).index(side)]]
    for name in wanted:
        if name.casefold() not in names:
            raise DataError(f"the {side} side has no column {name!r}; {choices(name, schema.names)}")


def refuse_values(condition: Condition, side: Side, rows: pa.RecordBatch) -> None:
    """Raise if the condition cannot read a column of one side, whatever the other side's columns are.

    A value that cannot be read is refused with its own batch: once taken in, it would spoil the calls that meet it.
    """
    for column in dict.fromkeys(condition_columns(condition.expression)):
        for name in rows.schema.names:
            if column.side == side and name.casefold() == column.name.casefold():
                kind = rows.schema.field(name).type
                comparable(column, kind)
                if _converted(kind):
                    codec(kind).encode(rows.column(name), f"{side}.{name}")


def refuse_times(window: Window, side: Side, rows: pa.RecordBatch) -> None:
    """Raise if one side's event times cannot be, whatever the other side's are."""
    window.refuse_side(side, rows.schema)
    if window.on is not None:
        event_times(BoundWindow(window), side, rows)


def _converted(kind: pa.DataType) -> bool:
    """Whether values of a type are read in another unit than theirs, which not all of them may fit."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _converted(kind.value_type)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return bool(kind.unit != "us")
    return bool(pa.types.is_date64(kind))


def seconds(micros: int | None) -> float | None:
    """Options speak in microseconds, clocks in seconds."""
    return None if micros is None else micros / 1e6
