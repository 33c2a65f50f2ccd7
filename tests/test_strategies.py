"""The strategies and generators draw what they promise: one that never draws the interesting case tests nothing."""

import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from tests import strategies
from tests.conditions import FORMS, conditions
from tests.key_strategies import intervals, key_batches
from tests.oracle import nested
from tests.oracle.condition import compile_condition
from tests.oracle.question import Count
from tests.oracle.rows import columns_of, rows_of
from tests.strategies import COLUMNS, EXTREMES, arrivals, questions, tables, windows
from tests.streams import KINDS, streams

#: The first example will do: shrinking it takes a hundred times longer than finding it.
_FIND = settings(max_examples=5_000, database=None, phases=[Phase.generate])


@given(conditions())
def test_every_condition_is_within_the_grammar_and_reads_the_columns_it_names(condition):
    left, right = (pa.schema([(name, COLUMNS[name]) for name in names]) for names in (condition.left, condition.right))
    compile_condition(condition.text, columns_of(left), columns_of(right))
    for side, names in (("left", condition.left), ("right", condition.right)):
        assert all(f"{side}.{name}" in condition.text for name in names)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_can_be_asked_for_alone_and_finds_pairs(form):
    wanted = questions(
        conditions=conditions([form], ["i", "l"], max_parts=1), windows=windows(["count"]), hows=["inner"]
    )
    assert find(wanted, lambda question: len(nested.join(question)) >= 2, settings=_FIND)


@given(st.integers(0, 20), st.integers(0, 20), st.data())
def test_batches_hold_all_tuples_of_both_sides(left, right, data):
    batches = data.draw(arrivals(left, right))
    for side, total in (("left", left), ("right", right)):
        assert sum(size for name, size in batches if name == side) == total
    pairs = data.draw(arrivals(left, right, micro_batches_only=True))
    assert [side for side, _ in pairs] == ["left", "right"] * (len(pairs) // 2)


@given(tables(list(COLUMNS)))
def test_tables_have_the_promised_types(table):
    assert table.schema == pa.schema(list(COLUMNS.items()))


@pytest.mark.parametrize("name", EXTREMES)
def test_columns_hold_nulls_duplicates_and_every_extreme_of_their_type(name):
    column = strategies.values(name, 6)
    assert find(column, lambda drawn: None in drawn, settings=_FIND)
    assert find(column, lambda drawn: len({*map(str, drawn)}) < 3, settings=_FIND)
    for extreme in EXTREMES[name]:
        assert find(
            column, lambda drawn, extreme=extreme: any(_same(value, extreme) for value in drawn), settings=_FIND
        )


def _same(value, other):
    """Also NaN is the same, and -0.0 is not 0.0."""
    if isinstance(value, float) and isinstance(other, float):
        return struct.pack("d", value) == struct.pack("d", other)
    return value == other


@pytest.mark.parametrize(
    "case",
    [
        lambda q: nested.look(q).late,
        lambda q: isinstance(q.window.left, Count) and not isinstance(q.window.right, Count) and nested.join(q),
        lambda q: q.how == "full" and {None} < {part for pair in nested.join(q) for part in pair},
        lambda q: q.window.ts and _at_distance(q, 0) and _at_distance(q, 1),
        lambda q: q.batches[0][0] == "right" and q.batches[0][1],
    ],
    ids=[
        "late tuples",
        "mixed windows with pairs",
        "matched and unmatched rows",
        "the boundary and past it",
        "right first",
    ],
)
def test_questions_meet(case):
    assert find(questions(), lambda question: bool(case(question)), settings=_FIND)


def _at_distance(question, beyond):
    """Whether some right tuple is exactly `beyond` microseconds past the end of a left tuple's time window."""
    if isinstance(question.window.left, Count):
        return False
    left, right = ([ts for (ts,) in rows_of(table.select(["ts"]))] for table in (question.left, question.right))
    ends = {ts + question.window.left.length + beyond for ts in left if ts is not None}
    return not ends.isdisjoint(right)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_keys_reach_both_ends_of_their_type_and_repeat(dtype):
    info = np.iinfo(dtype)
    batches = key_batches(dtype)
    assert (
        find(batches, lambda keys: len(keys) and keys[0] == info.min and keys[-1] == info.max, settings=_FIND).dtype
        == dtype
    )
    assert find(batches, lambda keys: len(keys) - len(set(keys.tolist())) >= 4, settings=_FIND) is not None


@given(key_batches(np.int32), key_batches(np.int64, max_size=7, ascending=False), intervals(np.int64))
def test_keys_and_bounds_ascend_and_keep_their_size(ascending, anyhow, bounds):
    assert (np.diff(ascending.astype(np.int64)) >= 0).all()
    assert len(anyhow) <= 7
    low, high = bounds
    assert low.shape == high.shape
    for bound in bounds:
        assert (bound[1:] >= bound[:-1]).all()


def test_intervals_are_sometimes_empty_and_sometimes_everything():
    info = np.iinfo(np.int32)
    assert find(intervals(np.int32), lambda both: (both[0] > both[1]).any(), settings=_FIND)
    assert find(intervals(np.int32), lambda both: ((both[0] == info.min) & (both[1] == info.max)).any(), settings=_FIND)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("kind", KINDS)
def test_streams_are_the_same_for_the_same_seed_and_of_the_asked_size_and_type(kind, dtype):
    keys = streams(kind, 1000, 7, dtype)
    assert keys.dtype == dtype
    assert keys.shape == (1000,)
    assert (keys == streams(kind, 1000, 7, dtype)).all()
    assert kind == "constant" or (keys != streams(kind, 1000, 8, dtype)).any()
    assert streams(kind, 0, 7, dtype).shape == (0,)


def test_streams_have_the_shape_of_their_name():
    drawn = {kind: streams(kind, 10_000, 3).astype(np.int64) for kind in KINDS}
    assert len(set(drawn["constant"].tolist())) == 1
    assert (np.diff(drawn["increasing"]) >= 0).all()
    assert (np.diff(drawn["decreasing"]) <= 0).all()
    assert len(set(drawn["duplicates"].tolist())) == 17
    assert len(set(drawn["extremes"].tolist())) == 7
    assert len(set(drawn["uniform"].tolist())) > 9_900
    heaviest = np.unique(drawn["zipf"], return_counts=True)[1].max()
    assert 0.08 < heaviest / 10_000 < 0.13  # 1 / (ln 10000 + 0.58) = 0.102
    assert abs(np.median(drawn["normal"])) < 2**20
    assert drawn["drifting"][-1000:].min() > drawn["drifting"][:1000].max()
