"""Tuples as a worker receives them: some of a block, or all of it; and as it joins them: many messages at once.

    message    left 3 0   rows 1M    payload 500K tuples, places           Piece(batches, positions, 1M ...)
    message    left 3 1   rows 400K  payload 200K tuples, places           Piece(batches, positions, 400K ...)
    gathered                                                               Piece(batches, positions, 1.4M ...)

Invariant: positions ascend, and count the tuples of the side that arrived together, also those that went elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.engine.local import Among

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Piece:
    """Some tuples of one side."""

    batches: tuple[pa.RecordBatch, ...]
    positions: Array | None  #: None: they are all of the block
    extent: int  #: of the block, or of these tuples alone where nobody asks for numbers
    heard: int  #: tuples of the block

    @property
    def size(self) -> int:
        """How many tuples are here."""
        return sum(batch.num_rows for batch in self.batches)

    @property
    def nbytes(self) -> int:
        """Of their columns."""
        return sum(batch.nbytes for batch in self.batches)

    @property
    def among(self) -> Among | None:
        """As the join wants to hear it."""
        return None if self.positions is None else Among(self.positions, self.extent)

    def rows(self, schema: pa.Schema) -> pa.RecordBatch:
        """As one batch."""
        full = [batch for batch in self.batches if batch.num_rows]
        return full[0] if len(full) == 1 else pa.concat_batches(full or [pa.RecordBatch.from_pylist([], schema)])


def gathered(pieces: Iterable[Piece], rows: int, size: int) -> Iterator[Piece]:
    """Pieces in order, as many together as stay within `rows` tuples and `size` bytes, and at least one."""
    held: list[Piece] = []
    held_rows = held_size = 0
    for piece in pieces:
        if held and (held_rows + piece.size > rows or held_size + piece.nbytes > size):
            yield _together(held)
            held, held_rows, held_size = [], 0, 0
        held.append(piece)
        held_rows += piece.size
        held_size += piece.nbytes
    if held:
        yield _together(held)


def _together(pieces: list[Piece]) -> Piece:
    batches = tuple(batch for piece in pieces for batch in piece.batches)
    extent, heard = sum(piece.extent for piece in pieces), sum(piece.heard for piece in pieces)
    if all(piece.positions is None for piece in pieces):
        return Piece(batches, None, extent, heard)
    placed, first = [], 0
    for piece in pieces:
        positions = np.arange(piece.extent, dtype=np.int64) if piece.positions is None else piece.positions
        placed.append(positions + first)
        first += piece.extent
    return Piece(batches, np.concatenate(placed), extent, heard)
