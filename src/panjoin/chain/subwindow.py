"""One subwindow: an index over the keys, and beside it what the join needs of each tuple, by its id.

An id is a tuple's position in its subwindow, in order of arrival; the arrival number is `first_no + id` as long as
the stream's tuples came in one after another, and is listed in `numbers` from the first gap on (a dropped late tuple
leaves one, a late tuple that went to another subwindow too).

    id           0    1    2    3
    index       keys of the tuples that can match (2 has a NULL key and is not in it)
    rows         a    b    c    d         payload, only the columns that somebody needs
    times       t0   t1   t2   t3         time windows
    matched      x         -              outer, semi and anti joins

Invariant: once sealed, everything but `matched` is immutable; `matched` only ever goes from False to True.
A subwindow that receives tuples settles the matches that still wait to be read from it first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.chain.batch import NO_TIME, Batch
from panjoin.chain.rows import Rows
from panjoin.chain.summary import Summary
from panjoin.expression import Side
from panjoin.index.contract import structure_class
from panjoin.kernels.live import live_prefix

if TYPE_CHECKING:
    from panjoin.chain.match import Match
    from panjoin.index import Index

Array = npt.NDArray[Any]

NEVER = np.iinfo(np.int64).max

_INDEX = "index "  #: before the names of the index's own arrays


class Subwindow:
    """Part of one stream's window."""

    def __init__(self, side: Side, number: int, index: Index, *, first_no: int, timed: bool, tracked: bool) -> None:
        self.side, self.number, self.index = side, number, index
        self.first_no = first_no
        self.size = 0
        self.rows = Rows()
        self.late: Subwindow | None = None  #: the small buffer beside an old subwindow (`late.py`)
        self.oldest: int | None = None
        self.newest: int | None = None
        # np.empty reserves address space only: untouched pages cost nothing
        self._times = np.empty(index.capacity, np.int64) if timed else None
        self.matched = np.zeros(index.capacity, bool) if tracked else None
        self._numbers: Array | None = None
        self._left_until = 0  #: tracked count windows: ids below this have left
        self._left_before = NO_TIME + 1  #: tracked time windows: tuples older than this have left
        self._by_time: Array | None = None
        self._unread: WeakSet[Match] = WeakSet()
        self._summaries: dict[str, Summary] = {}
        self._live: tuple[int, Array] | None = None

    @property
    def capacity(self) -> int:
        """Most tuples it takes."""
        return self.index.capacity

    @property
    def sealed(self) -> bool:
        """Whether it is full or closed."""
        return self.index.sealed

    @property
    def end_no(self) -> int:
        """One past the last arrival number."""
        return (
            int(self._numbers[self.size - 1]) + 1
            if self._numbers is not None and self.size
            else self.first_no + self.size
        )

    @property
    def timed(self) -> bool:
        """Whether its tuples have event times."""
        return self._times is not None

    @property
    def times(self) -> Array:
        """Event times by id."""
        assert self._times is not None
        return self._times[: self.size]

    def numbers(self, ids: Array) -> Array:
        """Arrival numbers of these ids."""
        if self._numbers is not None:
            return self._numbers[ids]
        return ids.astype(np.int64) + self.first_no

    def insert(self, batch: Batch, first: int, last: int, matched: Array | None = None) -> None:
        """Add the batch's tuples at arrival positions [first, last)."""
        for match in list(self._unread):
            match.settle()
        keys, order = batch.keys_between(first, last)
        self.index.insert(keys, order + np.int32(self.size - first))
        end = self.size + last - first
        self._insert_numbers(batch, first, last, end)
        if batch.rows is not None:
            self.rows.append(batch.rows.slice(first, last - first))
        if self._times is not None and batch.times is not None:
            self._insert_times(batch.times[first:last], end)
        if self.matched is not None and matched is not None:
            self.matched[self.size : end] = matched[first:last]
        self.size = end

    def _insert_numbers(self, batch: Batch, first: int, last: int, end: int) -> None:
        oldest, youngest = batch.number_at(first), batch.number_at(last - 1)
        if self.size == 0:
            self.first_no = oldest
        gapless = oldest == self.end_no and youngest - oldest == last - first - 1
        if self._numbers is None and not gapless:
            self._numbers = np.empty(self.capacity, np.int64)
            self._numbers[: self.size] = np.arange(self.first_no, self.first_no + self.size)
        if self._numbers is not None:
            self._numbers[self.size : end] = batch.arrival_numbers(np.arange(first, last))

    def _insert_times(self, times: Array, end: int) -> None:
        assert self._times is not None
        self._times[self.size : end] = times
        timed = times[times != NO_TIME]
        if len(timed):
            oldest, newest = int(timed.min()), int(timed.max())
            self.oldest = oldest if self.oldest is None else min(self.oldest, oldest)
            self.newest = newest if self.newest is None else max(self.newest, newest)

    def seal(self) -> None:
        """No more tuples."""
        for match in list(self._unread):
            match.settle()
        self.index.seal()
        self.rows.compact()

    # ---- sealed, as arrays: how it is written to a file, and held in a map of that file ----

    def outline(self) -> dict[str, Any]:
        """What is not an array, as JSON can hold it."""
        return {
            "structure": self.index.name,
            "first_no": self.first_no,
            "size": self.size,
            "oldest": self.oldest,
            "newest": self.newest,
        }

    def arrays(self) -> dict[str, Array]:
        """The arrays of a sealed subwindow, without its rows and its marks."""
        beside = {"times": self._times, "numbers": self._numbers}
        named = {name: array[: self.size] for name, array in beside.items() if array is not None}
        named |= {} if self._by_time is None else {"by_time": self._by_time}
        return named | {f"{_INDEX}{name}": array for name, array in self.index.arrays().items()}

    @classmethod
    def open(
        cls,
        side: Side,
        number: int,
        outline: Mapping[str, Any],
        arrays: Mapping[str, Array],
        rows: pa.RecordBatch | None,
        *,
        tracked: bool,
    ) -> Subwindow:
        """From what `outline`, `arrays` and the rows of a sealed one were; nothing is copied."""
        named = {name.removeprefix(_INDEX): array for name, array in arrays.items() if name.startswith(_INDEX)}
        index = structure_class(outline["structure"]).open(named)
        opened = cls(side, number, index, first_no=outline["first_no"], timed=False, tracked=tracked)
        opened.size, opened.oldest, opened.newest = outline["size"], outline["oldest"], outline["newest"]
        opened._times, opened._numbers = arrays.get("times"), arrays.get("numbers")
        opened._by_time = arrays.get("by_time")
        if rows is not None:
            opened.rows.append(rows)
        return opened

    def share(self, opened: Subwindow) -> None:
        """Keep the arrays of this one, opened from our own, in place of ours."""
        self.index, self.rows = opened.index, opened.rows
        self._times, self._numbers, self._by_time = opened._times, opened._numbers, opened._by_time

    def order_by_time(self) -> Array:
        """Ids of a sealed subwindow in order of their times, sorted once."""
        if self._by_time is None:
            self._by_time = np.argsort(self.times)
        return self._by_time

    def expects(self, match: Match) -> None:
        """Remember a match that has not been read yet: it must be settled before this subwindow changes."""
        if not self.sealed:
            self._unread.add(match)

    # ---- counting without pairs ----

    def first_live(self, live_from: int) -> int:
        """The first id whose arrival number is `live_from` or more."""
        if self._numbers is not None:
            return int(np.searchsorted(self._numbers[: self.size], live_from))
        return live_from - self.first_no

    def live_prefix(self, live_from: int, order: Array) -> Array:
        """How many tuples live before each position in key order; kept, for both sides' batches ask for the same."""
        if self._live is None or self._live[0] != live_from:
            prefix = np.empty(len(order) + 1, np.int32)
            live_prefix(order, self.first_live(live_from), prefix)
            self._live = live_from, prefix
        return self._live[1]

    # ---- aggregates ----

    @property
    def key_order(self) -> Array | None:
        """Ids in ascending order of their keys, of a sealed subwindow whose structure sorts; else None."""
        return self.index.sorted_ids if self.sealed else None

    def summary(self, column: str, order: Array) -> Summary:
        """The column's values in key order, made once."""
        if column not in self._summaries:
            self._summaries[column] = Summary.of(self.rows.column(column), order)
        return self._summaries[column]

    # ---- tuples that leave the window: outer and anti joins emit the unmatched among them ----

    def leave_before_number(self, live_from: int) -> Array:
        """Ids of unmatched tuples with arrival numbers below `live_from` that had not left before."""
        assert self.matched is not None
        known = self._numbers
        below = live_from - self.first_no if known is None else int(np.searchsorted(known[: self.size], live_from))
        until = min(self.size, max(self._left_until, below))
        ids = np.flatnonzero(~self.matched[self._left_until : until]) + self._left_until
        self._left_until = until
        return ids

    def leave_before_time(self, time: int | None) -> Array:
        """Ids of unmatched tuples older than `time` (None: all) that had not left before.

        A tuple is never older than a threshold that was given before it came (it would have been late), so the last
        threshold alone says who has left. Tuples without a time never were in the window: `timeless` has them.
        """
        assert self.matched is not None
        before, after = self._left_before, NEVER if time is None else time
        if self.oldest is None or self.newest is None or after <= max(before, self.oldest) or before > self.newest:
            return np.empty(0, np.int64)
        self._left_before = after
        if self.sealed:
            by_time = self.order_by_time()
            first, last = np.searchsorted(self.times, (before, after), sorter=by_time)
            ids = np.sort(by_time[first:last])
        else:
            ids = np.flatnonzero((self.times >= before) & (self.times < after))
        unmatched: Array = ids[~self.matched[ids]]
        return unmatched

    def left_before_time(self, time: int) -> None:
        """Tuples older than this had left already, when the subwindow was somewhere else."""
        self._left_before = max(self._left_before, time)

    @property
    def memory_bytes(self) -> int:
        """Bytes held for the tuples that are in it, payload included."""
        beside = [array for array in (self._times, self._numbers) if array is not None]
        own = 8 * self.size * len(beside) + (self.size if self.matched is not None else 0)
        if self._by_time is not None:
            own += self._by_time.nbytes
        own += 0 if self._live is None else self._live[1].nbytes
        own += sum(summary.memory_bytes for summary in self._summaries.values())
        return own + self.index.memory_bytes + self.rows.memory_bytes + (self.late.memory_bytes if self.late else 0)
