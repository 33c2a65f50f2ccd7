"""Which tuples of a block a message carries: their positions, in as few bytes as their density allows.

    block of 8 tuples, 1 4 5 are here      all      b""                       every tuple
                                           bitmap   01001100                  1 bit per tuple of the block
                                           gaps     1 2 0                     1, 2 or 4 bytes per tuple that is here

A worker has to know these positions where arrival numbers matter (count windows, ids in the result). Of two workers
with half of the tuples each, a bitmap costs 2 bits per tuple where positions cost 32; beyond eight workers gaps of one
byte are smaller.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_BITMAP = 0  #: else the first byte is the width of a gap
_GAPS: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32}


def packed_places(positions: Array, extent: int) -> bytes:
    """The ascending positions, of a block of `extent` tuples."""
    if len(positions) == extent:
        return b""
    gaps = np.diff(positions.astype(np.int64), prepend=-1) - 1
    most = int(gaps.max(initial=0))
    width = next(width for width, dtype in _GAPS.items() if most <= np.iinfo(dtype).max)
    if width * len(positions) <= extent // 8:
        return bytes([width]) + gaps.astype(_GAPS[width]).tobytes()
    here = np.zeros(extent, bool)
    here[positions] = True
    return bytes([_BITMAP]) + np.packbits(here).tobytes()


def places_of(packed: bytes | bytearray | memoryview, extent: int) -> Array:
    """The positions; from what `packed_places` gave."""
    view = memoryview(packed)
    if view.nbytes == 0:
        return np.arange(extent, dtype=np.int64)
    if view[0] == _BITMAP:
        return np.flatnonzero(np.unpackbits(np.frombuffer(view[1:], np.uint8), count=extent))
    gaps = np.frombuffer(view[1:], _GAPS[view[0]])
    return np.cumsum(gaps.astype(np.int64) + 1) - 1
