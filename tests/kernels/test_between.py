"""The part of a sorted batch that one subwindow takes, beside a mask."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.kernels.between import between


@given(st.data())
def test_it_chooses_what_a_mask_chooses(data):
    size = data.draw(st.integers(0, 40))
    order = np.array(data.draw(st.permutations(range(size))), np.int32)
    order = order[: data.draw(st.integers(0, size))]  # NULL keys have no place in it
    keys = np.arange(len(order), dtype=data.draw(st.sampled_from([np.int32, np.int64]))) // 3
    first, last = data.draw(st.integers(0, size + 2)), data.draw(st.integers(0, size + 2))
    inside = (order >= first) & (order < last)
    found = between(keys, order, first, last)
    assert [each.tolist() for each in found] == [keys[inside].tolist(), order[inside].tolist()]
    assert [each.dtype for each in found] == [keys.dtype, order.dtype]


@pytest.mark.parametrize("stretch", [(0, 5), (0, 0), (4, 5), (2, 4)])
def test_arrays_that_cannot_be_written_are_read_and_kept(stretch):
    keys, order = np.array([3, 5, 5, 8, 9], np.int32), np.array([2, 1, 4, 0, 3], np.int32)
    for array in (keys, order):
        array.flags.writeable = False
    own = between(keys, order, *stretch)
    assert sorted(own[1].tolist()) == list(range(*stretch))
    assert keys.tolist() == [3, 5, 5, 8, 9]
