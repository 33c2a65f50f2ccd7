"""`bi-sort-rtl`: BI-Sort in simulated hardware behind the index contract, for small subwindows.

    insert ──> words into the board's memory, command insert ──> main array and buffer, as the hardware left them
    probe  ──> low ends and high ends into the batch's two halves, command probe ──> positions
    seal   ──> command seal

Every merge and every position is the circuit's; this file moves words and turns positions into the contract's answer.
Its records are those of `bi-sort` with the same `buffer` and no middle run, which is the paper's structure. A
simulated board takes a few microseconds per clock, so this is for tests of the hardware, not for speed.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any
from weakref import finalize

import numpy as np

from panjoin.errors import ParameterError
from panjoin.fpga.machine import Machine, region, room
from panjoin.fpga.params import preset
from panjoin.index.bi_sort_probe import BiSortProbe, Found
from panjoin.index.contract import Array, Index, Probe, is_ascending, register
from panjoin.index.sorted_run import Part
from panjoin.kernels.search_run import Run
from panjoin.kernels.views import read_only

_MAIN, _BUFFER, _BATCH, _LOW, _HIGH = 0, 2, 4, 5, 6  # regions, as in worker.py
_CREATE, _INSERT, _PROBE, _SEAL = 0, 1, 2, 4  # commands, as in worker.py

#: Boards that no index uses any more; making one takes longer than most commands.
_spare: dict[str, list[Machine]] = {}


@register
class BiSortRtl(Index):
    """See the head of this file. `buffer` is B, as in `bi-sort`."""

    name = "bi-sort-rtl"

    def __init__(
        self,
        *,
        capacity: int,
        partitions: int,
        dtype: Any,
        threads: int = 1,
        buffer: int = 1024,
        like: Index | None = None,
    ) -> None:
        del like  # sorting learns nothing from the subwindow before
        super().__init__(capacity=capacity, partitions=partitions, dtype=dtype, threads=threads)
        self._prepare(buffer)

    def _prepare(self, buffer: int) -> None:
        params = preset(f"index-{self.dtype}")
        if buffer < 1:
            raise ParameterError(f"buffer must be at least 1, not {buffer}")
        if self.capacity > room(params):
            raise ParameterError(
                f"capacity must be at most {room(params)} for bi-sort-rtl, not {self.capacity}: "
                "it is simulated; use 'bi-sort', which answers the same"
            )
        self.buffer = int(buffer)
        self._params = params
        self._lock = Lock()
        self._machine: Machine | None = None
        self._main = self._waiting = (np.empty(0, self.dtype), np.empty(0, np.int32))

    @property
    def partition_bits(self) -> int:
        """log2 of a partition's tuples: a power of two, and no less than the hardware's least."""
        step = max(-(-self.capacity // self.partitions), self._params.smallest_partition)
        return (step - 1).bit_length()

    # ---- insertion ----

    def _insert(self, keys: Array, ids: Array) -> None:
        with self._lock:
            self._give(keys, ids)
            self._look()

    def _give(self, keys: Array, ids: Array) -> None:
        machine = self._board()
        machine.put(region(self._params, _BATCH), keys, ids)
        machine.command(op=_INSERT, count=len(keys))

    def _look(self) -> None:
        """The arrays as the hardware has them now."""
        machine = self._board()
        self._main, self._waiting = (
            machine.get(region(self._params, first + machine.state(f"{name}_side")), machine.state(f"{name}_size"))
            for name, first in (("main", _MAIN), ("buffer", _BUFFER))
        )
        self.version = machine.state("version")

    def _seal(self) -> None:
        with self._lock:
            if len(self._waiting[0]):
                self._board().command(op=_SEAL)
                self._look()

    def _board(self) -> Machine:
        """This index's board; one that was opened from arrays gets its tuples on first use."""
        if self._machine is None:
            spare = _spare.setdefault(str(self.dtype), [])
            self._machine = machine = spare.pop() if spare else Machine(self._params)
            finalize(self, spare.append, machine).atexit = False
            machine.command(
                op=_CREATE,
                count=self.capacity,
                buffer=min(self.buffer, room(self._params)),
                partition_bits=self.partition_bits,
            )
            if self.sealed and self.size:
                self._give(*self._main)
                machine.command(op=_SEAL)
        return self._machine

    # ---- probing ----

    def _probe(self, low: Array, high: Array, negate: bool) -> Probe:
        with self._lock:
            parts = [self._main, self._waiting]
            most = room(self._params) // 2
            pieces = [self._ends(low[at : at + most], high[at : at + most]) for at in range(0, len(low), most)]
        found = []
        for number, (keys, ids) in enumerate(parts):
            starts, ends = (
                np.concatenate([np.empty(0, np.int32), *(piece[number][which] for piece in pieces)]) for which in (0, 1)
            )
            starts = np.where(
                (ends == 0) & (starts < len(keys)), np.int32(0), starts
            )  # an empty range, as bi-sort has it
            run = Run(read_only(keys), 0, len(keys), read_only(keys), 1)
            found.append(Found(Part(run, read_only(ids)), starts, np.maximum(starts, ends)))
        found = [each for each in found if each.part.size]
        counts = np.zeros(len(low), np.int64)
        for part, starts, ends in found:
            counts += part.size - (ends - starts) if negate else ends - starts
        main, waiting = (found[:1], found[1:]) if len(self._main[0]) else ([], found)
        stamp = self.version, self.size
        # what a probe names are arrays of its own, so it outlives the seal, which adds no tuple
        return BiSortProbe(counts, main, waiting, negate, lambda: stamp[1] == self.size, self.version)

    def _ends(self, low: Array, high: Array) -> list[tuple[Array, Array]]:
        """(low ends, high ends) in the main array, then in the buffer."""
        if not self.size:
            empty = np.zeros(len(low), np.int32)
            return [(empty, empty), (empty, empty)]
        machine, half = self._board(), room(self._params) // 2
        batch, numbers = region(self._params, _BATCH), np.arange(len(low))
        machine.put(batch, low, numbers)
        machine.put(batch + half, high, numbers)
        machine.command(op=_PROBE, count=len(low), low=0, high=1, own_high=1)
        found = []
        for offset, size in ((0, len(self._main[0])), (half, len(self._waiting[0]))):
            low_ends, high_ends = (
                machine.positions(region(self._params, number) + offset, len(low))
                if size
                else np.zeros(len(low), np.int32)
                for number in (_LOW, _HIGH)
            )
            found.append((low_ends, high_ends))
        return found

    # ---- the rest of the contract ----

    @property
    def sorted_ids(self) -> Array:
        """Ids in ascending order of their keys, as far as they are merged."""
        return self._main[1]

    @property
    def memory_bytes(self) -> int:
        """Bytes of tuples in both sides of main array and buffer, and of the index array."""
        tuples = 2 * (self.capacity + self.buffer) * (self.dtype.itemsize + 4)
        return tuples + self.dtype.itemsize * -(-self.capacity >> self.partition_bits)

    def check(self) -> None:
        """Both arrays ascend and hold what was inserted, and the buffer is not full."""
        state = f"{self.name} of {self.size}/{self.capacity}: main {self._main}, buffer {self._waiting}"
        assert len(self._main[0]) + len(self._waiting[0]) == self.size, state
        assert len(self._waiting[0]) < self.buffer, state
        assert not self.sealed or not len(self._waiting[0]), state
        keys = [part[0] for part in (self._main, self._waiting) if len(part[0])]
        assert all(is_ascending(each) for each in keys), state
        ends = (int(min(k[0] for k in keys)), int(max(k[-1] for k in keys))) if keys else (None, None)
        assert (self.min_key, self.max_key) == ends, state

    def arrays(self) -> dict[str, Array]:
        """The main array, and what `create` was told."""
        shape = np.array([self.capacity, self.partitions, self.buffer, self.version], np.int64)
        return {"keys": self._main[0], "ids": self._main[1], "shape": shape}

    @classmethod
    def open(cls, arrays: Mapping[str, Array]) -> BiSortRtl:
        """The opposite of `arrays`; the tuples go to a board when they are first probed."""
        keys, ids = (np.asarray(arrays[name]) for name in ("keys", "ids"))
        capacity, partitions, buffer, version = (int(number) for number in arrays["shape"])
        index = cls.__new__(cls)
        Index.__init__(index, capacity=capacity, partitions=partitions, dtype=keys.dtype)
        index._prepare(buffer)  # noqa: SLF001  (our own, from outside of __init__)
        index._main = read_only(keys), read_only(ids)  # noqa: SLF001
        index.size, index.sealed, index.version = len(ids), True, version
        if len(ids):
            index.min_key, index.max_key = int(keys[0]), int(keys[-1])
        return index
