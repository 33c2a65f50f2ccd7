"""Payload rows come back as they were put in, whatever the batches were."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from panjoin.chain.rows import Rows


@given(st.lists(st.integers(0, 9), max_size=20), st.data())
def test_rows_are_found_by_their_position_in_order_of_arrival(sizes, data):
    rows, total = Rows(), 0
    for size in sizes:
        rows.append(pa.record_batch({"n": pa.array(range(total, total + size), pa.int64()), "s": ["x"] * size}))
        total += size
    assert rows.size == total
    if data.draw(st.booleans()):
        rows.compact()
    if total:
        wanted = data.draw(st.lists(st.integers(0, total - 1), min_size=1, max_size=30))
        assert rows.take(np.array(wanted)).column("n").to_pylist() == wanted
        assert rows.take(np.array(wanted), ["s"]).schema.names == ["s"]


def test_a_thousand_appends_of_one_row_leave_a_handful_of_chunks():
    rows = Rows()
    for number in range(1000):
        rows.append(pa.record_batch({"n": [number]}))
    assert len(rows._chunks) <= 10
    assert rows.take(np.arange(1000)).column("n").to_pylist() == list(range(1000))


def test_nested_and_dictionary_columns_pass_through():
    batch = pa.record_batch({"l": [[1], None, []], "d": pa.array(["a", "b", "a"]).dictionary_encode()})
    rows = Rows()
    rows.append(batch)
    rows.append(batch)
    assert rows.take(np.array([5, 0])).to_pylist() == [{"l": [], "d": "a"}, {"l": [1], "d": "a"}]
