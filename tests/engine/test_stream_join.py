"""The join against the nested-loop oracle: any streams, conditions, windows, join types, batches and subwindows."""

from hypothesis import given
from hypothesis import strategies as st

from tests.engine.runtimes import answer_of
from tests.oracle import nested
from tests.strategies import questions


@given(questions(), st.sampled_from([1, 2, 3, 8]), st.sampled_from([1, 2, 3]))
def test_every_answer_is_the_nested_loops(question, subwindow, workers):
    answer = answer_of(question, index="scan", subwindow=subwindow, partitions=1, workers=workers)
    assert answer == nested.join(question)
