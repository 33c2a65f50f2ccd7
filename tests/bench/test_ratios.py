"""What is measured for claims alone: the tree with sorted leaves is one, and what is told about bytes is so."""

from __future__ import annotations

import numpy as np
import pytest

from panjoin.bench import ratios
from panjoin.bench.sorted_leaves import SortedLeaves
from panjoin.bench.system_figures import Wire
from panjoin.errors import StateError


@pytest.mark.parametrize("width", [2, 4, 7, 64])
@pytest.mark.parametrize("values", [40, 5000])
def test_sorted_leaves_hold_every_tuple_in_key_order(width: int, values: int) -> None:
    rng = np.random.default_rng(width)
    keys = rng.permutation(np.repeat(np.arange(values, dtype=np.int32), 1 if values > 100 or width < 4 else 2))
    tree = SortedLeaves(len(keys), width, fanout=3)
    ids = np.arange(len(keys), dtype=np.int32)
    for some in np.array_split(ids, 9):
        batch = some[np.argsort(keys[some], kind="stable")]
        tree.insert(keys[batch], batch)
    held, numbers = tree.tuples()
    assert held.tolist() == sorted(keys.tolist())
    assert sorted(numbers.tolist()) == ids.tolist()
    assert (keys[numbers] == held).all()


def test_a_leaf_of_one_single_key_is_refused_with_the_key() -> None:
    tree = SortedLeaves(100, 4)
    with pytest.raises(StateError, match="key 7 fills a whole leaf, which cannot be cut; use distinct keys"):
        tree.insert(np.full(9, 7, np.int32), np.arange(9, dtype=np.int32))


@pytest.mark.parametrize("partitions", [16, 256, 1024, 65536])
def test_the_worst_case_is_promised_the_rounds_that_the_paper_gives(partitions: int) -> None:
    assert ratios._promised(partitions) == {16: 8, 256: 4, 1024: 4, 65536: 2}[partitions]


def test_what_goes_through_the_wire_is_counted_when_it_has_been_read() -> None:
    with Wire() as wire:
        assert wire.send([np.arange(3_000_000, dtype=np.int32), np.arange(5, dtype=np.int64)]) == 12_000_040
        assert wire.send([np.empty(0, np.int32)]) == 0
