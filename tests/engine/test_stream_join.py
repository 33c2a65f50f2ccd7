"""The join against the nested-loop oracle: any streams, conditions, windows, join types, batches and subwindows."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import panjoin as pj
from tests.engine.runtimes import answer_of
from tests.oracle import nested
from tests.strategies import questions


@given(questions(), st.sampled_from([1, 2, 3, 8]), st.sampled_from([1, 2, 3]))
def test_every_answer_is_the_nested_loops(question, subwindow, workers):
    answer = answer_of(question, index="scan", subwindow=subwindow, partitions=1, workers=workers)
    assert answer == nested.join(question)


@pytest.mark.parametrize("how", ["inner", "full"])
def test_time_that_advances_before_the_other_side_comes_makes_late_only_what_comes_after_it(how):
    def at(*minutes):
        return {"k": [1] * len(minutes), "ts": [datetime(2026, 1, 5, 12, minute) for minute in minutes]}

    join = pj.StreamJoin(on="left.k = right.k", window=pj.TimeWindow("10 minutes", on="ts"), how=how)
    join.push("right", at(0))
    assert join.advance(datetime(2026, 1, 5, 12, 5)).count == 0
    assert join.push("right", at(4, 6)).late.num_rows == 0, "not known yet: nobody has looked at the columns"
    found = join.push("left", at(7))
    assert sorted(zip(*(numbers.tolist() for numbers in found.pairs()), strict=True)) == [(0, 0), (0, 2)]
    assert [row["ts"].minute for row in found.late.to_pylist()] == [4]
    assert join.finish().count == 0
