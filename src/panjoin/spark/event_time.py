"""`event_time=`: a column of the result that carries the watermark, for windowed aggregations behind the join.

    stream_join(..., event_time="at").groupBy(window("at", "1 minute")).count()        append mode

An old tuple of a pair may be behind the watermark by the length of its window, so its time cannot carry one. The later
time of the two can: a pair comes out with the tuple that arrives last, which was not late, and neither is the later of
the two.

Spark marks the columns of a watermark by their metadata, and propagates the watermark itself through the operator; the
messages in between are binary and have no such column, so the mark is put on the result.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from panjoin.engine.build import LEFT_ONLY
from panjoin.errors import ParameterError
from panjoin.spark.plan import JoinPlan
from panjoin.window import Window

WATERMARK = "spark.watermarkDelayMs"  #: Spark's mark in the metadata of a column with a watermark


def refuse_event_time(name: str, window: Window, how: str, emit: str, two_streams: bool) -> None:
    """Refuse where no column of the result can keep up with the watermark."""
    if window.on is None:
        raise ParameterError(f"event_time={name!r} needs event times, which {window!r} has none of; use a TimeWindow")
    if emit != "rows":
        raise ParameterError(
            f"event_time={name!r} is a column of rows, which emit={emit!r} does not give; leave it out"
        )
    if two_streams and how != "inner":
        raise ParameterError(
            f"event_time={name!r} is for how='inner': with how={how!r} tuples come out when they have left their "
            f"window, behind the watermark; aggregate in foreachBatch instead"
        )


def with_event_time(joined: DataFrame, name: str, plan: JoinPlan, left: StructType, right: StructType) -> DataFrame:
    """The result, and the later of its two event times, marked."""
    if name.casefold() in (column.casefold() for column in joined.columns):
        raise ParameterError(f"event_time={name!r} is a column of the result already; give it another name")
    assert plan.window.on is not None
    places = [_place(left, plan.window.on[0])]
    if plan.options.how not in LEFT_ONLY:
        places.append(len(left) + _place(right, plan.window.on[1]))
    times = [_column(joined.columns[place]) for place in places]
    latest = sf.greatest(*times) if len(times) > 1 else times[0]  # passes over a NULL
    return joined.select("*", latest.alias(name, metadata={WATERMARK: 0}))


def _place(schema: StructType, name: str) -> int:
    names = schema.names
    return names.index(name) if name in names else [each.casefold() for each in names].index(name.casefold())


def _column(name: str) -> Column:
    return sf.col(f"`{name.replace('`', '``')}`")
