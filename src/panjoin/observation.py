"""What the last subwindows of a stream have shown: how large its batches are, how much they match, whether keys move.

    taken in    ....sample of subwindow 6....|....sample of subwindow 7....|...so far...
                                    └── drift: how far apart the two samples are ──┘
    probed      matches per probing tuple and subwindow: the paper's S
    sealed      share of the tuples that overflowed their partition (RaP-Table): whether its splitters fit

Drift is the Kolmogorov-Smirnov distance of two samples: the largest difference of the shares of keys below any value.
0 says that the same keys come, 1 that all keys of one subwindow are above those of the other. Two samples of n keys of
one and the same distribution are apart by about 1.6 / sqrt(n / 2) in one case of a hundred; that much is no drift.

Invariant: batches alone decide everything but `selectivity` and `overflow`, so replicas of a manager agree on the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Keys kept of each subwindow's tuples: two such samples tell a drift of 0.1 from chance.
SAMPLE = 1024
#: Fewer keys say nothing.
LEAST_SAMPLE = 16
#: A fifth of the keys come to other partitions than foreseen: drift or overflow from here on is too much for splitters.
UNSTABLE = 0.2
#: Room of a partition over the mean: the sigma of the RaP-Table's entries.
ROOM = 1.25
#: The Kolmogorov-Smirnov distance that chance exceeds once in a hundred times, times sqrt(n * m / (n + m)).
CHANCE = 1.63


@dataclass
class Page:
    """Of as many tuples as a subwindow holds."""

    tuples: int = 0
    batches: int = 0
    sample: list[Array] = field(default_factory=list)

    @property
    def keys(self) -> Array:
        """The sample, in order of arrival batch by batch."""
        return np.concatenate(self.sample) if self.sample else np.empty(0, np.int64)


@dataclass(frozen=True)
class Seen:
    """In numbers, as the advisor's rules take them."""

    batch: float  #: mean tuples per batch
    selectivity: float = 0.0  #: matches per probing tuple in one subwindow
    drift: float | None = None  #: None: unknown
    overflow: float | None = None  #: None: no RaP-Table has been sealed yet


class Observation:
    """Of one stream."""

    def __init__(self) -> None:
        self._pages = [Page()]
        self._skip = 0  #: tuples until the next one that is taken for the sample
        self._probing, self._matches = 0, 0
        self.overflow: float | None = None  #: share of the last sealed RaP-Table's tuples beyond ROOM times the mean

    # ---- what happens ----

    def took(self, keys: Array, tuples: int, capacity: int) -> None:
        """A batch of `tuples` has come, with these ascending keys; subwindows hold `capacity`."""
        if tuples == 0:
            return
        page = self._pages[-1]
        if page.tuples >= capacity:
            page = Page()
            self._pages = [*self._pages[-2:], page]
            self._probing, self._matches = self._probing // 2, self._matches // 2  # the past counts half
        stride = max(1, max(capacity, len(keys)) // SAMPLE)
        chosen = keys[self._skip :: stride]
        self._skip = (self._skip - len(keys)) % stride
        if len(chosen):
            page.sample.append(chosen.copy())
        page.tuples += tuples
        page.batches += 1

    def probed(self, tuples: int, matches: int) -> None:
        """So many probing tuples (counted once per subwindow) of the other stream found so many of this one's."""
        self._probing += tuples
        self._matches += matches

    def sealed(self, counts: Any) -> None:
        """A RaP-Table is full, with so many tuples per partition."""
        held = np.asarray(counts)
        if held.any():
            self.overflow = float(np.maximum(held - ROOM * held.mean(), 0).sum() / held.sum())

    # ---- what it says ----

    @property
    def seen(self) -> Seen:
        """All of it."""
        return Seen(self.batch, self.selectivity, self.drift, self.overflow)

    @property
    def batch(self) -> float:
        """Mean tuples per batch."""
        batches = sum(page.batches for page in self._pages)
        return sum(page.tuples for page in self._pages) / batches if batches else 0.0

    @property
    def selectivity(self) -> float:
        """Matches per probing tuple in one subwindow; 0 as long as nobody has probed."""
        return self._matches / self._probing if self._probing else 0.0

    @property
    def drift(self) -> float | None:
        """How far the keys have moved from one subwindow to the next; None when too little is known."""
        samples = [page.keys for page in self._pages if sum(map(len, page.sample)) >= LEAST_SAMPLE]
        if len(samples) >= 2:
            return distance(samples[-2], samples[-1])
        chunks = self._pages[-1].sample
        halves = [np.concatenate(part) for part in (chunks[: len(chunks) // 2], chunks[len(chunks) // 2 :]) if part]
        if len(halves) < 2 or min(map(len, halves)) < LEAST_SAMPLE:
            return None
        return distance(*halves)


def distance(one: Array, other: Array) -> float:
    """The Kolmogorov-Smirnov distance of two samples, less what chance alone may make of it."""
    one, other = np.sort(one), np.sort(other)
    places = np.concatenate([one, other])
    shares = [np.searchsorted(sample, places, "right") / len(sample) for sample in (one, other)]
    chance = CHANCE * sqrt((len(one) + len(other)) / (len(one) * len(other)))
    return max(0.0, float(np.abs(shares[0] - shares[1]).max()) - chance)
