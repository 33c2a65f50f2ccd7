"""Conditions and data that nobody chose: the condition holds where the naive evaluator says so, and keys agree with it.

drawn text ──┬── parse, bind, full ───────────── bool per pair ──┐
             ├── oracle's own parser, row by row ── True/False/None ──┴── equal (NULL is no match)
             └── keys and intervals of keys, from either side ── every match once, nothing else once verified
"""

import numpy as np
import pyarrow as pa
from hypothesis import event, given, settings
from hypothesis import strategies as st

from panjoin.predicate import parse
from tests.conditions import conditions
from tests.oracle.condition import compile_condition
from tests.oracle.rows import columns_of, rows_of
from tests.predicate.agreement import assert_keys_agree
from tests.strategies import tables

_MORE = settings(max_examples=5 * settings().max_examples)  # one example takes about 15 ms


@st.composite
def conditions_with_rows(draw):
    """A condition, and a batch of a few rows per side with the columns that it reads."""
    condition = draw(conditions())
    left, right = (draw(tables(names, max_size=8)) for names in (condition.left, condition.right))
    return condition, left, right


def as_the_oracle_says(text, left, right):
    """One boolean per pair of rows: rows are those of the left table, columns those of the right one."""
    holds = compile_condition(text, columns_of(left.schema), columns_of(right.schema))
    return np.array([[holds(l, r) is True for r in rows_of(right)] for l in rows_of(left)], bool).reshape(
        left.num_rows, right.num_rows
    )


def every_pair(left: pa.Table, right: pa.Table) -> tuple[pa.Table, pa.Table]:
    n, m = left.num_rows, right.num_rows
    return left.take(np.repeat(np.arange(n), m)), right.take(np.tile(np.arange(m), n))


@_MORE
@given(conditions_with_rows())
def test_any_condition_holds_where_the_oracle_says_so_and_its_keys_find_just_that(drawn):
    condition, left, right = drawn
    ours = parse(condition.text).bind(left.schema, right.schema).full(*every_pair(left, right))
    expected = as_the_oracle_says(condition.text, left, right)
    assert np.array_equal(ours.reshape(expected.shape), expected), condition.text
    keys = assert_keys_agree(condition.text, left, right)
    event(f"scans: {keys.scans}, exact: {keys.exact}, matches: {min(2, int(expected.sum()))}")
