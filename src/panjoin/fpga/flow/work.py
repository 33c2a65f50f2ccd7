"""The whole worker at work, clock by clock: insertion and probing over the batch, with the memory's model around it.

    insertion   a subwindow filled to some point ──> one batch goes in ──> clocks, beats of memory moved
    probing     a full subwindow ──> one batch probes it (equality) ──> clocks, beats, positions checked

The rate is tuples of the batch per second at the clock that the memory's model was made for (`params.clock_hz`). The
memory's share is what was moved over what the model's channels could have moved in these clocks: near 1 the memory is
the bound, and more units would not help.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from panjoin.errors import ParameterError
from panjoin.fpga.machine import Machine, region, room
from panjoin.fpga.params import Params, preset
from panjoin.fpga.worker import BATCH, BUFFER, LOW, MAIN, Op

Array = np.ndarray[Any, np.dtype[Any]]

#: The buffer B of the worker, as in the software.
BUFFER_SIZE = 1024


@dataclass(frozen=True)
class Work:
    """One command."""

    operation: str
    capacity: int
    partitions: int
    before: int  #: tuples in the subwindow before it
    batch: int
    clocks: int
    moved: int  #: bytes
    params: Params

    @property
    def rate(self) -> float:
        """Tuples of the batch per second."""
        return self.batch * self.params.clock_hz / self.clocks

    @property
    def share(self) -> float:
        """Of what the modelled memory could have moved."""
        most = self.params.memory.channels * self.params.memory.bytes_per_second
        return self.moved / (most * self.clocks / self.params.clock_hz)

    @property
    def clocks_per_tuple(self) -> float:
        """Of the batch."""
        return self.clocks / self.batch


def insertions(params: Params | str, capacity: int, batches: Sequence[int], seed: int = 1) -> Iterator[Work]:
    """One batch after another into a subwindow that is three quarters full with the middle one of them in it.

    That is what an insertion sees on average between half full and full. A batch that has no room starts a new one.
    """
    with _Node(params, capacity, seed) as node:
        for batch in sorted(batches):
            if not 1 <= batch <= capacity:
                raise ParameterError(f"batch must be between 1 and the capacity, {capacity}, not {batch}")
            before = max(0, min(capacity - batch, 3 * capacity // 4 - batch // 2))
            if not before <= node.size <= before + capacity // 8 or node.size + batch > capacity:
                node.create()
                node.insert(before)
            yield node.insert(batch)


def probings(params: Params | str, capacity: int, batches: Sequence[int], seed: int = 1) -> Iterator[Work]:
    """Batches probe a full subwindow by equality; about one match each, as keys are drawn from `capacity` values."""
    with _Node(params, capacity, seed) as node:
        node.create()
        node.insert(capacity)
        for batch in sorted(batches):
            if not 1 <= batch <= room(node.params) // 2:
                raise ParameterError(f"batch must be between 1 and {room(node.params) // 2} here, not {batch}")
            yield node.probe(batch)


class _Node:
    """A board, and what the subwindow on it must hold."""

    def __init__(self, params: Params | str, capacity: int, seed: int) -> None:
        self.params = preset(params) if isinstance(params, str) else params
        if not 1 <= capacity <= room(self.params):
            raise ParameterError(f"capacity must be between 1 and {room(self.params)} here, not {capacity}")
        least = -(-capacity // self.params.partitions)
        self.bits = (max(least, self.params.smallest_partition) - 1).bit_length()
        self.capacity, self.rng = capacity, np.random.default_rng(seed)
        self.machine = Machine(self.params)
        self.keys: Array = np.empty(0, np.int32)

    def __enter__(self) -> _Node:
        return self

    def __exit__(self, *error: object) -> None:
        self.machine.close()

    @property
    def size(self) -> int:
        return len(self.keys)

    def create(self) -> None:
        self.machine.command(op=Op.CREATE, count=self.capacity, buffer=BUFFER_SIZE, partition_bits=self.bits)
        self.keys = np.empty(0, np.int32)

    def insert(self, batch: int) -> Work:
        keys = self._drawn(batch)
        self.machine.put(region(self.params, BATCH), keys, np.arange(batch))
        before = self.size
        work = self._timed("insertion", before, batch, op=Op.INSERT)
        self.keys = np.sort(np.concatenate((self.keys, keys)), kind="stable")
        found = np.sort(np.concatenate([self._part("main", MAIN), self._part("buffer", BUFFER)]))
        assert np.array_equal(found, self.keys), f"the worker's subwindow is wrong after {work}"
        return work

    def probe(self, batch: int) -> Work:
        keys = self._drawn(batch)
        self.machine.put(region(self.params, BATCH), keys, np.arange(batch))
        work = self._timed("probing", self.size, batch, op=Op.PROBE, low=0, high=1)
        main = self._part("main", MAIN)
        if len(main):
            found = self.machine.positions(region(self.params, LOW), batch)
            assert np.array_equal(found, np.searchsorted(main, keys)), f"the worker's positions are wrong after {work}"
        return work

    def _timed(self, operation: str, before: int, batch: int, **command: Any) -> Work:
        moved = self.machine.state("moved")
        clocks = self.machine.command(count=batch, **command) if batch else 0
        beats = self.machine.state("moved") - moved
        size = beats * self.params.memory.beat_bytes
        partitions = -(-self.capacity >> self.bits)
        return Work(operation, self.capacity, partitions, before, batch, clocks, size, self.params)

    def _drawn(self, batch: int) -> Array:
        drawn = self.rng.integers(0, self.capacity, batch)
        return np.sort((-(2**31) + drawn * (2**32 // self.capacity)).astype(np.int32))

    def _part(self, name: str, first: int) -> Array:
        side = self.machine.state(f"{name}_side")
        return self.machine.get(region(self.params, first + side), self.machine.state(f"{name}_size"))[0]
