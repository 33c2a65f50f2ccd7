"""Every structure beside the naive model: random verbs, `check()` and a whole-range probe after each.

One machine for all structures; what differs between them is a name and their own knobs. The life that it acts out is
the contract's: create, insert and probe in any order, refused calls in between, seal, probe, store and open from
read-only files, and the next subwindow `like` the last one (where RaP-Table adjusts its splitters).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from panjoin.errors import DataError, StateError
from panjoin.index import Index, create
from panjoin.index.contract import structure_class
from tests.index.model import KINDS, Model, ask, bounds, clip, keys_of
from tests.index.structures import CONTRACTORS, KNOBS


class Subwindows(RuleBasedStateMachine):
    """A chain of subwindows of one structure, of which the newest is acted on."""

    name: str

    def __init__(self) -> None:
        super().__init__()
        self.files = tempfile.TemporaryDirectory()
        self.generation = 0

    def teardown(self) -> None:
        self.files.cleanup()

    @initialize(
        dtype=st.sampled_from([np.int32, np.int64]),
        capacity=st.sampled_from([4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40]),
        threads=st.sampled_from([1, 2]),
        data=st.data(),
    )
    def first_subwindow(self, dtype: Any, capacity: int, threads: int, data: Any) -> None:
        self.knobs = data.draw(st.sampled_from(KNOBS[self.name])) | {"threads": threads}
        partitions = data.draw(st.integers(1, capacity), "partitions")
        self.index: Index = create(self.name, capacity=capacity, partitions=partitions, dtype=dtype, **self.knobs)
        self.model = Model()

    # ---- what is allowed ----

    @precondition(lambda self: not self.index.sealed)
    @rule(data=st.data(), kind=st.sampled_from(KINDS), in_order=st.booleans())
    def insert(self, data: Any, kind: str, in_order: bool) -> None:
        room = self.index.capacity - self.index.size
        size = data.draw(st.sampled_from([0, 1, 2, 3, room // 2, room - 1, room]), "size")
        keys = clip(data.draw(keys_of(kind, self.index.dtype, min(max(size, 0), room))), self.index.dtype)
        if in_order:
            keys = np.sort(keys)
        first = len(self.model.tuples)
        ids = np.arange(first, first + len(keys))[:: data.draw(st.sampled_from([1, -1]))]
        mine = keys.copy(), ids.copy()
        self.index.insert(keys, ids)
        assert (keys == mine[0]).all() and (ids == mine[1]).all(), "the caller's arrays are the caller's"
        keys[:] = 77  # and are not kept
        self.model.insert(*mine)

    @rule(data=st.data(), negate=st.booleans(), chunk=st.sampled_from([1, 3, 1000]))
    def probe(self, data: Any, negate: bool, chunk: int) -> None:
        low, high = data.draw(bounds(self.index.dtype, [key for key, _ in self.model.tuples]))
        assert ask(self.index, low, high, negate, chunk) == self.model.probe(low, high, negate)

    @rule()
    def seal(self) -> None:
        self.index.seal()
        self.index.seal()
        assert self.index.sealed

    @precondition(lambda self: self.index.sealed)
    @rule()
    def store_and_open(self) -> None:
        self.generation += 1
        arrays = {}
        for key, array in self.index.arrays().items():
            path = Path(self.files.name) / f"{self.generation}-{key}.npy"
            np.save(path, array)
            arrays[key] = np.load(path, mmap_mode="r" if array.size else None)
        before = self.index
        self.index = structure_class(self.name).open(arrays)
        for fact in ("name", "capacity", "partitions", "dtype", "size", "sealed", "version", "min_key", "max_key"):
            assert getattr(self.index, fact) == getattr(before, fact), fact

    @rule(data=st.data())
    def next_subwindow(self, data: Any) -> None:
        if data.draw(st.booleans(), "same size"):
            self.index = create(self.name, like=self.index, **self.knobs)
        else:
            capacity = data.draw(st.integers(4, 40), "capacity")
            partitions = data.draw(st.integers(1, capacity), "partitions")
            self.index = create(self.name, capacity=capacity, partitions=partitions, like=self.index, **self.knobs)
        self.model = Model()

    # ---- what is refused; the invariants show that it changed nothing ----

    @rule(data=st.data())
    def insert_too_much_is_refused(self, data: Any) -> None:
        more = self.index.capacity - self.index.size + data.draw(st.integers(1, 3))
        with pytest.raises((DataError, StateError), match="cannot insert"):
            self.index.insert(np.zeros(more, self.index.dtype), np.arange(more))

    @precondition(lambda self: self.index.sealed)
    @rule()
    def insert_after_seal_is_refused(self) -> None:
        with pytest.raises(StateError, match="is sealed; create a new one"):
            self.index.insert(np.zeros(1, self.index.dtype), [0])

    @rule()
    def insert_of_another_dtype_is_refused(self) -> None:
        other = np.int64 if self.index.dtype == np.int32 else np.int32
        with pytest.raises((DataError, StateError)):
            self.index.insert(np.zeros(1, other), [0])

    @rule()
    def insert_of_unequal_lengths_is_refused(self) -> None:
        with pytest.raises((DataError, StateError)):
            self.index.insert(np.zeros(1, self.index.dtype), [0, 1])

    @rule()
    def unsorted_probe_is_refused(self) -> None:
        with pytest.raises(DataError, match="must ascend"):
            self.index.probe(np.array([2, 1], self.index.dtype), np.array([3, 3], self.index.dtype))

    # ---- after every step ----

    @invariant()
    def everything_is_there(self) -> None:
        if not hasattr(self, "index"):
            return
        self.index.check()
        info = np.iinfo(self.index.dtype)
        whole = np.array([info.min], self.index.dtype), np.array([info.max], self.index.dtype)
        assert ask(self.index, *whole) == self.model.probe(*whole)
        keys = [key for key, _ in self.model.tuples]
        assert self.index.size == len(keys) <= self.index.capacity
        assert (self.index.min_key, self.index.max_key) == ((min(keys), max(keys)) if keys else (None, None))
        assert self.index.memory_bytes >= self.index.size * (self.index.dtype.itemsize + 4)


@pytest.mark.parametrize("name", CONTRACTORS)
def test_a_structure_agrees_with_the_model_whatever_is_done_to_it(name: str) -> None:
    machine = type(name, (Subwindows,), {"name": name})
    profile = settings.default  # a step costs a few milliseconds, so a quick run can afford more examples than others
    examples = max(100, profile.max_examples)
    run_state_machine_as_test(machine, settings=settings(profile, max_examples=examples, stateful_step_count=30))
