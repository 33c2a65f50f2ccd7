"""What every oracle and every runtime is asked: two streams, how they arrive, a condition, a window, a join type.

A stream is one Arrow table per side; tuple `i` of a table has the arrival number `i`. How they arrive is a sequence of
batches (side, size), which cut the tables from the front; a micro-batch is its left batch and then its right one:

    batches   left 2 | right 3 | left 1 | right 0          micro-batch 0 = (2, 3), micro-batch 1 = (1, 0)
    left      0 1    |         | 2      |
    right            | 0 1 2   |        |

The answer is a multiset of pairs (left number, right number), where None stands for "no partner".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import pyarrow as pa

Answer: TypeAlias = "Counter[tuple[int | None, int | None]]"

HOWS = ("inner", "left", "right", "full", "left_semi", "left_anti")


class Count(NamedTuple):
    """The last `size` tuples of this side, by arrival number, are joinable."""

    size: int


class Time(NamedTuple):
    """A tuple of this side stays joinable for `length` microseconds of event time, both ends included."""

    length: int


class Window(NamedTuple):
    """One rule for each side, and the names of the event-time columns when one of the rules needs them."""

    left: Count | Time
    right: Count | Time
    ts: tuple[str, str] | None = None
    lateness: int | None = None  #: microseconds; None means that no tuple is ever late


#: Nothing ever leaves: the streaming join is then the batch join.
EVERYTHING = Window(Count(1 << 40), Count(1 << 40))


class Question(NamedTuple):
    """See the head of this file."""

    left: pa.Table
    right: pa.Table
    batches: tuple[tuple[str, int], ...]
    on: str
    window: Window = EVERYTHING
    how: str = "inner"

    def parts(self) -> Iterator[tuple[str, pa.Table]]:
        """The batches as (side, table), in the order in which they are processed."""
        given = {"left": 0, "right": 0}
        for side, size in self.batches:
            table = self.left if side == "left" else self.right
            yield side, table.slice(given[side], size)
            given[side] += size
        if given != {"left": self.left.num_rows, "right": self.right.num_rows}:
            raise ValueError(f"batches hold {given} tuples, not {self.left.num_rows} and {self.right.num_rows}")

    def __repr__(self) -> str:
        """Enough to run it again by hand, since Hypothesis prints this for a counterexample."""
        tables = ", ".join(f"{side}={table.to_pydict()} {table.schema}" for side, table in self._sides())
        return f"Question(on={self.on!r}, window={self.window}, how={self.how}, batches={self.batches}, {tables})"

    def _sides(self) -> Iterator[tuple[str, pa.Table]]:
        yield "left", self.left
        yield "right", self.right


def micro_batches(left: Sequence[int], right: Sequence[int]) -> tuple[tuple[str, int], ...]:
    """Sizes per micro-batch as a sequence of batches: the left tuples of a micro-batch first, then its right ones."""
    if len(left) != len(right):
        raise ValueError(f"every micro-batch has two sizes, but there are {len(left)} and {len(right)}")
    return tuple(
        batch for sizes in zip(left, right, strict=True) for batch in zip(("left", "right"), sizes, strict=True)
    )


def at_once(left: pa.Table, right: pa.Table) -> tuple[tuple[str, int], ...]:
    """Everything in one micro-batch."""
    return micro_batches([left.num_rows], [right.num_rows])
