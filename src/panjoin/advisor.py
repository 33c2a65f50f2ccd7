"""Which structure the next subwindow gets, and why.

    index="bi-sort" (or another name)   that one, always
    index="auto"                        BI-Sort

A RaP-Table also needs splitters: those adjusted from the histogram of the last sealed subwindow of its side, else,
for the first one, a sample of the batch at hand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from panjoin.index import splitters

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Structure:
    """What the next subwindow of a side shall be."""

    name: str
    partitions: int
    splitters: tuple[int, ...] | None = None
    why: str = ""


class Histogrammed(Protocol):
    """A status, as far as the advisor cares."""

    @property
    def side(self) -> str:
        """Whose subwindow."""

    @property
    def histogram(self) -> Any:
        """Counts, minima and maxima, when there are some."""


class Advisor:
    """Chooses structures; learns from statuses."""

    def __init__(self, index: str, *, partitions: int | None = None) -> None:
        self._index, self._partitions = index, partitions
        self._histograms: dict[str, Any] = {}

    def choose(self, side: str, capacity: int, keys: Array) -> Structure:
        """For a subwindow of `capacity` tuples, about to receive ascending `keys`."""
        name = "bi-sort" if self._index == "auto" else self._index
        partitions = min(capacity, self._partitions or max(1, min(65536, capacity // 128)))
        chosen = None
        if name == "rap-table":
            chosen = tuple(self._splitters(side, partitions, keys).tolist())
        return Structure(name, partitions, chosen, "asked for" if name == self._index else "fastest here")

    def explain(self) -> list[str]:
        """A line about the index of each side."""
        return [f"index      {self._index}"]

    def observe(self, statuses: Iterable[Histogrammed]) -> None:
        """Remember the newest histogram of each side."""
        for status in statuses:
            if status.histogram is not None and any(status.histogram[0]):  # an empty subwindow teaches nothing
                self._histograms[status.side] = status.histogram

    def _splitters(self, side: str, partitions: int, keys: Array) -> Array:
        histogram = self._histograms.get(side)
        if histogram is None:
            return splitters.from_sample(keys, partitions)
        counts = np.asarray(histogram[0])
        minima, maxima = (np.asarray(column, keys.dtype) for column in histogram[1:])
        return splitters.adjust(counts, minima, maxima, partitions)
