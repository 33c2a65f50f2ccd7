"""SplitJoin and ScaleJoin: a batch goes to all cores at once; each probes its piece of the window, and one core stores.

                           +--> core 0   probe L0/R0, store tuples 0, 2, 4 ..  --+
    batch --> distributor -+                                                     +--> counts added up
                           +--> core 1   probe L1/R1, store tuples 1, 3, 5 ..  --+

SplitJoin (Najafi et al.) stores each tuple in a fixed core and splits storing from probing; ScaleJoin (Gulisano et al.)
deals them round robin. Nothing is known about the order of keys inside a piece: a nested loop, tuple by tuple expired.

Invariant: each stored tuple is in exactly one core's ring, so every pair is found by exactly one core.

Given their best chance: the loop compares 59G keys/s on a core (`index/scan.py`), a batch is compared block by block
in the first cache, threads run without the GIL, equal neighbours in a batch are compared once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from panjoin.bench.baselines.contract import OPPOSITE, Array, Baseline
from panjoin.bench.baselines.ring import Ring
from panjoin.index.scan import Intervals
from panjoin.kernels.threads import run_all


class SplitJoin(Baseline):
    """See the head of this file; `cores` are threads."""

    name = "splitjoin"

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.rings = {
            side: [Ring(window, core, self.cores, self.dtype) for core in range(self.cores)]
            for side, window in self.windows.items()
        }

    def _push(self, side: str, keys: Array, low: Array, high: Array) -> Array:
        intervals, counts = Intervals.of(low, high, False), np.empty((self.cores, len(keys)), np.int64)
        other = OPPOSITE[side]
        first, end = self.oldest(other), self.arrived[other]

        def work(core: int) -> None:
            counts[core] = self.rings[other][core].count(intervals, first, end)
            self.rings[side][core].store(self.arrived[side], keys)

        run_all(self._per_core(work))
        total: Array = counts.sum(axis=0)
        return total

    def _pairs(self, side: str, low: Array, high: Array) -> tuple[Array, Array]:
        intervals, other = Intervals.of(low, high, False), OPPOSITE[side]
        found = [ring.pairs(intervals, self.oldest(other), self.arrived[other]) for ring in self.rings[other]]
        return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])

    def _store(self, side: str, keys: Array) -> None:
        for ring in self.rings[side]:
            ring.store(self.arrived[side], keys)

    def _per_core(self, work: Callable[[int], None]) -> list[Callable[[], None]]:
        return [partial(work, core) for core in range(self.cores)]

    @property
    def memory_bytes(self) -> int:
        """Bytes of the keys; arrival numbers are implied by slots."""
        return sum(ring.keys.nbytes for rings in self.rings.values() for ring in rings)
