"""The test of the oracles: on whatever is drawn, the nested loop and DuckDB give the same multiset.

They share the question and nothing else: one walks batches in Python over a parsed condition, the other is one SQL
statement over tables of rows and batches with a translated condition.
"""

from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as sf

from tests.conditions import FORMS, Condition, conditions
from tests.oracle import duck, nested
from tests.oracle.question import HOWS, Question, at_once
from tests.oracle.runtimes import connection
from tests.strategies import COLUMNS, questions, windows

_MORE = settings(max_examples=5 * settings().max_examples)  # one example takes 10 ms


@_MORE
@given(questions())
def test_the_oracles_agree_on_every_window_condition_and_join_type(question):
    try:
        by_duckdb = duck.join(question, connection())
    except duck.UntranslatableError as error:
        event(f"not for DuckDB: {error}")
        assume(False)
    answer = nested.join(question)
    event(f"{question.how}: {min(len(answer), 3)} kinds of rows")
    assert by_duckdb == answer


@_MORE
@given(
    questions(
        conditions=st.just(Condition("TRUE", (), (), "true")),
        windows=windows(["time", "mixed"], lateness=st.integers(0, 4)),
    )
)
def test_the_oracles_agree_on_who_is_late_and_who_is_in_the_window(question):
    event(f"late: {min(3, len(nested.look(question).late))}")
    assert duck.join(question, connection()) == nested.join(question)


@pytest.mark.parametrize("name", ["d", "f", "n"])
@settings(max_examples=settings().max_examples)
@given(st.data())
def test_the_oracles_agree_on_the_last_digit_of_sums_of_columns(name, data):
    size = data.draw(st.integers(1, 8))
    left, right = (pa.table({name: pa.array(data.draw(_digits(name, size)), COLUMNS[name])}) for _ in range(2))
    sign, at = data.draw(st.sampled_from(["<", "<=", "=", "!="])), data.draw(st.integers(0, size - 1))
    first = left[name][at].as_py(), right[name][0].as_py()
    total = first[0] - first[1]
    on = f"left.{name} - right.{name} {sign} {total!r}D" if name != "n" else f"left.n - right.n {sign} {total}"
    question = Question(left, right, at_once(left, right), on)
    assert duck.join(question, connection()) == nested.join(question)


def _digits(name: str, size: int) -> st.SearchStrategy[list[object]]:
    """Numbers of the column's type that use all of its digits."""
    numbers: st.SearchStrategy[object] = st.integers(-(10**9), 10**9).map(lambda cents: Decimal(cents) / 100)
    if name != "n":
        numbers = st.floats(-100, 100, width=32 if name == "f" else 64)
    return st.lists(numbers, min_size=size, max_size=size)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=settings().max_examples // 2)
@given(st.data())
def test_the_oracles_agree_on_every_form_of_condition_with_larger_streams(form, data):
    question = data.draw(questions(conditions=conditions([form], max_parts=1), windows=windows(["count"]), max_size=40))
    assert duck.join(question, connection()) == nested.join(question)


@given(questions(windows=windows(lateness=st.none()), hows=["inner"]))
def test_what_is_seen_at_arrival_is_every_pair_exactly_once(question):
    pairs = nested.join(question)
    assert set(pairs.values()) <= {1}
    assert sum(nested.counts(question).values()) == len(pairs)


@given(questions(windows=windows(["time"], lateness=st.none())), st.data())
def test_without_late_tuples_a_time_window_gives_the_same_for_every_arrival(question, data):
    left, right = question.left.num_rows, question.right.num_rows
    order = data.draw(st.permutations([("left", 1)] * left + [("right", 1)] * right))
    assert nested.join(question) == nested.join(question._replace(batches=tuple(order)))


@given(questions(windows=windows(["count"]), hows=["inner", "left_semi", "left_anti", "left"]))
def test_join_types_fit_together(question):
    left = {how: nested.join(question._replace(how=how)) for how in HOWS}
    matched = {pair[0] for pair in left["inner"]}
    assert set(left["left_semi"]) == {(no, None) for no in matched}
    assert set(left["left_anti"]) | set(left["left_semi"]) == {(no, None) for no in range(question.left.num_rows)}
    assert left["left"] == left["inner"] + left["left_anti"]
    assert left["full"] - left["right"] == left["left_anti"]


def test_duckdb_refuses_what_it_would_have_to_guess():
    table = pa.table({"f": pa.array([1.5], pa.float32()), "i": pa.array([1], pa.int32())})
    for on in ("left.f = 1.5F", "1 + left.f - right.f = 1", "! (left.i = right.i)", "left.nowhere = right.i"):
        with pytest.raises(duck.UntranslatableError):
            duck.join(Question(table, table, at_once(table, table), on))


@pytest.mark.parametrize(
    ("on", "holds"),
    [
        # 2^63 - 2 <= 2^63 - 3 is false in bigint and true in double; only IN brings its values to one type
        ("left.l BETWEEN right.i - 0.1D AND right.i + 9223372036854775807", False),
        ("left.l NOT BETWEEN (right.i - 0.1D) AND (right.i + 9223372036854775807) AND left.l > 0", True),
        ("left.l IN (right.i + 9223372036854775807, 5.0D)", True),
        ("left.l IN (right.i + 9223372036854775807)", False),
    ],
)
def test_between_is_typed_in_pairs_and_in_as_one_as_in_spark(spark, on, holds):
    left = pa.table({"l": pa.array([2**63 - 2], pa.int64())})
    right = pa.table({"i": pa.array([-2], pa.int32())})
    question = Question(left, right, at_once(left, right), on)
    sides = [spark.createDataFrame(table).alias(name) for name, table in (("left", left), ("right", right))]
    assert sides[0].join(sides[1], sf.expr(on)).count() == holds
    assert nested.join(question) == duck.join(question) == ({(0, 0): 1} if holds else {})


def test_float32_minus_float32_is_rounded_to_float32_by_both():
    # 16777216 + 1 in float32 stays 16777216; in double it would not.
    left, right = (pa.table({"f": pa.array([value], pa.float32())}) for value in (16777216.0, 1.0))
    question = Question(left, right, at_once(left, right), "left.f + right.f = 16777216")
    assert nested.join(question) == duck.join(question) == {(0, 0): 1}


def test_a_second_question_on_oneconnection_does_not_see_the_first():
    connection = duckdb.connect()
    one, two = (pa.table({"x": pa.array(values, pa.int32())}) for values in ([1, 2], [7]))
    assert len(duck.join(Question(one, one, at_once(one, one), "left.x = right.x"), connection)) == 2
    assert duck.join(Question(two, one, at_once(two, one), "left.x = right.x"), connection) == {}
