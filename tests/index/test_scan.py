"""The nested loop's own: its interval arithmetic, and matches on both sides of every block and strip border."""

from __future__ import annotations

import numpy as np
import pytest

from panjoin.index import create
from panjoin.index.scan import BLOCK, STRIP, Intervals


@pytest.mark.parametrize("negate", [False, True])
def test_one_unsigned_comparison_says_the_same_as_two_signed_ones_for_all_bytes(negate: bool) -> None:
    everything = np.arange(-128, 128).astype(np.int8)
    low, high = (side.ravel() for side in np.meshgrid(everything, everything, indexing="ij"))
    expected = ((low[:, None] <= everything) & (everything <= high[:, None])) != negate
    starts, widths, which = Intervals.of(low, high, negate)
    found = np.zeros_like(expected)
    asks = which >= 0
    found[asks] = (everything.view(np.uint8) - starts[which[asks], None]) <= widths[which[asks], None]
    assert (found == expected).all()


def test_equal_probing_tuples_share_an_interval_and_empty_ones_have_none() -> None:
    low = np.array([1, 1, 3, 3, 5, 5], np.int32)
    high = np.array([2, 2, 2, 2, 5, 6], np.int32)
    starts, widths, which = Intervals.of(low, high, False)
    assert which.tolist() == [0, 0, -1, -1, 1, 2]
    assert starts.tolist() == [1, 5, 5]
    assert widths.tolist() == [1, 0, 1]


def test_tuples_stay_where_they_arrived() -> None:
    scan = create("scan", capacity=6)
    scan.insert(np.array([5, 9], np.int32), [0, 1])
    scan.insert(np.array([1, 7], np.int32), [2, 3])
    scan.seal()
    arrays = scan.arrays()
    assert arrays["keys"].tolist() == [5, 9, 1, 7]
    assert arrays["ids"].tolist() == [0, 1, 2, 3]
    assert scan.probe(np.array([0], np.int32), np.array([8], np.int32)).pairs()[1].tolist() == [0, 2, 3]


@pytest.mark.parametrize("capacity", [STRIP - 1, STRIP, STRIP + 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + STRIP + 1])
@pytest.mark.parametrize("probes", [1, 2, 3])
def test_matches_at_block_and_strip_borders_are_found_for_even_and_odd_numbers_of_probes(
    capacity: int, probes: int
) -> None:
    scan = create("scan", capacity=capacity)
    scan.insert(np.arange(capacity, dtype=np.int32), np.arange(capacity))
    borders = [at for at in (0, STRIP - 1, STRIP, BLOCK - 1, BLOCK, capacity - 2, capacity - 1) if at < capacity]
    for at in borders:
        low = at + np.arange(probes, dtype=np.int32)
        counts = np.clip(capacity - low, 0, 2)
        found = scan.probe(low, low + np.int32(1))
        assert found.counts.tolist() == counts.tolist()
        assert found.pairs()[1].tolist() == [key for first in low for key in (first, first + 1) if key < capacity]


def test_memory_is_that_of_keys_and_ids() -> None:
    assert create("scan", capacity=1000).memory_bytes == 1000 * 8
    assert create("scan", capacity=1000, dtype=np.int64).memory_bytes == 1000 * 12
