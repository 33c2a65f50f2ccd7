"""Low-latency handshake join: cores in a row, streams through them from both ends, every tuple at rest in one core.

    left batch  -->  [ core 0 ]  ==>  [ core 1 ]  ==>  [ core 2 ]
                       L0  R0           L1  R1           L2  R2
                     [        ]  <==  [        ]  <==  [        ]  <--  right batch

A batch is cut into segments, which enter at the stream's own end. A core that gets a segment passes it on first and
works on it then (the fast forwarding of Roy, Teubner and Gemulla: a tuple has reached the last core long before the
first one has compared it), so all cores work on neighbouring segments at once. The work is a nested loop over the
core's piece of the opposite window; tuples whose home is this core stay. An end mark follows the last segment.

Invariant: each stored tuple is at rest in exactly one core and each probing tuple passes all of them, so every pair is
found once. Batches are processed one after another here (a batch sees what came before it), so two streams never cross
between cores, and the published protocol of acknowledgements for tuples in flight has nothing to do.
"""

from __future__ import annotations

from queue import SimpleQueue
from typing import NamedTuple

import numpy as np

from panjoin.bench.baselines.contract import OPPOSITE, Array
from panjoin.bench.baselines.split import SplitJoin
from panjoin.index.scan import Intervals
from panjoin.kernels.threads import run_all

#: Tuples per message: a piece of 4M keys is read once for each, which at 1,024 costs 2% of comparing them.
SEGMENT = 1024


class Segment(NamedTuple):
    """Part of a batch on its way."""

    begin: int
    keys: Array
    intervals: Intervals


class HandshakeJoin(SplitJoin):
    """See the head of this file. It stores as SplitJoin does; what differs is how tuples get to the cores."""

    name = "handshake"

    def _push(self, side: str, keys: Array, low: Array, high: Array) -> Array:
        way = list(range(self.cores)) if side == "left" else list(range(self.cores))[::-1]
        inboxes: list[SimpleQueue[Segment | None]] = [SimpleQueue() for _ in range(self.cores + 1)]
        for begin in range(0, len(keys), SEGMENT):
            part = slice(begin, begin + SEGMENT)
            inboxes[0].put(Segment(begin, keys[part], Intervals.of(low[part], high[part], False)))
        inboxes[0].put(None)
        counts, other = np.zeros((self.cores, len(keys)), np.int64), OPPOSITE[side]
        first, end = self.oldest(other), self.arrived[other]

        def work(place: int) -> None:
            core, inbox, next_inbox = way[place], inboxes[place], inboxes[place + 1]
            try:
                while (segment := inbox.get()) is not None:
                    next_inbox.put(segment)
                    found = self.rings[other][core].count(segment.intervals, first, end)
                    counts[core, segment.begin : segment.begin + len(found)] = found
                    self.rings[side][core].store(self.arrived[side] + segment.begin, segment.keys)
            finally:
                next_inbox.put(None)  # also after an error: the next core must not wait for ever

        run_all(self._per_core(work))
        total: Array = counts.sum(axis=0)
        return total
