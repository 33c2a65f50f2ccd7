"""Collecting: one buffer per stream, flushed when it is full or old enough (paper, Step 1 and Batch Mode).

Large batches are fast, small ones are prompt; two conditions say how far to go, and either is enough:

    tuples collected >= maximum count        (checked after each arrival: a batch is at least that large, or larger)
    oldest tuple collected >= maximum time   (checked whenever the caller comes by with the time: clocks are arguments)

Both buffers can be due at once; they are handed out left first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from panjoin.chain.batch import LEFT, RIGHT
from panjoin.expression import Side


@dataclass
class _Buffer:
    chunks: list[pa.RecordBatch] = field(default_factory=list)
    size: int = 0
    since: float = 0.0

    def take(self) -> pa.RecordBatch:
        chunks, self.chunks, self.size = self.chunks, [], 0
        return chunks[0] if len(chunks) == 1 else pa.concat_batches(chunks)


class Collector:
    """Holds arrivals until a flush condition is met; without conditions each arrival is a batch of its own."""

    def __init__(self, *, count: int | None = None, seconds: float | None = None) -> None:
        self._count, self._seconds = count, seconds
        self._buffers: dict[Side, _Buffer] = {LEFT: _Buffer(), RIGHT: _Buffer()}

    def add(self, side: Side, rows: pa.RecordBatch, now: float) -> None:
        """Take in rows; rows of no length only make the buffer's clock tick."""
        buffer = self._buffers[side]
        if rows.num_rows:
            if not buffer.chunks:
                buffer.since = now
            buffer.chunks.append(rows)
            buffer.size += rows.num_rows

    def due(self, now: float) -> list[tuple[Side, pa.RecordBatch]]:
        """Batches whose time or count has come."""
        return [(side, buffer.take()) for side, buffer in self._buffers.items() if self._is_due(buffer, now)]

    def drain(self) -> list[tuple[Side, pa.RecordBatch]]:
        """Everything that is held."""
        return [(side, buffer.take()) for side, buffer in self._buffers.items() if buffer.chunks]

    @property
    def collects(self) -> bool:
        """Whether arrivals may wait here for others."""
        return self._count is not None or self._seconds is not None

    @property
    def held(self) -> dict[str, int]:
        """Tuples waiting, per side."""
        return {side: buffer.size for side, buffer in self._buffers.items()}

    def _is_due(self, buffer: _Buffer, now: float) -> bool:
        if not buffer.chunks:
            return False
        if self._count is None and self._seconds is None:
            return True
        full = self._count is not None and buffer.size >= self._count
        return full or (self._seconds is not None and now - buffer.since >= self._seconds)
