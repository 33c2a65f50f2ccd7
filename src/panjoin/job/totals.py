"""All micro-batches of a run together: one `Total`, for summaries, views and the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

from panjoin.job.moments import Moment


@dataclass(frozen=True)
class Total:
    """All micro-batches of one run together."""

    batches: int = 0
    left: int = 0
    right: int = 0
    pairs: int = 0
    rows: int = 0
    late: int = 0
    busy: float = 0.0  #: seconds of micro-batches
    state_bytes: int = 0

    def plus(self, moment: Moment) -> Total:
        """And one more."""
        return replace(
            self, batches=self.batches + 1, left=self.left + moment.left, right=self.right + moment.right,
            pairs=self.pairs + moment.pairs, rows=self.rows + moment.rows, late=self.late + moment.late,
            busy=self.busy + moment.seconds, state_bytes=moment.state_bytes or self.state_bytes,
        )  # fmt: skip

    @property
    def tuples(self) -> int:
        """Of both sides."""
        return self.left + self.right

    @property
    def rate(self) -> float:
        """Tuples per second of micro-batches."""
        return self.tuples / self.busy if self.busy else 0.0

    def said(self) -> str:
        """One line."""
        late = f", {self.late:,} too late" if self.late else ""
        return (
            f"{self.batches:,} micro-batches, {self.tuples:,} tuples{late}, {self.pairs:,} matches, "
            f"{self.rate:,.0f} tuples/s, state {size(self.state_bytes)}"
        )


def total_of(moments: Iterable[Moment]) -> Total:
    """Of all of them."""
    return reduce(Total.plus, moments, Total())


def size(number: float) -> str:
    """Bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            return f"{number:,.0f} {unit}" if unit == "B" else f"{number:,.1f} {unit}"
        number /= 1000
    raise AssertionError
