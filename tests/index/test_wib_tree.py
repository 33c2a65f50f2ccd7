"""WiB+-Tree: what the suites for every structure cannot see. Leaves, cuts, chains, freed entries, and the path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.errors import ParameterError
from panjoin.index.wib_leaves import entries_for, median, nth, sort_pairs
from panjoin.index.wib_nodes import advance, descend, new_path
from panjoin.index.wib_tree import WibTree
from tests.index.model import Model, ask


def tree(capacity: int, width: int, dtype: Any = np.int32, fanout: int = 3) -> WibTree:
    """A tree whose leaves are `width` wide."""
    index = WibTree(capacity=capacity, partitions=1, dtype=dtype, sigma=1.0001, fanout=fanout)
    for partitions in range(1, capacity + 1):
        index = WibTree(capacity=capacity, partitions=partitions, dtype=dtype, sigma=1.0001, fanout=fanout)
        if index.width <= width:
            break
    assert index.width == width
    return index


def insert(index: WibTree, *values: int) -> None:
    index.insert(np.array(values, index.dtype), np.arange(index.size, index.size + len(values)))
    index.check()


def test_the_example_at_the_head_of_the_file() -> None:
    index = tree(16, 4)
    insert(index, 3, 8, 3)
    insert(index, 12, 11)
    insert(index, 41, 40, 44)
    assert index.probe(np.array([8], np.int32), np.array([11], np.int32)).counts.tolist() == [2]


def test_a_run_is_cut_at_the_distinct_boundary_nearest_to_the_median() -> None:
    index = tree(16, 4)
    insert(index, 3, 8, 3)
    insert(index, 4, 9)
    assert [sorted(index._tree.llat.tuples_of(leaf)[0].tolist()) for leaf in index._leaves()] == [[3, 3], [4, 8, 9]]


def test_a_leaf_of_one_value_overflows_into_a_chain_and_stays_one_leaf() -> None:
    index = tree(64, 4)
    for _ in range(13):
        insert(index, 7)
    insert(index, *[7] * 20)
    assert index.leaves == 1
    assert index._tree.used[0] == 9


def test_a_value_that_fills_a_leaf_does_not_turn_its_neighbours_into_leaves_of_one_tuple() -> None:
    for values in (range(50, 0, -1), range(60, 110), range(110, 60, -1)):
        index = tree(90, 10)
        insert(index, *[55] * 20)
        for value in values:
            insert(index, value)
        assert index.leaves <= 12


@pytest.mark.parametrize("step", [1, -1])
def test_increasing_and_decreasing_values_fill_their_leaves_to_the_top(step: int) -> None:
    index = tree(200, 10)
    for value in range(0, 200 * step, step):
        insert(index, value)
    assert index.leaves == 20


def test_a_batch_of_the_whole_capacity_enters_an_empty_tree_in_evenly_filled_leaves() -> None:
    index = tree(1000, 10)
    insert(index, *range(1000))
    sizes = [int(index._tree.size[leaf]) for leaf in index._leaves()]
    assert min(sizes[:-1]) > 5
    assert len(sizes) <= 200


def hostile(index: WibTree) -> int:
    """Values by which leaves need 3 entries for 10 tuples; returns how often small leaves had to be merged."""
    merges, merge = 0, index._merge_small_leaves

    def counted() -> None:
        nonlocal merges
        merges += 1
        merge()

    index._merge_small_leaves = counted  # type: ignore[method-assign]
    for low in range(index.capacity, 0, -10):
        for value in [low, *[low + 1] * 9]:
            index.insert(np.array([value], index.dtype), [index.size])
        if low % 200 == 0:
            index.check()
    index.check()
    return merges


def test_when_hostile_values_exhaust_the_entries_small_leaves_are_merged_and_all_tuples_fit() -> None:
    index = tree(2000, 8)
    assert hostile(index) > 0
    assert index.size == 2000
    assert index.probe(np.array([11], np.int32), np.array([11], np.int32)).counts.tolist() == [9]


def test_entries_freed_by_merging_are_used_again_before_new_ones() -> None:
    index = tree(400, 8)
    for value in range(200):
        insert(index, value * 7 % 200)
    before = index._tree.llat.ptr_g[0]
    while index._tree.llat.free[0] < 0:
        index._merge_small_leaves()
        insert(index, index.size)
        assert index.size < 400
    used = index._tree.used[0]
    while index._tree.used[0] == used:
        insert(index, index.size * 7 % 200)
    assert index._tree.llat.ptr_g[0] <= before + 1


VALUES = st.one_of(st.integers(-6, 6), st.sampled_from([-(2**31), -(2**31) + 1, 2**31 - 2, 2**31 - 1]))


@given(
    width=st.integers(2, 9),
    batches=st.lists(st.tuples(st.lists(VALUES, min_size=1, max_size=40), st.booleans()), max_size=12),
)
def test_any_batches_and_merges_in_between_keep_every_invariant_and_the_bound(
    width: int, batches: list[tuple[list[int], bool]]
) -> None:
    capacity = max(4, 2 * width, sum(len(values) for values, _ in batches))
    index, model = WibTree(capacity=capacity, partitions=-(-capacity // width), dtype=np.int32, fanout=3), Model()
    for values, merge in batches:
        batch, ids = np.array(values, np.int32), np.arange(index.size, index.size + len(values))
        index.insert(batch, ids)
        model.insert(batch, ids)
        index.check()
        if merge:
            index._merge_small_leaves()
            index.check()
            assert index._tree.used[0] < 2 * index.size / index.width + 1
    bounds = np.unique(np.array([value for values, _ in batches for value in values], np.int32))
    assert ask(index, bounds, bounds) == model.probe(bounds, bounds)


@pytest.mark.parametrize("capacity", [*range(1, 40), 1000, 1 << 23])
def test_the_reserved_entries_cover_the_bound_and_what_one_step_needs(capacity: int) -> None:
    for width in (2, 3, 8, 160, 1280):
        if width < capacity:
            assert entries_for(capacity, width) >= 2 * capacity / width + 8


def test_memory_stays_within_two_sigma_times_the_tuples() -> None:
    for dtype, raw in ((np.int32, 8), (np.int64, 12)):
        index = WibTree(capacity=1 << 17, partitions=1 << 10, dtype=dtype)
        assert index.memory_bytes <= 2 * index.sigma * raw * index.capacity


@given(st.lists(st.integers(0, 400), min_size=1, max_size=60))
def test_a_path_that_is_continued_leads_where_a_new_one_leads(keys: list[int]) -> None:
    index = tree(400, 2)
    index.insert(np.arange(400, dtype=np.int32), np.arange(400))
    path, fresh = new_path(), new_path()
    ascending = np.array(sorted(keys), np.int32)
    assert descend(index._tree.nodes, path, ascending[0]) == descend(index._tree.nodes, fresh, ascending[0])
    for key in ascending:
        assert advance(index._tree.nodes, path, key) == descend(index._tree.nodes, fresh, key)
        height = index._tree.nodes.root[1]
        assert (path[:, :height] == fresh[:, :height]).all()


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@given(data=st.data())
def test_the_median_leaves_half_of_the_keys_below_or_is_the_key_in_the_middle(dtype: Any, data: Any) -> None:
    info = np.iinfo(dtype)
    key = st.integers(-6, 6) | st.integers(info.min, info.max) | st.sampled_from([info.min, info.max])
    keys = np.array(data.draw(st.lists(key, min_size=1, max_size=60)), dtype)
    found, half = median(keys, keys.min(), keys.max()), len(keys) // 2
    assert keys.min() <= found <= keys.max()
    assert (keys <= found).sum() == half or np.sort(keys)[half] == found


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=80), st.data())
def test_sorting_and_ranking_agree_with_sorted(values: list[int], data: Any) -> None:
    rank = data.draw(st.integers(0, len(values) - 1))
    keys = np.array(values, np.int32)
    ids = np.arange(len(keys), dtype=np.int32)
    sort_pairs(keys, ids, len(keys), np.empty_like(keys), np.empty_like(ids))
    assert ids.tolist() == sorted(range(len(values)), key=values.__getitem__)
    assert keys.tolist() == sorted(values)
    cut = data.draw(st.integers(0, len(values)))
    one, two = np.array(sorted(values[:cut]), np.int32), np.array(sorted(values[cut:]), np.int32)
    assert nth(one, two, rank) == sorted(values)[rank]


def test_a_fanout_is_a_whole_number() -> None:
    with pytest.raises(ParameterError, match=r"fanout must be a whole number, not 3[.]5"):
        WibTree(capacity=8, partitions=2, dtype=np.int32, fanout=3.5)


@pytest.mark.parametrize("sigma", [1, 0.5, -1, float("nan"), float("inf"), "2", True])
def test_a_sigma_that_leaves_no_room_is_refused(sigma: float) -> None:
    with pytest.raises(ParameterError, match=f"sigma must be greater than 1 .*, not {sigma!r}; 1.25 leaves"):
        WibTree(capacity=8, partitions=2, dtype=np.int32, sigma=sigma)


def test_a_fanout_below_three_is_refused() -> None:
    with pytest.raises(ParameterError, match="fanout must be at least 3, not 2; 64 suits"):
        WibTree(capacity=8, partitions=2, dtype=np.int32, fanout=2)


def test_the_next_subwindow_takes_sigma_and_fanout_from_the_last() -> None:
    first = WibTree(capacity=80, partitions=2, dtype=np.int32, sigma=1.5, fanout=7)
    following = WibTree(capacity=80, partitions=2, dtype=np.int32, like=first)
    assert (following.sigma, following.fanout, following.width) == (1.5, 7, 60)
    assert WibTree(capacity=80, partitions=2, dtype=np.int32, like=first, fanout=5).fanout == 5
