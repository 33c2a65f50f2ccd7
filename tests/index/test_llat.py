"""The Linked List Adaptive Table: it never overflows, never loses a tuple, and one hot key stays cheap."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from panjoin.index import llat as tables
from panjoin.index.llat import Llat


def put(llat: Llat, chain: int, keys: list[int], first_id: int = 0) -> int:
    array = np.array(keys, np.int32)
    return tables.append(llat, chain, array, np.arange(first_id, first_id + len(array), dtype=np.int32), 0, len(array))


def test_the_drawing_at_the_head_of_the_file():
    llat = tables.reserve_for(8, 4, 1.25, np.int32)
    assert llat.entry_capacity == 3
    for chain, keys in ((0, [12, 15]), (1, [27, 21, 24, 22, 29]), (3, [48])):
        assert put(llat, chain, keys) == len(keys)
    assert llat.entries_of(1) == [1, 4]
    assert llat.ptr_g[0] == 5
    assert llat.last[1] == 4
    assert llat.tuples_of(1)[0].tolist() == [27, 21, 24, 22, 29]
    llat.check(range(4))


def test_next_is_set_when_a_tuple_comes_for_a_full_entry_and_not_before():
    llat = tables.reserve_for(8, 4, 1.25, np.int32)
    put(llat, 0, [1, 2, 3])
    assert llat.next[0] == -1
    assert llat.ptr_g[0] == 4
    put(llat, 0, [4])
    assert llat.next[0] == 4


FLOOR_OVERFLOWS = [(15, 8, 1.05), (100, 64, 1.1), (1000, 768, 1.25)]


def adversarial(capacity: int, partitions: int, room: int) -> list[tuple[int, int]]:
    """(partition, tuples) of a fill that takes as many reserved entries as it can: room + 1 tuples per partition."""
    fill, left, partition = [], capacity, 0
    while left and partition < partitions:
        fill.append((partition, min(room + 1, left)))
        left -= fill[-1][1]
        partition += 1
    return [*fill, (0, left)]


@pytest.mark.parametrize(("capacity", "partitions", "sigma"), FLOOR_OVERFLOWS)
def test_where_floor_capacity_overflows_the_ceiling_holds(capacity: int, partitions: int, sigma: float):
    floor = max(1, math.floor(capacity / partitions * sigma))
    eager_needs_with_floor = partitions + capacity // floor  # one reserved entry behind each full one
    assert eager_needs_with_floor > 2 * partitions
    for one_by_one in (False, True):
        llat = tables.reserve_for(capacity, partitions, sigma, np.int32)
        assert llat.entries <= 2 * partitions
        for partition, count in adversarial(capacity, partitions, llat.entry_capacity):
            if one_by_one:
                assert all(put(llat, partition, [k]) == 1 for k in range(count))
            else:
                assert put(llat, partition, list(range(count))) == count
        llat.check(range(partitions))
        assert llat.head.sum() == capacity


@given(st.data())
def test_any_tuples_up_to_the_capacity_fit(data: st.DataObject):
    partitions = data.draw(st.integers(1, 12))
    capacity = data.draw(st.integers(partitions, 60))
    sigma = data.draw(st.sampled_from([np.nextafter(1.0, 2.0), 1.05, 1.25, 2.0]))
    llat = tables.reserve_for(capacity, partitions, sigma, np.int32)
    left = capacity
    while left:
        count = data.draw(st.integers(1, left))
        assert put(llat, data.draw(st.integers(0, partitions - 1)), list(range(count))) == count
        left -= count
    llat.check(range(partitions))
    assert llat.entries <= 2 * partitions


def test_appending_to_one_hot_chain_does_not_walk_it():
    steps, decoy = 4000, 3999
    llat = tables.reserve_for(steps, steps, 1.25, np.int32)
    for k in range(steps):
        put(llat, 0, [k])
        behind = llat.next[: llat.last[0] + 1]
        behind[behind >= 0] = decoy  # a walk along the chain would end in another partition
    assert llat.head[decoy] == 0
    assert llat.ptr_g[0] == steps + steps // llat.entry_capacity - 1


def test_running_out_of_entries_is_reported_and_writes_nothing_beyond_the_table():
    llat = tables.reserve(2, 3, np.int64)
    chain = tables.take(llat)
    keys, ids = np.arange(10, dtype=np.int64), np.arange(10, dtype=np.int32)
    assert tables.append(llat, chain, keys, ids, 0, 10) == 6
    assert tables.take(llat) == -1
    llat.check([chain])
    assert llat.tuples_of(chain)[0].tolist() == [0, 1, 2, 3, 4, 5]


def test_a_table_without_normal_entries_starts_at_the_first_entry_and_reuses_released_chains():
    llat = tables.reserve(4, 2, np.int32)
    first = tables.take(llat)
    assert first == 0
    put(llat, first, [1, 2, 3, 4, 5])
    assert llat.entries_of(first) == [0, 1, 2]
    tables.release(llat, first)
    llat.check([])
    assert [tables.take(llat) for _ in range(5)] == [0, 1, 2, 3, -1]
    llat.check(range(4))
    assert not llat.head.any()


def test_memory_is_what_the_arrays_weigh_and_at_most_twice_sigma_of_the_tuples():
    llat = tables.reserve_for(1 << 20, 1 << 13, 1.25, np.int32)
    assert llat.memory_bytes == sum(a.nbytes for a in llat if isinstance(a, np.ndarray))
    assert llat.memory_bytes <= 2 * 1.25 * (1 << 20) * 8


class DeletingMachine(RuleBasedStateMachine):
    """Random appends, deletions and releases beside plain lists."""

    def __init__(self) -> None:
        super().__init__()
        self.llat = tables.reserve(12, 3, np.int32, normal=2)
        self.model: dict[int, list[int]] = {0: [], 1: []}
        self.clock = 0

    @precondition(lambda self: self.model)
    @rule(data=st.data(), count=st.integers(1, 5))
    def append(self, data: st.DataObject, count: int) -> None:
        chain = data.draw(st.sampled_from(sorted(self.model)))
        done = put(self.llat, chain, list(range(self.clock, self.clock + count)), self.clock)
        self.model[chain] += range(self.clock, self.clock + done)
        self.clock += count
        assert done == count or (self.llat.free[0] < 0 and self.llat.ptr_g[0] == self.llat.entries)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), count=st.integers(1, 5))
    def delete(self, data: st.DataObject, count: int) -> None:
        chain = data.draw(st.sampled_from(sorted(self.model)))
        for _ in range(count):
            at = tables.delete(self.llat, chain)
            if self.model[chain]:
                assert self.llat.keys[at] == self.llat.ids[at] == self.model[chain].pop(0)
            else:
                assert at == -1

    @rule()
    def take(self) -> None:
        chain = tables.take(self.llat)
        if chain >= 0:
            assert chain not in self.model
            self.model[chain] = []

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        chain = data.draw(st.sampled_from(sorted(self.model)))
        tables.release(self.llat, chain)
        del self.model[chain]

    @invariant()
    def agrees_with_the_lists(self) -> None:
        self.llat.check(self.model)
        for chain, keys in self.model.items():
            assert self.llat.tuples_of(chain)[0].tolist() == keys
            assert self.llat.tuples_of(chain)[1].tolist() == keys


TestDeleting = DeletingMachine.TestCase
