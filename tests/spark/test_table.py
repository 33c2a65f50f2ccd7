"""A stream beside a static side: the nested loop over a table that is there from the start."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from panjoin.errors import StateError
from panjoin.names import joined_schema
from panjoin.spark import stream_join, table
from panjoin.spark.pack import Packer
from panjoin.spark.table import Asker, TableJoin, Tables
from tests import registry
from tests.oracle import nested
from tests.oracle.question import Answer, Question
from tests.spark.questions import NO, answer_of, numbered, plan_of, spark_window
from tests.spark.test_stream_join import Pipeline

ALLOWED = {"right": ("inner", "left", "left_semi", "left_anti"), "left": ("inner", "right")}
UNLATE = [name for name, window in registry.WINDOWS.items() if window.lateness is None]


def beside(question: Question, static: str) -> Question:
    """The static side comes first, all of it."""
    stream = tuple((side, size) for side, size in question.batches if side != static)
    return question._replace(batches=((static, getattr(question, static).num_rows), *stream))


def run(question: Question, static: str, *, tasks: int = 2, **options) -> Answer:
    """As Spark would run each task, without a JVM."""
    plan = plan_of(question, workers=1, **options)
    stream = "left" if static == "right" else "right"
    known = [
        row
        for batch in Packer(static, plan.schema(static))(_batches(question, static, plan))
        for row in batch.to_pylist()
    ]
    schema = joined_schema(*plan.schemas, question.how, ("_left", "_right"))
    rows = []
    batches = _batches(question, stream, plan)
    for task in range(tasks):
        asked = Asker(Packer(stream, plan.schema(stream)))(batches[task::tasks])
        messages = [row for batch in asked for row in batch.to_pylist()]
        joined = [each for message in messages for each in _beside(message, known)]
        if joined:
            join = TableJoin(plan, static, schema)
            rows += [
                row for batch in join([pa.RecordBatch.from_pylist(joined, schema=_JOINED)]) for row in batch.to_pylist()
            ]
    return answer_of(rows)


_JOINED = pa.schema({"payload": pa.binary(), "partition": pa.int32(), "sequence": pa.int32(), "known": pa.binary()})


def _beside(message: dict, known: list[dict]) -> list[dict]:
    nothing = {"payload": message["payload"], "partition": None, "sequence": None, "known": None}
    if message["payload"]:
        return [nothing]
    found = [{**nothing, "partition": 0, "sequence": each["sequence"], "known": each["payload"]} for each in known]
    return found[::-1] or [nothing]


def _batches(question: Question, side: str, plan) -> list[pa.RecordBatch]:
    whole = numbered(getattr(question, side)).select(plan.schema(side).names)
    sizes = [size for name, size in question.batches if name == side]
    cuts = [sum(sizes[:place]) for place in range(len(sizes))]
    return [
        whole.slice(cut, size).combine_chunks().to_batches()[0] for cut, size in zip(cuts, sizes, strict=True) if size
    ]


@pytest.mark.parametrize("window", UNLATE)
@pytest.mark.parametrize("static", ALLOWED)
def test_every_predicate_and_join_type_is_the_nested_loops(window, static, monkeypatch):
    monkeypatch.setattr("panjoin.spark.pack.MOST_ROWS", 9)
    for predicate in registry.PREDICATES:
        for how in ALLOWED[static]:
            question = beside(registry.question(predicate, window, how), static)
            assert run(question, static) == nested.join(question), (predicate, how)


@pytest.mark.parametrize("empty", ["left", "right"])
@pytest.mark.parametrize("how", ALLOWED["right"])
def test_an_empty_table_matches_nothing_and_an_empty_stream_gives_nothing(how, empty):
    question = registry.question("band", "everything", how)
    question = beside(question._replace(**{empty: getattr(question, empty).slice(0, 0)}), "right")
    sides = {empty: 0}
    question = question._replace(batches=tuple((side, sides.get(side, size)) for side, size in question.batches))
    assert run(question, "right") == nested.join(question)


def test_a_table_is_indexed_once_per_process_and_again_when_it_changes(monkeypatch):
    made = []
    real = table._indexed
    monkeypatch.setattr(table, "_indexed", lambda *arguments: made.append(1) or real(*arguments))
    monkeypatch.setattr(table, "TABLES", Tables(2))
    question = beside(registry.question("band", "last_7_and_20"), "right")
    run(question, "right", tasks=3)
    run(question, "right", tasks=3)
    assert len(made) == 1
    run(question, "right", index="scan")  # another plan
    assert len(made) == 2
    changed = question._replace(right=question.right.take(list(range(question.right.num_rows))[::-1]))
    assert run(changed, "right") == nested.join(changed)
    assert len(made) == 3
    assert len(table.TABLES._held) == 2


def test_a_table_that_comes_after_the_stream_is_an_error_and_no_wrong_result():
    plan = plan_of(beside(registry.question("band", "everything"), "right"), workers=1)
    question = registry.question("band", "everything")
    packed = [
        row
        for batch in Packer("left", plan.schema("left"))(_batches(question, "left", plan))
        for row in batch.to_pylist()
    ]
    rows = [*_beside(packed[0], []), {"payload": b"", "partition": 0, "sequence": 0, "known": packed[0]["payload"]}]
    join = TableJoin(plan, "right", joined_schema(*plan.schemas, "inner", ("_left", "_right")))
    with pytest.raises(StateError, match="the table came after the stream"):
        list(join([pa.RecordBatch.from_pylist(rows, schema=_JOINED)]))


@pytest.mark.parametrize(
    ("static", "how", "window"), [("right", "left", "last_7_and_20"), ("left", "right", "seconds")]
)
def test_on_real_spark_a_stream_finds_its_matches_in_a_table(spark, tmp_path: Path, static, how, window):
    question = beside(registry.question("equal_and_band", window, how, size=40, batch=20), static)
    pipeline = Pipeline(spark, tmp_path, registry.question("equal_and_band", window, how, size=40, batch=20))
    pipeline.write()
    frames = {"left": pipeline.source("left"), "right": pipeline.source("right")}
    frames[static] = spark.createDataFrame(numbered(getattr(question, static)))
    joined = stream_join(frames["left"], frames["right"], on=question.on, window=spark_window(question), how=how)
    assert joined.isStreaming
    pipeline.into(joined)
    assert pipeline.answer() == nested.join(question)
    assert NO + "_left" in joined.columns
