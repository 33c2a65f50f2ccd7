"""From a bound condition to keys and intervals of keys: what an index stores and what a probe asks.

    condition                           key of a tuple                          probe of a tuple
    left.k = right.k                    code(k)                                 [code, code]
    left.x BETWEEN right.x - 5 AND ...  key(x)                                  [key(x - 5), key(x + 5)]
    both                                | code(k), high bits | key(x), low |    [code | low, code | high]
    left.x != right.x                   code(x)                                 all but [code, code] (`negate`)
    nothing indexable                   0                                       [0, 0]: every tuple (scan)

A composite key is exact when code and band fit 64 bits together; else the code has 24 bits (hashed unless it fits)
and the band 40, narrowed monotonously, and candidates are verified.

`bounds` answers with a list of `Bounds(low, high, rows)`, one per interval: low[i]..high[i] are inclusive keys *of the
opposite side*, for the probing tuple at position rows[i] of the batch (rows is None: for all of them, in order).
Invariants, for tuples whose keys are valid:
- a pair that matches has the opposite key in exactly one interval of the probing tuple; where `exact`, only pairs that
  satisfy equalities and band do (with `negate`: have it in none, and all others do match);
- no interval is empty: tuples without one are not among the rows (an empty interval could not ascend at the ends of
  the type), and rows ascend;
- when the batch is in the order of its own keys, every low and every high array ascends.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from panjoin.binding import BoundCondition, array_of
from panjoin.columns import Array, Mask
from panjoin.edges import Edges, Span, opposite
from panjoin.equality import BITS_OF_SHORT_HASH, EqualityCode
from panjoin.expression import Side
from panjoin.keycodec import KeyCodec
from panjoin.keypack import FEWEST_BITS, MOST_BITS, pack
from panjoin.normal import Equality

_INT64 = np.iinfo(np.int64)


class Bounds(NamedTuple):
    """One inclusive interval of opposite keys per probing tuple."""

    low: Array
    high: Array
    rows: Array | None = None  #: positions in the batch, ascending; None: every row


class JoinKeys:
    """Keys and probes of one condition; see the head of this file."""

    def __init__(self, bound: BoundCondition) -> None:
        self.bound = bound
        band, equalities = bound.band, bound.equalities
        bare = (
            Equality(band.left, band.right)
            if band is not None and not equalities and band.unequal and band.bare
            else None
        )
        #: The intervals hold what does *not* match: `!=` between two columns is all but the equal keys.
        self.negate = bare is not None and EqualityCode(bound, (bare,)).exact
        if bare is not None and self.negate:
            band, equalities = None, (bare,)
        self._code = EqualityCode(bound, equalities) if equalities else None
        self._edges = Edges(bound, band) if band is not None else None
        self._code_bits = self._band_bits = 0
        self._lay_out()

    def __reduce__(self) -> tuple[Any, ...]:
        return JoinKeys, (self.bound,)

    @property
    def scans(self) -> bool:
        """True when all tuples have one key."""
        return self._code is None and self._edges is None

    def _lay_out(self) -> None:
        code, edges = self._code, self._edges
        self.exact = code is None or code.exact
        if code is None or edges is None:
            wide = [each.dtype for each in edges.codecs.values()] if edges is not None else []
            self.dtype = np.dtype(code.dtype if code is not None else max([np.dtype(np.int32), *wide], key=_size))
            return
        self.dtype = np.dtype(np.int64)
        needed = max(_bits_of(each) for each in edges.codecs.values())
        if code.bits <= BITS_OF_SHORT_HASH or code.bits + needed <= 64:
            self._code_bits = code.bits
        else:
            self._code_bits, self.exact = BITS_OF_SHORT_HASH, False
        self._band_bits = min(64 - self._code_bits, MOST_BITS)
        if self._band_bits < needed:
            self.exact = False

    @property
    def unconverted(self) -> bool:
        """Whether the key is that of one column in its own type: of a column of whole numbers, the number itself."""
        if self._code is None:
            return self._edges is not None
        return self._edges is None and self._code.unconverted

    # ---- parts of the condition, for those who deal tuples out ----

    @property
    def equal(self) -> bool:
        """Whether tuples can only match when their equality codes are equal."""
        return self._code is not None and not self.negate

    def codes(self, side: Side, batch: Any) -> tuple[Array, Mask | None]:
        """The equality code of every row, in all its bits, and where no part of the key is NULL."""
        assert self._code is not None
        codes, valid = self._code.encode(side, batch)
        if self._edges is not None:
            valid = _both(valid, self._band_keys(side, batch)[1])
        return codes, valid

    def band_column(self, side: Side) -> str:
        """The column of the band."""
        assert self._edges is not None
        return self._edges.names[side]

    def codec(self, side: Side) -> KeyCodec:
        """Of the column of the band, which is the whole key."""
        assert self._edges is not None
        return self._edges.codecs[side]

    # ---- the two questions ----

    def encode(self, side: Side, batch: Any) -> tuple[Array, Mask | None]:
        """The key of every row, and where it may be used: a tuple with a NULL in its key matches nothing."""
        if self._edges is None:
            if self._code is None:
                return np.zeros(_rows(batch), self.dtype), None
            return self._code.encode(side, batch)
        keys, valid = self._band_keys(side, batch)
        if self._code is None:
            return keys.astype(self.dtype, copy=False), valid
        codes, known = self._codes(side, batch)
        narrow = self._edges.codecs[side].narrow(keys, self._band_bits)
        return pack(codes, narrow, self._band_bits), _both(valid, known)

    def bounds(self, side: Side, batch: Any) -> list[Bounds]:
        """What the tuples of `side` ask of the opposite side's keys; see the head of this file."""
        if self._edges is None:
            keys, valid = self.encode(side, batch)
            rows = None if valid is None else np.flatnonzero(valid)
            keys = keys if rows is None else keys[rows]
            return [Bounds(keys, keys, rows)] if len(keys) else []
        array = array_of(batch, self._edges.names[side])
        keys, valid = self._band_keys(side, batch)
        spans = self._edges.spans(side, array, keys)
        if self._code is not None:
            codes, known = self._codes(side, batch)
            valid = _both(valid, known)
            spans = self._composite(side, codes, keys, spans)
        simple = self._edges.whole is not None and self.exact  # solved by arithmetic: disjoint and ascending already
        if len(spans) > 1 and not simple:
            spans = disjoint(spans)
        own = None if simple or (len(spans) == 1 and self._edges.whole is not None) else self._own_order(side, batch)
        found = [_bounds(span, valid, self.dtype) for span in spans]
        return [piece for entry in found for piece in _ascending(entry, own)]

    def verify(self, left: Any, right: Any) -> Array | None:
        """Which candidate pairs match; None when all do. Both arguments hold one row per pair."""
        return self.bound.residual(left, right) if self.exact else self.bound.full(left, right)

    def verified_columns(self, side: Side) -> list[str]:
        """The columns of a side that `verify` reads."""
        return self.bound.residual_columns(side) if self.exact else self.bound.columns(side)

    def describe(self) -> str:
        """In words, for explain()."""
        if self.scans:
            return "scan: no part of the condition can be indexed, every pair is tried"
        parts = []
        if self._code is not None:
            parts.append(("all but equality " if self.negate else "equality ") + self._code.describe())
        if self._edges is not None:
            parts.append(f"band {self._edges.band}" + (f" ({self._band_bits} bits)" if self._code is not None else ""))
        checked = "" if self.exact else "; the key loses bits, so candidates are verified"
        return f"{self.dtype} key: {', '.join(parts)}{checked}"

    # ---- inside ----

    def _band_keys(self, side: Side, batch: Any) -> tuple[Array, Mask | None]:
        assert self._edges is not None
        name = self._edges.names[side]
        return self._edges.codecs[side].encode(array_of(batch, name), name)

    def _codes(self, side: Side, batch: Any) -> tuple[Array, Mask | None]:
        assert self._code is not None
        codes, valid = self._code.encode(side, batch)
        if self._code_bits < self._code.bits:
            codes = self._code.shortened(codes)
        return codes.astype(np.int64, copy=False), valid

    def _composite(self, side: Side, codes: Array, keys: Array, spans: list[Span]) -> list[Span]:
        """Narrowed intervals beside the code. Tuples whose own keys are narrowed to one share the widest interval."""
        assert self._edges is not None
        target = self._edges.codecs[opposite(side)]
        own = None
        if not self._edges.codecs[side].narrows_exactly(self._band_bits):
            own = pack(codes, self._edges.codecs[side].narrow(keys, self._band_bits), self._band_bits)
        packed = []
        for low, high in spans:
            some = low <= high
            ends = []
            for end in (low, high):
                fit = np.where(some, end, target.lowest).astype(target.dtype)
                ends.append(pack(codes, target.narrow(fit, self._band_bits), self._band_bits))
            if own is not None:
                ends = list(_shared(own, ends[0], ends[1], some))
            packed.append((np.where(some, ends[0], _INT64.max), np.where(some, ends[1], _INT64.min)))
        return packed

    def _own_order(self, side: Side, batch: Any) -> Array | None:
        """The batch's own keys if they ascend."""
        keys, _ = self.encode(side, batch)
        return keys if _ascends(keys) else None


def disjoint(spans: list[Span]) -> list[Span]:
    """The same union per tuple, no key twice: ordered by their lows, each starts behind all before it."""
    some = np.stack([low <= high for low, high in spans])
    lows = np.where(some, np.stack([low.astype(np.int64) for low, _ in spans]), _INT64.max)
    highs = np.where(some, np.stack([high.astype(np.int64) for _, high in spans]), _INT64.min)
    before = np.maximum.accumulate(np.where(some, lows, _INT64.min), axis=0)
    swapped = np.flatnonzero((some[1:] & (lows[1:] < before[:-1])).any(axis=0))
    if len(swapped):  # rounding let two intervals of a tuple change places
        order = np.argsort(lows[:, swapped], axis=0, kind="stable")
        lows[:, swapped] = np.take_along_axis(lows[:, swapped], order, 0)
        highs[:, swapped] = np.take_along_axis(highs[:, swapped], order, 0)
    result, reached = [(lows[0], highs[0])], highs[0]
    some = lows <= highs
    met = some[0]  # some interval came before, so that `reached` is a key
    for low, high, here in zip(lows[1:], highs[1:], some[1:], strict=True):
        empty = ~here | (met & (high <= reached))
        start = np.where(met & (reached >= low), reached + (reached < _INT64.max), low)
        result.append((np.where(empty, _INT64.max, start), np.where(empty, _INT64.min, high)))
        reached, met = np.maximum(reached, high), met | here
    return result


def _shared(own: Array, low: Array, high: Array, some: Array) -> tuple[Array, Array]:
    """Within each group of equal own keys: the lowest low and the highest high, so that bounds ascend with the keys."""
    order = np.arange(len(own)) if _ascends(own) else np.argsort(own, kind="stable")
    order = order[some[order]]
    if len(order) == 0:
        return low, high
    starts = np.flatnonzero(np.concatenate([[True], own[order][1:] != own[order][:-1]]))
    sizes = np.diff(np.append(starts, len(order)))
    low, high = low.copy(), high.copy()
    low[order] = np.repeat(np.minimum.reduceat(low[order], starts), sizes)
    high[order] = np.repeat(np.maximum.reduceat(high[order], starts), sizes)
    return low, high


def _bounds(span: Span, valid: Mask | None, dtype: Any) -> Bounds:
    """Without the empty intervals and the NULLs."""
    low, high = span
    some = low <= high
    if valid is not None:
        some &= valid
    rows = None
    if not some.all():
        rows = np.flatnonzero(some)
        low, high = low[rows], high[rows]
    return Bounds(low.astype(dtype, copy=False), high.astype(dtype, copy=False), rows)


def _ascending(entry: Bounds, own: Array | None) -> list[Bounds]:
    """The entry, or, where rounding or NaN made intervals of a sorted batch change places, its ascending stretches."""
    if len(entry.low) == 0:
        return []
    if own is None:
        return [entry]
    down = (entry.low[1:] < entry.low[:-1]) | (entry.high[1:] < entry.high[:-1])
    if not down.any():
        return [entry]
    rows = np.arange(len(entry.low)) if entry.rows is None else entry.rows
    cuts = [0, *(np.flatnonzero(down) + 1).tolist(), len(rows)]
    return [Bounds(entry.low[start:end], entry.high[start:end], rows[start:end]) for start, end in pairwise(cuts)]


def _ascends(keys: Array) -> bool:
    return bool((keys[1:] >= keys[:-1]).all())


def _bits_of(each: Any) -> int:
    """The fewest bits to which a codec narrows without loss."""
    return next((bits for bits in range(FEWEST_BITS, MOST_BITS + 1) if each.narrows_exactly(bits)), 64)


def _both(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _rows(batch: Any) -> int:
    return int(batch.num_rows) if hasattr(batch, "num_rows") else len(next(iter(batch.values()), ()))


def _size(dtype: Any) -> int:
    return int(np.dtype(dtype).itemsize)
