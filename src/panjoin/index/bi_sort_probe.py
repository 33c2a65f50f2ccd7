"""The answer of a BI-Sort index: ranges of positions, of which counts are sums and pairs are copies.

    main  ids   4 0 1 3 5 6 2          probing tuple   0            1              counts 3, 2
    buffer      7 8                    main            1..3         4..6
                                       buffer          0..1         -              pairs  (0,0) (0,1) (0,7) (1,5) (1,6)

The paper's record per probing tuple is (id_start, id_end) with a label *not*. It leaves out three things without which
a reader could not rebuild the matches: positions shift with every merge, so records carry the index's version; tuples
that are not merged yet have no position in the main array, so their matches stand beside the records as pairs;
and the complement of a range needs to know where the array ends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from panjoin.errors import StateError
from panjoin.index.contract import Array, Probe
from panjoin.index.sorted_run import Part
from panjoin.kernels.emit import emit_complements, emit_part, emit_ranges
from panjoin.kernels.search_run import BLOCK, Run, search_run
from panjoin.kernels.threads import run_all
from panjoin.kernels.views import read_only


class RangeRecords(NamedTuple):
    """Probing tuple i matches main_ids[start[i]:end[i]] (`negate`: all of main_ids but these), and pending_ids
    where pending_probe_no == i.

    Empty ranges have start == end. Positions are those of the main array at this `version` of the index.
    """

    version: int
    size: int  #: tuples in the main array
    start: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    negate: bool
    pending_probe_no: npt.NDArray[np.int32]
    pending_ids: npt.NDArray[np.int32]


class Found(NamedTuple):
    """Where the probing tuples' ranges lie inside one part."""

    part: Part
    starts: Array
    ends: Array


class BiSortProbe(Probe):
    """Ranges in each part. `still_current` tells whether the index is as it was when probed."""

    def __init__(
        self,
        counts: Array,
        main: list[Found],
        pending: list[Found],
        negate: bool,
        still_current: Callable[[], bool],
        version: int,
    ) -> None:
        super().__init__(counts)
        self._main, self._pending = main, pending
        self._negate, self._still_current, self._version = negate, still_current, version

    def ranges(self) -> RangeRecords:
        """The paper's records, one per probing tuple, and beside them what is not in the main array yet."""
        self._refuse_when_changed()
        start, end = np.zeros(len(self.counts), np.int32), np.zeros(len(self.counts), np.int32)
        size = 0
        for part, starts, ends in self._main:
            start += starts
            end += ends
            size += part.size
        np.maximum(start, end, out=end)
        in_pending = np.zeros(len(self.counts), np.int64)
        for part, starts, ends in self._pending:
            matches = np.maximum(ends - starts, 0)
            in_pending += part.size - matches if self._negate else matches
        total = int(in_pending.sum())
        probe_no, ids = np.empty(total, np.int32), np.empty(total, np.int32)
        emit(self._pending, 0, in_pending, self._negate, probe_no, ids)
        return RangeRecords(self._version, size, start, end, self._negate, probe_no, ids)

    def keep(self) -> None:
        """Stay valid while the index moves its tuples: keep a copy of their ids as they lie now."""
        for side in (self._main, self._pending):
            side[:] = [found._replace(part=found.part._replace(ids=read_only(found.part.ids.copy()))) for found in side]
        self._still_current = lambda: True

    def _emit(self, first: int, last: int, probe_no: Array, ids: Array) -> None:
        self._refuse_when_changed()
        emit([*self._main, *self._pending], first, self.counts[first:last], self._negate, probe_no, ids)

    def _refuse_when_changed(self) -> None:
        if not self._still_current():
            raise StateError(
                f"this probe was made at version {self._version} and the index has changed since, so its positions "
                "mean other tuples now; probe again, or take pairs and ranges before the next insert"
            )


def find(parts: list[Part], low: Array, high: Array, negate: bool, counts: Array, threads: int) -> list[Found]:
    """Search all parts for all probing tuples; adds to `counts`."""
    low, high = read_only(low), read_only(high)
    found = [Found(part, np.empty(len(low), np.int32), np.empty(len(low), np.int32)) for part in parts]

    def search(a: int, b: int) -> None:
        scratch = np.empty(2 * BLOCK, np.int64)
        for part, starts, ends in found:
            search_run(part.run, low[a:b], high[a:b], negate, starts[a:b], ends[a:b], counts[a:b], scratch)

    edges = balanced(parts[0].run, low, threads) if threads > 1 and parts else [0, len(low)]
    run_all([partial(search, a, b) for a, b in pairwise(edges)])
    return found


def balanced(run: Run, low: Array, threads: int) -> list[int]:
    """Edges of `threads` pieces of the batch with equal work: probing tuples plus partitions that they reach.

    The paper divides by partitions alone; then a batch that crowds into few partitions goes to one thread.
    """
    samples = run.index[-(-run.first // run.step) : -(-run.end // run.step)]
    total = len(low) + len(samples)
    edges = [0]
    for piece in range(1, threads):
        work = total * piece // threads
        edges.append(bisect_left(range(len(low)), work, key=lambda i: i + int(np.searchsorted(samples, low[i]))))
    return [*edges, len(low)]


def emit(found: list[Found], first: int, counts: Array, negate: bool, probe_no: Array, ids: Array) -> None:
    """Write the pairs of the probing tuples from `first` on, as many as there are counts."""
    if len(found) == 1:
        kernel = emit_complements if negate else emit_ranges
        kernel(found[0].starts, found[0].ends, found[0].part.ids, first, first + len(counts), probe_no, ids)
        return
    cursors = np.cumsum(counts) - counts
    for part, starts, ends in found:
        emit_part(starts, ends, part.ids, first, negate, cursors, probe_no, ids)
