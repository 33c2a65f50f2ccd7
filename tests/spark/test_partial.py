"""Counts and aggregates that several workers make together are those of the nested loop."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.chain.batch import Batch
from panjoin.engine.aggregating import Aggregates
from panjoin.engine.forms import Counts
from panjoin.engine.result import Outcome
from panjoin.options import Options
from panjoin.spark import partial
from panjoin.spark.partial import combined, label_of, pieces
from tests import registry
from tests.oracle import nested
from tests.oracle.question import Question
from tests.spark.fake_spark import FakeSpark
from tests.spark.questions import micro_batches, plan_of
from tests.strategies import questions, windows

WANTED = ["count", "count(v) as n", "sum(v) as s", "min(v) as a", "max(v) as b", "avg(v) as m"]


def answers(question: Question, **options) -> list[dict]:
    """Rows of all micro-batches, from processes that forget and die."""
    spark = FakeSpark(plan_of(question, **options), forget=0.2, die=0.2)
    return [row for left, right in micro_batches(question) for row in spark.micro_batch([left], [right])]


@given(
    questions(hows=["inner"], micro_batches_only=True, windows=windows(lateness=st.none())), st.sampled_from([1, 2, 5])
)
def test_counts_of_any_number_of_workers_are_those_of_the_nested_loop(question, workers):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partial, "PIECE", 4)
        rows = answers(question, emit="counts", workers=workers, subwindow=3, partitions=1)
    found = {(row["side"], row["id"]): row["count"] for row in rows}
    assert len(rows) == len(found)
    assert found == nested.counts(question)


@pytest.mark.parametrize("window", ["last_7_and_20", "seconds"])
@pytest.mark.parametrize("predicate", ["equal", "band", "unequal", "residual"])
def test_aggregates_of_three_workers_are_those_of_the_nested_loop(predicate, window, monkeypatch):
    monkeypatch.setattr(partial, "PIECE", 4)
    question = registry.question(predicate, window, size=60, batch=15)
    rng = np.random.default_rng(7)

    def valued(table: pa.Table) -> pa.Table:
        draws = rng.random(table.num_rows)
        values = [None if draw < 0.2 else math.nan if draw < 0.25 else no / 4 for no, draw in enumerate(draws)]
        return table.append_column("v", pa.array(values, pa.float64()))

    question = question._replace(left=valued(question.left), right=valued(question.right))
    rows = answers(question, emit=WANTED, workers=3, index="bi-sort")
    expected = nested.aggregates(question, {"left": "v", "right": "v"})
    assert {(row["side"], row["id"]) for row in rows} == set(expected)
    assert len(rows) == len(expected)
    for row in rows:
        one = expected[row["side"], row["id"]]
        assert (row["count"], row["n"]) == (one.matches, one.count)
        for name, value in (("s", one.sum), ("a", one.min), ("b", one.max), ("m", one.avg)):
            assert (row[name] is None) == (value is None), (row, one)
            assert value is None or row[name] == pytest.approx(value, nan_ok=True, rel=1e-12), (row, one)


LONG = np.iinfo(np.int64)


def test_whole_numbers_at_the_ends_of_64_bits_survive_the_way_and_their_sum_is_exact():
    schema = pa.schema({"k": pa.int32(), "v": pa.int64()})
    form = Aggregates(Options(emit=WANTED).aggregates, schema, schema)
    nothing = np.empty(0, np.int32)
    batch = Batch("left", 65_535, 3, nothing, nothing, ())  # two pieces: one tuple, and two
    found: dict[str, list[pa.RecordBatch]] = {}
    for values in ([LONG.min, 5, LONG.max], [LONG.max, 0, LONG.min]):
        part = form.part("left", 3)
        part[None] += 1
        for (_, operation), fold in ((key, fold) for key, fold in part.items() if key is not None):
            fold.present += 1
            numbers = np.array(values)
            if operation == 0:
                fold.high, fold.values = numbers >> 32, numbers & 0xFFFFFFFF
            else:
                fold.values = numbers
        for piece in pieces(form, [Outcome(batch=batch, parts=[part])]):
            found.setdefault(label_of(piece), []).append(piece)
    assert sorted(found) == ["left/0", "left/1"]
    rows = [row for label in sorted(found) for row in combined(form, label, found[label]).to_pylist()]
    assert [row["id"] for row in rows] == [65_535, 65_536, 65_537]
    assert [row["s"] for row in rows] == [-1, 5, -1]
    assert [(row["a"], row["b"]) for row in rows] == [(LONG.min, LONG.max), (0, 5), (LONG.min, LONG.max)]
    assert [row["count"] for row in rows] == [2, 2, 2]


@given(st.data())
def test_pieces_that_hold_different_tuples_add_up_tuple_by_tuple(data):
    """Workers that were sent different tuples of a micro-batch, as when tuples are placed by key."""
    form, expected, found = Counts(), {}, {}
    nothing = np.empty(0, np.int32)
    for _ in range(data.draw(st.integers(1, 4))):
        numbers = np.array(sorted(data.draw(st.sets(st.integers(65_530, 65_545), min_size=1))))
        counts = np.array([data.draw(st.sampled_from([0, 1, 255, 256, 1 << 40])) for _ in numbers])
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            expected[number] = expected.get(number, 0) + count
        batch = Batch("right", int(numbers[0]), len(numbers), nothing, nothing, (), numbers=numbers)
        for piece in pieces(form, [Outcome(batch=batch, parts=[counts])]):
            found.setdefault(label_of(piece), []).append(piece)
    rows = [row for label, held in found.items() for row in combined(form, label, held).to_pylist()]
    assert {row["id"]: row["count"] for row in rows} == expected
    assert len(rows) == len(expected)
    assert {row["side"] for row in rows} == {"right"}


def test_a_piece_of_small_counts_takes_three_bytes_per_tuple():
    nothing = np.empty(0, np.int32)
    batch = Batch("left", 0, partial.PIECE, nothing, nothing, ())
    (piece,) = pieces(Counts(), [Outcome(batch=batch, parts=[np.arange(partial.PIECE) % 200])])
    assert piece.nbytes == 3 * partial.PIECE
