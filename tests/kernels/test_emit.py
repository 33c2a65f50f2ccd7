"""Emission against plain Python slices."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from panjoin.kernels import emit

IDS = np.array([30, 20, 0, 40, 10], np.int32)
ranges = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8)


def run(kernel, pairs, first, last, size):
    starts, ends = (np.array([p[k] for p in pairs], np.int32) for k in (0, 1))
    probe_no, ids = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    assert kernel(starts, ends, IDS, first, last, probe_no, ids) == size
    return list(zip(probe_no.tolist(), ids.tolist(), strict=True))


@settings(deadline=None)
@given(ranges, st.data())
def test_ranges_become_pairs_in_probe_order(pairs, data):
    first = data.draw(st.integers(0, len(pairs)))
    last = data.draw(st.integers(first, len(pairs)))
    expected = [(i, int(v)) for i in range(first, last) for v in IDS[slice(*pairs[i])]]
    assert run(emit.emit_ranges, pairs, first, last, len(expected)) == expected


@settings(deadline=None)
@given(ranges, st.data())
def test_complements_are_all_other_ids_and_all_ids_when_the_range_is_empty(pairs, data):
    first = data.draw(st.integers(0, len(pairs)))
    last = data.draw(st.integers(first, len(pairs)))
    expected = [
        (i, int(v))
        for i in range(first, last)
        for v in [x for at, x in enumerate(IDS) if not pairs[i][0] <= at < pairs[i][1]]
    ]
    assert run(emit.emit_complements, pairs, first, last, len(expected)) == expected


@settings(deadline=None)
@given(ranges, ranges, st.booleans(), st.data())
def test_parts_keep_a_tuples_pairs_together(one, other, negate, data):
    size = min(len(one), len(other))
    first = data.draw(st.integers(0, size))
    wanted = []
    for i in range(first, size):
        for start, end in (one[i], other[i]):
            wanted += [(i, int(v)) for at, v in enumerate(IDS) if (start <= at < end) != negate]
    counts = np.bincount([i for i, _ in wanted], minlength=size)[first:size].astype(np.int64)
    cursors = np.cumsum(counts) - counts
    probe_no, ids = np.full(len(wanted), -1, np.int32), np.full(len(wanted), -1, np.int32)
    for pairs in (one[:size], other[:size]):
        starts, ends = (np.array([p[k] for p in pairs], np.int32) for k in (0, 1))
        emit.emit_part(starts, ends, IDS, first, negate, cursors, probe_no, ids)
    assert list(zip(probe_no.tolist(), ids.tolist(), strict=True)) == wanted


def test_short_and_long_ranges_are_copied_alike():
    """At sizes around the block from which a range is copied as one."""
    ids = np.random.default_rng(1).permutation(200).astype(np.int32)
    sizes = np.array([0, 1, emit.BLOCK_FROM - 1, emit.BLOCK_FROM, emit.BLOCK_FROM + 1, 100, 200] * 4, np.int32)
    starts = (np.arange(len(sizes)) * 37 % (201 - sizes)).astype(np.int32)
    ends = (starts + sizes).astype(np.int32)
    for kernel, kept in ((emit.emit_ranges, True), (emit.emit_complements, False)):
        inside = (np.arange(200) >= starts[:, None]) & (np.arange(200) < ends[:, None])
        wanted = [(i, int(ids[at])) for i, row in enumerate(inside) for at in np.flatnonzero(row == kept)]
        probe_no, found = np.empty(len(wanted), np.int32), np.empty(len(wanted), np.int32)
        assert kernel(starts, ends, ids, 0, len(sizes), probe_no, found) == len(wanted)
        assert list(zip(probe_no.tolist(), found.tolist(), strict=True)) == wanted
