"""Which structure the next subwindow gets, and why (paper, Evaluation, Comparison: the strategy at its end).

    index="rap-table" (or another name)    that one, always
    index="auto"                           decided at each *create*, so a chain may mix structures:

        range records or aggregates asked for    ──> BI-Sort: sorted tuples answer without making pairs
        batches or S large                       ──> BI-Sort: one scan per partition, ranges instead of copies
        else values stable                       ──> RaP-Table, splitters adjusted from the subwindow before
        else                                     ──> WiB+-Tree, which takes values that drift or only increase

What is large follows from what structures cost on this machine (`calibration.py`), and is compared with what the last
subwindows have shown (`observation.py`). Unknown values count as drifting: nothing has to be foreseen for a tree.

Any structure gives the same answers, so a choice is a matter of speed alone. Replicas of a manager need not agree on
it: batches, which all of them see, decide most of it, matches and histograms are their own, and each executes only
the *creates* of its own subwindows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from panjoin.calibration import SORTED, Calibration, known
from panjoin.expression import Side
from panjoin.index import splitters
from panjoin.observation import UNSTABLE, Observation, Seen
from panjoin.sizing import partitions_of

Array = npt.NDArray[Any]

AUTO = "auto"


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
    def side(self) -> Side:
        """Whose subwindow."""

    @property
    def histogram(self) -> Any:
        """Counts, minima and maxima, when there are some."""


class Advisor:
    """Chooses structures; learns from batches, matches and statuses."""

    def __init__(
        self,
        index: str = AUTO,
        *,
        partitions: int | None = None,
        why: str = "asked for",
        calibration: Calibration | None = None,
    ) -> None:
        """`why` is told when `index` names a structure; without a calibration this machine's is looked for."""
        self._index, self._partitions, self._why = index, partitions, why
        self._calibration = calibration if calibration is not None or index != AUTO else known()
        self._observed: dict[str, Observation] = {"left": Observation(), "right": Observation()}
        self._histograms: dict[str, Any] = {}
        self._last: dict[str, Structure] = {}

    # ---- what happens ----

    def took(self, side: Side, keys: Array, tuples: int, capacity: int) -> None:
        """A batch of `side` is about to be put into subwindows of `capacity`; its keys ascend."""
        if self._calibration is not None:
            self._observed[side].took(keys, tuples, capacity)

    def probed(self, side: Side, tuples: int, matches: int) -> None:
        """Subwindows of `side` have been probed: so many tuples, once per subwindow, found so many matches."""
        if self._calibration is not None:
            self._observed[side].probed(tuples, matches)

    def observe(self, statuses: Iterable[Histogrammed]) -> None:
        """Remember the newest histogram of each side."""
        for status in statuses:
            if status.histogram is not None and any(status.histogram[0]):  # an empty subwindow teaches nothing
                self._histograms[status.side] = status.histogram
                self._observed[status.side].sealed(status.histogram[0])

    # ---- what follows ----

    def choose(self, side: Side, capacity: int, keys: Array) -> Structure:
        """For a subwindow of `capacity` tuples, about to receive ascending `keys`."""
        name, why = self._index, self._why
        if self._calibration is not None:
            name, why = decide(self._observed[side].seen, capacity, self._calibration)
        partitions = min(capacity, self._partitions or partitions_of(capacity))
        chosen = tuple(self._splitters(side, partitions, keys).tolist()) if name == "rap-table" else None
        self._last[side] = Structure(name, partitions, chosen, why)
        return self._last[side]

    def explain(self) -> list[str]:
        """A line about how structures are chosen, and one per side about the newest."""
        if self._calibration is None:
            how = f"{self._index}, {self._why}"
        else:
            how = (
                f"{AUTO}: chosen for each subwindow by what the last ones have shown; costs {self._calibration.source}"
            )
        lines = [f"structure  {how}"]
        if self._calibration is not None:
            for side in ("left", "right"):
                last = self._last.get(side)
                told = "no subwindow yet" if last is None else f"newest subwindow {last.name}: {last.why}"
                lines.append(f"{side:10} {told}")
        return lines

    def _splitters(self, side: str, partitions: int, keys: Array) -> Array:
        histogram = self._histograms.get(side)
        if histogram is None:
            return splitters.from_sample(keys, partitions)
        counts = np.asarray(histogram[0])
        minima, maxima = (np.asarray(column, keys.dtype) for column in histogram[1:])
        return splitters.adjust(counts, minima, maxima, partitions)


def decide(seen: Seen, capacity: int, calibration: Calibration) -> tuple[str, str]:
    """The paper's strategy: (structure, why)."""
    batch, matches, drift, overflow = seen.batch, seen.selectivity, seen.drift, seen.overflow
    stable = drift is not None and drift < UNSTABLE and (overflow is None or overflow < UNSTABLE)
    other = "rap-table" if stable else "wib-tree"
    large = calibration.large_batch(capacity, other)
    if large is not None and batch >= large:
        return SORTED, f"batches of {batch:,.0f} are large ({other} costs less only below {large:,})"
    many = calibration.large_selectivity(capacity, batch, other)
    if many is not None and matches >= many:
        return (
            SORTED,
            f"{matches:,.1f} matches per tuple and subwindow are many ({other} costs less only below {many:,.1f})",
        )
    small = f"batches of {batch:,.0f} and {matches:,.1f} matches per tuple and subwindow are small"
    if stable:
        return other, f"{small}, values are stable (drift {drift:.2f})"
    if drift is None:
        return other, f"{small}, and little is known of the values yet"
    if drift < UNSTABLE:
        return other, f"{small}, and {overflow:.0%} of the tuples overflowed the last splitters"
    return other, f"{small}, values drift ({drift:.2f}, {UNSTABLE} is much)"
