"""`stream_join`: the join as one call on DataFrames.

    left  ─ select ─ mapInArrow(Packer) ┐
                                        union ───────────────────── groupBy(worker) ┐
    right ─ select ─ mapInArrow(Packer) ┘   (by arrival: explode(workers) first)    │
           rows <─ mapInArrow(Unpacker) ─ transformWithState (static: applyInArrow) ┘
                                          observed on its way: what the workers tell of themselves (metrics.py)

The user's `withWatermark` stands before `select`: Spark takes the watermark from there, for the whole query, and the
worker asks for it. The rows of the result carry no watermark of their own, for an old tuple of a pair may be behind it;
`event_time=` adds a column that does (`event_time.py`).
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from panjoin import index as structures
from panjoin.engine.build import LEFT_ONLY, specify
from panjoin.errors import ParameterError
from panjoin.expression import Side
from panjoin.names import SUFFIXES, joined_schema
from panjoin.options import Options
from panjoin.predicate import Condition, parse
from panjoin.records import refuse_duplicates
from panjoin.spark import door
from panjoin.spark.event_time import refuse_event_time, with_event_time
from panjoin.spark.metrics import COLUMN, metric_name
from panjoin.spark.pack import MESSAGE_DDL, Packer, Repacker, Unpacker
from panjoin.spark.packed import PackedSource, marked
from panjoin.spark.partial import Combiner, adds_up
from panjoin.spark.placement import Placement
from panjoin.spark.plan import SIDES, JoinPlan
from panjoin.spark.processor import ANSWER_DDL, JoinProcessor
from panjoin.spark.residence import Residence
from panjoin.spark.static import StaticJoin
from panjoin.spark.table import Asker, TableJoin, beside
from panjoin.spark.worker_keys import worker_key
from panjoin.window import Window

Tuples = DataFrame | PackedSource  #: what a side may be


def stream_join(
    left: DataFrame | PackedSource,
    right: DataFrame | PackedSource,
    *,
    on: str | Condition,
    window: Window,
    how: str = "inner",
    index: str = "auto",
    workers: int | None = None,
    emit: Any = "rows",
    suffixes: tuple[str, str] = SUFFIXES,
    name: str | None = None,
    event_time: str | None = None,
    subwindow: Any = None,
    partitions: int | None = None,
    resident: Any = None,
    resident_limit: Any = None,
    placement: str = "auto",
    packed: bool = False,
) -> DataFrame:
    """The matches of two DataFrames, as a DataFrame: streaming if one of them is.

        matches = stream_join(orders, quotes, on="left.price BETWEEN right.price - 5 AND right.price + 5",
                              window=TimeWindow("10 minutes", on="ts"))

    Nothing is run and no setting is changed; what cannot work is refused here, with the remedy.

    - `on` is SQL text over `left` and `right`, or a condition object; `window` is a CountWindow, TimeWindow or
      MixedWindow. Two streams in a time window need `withWatermark` on its column.
    - `how` is the join type, `emit` the form of result ("rows", "counts", "total", or a list of aggregates), `suffixes`
      tell names apart that are on both sides.
    - `workers` is fixed by the first start of a query; None takes the number of cores, at most that of shuffle
      partitions. `placement` says which of them see a tuple: all ("arrival"), or those that its key can match in
      ("key").
    - `name` is how messages and metrics speak of this join.
    - `event_time` names a column to add to the rows: the later of the two event times, which carries the watermark, for
      windowed aggregations.
    - `packed` gives the result in blocks, for `panjoin.spark.packed.write`; a side may be a `packed.read`.
    - `index`, `subwindow` and `partitions` choose what windows are made of; they change the speed, never the answer.
    - `resident` is a directory on the executors for the windows' files (None: Spark's local directories),
      `resident_limit` the bytes that one executor may put there, such as "8g".
    """
    door.refuse_sides(left, right)
    spark = left.sparkSession
    streaming = left.isStreaming and right.isStreaming
    door.refuse_session(spark, streaming)
    knobs = {"how": how, "index": index, "workers": workers, "emit": emit, "suffixes": suffixes}
    options = Options.of({**knobs, "subwindow": subwindow, "partitions": partitions, "placement": placement})
    options.check_index(structures.names())
    options.check_window(window)
    door.refuse_form(options)
    one_static = left.isStreaming != right.isStreaming
    if one_static:
        door.refuse_with_table(options, SIDES[int(left.isStreaming)])
    if event_time is not None:
        refuse_event_time(event_time, window, options.how, options.emit, streaming)
    door.refuse_packed(packed, event_time, left.isStreaming or right.isStreaming)
    door.refuse_window(window, left.isStreaming or right.isStreaming)
    condition = parse(on)
    cased = str(spark.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"
    for side, frame in zip(SIDES, (left, right), strict=True):
        refuse_duplicates(frame.columns, side, case_sensitive=cased)
    door.refuse_columns(condition, window, left, right, streaming)
    zone = str(spark.conf.get("spark.sql.session.timeZone", "UTC"))
    schemas = arrow_schema(left.schema), arrow_schema(right.schema)
    options = replace(options, timezone=zone)
    if one_static:
        options = replace(options, placement="arrival", workers=1)
    else:
        placed = Placement(specify(condition, window, *schemas, options), options.workers or 1)
        options = replace(options, placement=placed.settled(options.placement))
        options = replace(options, workers=door.settled_workers(options, placed, spark))
    plan = JoinPlan.of(condition, window, schemas, options, name or "the join")
    plan = replace(plan, residence=Residence.of(resident, resident_limit))
    if streaming:
        door.refuse_small_residence(plan, spark)
    result = _result_type(plan, left.schema, right.schema, schemas, cased)
    joined = _assembled(plan, left, right, result, packed)
    return joined if event_time is None else with_event_time(joined, event_time, plan, left.schema, right.schema)


def arrow_schema(schema: StructType) -> pa.Schema:
    """Spark's columns as the join sees them: in UTC, whatever the session's time zone is."""
    return to_arrow_schema(schema, timezone="UTC")


def _assembled(plan: JoinPlan, left: Tuples, right: Tuples, result: StructType, packed: bool) -> DataFrame:
    schema, adding = arrow_schema(result), adds_up(plan.spec().form, plan.workers)
    if left.isStreaming != right.isStreaming:
        messages, table = _with_table(plan, left, right)
        return _given(messages, TableJoin(plan, table, schema), result, packed)
    messages = _packed(plan, 0, left).unionAll(_packed(plan, 1, right))
    if not plan.by_key:
        keys = [sf.lit(worker_key(number)).cast("int") for number in range(plan.workers)]
        messages = messages.withColumn("worker", sf.explode(sf.array(*keys)))
    workers = messages.groupBy("worker")
    if not left.isStreaming:
        if not adding:
            return workers.applyInArrow(StaticJoin(plan, schema).rows, result)
        answers = workers.applyInArrow(StaticJoin(plan, schema).answers, ANSWER_DDL)
    else:
        timed = "EventTime" if plan.window.timed else "None"
        answers = workers.transformWithState(JoinProcessor(plan), ANSWER_DDL, "Append", timed)
        name = metric_name(plan.name, secrets.token_hex(4))
        answers = answers.observe(name, sf.collect_list("progress").alias(COLUMN))
    if adding:
        labelled = answers.where("label IS NOT NULL").repartition(plan.workers, "label")
        return _given(labelled, Combiner(plan, schema), result, packed)
    if packed:
        return marked(answers.where("payload IS NOT NULL"), result)
    return answers.mapInArrow(Unpacker(schema), result)


def _given(frame: DataFrame, maker: Any, result: StructType, packed: bool) -> DataFrame:
    if packed:
        return marked(frame.mapInArrow(Repacker(maker, maker.schema), "payload binary"), result)
    return frame.mapInArrow(maker, result)


def _with_table(plan: JoinPlan, left: Tuples, right: Tuples) -> tuple[DataFrame, Side]:
    stream, table = (0, 1) if left.isStreaming else (1, 0)
    frames = left, right
    messages = beside(_packed(plan, stream, frames[stream], Asker), _packed(plan, table, frames[table]))
    return messages, SIDES[table]


def _packed(plan: JoinPlan, number: int, frame: Tuples, wrap: Any = None) -> DataFrame:
    side, schema = SIDES[number], plan.schemas[number]
    packer = Packer(side, schema, plan.placement(), plan.numbered)
    carrier = packer if wrap is None else wrap(packer)
    if isinstance(frame, PackedSource):
        return frame.messages(carrier, schema)
    quoted = [f"`{name.replace('`', '``')}`" for name in schema.names]
    frame = frame.select(*[sf.col(name).alias(f"c{at}") for at, name in enumerate(quoted)])  # mapInArrow quotes none
    return frame.mapInArrow(carrier, MESSAGE_DDL)


def _result_type(
    plan: JoinPlan, left: StructType, right: StructType, schemas: tuple[pa.Schema, pa.Schema], cased: bool
) -> StructType:
    """Result columns in Spark's own types, which may say more than Arrow's (char, varchar)."""
    options = plan.options
    if options.emit != "rows":
        form = plan.spec().form
        if form is None:
            raise ParameterError(f"emit={options.emit!r} has no columns")
        return from_arrow_schema(form.schema)
    named = joined_schema(*schemas, options.how, options.suffixes, case_sensitive=cased)
    fields = left.fields if options.how in LEFT_ONLY else [*left.fields, *right.fields]
    return StructType(
        [StructField(new.name, old.dataType, new.nullable) for new, old in zip(named, fields, strict=True)]
    )
