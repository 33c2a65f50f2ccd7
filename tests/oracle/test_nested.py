"""The window rules on examples small enough to work out by hand; the reasoning stands beside each."""

import ast
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from tests.oracle import duck, nested
from tests.oracle.nested import Aggregate
from tests.oracle.question import EVERYTHING, HOWS, Count, Question, Time, Window, at_once, micro_batches

_HERE = Path(__file__).parent
_ALL = "left.x = left.x AND right.x = right.x"  # true unless one is NULL


def stream(*numbers, ts=None):
    """A table with a column x, and the event times in microseconds when given."""
    columns = {"x": pa.array(numbers, pa.int32())}
    if ts is not None:
        columns["ts"] = pa.array(ts, pa.timestamp("us"))
    return pa.table(columns)


def timed(left, right, window, batches=None):
    """A question about event times alone: everything matches that the window lets pass."""
    tables = stream(*[0] * len(left), ts=left), stream(*[0] * len(right), ts=right)
    return Question(*tables, batches or at_once(*tables), _ALL, window)


def answers(question):
    """Both oracles' answer, which must be one."""
    answer = nested.join(question)
    assert duck.join(question) == answer
    return answer


def test_the_oracles_import_nothing_of_ours():
    files = sorted(_HERE.glob("*.py"))
    assert {"nested.py", "duck.py", "condition.py", "values.py", "rows.py", "question.py"} <= {
        file.name for file in files
    }
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.split(".")[0] == "panjoin" for name in names), f"{file.name} imports {names}"
            assert not (isinstance(node, ast.ImportFrom) and node.level), f"{file.name} imports relatively"


# ---- count windows ----


def test_a_micro_batch_is_its_left_tuples_first_and_then_its_right_ones():
    # b0: lefts 0, 1 see nothing; rights 0, 1, 2 see lefts 0, 1. b1: left 2 sees rights 0, 1, 2.
    question = Question(stream(0, 0, 0), stream(0, 0, 0), micro_batches([2, 1], [3, 0]), _ALL, EVERYTHING)
    sights = [(sight.side, sight.no, sight.matches) for sight in nested.look(question).sights]
    assert sights == [
        ("left", 0, ()),
        ("left", 1, ()),
        ("right", 0, (0, 1)),
        ("right", 1, (0, 1)),
        ("right", 2, (0, 1)),
        ("left", 2, (0, 1, 2)),
    ]


def test_both_rows_of_a_pair_in_one_micro_batch_meet_once():
    assert answers(Question(stream(7), stream(7), at_once(stream(7), stream(7)), "left.x = right.x")) == {(0, 0): 1}


def test_a_count_window_of_one_shows_only_the_last_opposite_tuple_processed_before():
    # b0: rights 0, 1 see left 1 (the last of 0, 1). b1: left 2 sees right 1; right 2 sees left 2.
    question = Question(
        stream(0, 0, 0), stream(0, 0, 0), micro_batches([2, 1], [2, 1]), _ALL, Window(Count(1), Count(1))
    )
    assert answers(question) == {(1, 0): 1, (1, 1): 1, (2, 1): 1, (2, 2): 1}


def test_each_side_has_its_own_count():
    # b0: rights 0..2 see lefts 0..2 (left window 3). b1: left 3 sees right 2 only (right window 1);
    #     right 3 sees lefts 1, 2, 3.
    window = Window(left=Count(3), right=Count(1))
    question = Question(stream(*[0] * 4), stream(*[0] * 4), micro_batches([3, 1], [3, 1]), _ALL, window)
    expected = [(left, right) for left in range(3) for right in range(3)] + [(3, 2), (1, 3), (2, 3), (3, 3)]
    assert answers(question) == Counter(expected)


def test_null_keys_match_nothing_and_still_take_a_place_in_the_window():
    # Right 0 sees only left 1, which is NULL; left 0 is pushed out of a window of one by it.
    question = Question(
        stream(5, None), stream(5), micro_batches([2], [1]), "left.x = right.x", Window(Count(1), Count(1))
    )
    assert answers(question) == {}
    assert answers(question._replace(window=EVERYTHING)) == {(0, 0): 1}


def test_null_matches_nothing_under_not_equal():
    question = Question(stream(1, None), stream(2, None), micro_batches([2], [2]), "left.x != right.x")
    assert answers(question) == {(0, 0): 1}


def test_any_sequence_of_batches_sees_the_opposite_tuples_processed_before():
    # right 0; left 0 sees right 0; left 1 sees right 0; right 1 sees lefts 0, 1, of which the window keeps left 1
    batches = (("right", 1), ("left", 1), ("left", 1), ("right", 1))
    question = Question(stream(0, 0), stream(0, 0), batches, _ALL, Window(Count(1), Count(1)))
    assert answers(question) == {(0, 0): 1, (1, 0): 1, (1, 1): 1}


def test_a_stream_joined_with_itself_meets_itself_on_both_sides():
    # b0: right 0 sees left 0. b1: left 1 sees right 0; right 1 sees lefts 0, 1: all four pairs, each once.
    one = stream(4, 4)
    question = Question(one, one, micro_batches([1, 1], [1, 1]), "left.x = right.x")
    assert answers(question) == {(0, 0): 1, (1, 0): 1, (0, 1): 1, (1, 1): 1}


# ---- time windows ----


def test_an_event_on_the_window_boundary_is_inside_and_one_microsecond_further_is_not():
    window = Window(Time(5), Time(3), ("ts", "ts"))
    for right, inside in ((5, True), (6, False), (4, True), (0, True), (-3, True), (-4, False), (-2, True)):
        assert bool(answers(timed([0], [right], window))) is inside, right


def test_equal_times_match_even_in_a_window_of_no_length():
    assert answers(timed([3, 4], [4, 5], Window(Time(0), Time(0), ("ts", "ts")))) == {(1, 0): 1}


def test_a_time_window_does_not_care_about_arrival():
    window = Window(Time(2), Time(1), ("ts", "ts"))
    # left 10 lives until 12 for later rights; rights 9 lives until 10: pairs 9, 10, 12 but not 13.
    expected = {(0, 0): 1, (0, 1): 1, (0, 2): 1}
    for batches in (
        (("left", 1), ("right", 4)),
        (("right", 4), ("left", 1)),
        (("right", 1), ("left", 1), ("right", 3)),
        (("right", 1), ("right", 1), ("right", 1), ("right", 1), ("left", 1)),
    ):
        assert answers(timed([10], [9, 10, 12, 13], window, batches)) == expected


def test_null_times_match_nothing_and_are_unmatched():
    question = timed([None, 1], [1, None], Window(Time(9), Time(9), ("ts", "ts")))
    assert answers(question) == {(1, 0): 1}
    assert answers(question._replace(how="full")) == {(1, 0): 1, (0, None): 1, (None, 1): 1}


# ---- mixed windows: the later arrival decides ----


def test_in_a_mixed_window_the_later_arrival_obeys_the_rule_of_the_older_tuples_side():
    window = Window(left=Count(1), right=Time(2), ts=("ts", "ts"))
    # b0: rights see only left 1, however old. b1: left 2 (time 7) sees rights not more than 2 older: 5, 6 but not 4.
    question = timed([0, 1, 7], [4, 5, 6], window, micro_batches([2, 1], [3, 0]))
    assert answers(question) == {(1, 0): 1, (1, 1): 1, (1, 2): 1, (2, 1): 1, (2, 2): 1}


def test_a_mixed_window_mirrored():
    window = Window(left=Time(2), right=Count(1), ts=("ts", "ts"))
    # right 0 (time 3) sees left 1 (time 1, two older) and not left 0; left 2 sees the last right only, any time.
    question = timed([0, 1, 90], [3, 50], window, (("left", 2), ("right", 2), ("left", 1)))
    assert answers(question) == {(1, 0): 1, (2, 1): 1}


def test_in_a_mixed_window_an_older_event_that_arrives_later_is_inside():
    window = Window(left=Time(0), right=Count(1), ts=("ts", "ts"))
    assert answers(timed([9], [3], window, (("left", 1), ("right", 1)))) == {(0, 0): 1}


# ---- late tuples ----


def test_a_tuple_behind_the_watermark_at_arrival_is_dropped_and_one_on_it_is_not():
    # After the first two batches: min(20, 30) - 4 = 16. Left 16 is in time, left 15 is late, NULL is never late.
    window = Window(Time(100), Time(100), ("ts", "ts"), lateness=4)
    question = timed([20, 16, 15, None], [30], window, (("left", 1), ("right", 1), ("left", 3)))
    assert answers(question) == {(0, 0): 1, (1, 0): 1}
    assert nested.look(question).late == [("left", 2)]
    assert answers(question._replace(how="left")) == {(0, 0): 1, (1, 0): 1, (3, None): 1}
    assert answers(question._replace(how="left_anti")) == {(3, None): 1}


def test_there_is_no_watermark_before_both_sides_had_a_time_and_a_batch_does_not_judge_itself():
    window = Window(Time(100), Time(100), ("ts", "ts"), lateness=0)
    question = timed([50, 1], [60, 2], window, (("left", 2), ("right", 2)))
    assert nested.watermarks_of(question) == [None, None]
    assert len(answers(question)) == 4


def test_without_a_lateness_nothing_is_late():
    question = timed(
        [1000, 1], [1000], Window(Time(9), Time(9), ("ts", "ts")), (("left", 1), ("right", 1), ("left", 1))
    )
    assert nested.look(question).late == []


def test_the_watermark_and_the_rule_of_lateness_can_be_handed_in():
    question = timed([5, 6], [5, 6], Window(Time(0), Time(0), ("ts", "ts")))
    assert nested.look(question, [None, 6]).late == [("right", 0)]
    late_when_at_or_behind = nested.look(question, [None, 6], lambda ts, watermark: ts <= watermark)
    assert late_when_at_or_behind.late == [("right", 0), ("right", 1)]
    assert nested.join(question, [5, 6]) == {(1, 1): 1}


def test_a_late_tuple_takes_a_number_and_a_place_in_a_count_window():
    # Left 1 is late (watermark 10), so right 1, which sees the last left number only, sees nothing.
    window = Window(Count(1), Time(100), ("ts", "ts"), lateness=0)
    question = timed([10, 3], [10, 10], window, (("left", 1), ("right", 1), ("left", 1), ("right", 1)))
    assert nested.look(question).late == [("left", 1)]
    assert answers(question) == {(0, 0): 1}


# ---- join types and forms ----


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", {(0, 0): 1, (0, 1): 1}),
        ("left", {(0, 0): 1, (0, 1): 1, (1, None): 1}),
        ("right", {(0, 0): 1, (0, 1): 1, (None, 2): 1}),
        ("full", {(0, 0): 1, (0, 1): 1, (1, None): 1, (None, 2): 1}),
        ("left_semi", {(0, None): 1}),
        ("left_anti", {(1, None): 1}),
    ],
)
def test_every_join_type_on_one_example(how, expected):
    # left 1 equals rights 1, 1; left NULL equals nothing; right 3 has no left
    tables = stream(1, None), stream(1, 1, 3)
    assert answers(Question(*tables, at_once(*tables), "left.x = right.x", how=how)) == expected


@pytest.mark.parametrize("how", HOWS)
def test_empty_streams_have_defined_answers(how):
    empty, some = stream(), stream(1)
    assert answers(Question(empty, empty, at_once(empty, empty), _ALL, how=how)) == {}
    lonely = {(0, None): 1} if how in ("left", "full", "left_anti") else {}
    assert answers(Question(some, empty, at_once(some, empty), _ALL, how=how)) == lonely


def test_counts_and_aggregates_are_per_probing_tuple_at_its_arrival():
    # rights 10, NULL, 30 arrive first; left 0 sees all three, left 1 (window 2) the same; then right 3 sees left 1.
    left, right = stream(1, 2), stream(10, None, 30, 50)
    batches = (("right", 3), ("left", 1), ("left", 1), ("right", 1))
    question = Question(left, right, batches, "TRUE", Window(Count(1), Count(3)))
    assert nested.counts(question) == {
        ("right", 0): 0,
        ("right", 1): 0,
        ("right", 2): 0,
        ("left", 0): 3,
        ("left", 1): 3,
        ("right", 3): 1,
    }
    answer = nested.aggregates(question, {"right": "x", "left": "x"})
    assert answer["left", 0] == Aggregate(matches=3, count=2, sum=40, min=10, max=30, avg=20)
    assert answer["right", 3] == Aggregate(matches=1, count=1, sum=2, min=2, max=2, avg=2)
    assert answer["right", 0] == Aggregate(matches=0, count=0, sum=None, min=None, max=None, avg=None)


def test_batches_that_do_not_hold_all_tuples_are_refused():
    with pytest.raises(ValueError, match=r"batches hold \{'left': 1, 'right': 1\} tuples, not 2 and 1"):
        nested.join(Question(stream(1, 2), stream(1), micro_batches([1], [1]), _ALL))
    with pytest.raises(ValueError, match="there are 1 and 2"):
        micro_batches([1], [1, 2])
