"""Key placement: every pair meets at exactly one worker, matches of a home tuple meet, and few bytes are sent."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.options import Options
from panjoin.predicate import parse
from panjoin.spark.pack import MESSAGE, Message, Packer, messages_of
from panjoin.spark.placement import Placement
from panjoin.spark.places import packed_places, places_of
from panjoin.spark.plan import JoinPlan
from panjoin.window import CountWindow
from tests import registry
from tests.oracle import nested
from tests.oracle.question import at_once
from tests.spark import questions
from tests.spark.fake_spark import FakeSpark
from tests.spark.runtimes import FAR

WORKERS = [2, 3, 8, 33]


def plan_of(question, workers=3, **options):
    return questions.plan_of(question, workers=workers, placement="key", **options)


def routes(placement, question):
    """Per side and worker the set of positions that go there."""
    plan = plan_of(question)
    tables = {"left": question.left, "right": question.right}
    found = {}
    for side, table in tables.items():
        rows = questions.numbered(table).select(plan.schema(side).names).combine_chunks().to_batches()[0]
        places = placement.route(side, rows, 0)
        assert all((np.diff(own) > 0).all() for own in places), "ascending, each position once"
        found[side] = [set(own.tolist()) for own in places]
    return found


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("predicate", registry.PREDICATES)
@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "left_anti"])
def test_a_pair_meets_at_one_worker_and_a_preserved_tuple_is_at_one(predicate, how, workers):
    question = registry.question(predicate, "everything", how, size=300)
    placement = Placement(plan_of(question).spec(), workers)
    found = routes(placement, question)
    for left, right in nested.join(question._replace(how="inner", batches=at_once(question.left, question.right))):
        together = [w for w in range(workers) if left in found["left"][w] and right in found["right"][w]]
        assert len(together) == 1, (left, right)
    for side, table in (("left", question.left), ("right", question.right)):
        copies = [sum(number in own for own in found[side]) for number in range(table.num_rows)]
        if placement.is_home(side):
            assert max(copies) == 1
        if placement.spec.preserves(side) and placement.complete:
            assert set(copies) == {1}


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("predicate", registry.PREDICATES)
def test_a_tuple_that_came_to_several_workers_counts_at_one(predicate, workers):
    question = registry.question(predicate, "everything", "left", size=300)
    plan = plan_of(question)
    placement = Placement(plan.spec(), workers)
    for side, table in (("left", question.left), ("right", question.right)):
        rows = questions.numbered(table).select(plan.schema(side).names).combine_chunks().to_batches()[0]
        places = placement.route(side, rows, 0)
        counted = [
            len(own) - placement.heard_before(side, rows.take(pa.array(own)), worker)
            for worker, own in enumerate(places)
        ]
        assert sum(counted) == len(set(np.concatenate(places).tolist()))


@pytest.mark.parametrize(
    ("predicate", "how", "placed"),
    [
        ("equal", "inner", "key"),
        ("equal", "full", "key"),
        ("equal_and_band", "full", "key"),
        ("band", "inner", "key"),
        ("abs_double", "inner", "key"),
        ("interval", "left", "key"),
        ("band", "full", "arrival"),
        ("less", "inner", "arrival"),
        ("less", "left", "key"),
        ("unequal", "inner", "arrival"),
        ("nothing_to_index", "inner", "arrival"),
        ("nothing_to_index", "left_semi", "key"),
    ],
)
def test_auto_is_by_key_where_that_spares_messages_or_is_needed(predicate, how, placed):
    question = registry.question(predicate, "everything", how)
    assert Placement(plan_of(question).spec(), 2).settled("auto") == placed


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_band_sends_a_tuple_to_little_more_than_one_worker(side):
    on = "left.k BETWEEN right.k - 100 AND right.k + 100"
    schema = pa.schema([("k", pa.int32())])
    plan = JoinPlan.of(parse(on), CountWindow(10), (schema, schema), Options(workers=8, placement="key"), "j")
    keys = np.random.default_rng(1).integers(-(2**31), 2**31, 100_000, dtype=np.int32)
    sent = [len(own) for own in plan.placement().route(side, pa.record_batch({"k": keys}), 0)]
    assert sum(sent) <= len(keys) * (1 if side == "left" else 1.13)
    assert max(sent) < 1.05 * sum(sent) / 8


def test_tuples_that_can_match_nothing_are_not_sent_unless_somebody_asks_for_them():
    schema = pa.schema([("k", pa.int32())])
    rows = pa.record_batch([pa.array([None] * 100, pa.int32())], schema)

    def sent(side, on="left.k = right.k", **options):
        plan = JoinPlan.of(
            parse(on), CountWindow(10), (schema, schema), Options(workers=2, placement="key", **options), "j"
        )
        return [len(own) for own in plan.placement().route(side, rows, 0)]

    assert sent("left") == [0, 0]
    assert sum(sent("left", emit="counts")) == 100
    assert sum(sent("left", how="left")) == 100
    assert sent("right", how="left") == [0, 0]
    assert min(sent("right", how="full")) > 30
    assert sum(sent("right", on="left.k BETWEEN right.k - 5 AND right.k + 5", emit="counts")) == 100


@given(st.integers(1, 300), st.data())
def test_places_come_back_and_the_smallest_form_is_taken(extent, data):
    positions = np.array(sorted(data.draw(st.sets(st.integers(0, extent - 1)))), np.int32)
    packed = packed_places(positions, extent)
    assert places_of(packed, extent).tolist() == positions.tolist()
    assert len(packed) <= 1 + -(-extent // 8)
    if len(positions) == extent:
        assert packed == b""


@pytest.mark.parametrize(("stride", "width"), [(9, 1), (257, 2), (70_000, 4)])
def test_far_places_take_one_two_or_four_bytes_each(stride, width):
    positions = np.arange(stride - 1, 10 * stride, stride, dtype=np.int32)
    packed = packed_places(positions, 10 * stride)
    assert len(packed) == 1 + width * len(positions)
    assert places_of(packed, 10 * stride).tolist() == positions.tolist()


def test_all_workers_hear_of_every_block_and_shares_are_put_together_in_order(monkeypatch):
    monkeypatch.setattr("panjoin.spark.pack.MOST_ROWS", 10)
    question = registry.question("equal", "last_7_and_20", size=100)
    plan = plan_of(question, workers=2)
    rows = questions.numbered(question.left).select(plan.schema("left").names).combine_chunks().to_batches()
    batches = list(Packer("left", plan.schema("left"), plan.placement(), plan.numbered)(rows))
    assert all(batch.schema == MESSAGE for batch in batches)
    messages: list[Message] = [message for batch in batches for message in messages_of(batch)]
    assert [(each.sequence, each.rows) for each in messages] == [(n, 20) for n in range(5) for _ in range(2)]
    positions = [20 * each.sequence + place for each in messages for place in places_of(each.places, 20)]
    valid = [n for n, k in enumerate(question.left["k"].to_pylist()) if k is not None]
    assert sorted(positions) == valid


@pytest.mark.parametrize("window", ["last_7_and_20", "seconds"])
@pytest.mark.parametrize("predicate", ["equal_string", "abs_double", "bands_apart", "less"])
def test_both_placements_and_any_number_of_workers_give_the_same_rows(predicate, window):
    question = registry.question(predicate, window, size=80, batch=7)
    answers = []
    for options in ({"placement": "arrival", "workers": 2}, *({"placement": "key", "workers": n} for n in (1, 2, 8))):
        spark = FakeSpark(questions.plan_of(question, **options))
        rows = [row for left, right in questions.micro_batches(question) for row in spark.micro_batch([left], [right])]
        answers.append(questions.answer_of(rows + spark.micro_batch([], [], FAR)))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0]
