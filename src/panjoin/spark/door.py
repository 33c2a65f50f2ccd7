"""What is refused before a query starts, each with its remedy.

Looks at schemas and settings; runs nothing and changes nothing.
"""

from __future__ import annotations

import re
import tempfile
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from panjoin.chain.batch import LEFT, OPPOSITE
from panjoin.engine.build import refuse_missing
from panjoin.engine.spec import PRESERVED
from panjoin.errors import ParameterError
from panjoin.expression import Side
from panjoin.options import HOWS, Options
from panjoin.predicate import Condition
from panjoin.spark.event_time import WATERMARK
from panjoin.spark.placement import Placement
from panjoin.spark.plan import SIDES, JoinPlan
from panjoin.window import Window

OLDEST = (4, 3)
PROVIDER_KEY = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PARTITIONS_KEY = "spark.sql.shuffle.partitions"
#: A window of so many tuples is written where all that come are meant, and nobody says how many that are.
_EVERYTHING = 1 << 40
#: Workers where Spark does not say how many cores there are (Spark Connect).
_CORES_UNKNOWN = 4


def refuse_sides(left: Any, right: Any) -> None:
    """Refuse what is no DataFrame."""
    for side, frame in zip(SIDES, (left, right), strict=True):
        if not (isinstance(frame, DataFrame) or hasattr(frame, "isStreaming")):
            raise ParameterError(f"{side} must be a Spark DataFrame, not a {type(frame).__qualname__}")


def refuse_session(spark: SparkSession, streaming: bool) -> None:
    """Refuse a Spark that is too old, and a state store other than RocksDB."""
    version = tuple(int(part) for part in spark.version.split(".")[:2])
    if version < OLDEST:
        raise ParameterError(f"panjoin needs Spark 4.3 or newer, this session runs {spark.version}; upgrade pyspark")
    provider = spark.conf.get(PROVIDER_KEY, "") or ""
    if streaming and not provider.endswith(".RocksDBStateStoreProvider"):
        raise ParameterError(
            f"the state store is {provider.rpartition('.')[2] or 'unknown'}, but transformWithState needs RocksDB; "
            f"use panjoin.spark.session(), or set {PROVIDER_KEY} to {ROCKSDB}"
        )


def refuse_with_table(options: Options, table: Side) -> None:
    """Refuse what a stream and a static side cannot give without remembering the stream."""
    stream = OPPOSITE[table]
    if table in PRESERVED[options.how] or (options.how == "left_semi" and table == LEFT):
        possible = [how for how in HOWS if table not in PRESERVED[how] and (how != "left_semi" or table != LEFT)]
        raise ParameterError(
            f"how={options.how!r} would hand out tuples of the {table} side, which is static: which of them have no "
            f"match is known when the stream ends, and it does not; use how={' or '.join(map(repr, possible))}"
        )
    if options.emit not in ("rows", "total"):
        raise ParameterError(
            f"emit={options.emit!r} names tuples by their arrival numbers, and a stream beside a static side is not "
            f"numbered; use emit='rows', and group the rows by a column of the {stream} side"
        )
    if options.workers is not None:
        raise ParameterError(
            f"workers={options.workers} is for two streams: beside a static side every task of the stream works for "
            f"itself; leave workers out, and repartition the stream where it has too few tasks"
        )


def refuse_columns(condition: Condition, window: Window, left: Any, right: Any, streaming: bool) -> None:
    """Refuse a missing column; for two streams that are joined by time, a missing watermark."""
    for side, frame in zip(SIDES, (left, right), strict=True):
        refuse_missing(condition, window, side, frame.schema)
        if window.on is not None and streaming:
            _refuse_without_watermark(side, frame, window.on[SIDES.index(side)])


def _refuse_without_watermark(side: Side, frame: Any, column: str) -> None:
    marked = [field.name for field in frame.schema.fields if WATERMARK in field.metadata]
    if column not in marked:
        there = f"; its watermark is on {marked[0]!r}" if marked else ""
        raise ParameterError(
            f"the {side} side has no watermark on {column!r}, the event time of the window, so its tuples would "
            f"be kept for ever{there}; add .withWatermark({column!r}, '10 minutes') to the {side} DataFrame"
        )


def refuse_window(window: Window, streaming: bool) -> None:
    """Refuse a lateness of our own."""
    if window.lateness is not None and streaming:
        raise ParameterError(
            "lateness= is for StreamJoin; in Spark the DataFrames' withWatermark says how late a tuple may come: "
            "leave lateness out of the window"
        )


def settled_workers(options: Options, placed: Placement, spark: SparkSession) -> int:
    """The number of workers; refused when the join's result cannot be made by so many, or there is no room for them."""
    needs = _needs_one(options, placed)
    if needs is not None:
        if (options.workers or 1) != 1:
            raise ParameterError(
                f"{needs[0]} needs what all workers have found of a tuple, and they do not tell each other; "
                f"use {needs[1]}workers=1 instead of {options.workers}"
            )
        return 1
    partitions = int(spark.conf.get(PARTITIONS_KEY) or 1)
    if options.workers is None:
        return max(1, min(partitions, _cores(spark)))
    if options.workers > partitions:
        raise ParameterError(
            f"{options.workers} workers need as many shuffle partitions, and {PARTITIONS_KEY} is {partitions}; "
            f"set it to at least {options.workers} before the first start of the query, or use workers={partitions}"
        )
    return options.workers


def _needs_one(options: Options, placed: Placement) -> tuple[str, str] | None:
    """What needs a single worker, and the other way out."""
    if not placed.complete:
        return f"how={options.how!r} without an equality", ""
    if options.how != "inner" and options.placement == "arrival":
        return f"how={options.how!r} with placement='arrival'", "placement='key', or "
    return None


def refuse_small_residence(plan: JoinPlan, spark: SparkSession) -> None:
    """Refuse a place for windows that cannot hold them; how many tuples are in a length of time nobody knows yet."""
    each = [plan.window.extent(side).tuples or 0 for side in SIDES]
    tuples = sum(number for number in each if number < _EVERYTHING)
    here = "connect" not in type(spark).__module__ and re.fullmatch(r"local(\[.*\])?", str(spark.sparkContext.master))
    local = str(spark.conf.get("spark.local.dir", "") or tempfile.gettempdir()).split(",") if here else ()
    plan.residence.refuse_too_small(tuples, plan.workers, local)


def refuse_packed(packed: bool, event_time: str | None, streaming: bool) -> None:
    """Refuse blocks where rows are meant."""
    if packed and event_time is not None:
        raise ParameterError(
            f"event_time={event_time!r} is a column of rows, and packed=True gives blocks; leave one of them out"
        )
    if packed and not streaming:
        raise ParameterError("packed=True is for streams: two static sides give rows; leave it out, and use .write")


def refuse_form(options: Options) -> None:
    """Refuse range records: nobody outside can resolve them."""
    if options.emit == "ranges":
        raise ParameterError(
            "emit='ranges' names tuples by their place in this process, which a Spark query cannot read; "
            "use emit='rows', or 'counts', or a list of aggregates"
        )


def _cores(spark: SparkSession) -> int:
    context = None if "connect" in type(spark).__module__ else spark.sparkContext
    return _CORES_UNKNOWN if context is None else int(context.defaultParallelism)
