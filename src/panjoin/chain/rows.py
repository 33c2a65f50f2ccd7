"""The payload of one subwindow: Arrow rows in arrival order, read back by position.

Appending must be cheap for batches of one row and of a million, and so must reading at random positions. Chunks are
merged like the digits of a binary counter, so that n appends leave O(log n) chunks and copy each row O(log n) times:

    sizes  [8]  -> +1 [8 1] -> +1 [8 2] -> +1 [8 2 1] -> +1 [8 4] ...
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Array = npt.NDArray[Any]


class Rows:
    """A growing sequence of Arrow rows of one schema."""

    def __init__(self) -> None:
        self._chunks: list[pa.RecordBatch] = []
        self.size = 0

    def append(self, rows: pa.RecordBatch) -> None:
        """Add rows at the end."""
        if rows.num_rows == 0:
            return
        self._chunks.append(rows)
        self.size += rows.num_rows
        tail = 1
        merged = rows.num_rows
        while tail < len(self._chunks) and self._chunks[-tail - 1].num_rows <= merged:
            merged += self._chunks[-tail - 1].num_rows
            tail += 1
        if tail > 1:
            self._chunks[-tail:] = [pa.concat_batches(self._chunks[-tail:])]

    def compact(self) -> None:
        """One chunk from now on; called when the subwindow is sealed."""
        if len(self._chunks) > 1:
            self._chunks = [pa.concat_batches(self._chunks)]

    def whole(self) -> pa.RecordBatch | None:
        """All rows; None when there never were any."""
        self.compact()
        return self._chunks[0] if self._chunks else None

    def take(self, positions: Array, columns: list[str] | None = None) -> pa.RecordBatch:
        """The rows at these positions, in this order, or some columns of them."""
        chunks = self._chunks if columns is None else [chunk.select(columns) for chunk in self._chunks]
        if len(chunks) == 1:
            return chunks[0].take(pa.array(positions))
        starts = np.cumsum([0] + [chunk.num_rows for chunk in chunks])
        home = np.searchsorted(starts, positions, side="right") - 1
        by_chunk = np.argsort(home, kind="stable")
        pieces, done = [], 0
        for number, chunk in enumerate(chunks):
            here = by_chunk[done : done + int(np.count_nonzero(home == number))]
            pieces.append(chunk.take(pa.array(positions[here] - starts[number])))
            done += len(here)
        back = np.empty(len(positions), np.int64)
        back[by_chunk] = np.arange(len(positions))
        return pa.concat_batches(pieces).take(pa.array(back))

    def column(self, name: str) -> pa.Array:
        """A whole column."""
        self.compact()
        return self._chunks[0].column(name)

    @property
    def memory_bytes(self) -> int:
        """Bytes of the buffers."""
        return sum(chunk.nbytes for chunk in self._chunks)
