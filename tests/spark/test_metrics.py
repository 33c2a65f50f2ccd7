"""What a query tells of itself: added up, counted once, and equal to what the oracle says."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyspark.sql import Row

from panjoin.spark.metrics import COLUMN, Progress, WorkerProgress, last, metric_name, progress_of, read
from tests import registry
from tests.oracle import nested
from tests.spark.fake_spark import FakeSpark
from tests.spark.questions import micro_batches, plan_of, with_plan


def batches_of(spark: FakeSpark, question, watermark: int = 0) -> list[tuple[WorkerProgress, ...]]:
    """What the workers told in each micro-batch."""
    told = []
    for left, right in micro_batches(question):
        before = len(spark.told)
        spark.micro_batch([left], [right], watermark)
        told.append(tuple(spark.told[before:]))
    return told


def observed(batch: int, *turns: WorkerProgress, join: str = "the join") -> SimpleNamespace:
    """As much of Spark's StreamingQueryProgress as is read."""
    metrics = {metric_name(join, "00c0ffee"): {COLUMN: [turn.to_json() for turn in turns]}, "the user's own": {"n": 3}}
    return SimpleNamespace(
        batchId=batch, name=None, timestamp="2026-01-05T12:00:00Z", id="q", runId="r", observedMetrics=metrics
    )


def progress(batch: int, turns: tuple[WorkerProgress, ...]) -> Progress:
    (one,) = progress_of(observed(batch, *turns))
    return one


def test_tuples_are_counted_once_and_pairs_add_up_to_the_oracles():
    question = registry.question("band", "last_7_and_20", size=50, batch=10)
    spark = FakeSpark(plan_of(question), seed=3)
    told = [progress(number, turns) for number, turns in enumerate(batches_of(spark, question))]
    for number, (left, right) in enumerate(micro_batches(question)):
        assert (told[number].tuples("left"), told[number].tuples("right")) == (left.num_rows, right.num_rows)
    pairs = sum(nested.join(question).values())
    assert sum(each.pairs for each in told) == sum(each.rows for each in told) == pairs
    assert sum(sum(worker.taken.values()) for each in told for worker in each.workers) == 50 + 37
    final = told[-1]
    assert final.selectivity == final.pairs / (final.tuples("left") + final.tuples("right"))
    assert [worker.worker for worker in final.workers] == [0, 1]
    assert final.late("left") == final.quarantined("right") == 0


def test_both_chains_can_be_drawn():
    question = registry.question("equal", "seconds", size=60, batch=10)
    spark = FakeSpark(plan_of(question, index="rap-table"))
    final = progress(0, [turns for turns in batches_of(spark, question) if turns][-1])
    for side, table in (("left", question.left), ("right", question.right)):
        chain = final.chain(side)
        assert [each.number for each in chain] == sorted(each.number for each in chain)
        assert sum(each.size + each.late for each in chain) == table.num_rows  # no watermark has passed
        assert final.structures(side) == {"rap-table": len(chain)}
        times = [time for time in table["ts"].cast(pa.int64()).to_pylist() if time is not None]
        assert min(each.oldest for each in chain if each.oldest is not None) == min(times)
        assert max(each.newest for each in chain if each.newest is not None) == max(times)
        full = [each for each in chain if each.sealed]
        assert full and all(each.fill == 1.0 and each.capacity == 8 for each in full)
        assert all(each.balance is None or 1.0 <= each.balance <= 2.0 for each in chain)
        assert any(each.balance is not None for each in chain)
    assert final.bytes_resident >= sum(each.bytes for side in ("left", "right") for each in final.chain(side)) > 0


def test_late_tuples_are_counted_once_though_every_worker_sees_them():
    question = registry.question("equal", "seconds", size=30, batch=10)
    spark = FakeSpark(plan_of(question))
    left, right = micro_batches(question)[0]
    spark.micro_batch([left], [right])
    far = max(time for time in left["ts"].cast(pa.int64()).to_pylist() if time is not None) // 1000 + 60_000
    spark.told.clear()
    spark.micro_batch([left], [], far)
    told = progress(1, tuple(spark.told))
    timed = left.num_rows - left["ts"].null_count
    assert len(told.workers) == 2
    assert (told.tuples("left"), told.late("left"), told.late("right")) == (left.num_rows, timed, 0)
    assert told.watermark == far * 1000


def test_state_is_counted_in_bytes_and_shrinks_when_subwindows_expire():
    question = registry.question("band", "last_1", size=60, batch=10)
    spark = FakeSpark(plan_of(question))
    sizes = [progress(0, turns).bytes_state for turns in batches_of(spark, question) if turns]
    held = sum(len(value[0]) for handle in spark.handles for key, value in handle.maps["chunks"].items() if key[0])
    assert sizes[-1] == held > 0
    assert max(sizes) < 4 * held  # six micro-batches have come; one or two are held


def test_every_step_has_its_seconds_within_the_total():
    question = registry.question("band", "last_7_and_20", size=50, batch=10)
    for turns in batches_of(FakeSpark(plan_of(question), forget=1.0), question):
        for worker in turns:
            steps = dict(worker.seconds)
            total = steps.pop("total")
            assert set(steps) == {"rebuild", "prepare", "probe", "insert", "emit", "state", "files"}
            assert 0 < sum(steps.values()) <= total * 1.01


@pytest.mark.parametrize("emit", ["counts", "total", ["count"]])
def test_forms_that_count_say_how_many_matches_there_were(emit):
    question = registry.question("residual", "everything")
    spark = FakeSpark(plan_of(question, emit=emit))
    turns = [worker for each in batches_of(spark, question) for worker in each]
    assert sum(turn.pairs for turn in turns) == sum(nested.join(question).values())
    assert sum(turn.candidates for turn in turns) > sum(turn.pairs for turn in turns)


def test_of_ranges_the_positions_are_counted():
    question = registry.question("band", "everything")
    plan = with_plan(plan_of(question, workers=1, index="bi-sort"), emit="ranges")
    turns = [worker for each in batches_of(FakeSpark(plan), question) for worker in each]
    assert sum(turn.pairs for turn in turns) == sum(nested.join(question).values())


def test_a_turn_that_spark_repeats_counts_once_and_two_turns_of_a_worker_are_added():
    question = registry.question("band", "everything")
    (first, second), (third, _), *_ = batches_of(FakeSpark(plan_of(question)), question)
    assert progress(0, (first, second, first)).workers == (first, second)
    (both,) = progress(0, (third, first)).workers
    assert both.pairs == first.pairs + third.pairs
    assert both.taken == {side: first.taken[side] + third.taken[side] for side in ("left", "right")}
    assert both.seconds["total"] == pytest.approx(first.seconds["total"] + third.seconds["total"])
    assert (both.turn, both.subwindows) == (third.turn, third.subwindows)


def test_with_placement_by_key_workers_see_different_tuples():
    question = registry.question("band", "everything")
    turns = [replace(turn, placement="key") for turn in batches_of(FakeSpark(plan_of(question)), question)[0]]
    left, right = micro_batches(question)[0]
    told = progress(0, tuple(turns))
    assert (told.tuples("left"), told.tuples("right")) == (left.num_rows, right.num_rows)


def test_the_rows_that_spark_connect_gives_are_read_as_well():
    question = registry.question("band", "everything")
    turns = batches_of(FakeSpark(plan_of(question)), question)[0]
    spark = observed(3, *turns)
    ((name, row), *_) = spark.observedMetrics.items()
    spark.observedMetrics = {name: Row(values=[row[COLUMN]], schema={"type": "struct"})}
    assert list(progress_of(spark)) == [progress(3, turns)]
    spark.observedMetrics = {name: Row(**row)}
    assert list(progress_of(spark)) == [progress(3, turns)]


def test_the_last_progress_is_that_of_a_micro_batch_in_which_somebody_worked():
    question = registry.question("band", "everything")
    turns = batches_of(FakeSpark(plan_of(question)), question)[0]
    query = SimpleNamespace(recentProgress=[observed(0, *turns, join="a: b"), observed(1)])
    assert [(each.batch, each.join, len(each.workers)) for each in read(query)] == [(0, "a: b", 2), (1, "the join", 0)]
    assert last(query) == read(query)[0]
    assert last(SimpleNamespace(recentProgress=[])) is None
    idle = read(query)[1]
    assert (idle.tuples("left"), idle.pairs, idle.selectivity, idle.seconds("probe"), idle.watermark) == (
        0, 0, None, 0.0, None,
    )  # fmt: skip


def test_progress_of_a_newer_version_is_read_as_far_as_it_is_known():
    question = registry.question("band", "everything")
    turn = batches_of(FakeSpark(plan_of(question)), question)[0][0]
    newer = turn.to_json().replace('"worker":', '"colour":"red","worker":').replace('"side":', '"colour":"red","side":')
    assert WorkerProgress.of(newer) == turn == WorkerProgress.of(turn.to_json())
