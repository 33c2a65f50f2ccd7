"""Folding a column of the opposite side per probing tuple: what workers do for aggregates.

    probing tuple 7 ──> positions 120 .. 8,000,119 of a sealed, sorted subwindow ──> two reads, or about 100 tree nodes
                    ──> single pairs elsewhere (unsealed, unsorted, or with checks) ──> one step each

A `Fold` holds one column and operation for all tuples of a batch; folds of several workers add up. Sums of whole
numbers are kept in two halves of 32 bits, so they are exact whatever the order; those of floats are added block by
block, so they may differ from another order of adding in the last digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from panjoin.chain.match import Match
from panjoin.chain.summary import Summary, halves, numbers_of
from panjoin.kernels.fold import SUM, combine_all, difference, fold_pairs, fold_ranges, neutral

Array = npt.NDArray[Any]


@dataclass
class Fold:
    """Of one column: how many values went in per probing tuple, and what they folded to (`high` halves of sums)."""

    operation: int
    present: Array
    values: Array
    high: Array | None = None

    @classmethod
    def empty(cls, size: int, operation: int, dtype: Any) -> Fold:
        """Nothing has gone in yet."""
        high = np.zeros(size, np.int64) if operation == SUM and np.dtype(dtype).kind == "i" else None
        return cls(operation, np.zeros(size, np.int64), np.full(size, neutral(operation, dtype), dtype), high)

    def arrays(self) -> dict[str, Array]:
        """What it is made of."""
        high = {} if self.high is None else {"high": self.high}
        return {"present": self.present, "values": self.values, **high}

    def add(self, other: Fold) -> None:
        """Take in what another worker has folded."""
        self.present += other.present
        combine_all(self.values, other.values, self.operation)
        if self.high is not None and other.high is not None:
            self.high += other.high

    def match(self, match: Match, column: str) -> None:
        """Fold the matches' values in: by ranges where the subwindow allows, else pair by pair."""
        order = match.subwindow.key_order
        if match.filters or order is None:
            self._pairs(match, column)
            return
        summary = match.subwindow.summary(column, order)
        for positions, _, probe in match.probes:
            records = probe.ranges()
            if records.negate:
                start, size = np.zeros_like(records.start), np.full_like(records.end, records.size)
                self._ranges(summary, start, records.start, positions)
                self._ranges(summary, records.end, size, positions)
            else:
                self._ranges(summary, records.start, records.end, positions)

    def _ranges(self, summary: Summary, start: Array, end: Array, positions: Array) -> None:
        if summary.valid is None:
            self.present[positions] += end.astype(np.int64) - start
        else:
            difference(summary.prefix("valid"), start, end, positions, self.present)
        if self.high is None:
            nodes, begins = summary.tree(self.operation)
            fold_ranges(nodes, begins, start, end, self.operation, positions, self.values)
            return
        difference(summary.prefix("low"), start, end, positions, self.values)
        if summary.wide:
            difference(summary.prefix("high"), start, end, positions, self.high)

    def _pairs(self, match: Match, column: str) -> None:
        for positions, ids in match.pairs():
            values, valid = numbers_of(match.subwindow.rows.take(ids, [column]).column(0))
            present = slice(None) if valid is None else valid
            self._values(positions[present], values[present])

    def _values(self, positions: Array, values: Array) -> None:
        self.present += np.bincount(positions, minlength=len(self.present))
        if self.high is None:
            fold_pairs(positions, values, self.operation, self.values)
            return
        low, high = halves(values, wide=True)
        fold_pairs(positions, low, SUM, self.values)
        fold_pairs(positions, high, SUM, self.high)
