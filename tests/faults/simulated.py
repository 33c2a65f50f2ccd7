"""A query on state without a JVM (`tests/spark/fake_spark.py`), which can be stopped, changed, harmed and gone on with.

Half of the micro-batches are processed, something is done to it, the rest follows; at the end the nested loop judges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from panjoin.spark.plan import JoinPlan
from tests import registry
from tests.faults.trial import Shape
from tests.oracle import nested
from tests.oracle.question import Question
from tests.spark.fake_spark import FakeSpark
from tests.spark.questions import answer_of, micro_batches, plan_of
from tests.spark.runtimes import FAR

Change = Callable[[JoinPlan], JoinPlan]


class Simulated:
    """One query."""

    def __init__(
        self, shape: Shape, seed: int = 0, *, size: int = 60, batch: int = 6, question: Question | None = None
    ) -> None:
        """`question`: that of the shape, as it was when somebody kept it."""
        self.question = question or registry.question(
            shape.predicate, shape.window, shape.how, size=size, seed=seed, batch=batch
        )
        self.plan = plan_of(self.question, **shape.options)
        self.spark = FakeSpark(self.plan)
        self.batches = micro_batches(self.question)
        self.rows: list[Mapping[str, Any]] = []
        self.processed = 0
        self.counted = shape.options.get("emit") == "counts"
        self._timed = self.question.window.ts is not None

    @property
    def half(self) -> int:
        """About the middle."""
        return len(self.batches) // 2

    def feed(self, until: int | None = None, change: Callable[[pa.Table], pa.Table] = lambda table: table) -> None:
        """Micro-batches up to that one, and after the last of them the end of time."""
        for left, right in self.batches[self.processed : until]:
            self.rows += self.spark.micro_batch([change(left)], [change(right)], self._watermark(self.processed))
            self.processed += 1
        if until is None:
            self.rows += self.spark.micro_batch([], [], FAR if self._timed else 0)

    def changed(self, change: Change) -> None:
        """Started again with another plan, by another process, which finds the files of before."""
        self.spark.plan = change(self.spark.plan)
        self.spark.other_process()

    def as_before(self) -> None:
        """Started again as it was at first."""
        self.spark.plan = replace(self.plan)
        self.spark.other_process()

    @property
    def found(self) -> Counter:
        """All rows so far."""
        if self.counted:
            return Counter((row["side"], row["id"], row["count"]) for row in self.rows)
        return answer_of(self.rows)

    @property
    def expected(self) -> Counter:
        """What the oracle says of all of it."""
        if self.counted:
            return Counter({(side, no, count): 1 for (side, no), count in nested.counts(self.question).items()})
        marks = [self._watermark(at) * 1000 or None for at in range(len(self.batches)) for _ in range(2)]
        return nested.join(self.question, marks if self._timed else None)

    def _watermark(self, at: int) -> int:
        """Milliseconds; the registry's event times begin at 100 s."""
        return (90 + 5 * at) * 1000 if self._timed and at else 0
