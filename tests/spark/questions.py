"""The registry's questions for the join inside Spark: tuples carry their arrival number as a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from panjoin.options import Options
from panjoin.predicate import parse
from panjoin.spark.placement import Placement
from panjoin.spark.plan import JoinPlan
from panjoin.window import MixedWindow, TimeWindow
from tests.engine.runtimes import window_of
from tests.oracle.question import Answer, Question

NO = "arrival no"  #: a name that nobody can use unquoted


def numbered(table: pa.Table) -> pa.Table:
    """With the arrival number as the last column."""
    return table.append_column(NO, pa.array(range(table.num_rows), pa.int64()))


def spark_window(question: Question) -> Any:
    """Our window; lateness is the DataFrames' business."""
    window = window_of(question.window)
    for each in (window, getattr(window, "left", None), getattr(window, "right", None)):
        if isinstance(each, TimeWindow | MixedWindow):
            object.__setattr__(each, "lateness", None)
    return window


def plan_of(question: Question, *, workers: int = 2, placement: str = "arrival", **options: Any) -> JoinPlan:
    """Small subwindows, so that every edge is near. As many workers as the placement allows."""
    options = {"how": question.how, "subwindow": 8, "partitions": 2, "placement": placement, **options}
    schemas = tuple(numbered(table).schema for table in (question.left, question.right))
    alone = JoinPlan.of(parse(question.on), spark_window(question), schemas, Options(**options, workers=1), "the join")
    placed = Placement(alone.spec(), workers)
    several = question.how == "inner" if placement == "arrival" else placed.complete
    return with_plan(alone, workers=workers if several else 1)


def micro_batches(question: Question) -> list[tuple[pa.Table, pa.Table]]:
    """Left and right tuples of each micro-batch."""
    given = {"left": 0, "right": 0}
    tables = {"left": numbered(question.left), "right": numbered(question.right)}
    parts = []
    for side, size in question.batches:
        parts.append(tables[side].slice(given[side], size))
        given[side] += size
    return list(zip(parts[::2], parts[1::2], strict=True))


def answer_of(rows: Iterable[Mapping[str, Any]]) -> Answer:
    """The multiset of arrival numbers in result rows."""
    return Counter((row.get(NO + "_left", row.get(NO)), row.get(NO + "_right")) for row in rows)


def with_plan(plan: JoinPlan, **options: Any) -> JoinPlan:
    """The same join with other options."""
    return replace(plan, options=replace(plan.options, **options))
