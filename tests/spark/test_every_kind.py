"""Every predicate, window, join type and form of result of the registry through real Spark, each at least once.

All their combinations run without a JVM (`runtimes.py`); these are for what only Spark can do to them: types on the way,
watermarks, timers, and blocks instead of rows on every other question.
"""

from __future__ import annotations

from collections import Counter
from itertools import cycle
from typing import NamedTuple

import pytest

from tests import registry
from tests.oracle import nested
from tests.oracle.question import HOWS
from tests.spark.test_packed import PackedPipeline
from tests.spark.test_stream_join import Pipeline, handed_out


class Kind(NamedTuple):
    """A question by name, and how it is asked."""

    predicate: str
    window: str
    how: str
    emit: str = "rows"
    packed: bool = False


def _kinds() -> list[Kind]:
    """Tuples that find nobody come out by time alone, so outer joins have a time window; all others have each window."""
    windows, found = cycle(registry.WINDOWS), cycle(("inner", "left_semi"))
    alone = cycle(("left", "right", "full", "left_anti"))
    kinds = []
    for number, predicate in enumerate(registry.PREDICATES):
        packed = number % 4 > 1
        if number % 2:
            kinds.append(Kind(predicate, "seconds", next(alone), packed=packed))
        else:
            kinds.append(Kind(predicate, next(windows), next(found), packed=packed))
    return [
        *kinds,
        Kind("equal_and_band", "seconds", "inner", "counts", packed=True),
        Kind("band", "count_and_time", "inner", "total"),
    ]


KINDS = _kinds()


def test_nothing_of_the_registry_is_left_out():
    assert {kind.predicate for kind in KINDS} == set(registry.PREDICATES)
    assert {kind.window for kind in KINDS} == set(registry.WINDOWS)
    assert {kind.how for kind in KINDS} == set(HOWS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind[:4])))
def test_spark_gives_what_the_oracle_gives(spark, tmp_path, kind):
    question = registry.question(kind.predicate, kind.window, kind.how, size=24, batch=12)
    pipeline = (PackedPipeline if kind.packed else Pipeline)(spark, tmp_path, question)
    pipeline.write()
    outer = kind.how in ("left", "right", "full", "left_anti")
    delay = None if question.window.ts is None else "2 seconds" if outer else "1 hour"
    pipeline.run(delay=delay, emit=kind.emit)
    never = [None] * len(question.batches)
    if kind.emit == "counts":
        found = Counter({(row["side"], row["id"]): row["count"] for row in pipeline.rows()})
        assert found == Counter(nested.counts(question, never))
    elif kind.emit == "total":
        assert sum(row["count"] for row in pipeline.rows()) == sum(nested.join(question, never).values())
    elif outer:
        assert pipeline.answer() == handed_out(question, pipeline.batches, 2_000_000)[0]
    else:
        assert pipeline.answer() == nested.join(question, never)
