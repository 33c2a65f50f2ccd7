"""Where a band begins and ends in the other side's keys, exactly, for every mixture of types.

    left.x BETWEEN right.x - 5 AND right.x + 5

    probed from the right, r = 7     l in [key(2), key(12)]
    probed from the left, l = 7      r in [key(2), key(12)], inverted: l - 5 <= r <= l + 5, rounded as written

Between whole numbers the interval is solved by arithmetic (panjoin.wholeband); where a float takes part, it is found by
trying the comparison as written (panjoin.writtenband).

Invariant: a key of the other side lies in one of the intervals exactly when the comparisons hold for its value.
"""

from __future__ import annotations

from typing import Any

from panjoin.binding import BoundCondition
from panjoin.columns import Array
from panjoin.evaluate import meeting_kind
from panjoin.expression import Side
from panjoin.keycodec import KeyCodec
from panjoin.keys import codec
from panjoin.kinds import Kind
from panjoin.normal import Band
from panjoin.wholeband import WholeBand
from panjoin.writtenband import WrittenBand

#: Inclusive intervals of keys, one per probing tuple; empty where low > high.
Span = tuple[Array, Array]


class Edges:
    """The intervals of a band, seen from either side."""

    def __init__(self, bound: BoundCondition, band: Band) -> None:
        self.band = band
        self.names: dict[Side, str] = {"left": band.left, "right": band.right}
        self.kinds: dict[Side, Kind] = {side: bound.kind(side, name) for side, name in self.names.items()}
        self.codecs: dict[Side, KeyCodec] = {
            side: codec(bound.type_of(side, name)) for side, name in self.names.items()
        }
        whole = not any(
            meeting_kind(comparison, bound.scope).floating for part in band.intervals for comparison in part.comparisons
        )
        offset = bound.scope.zone.offset_micros
        self.whole = WholeBand(band, self.kinds, self.codecs, offset) if whole else None
        self.written = None if whole else WrittenBand(band, self.kinds, self.codecs, bound)

    def spans(self, side: Side, array: Any, keys: Array) -> list[Span]:
        """The intervals in the opposite side's key space for the tuples of `side`, whose keys are `keys` (no NULLs)."""
        spans = self.whole.spans(side, keys) if self.whole is not None else []
        if self.written is not None:
            spans = self.written.spans(side, array)
        return spans


def opposite(side: Side) -> Side:
    """The other side."""
    return "right" if side == "left" else "left"
