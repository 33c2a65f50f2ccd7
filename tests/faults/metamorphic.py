"""What must not change an answer: how a stream is cut, in which order it comes, who works on it, and with what.

    permuted     arrival of either side, within the lateness of the window
    cut          into batches of 1, of 7, of 10,000 (or all of it)
    swapped      left for right
    workers      1, 2, 8                  placements   by arrival, by key
    restarted    in the middle, with its files and without
    structures   another one for each subwindow

Windows are of time, so the answer is a function of the data alone. Each case is one change; the nested loop on the
unchanged question judges, with numbers of tuples mapped back.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import panjoin as pj
from tests import registry
from tests.engine.runtimes import join_of, numbers_of
from tests.faults.catalogue import Class
from tests.faults.records import Tally
from tests.faults.trial import Case, Shape, Trial
from tests.oracle import nested
from tests.oracle.question import Answer, Question, micro_batches
from tests.oracle.vector import Span, differences, timed
from tests.simulation.world import WhimsicalAdvisor
from tests.spark.fake_spark import FakeSpark
from tests.spark.questions import answer_of, plan_of, with_plan
from tests.spark.questions import micro_batches as tables_of
from tests.streams import streams

_FAR = 1 << 42  #: milliseconds: behind everything

#: (condition, the same with the sides swapped, join type)
ASKED = (
    ("equal", "right.k = left.k", "full"),
    ("band_lopsided", "right.x - left.x BETWEEN -5 AND 10", "inner"),
    ("equal_and_band", "right.s = left.s AND right.p BETWEEN left.p - 2.5 AND left.p + 2.5", "inner"),
    ("residual", "right.k = left.k AND right.x != left.y", "left"),
    ("unequal", "right.k != left.k", "inner"),
    ("equal_string", "right.s = left.s", "left_anti"),
    ("bands_apart", "right.x = left.x - 7 OR right.x BETWEEN left.x + 1 AND left.x + 3", "inner"),
)
_HOWS_SWAPPED = {"left": "right", "left_anti": None}


class Changed(NamedTuple):
    """A question that has the same answer, but for its numbers."""

    name: str
    question: Question
    options: Mapping[str, Any] = {}
    back: Callable[[Answer], Answer] = lambda answer: answer
    restarts: int = 0  #: every so many micro-batches, another process; odd ones without files
    another: bool = False  #: structure for each subwindow


def changes(asked: Question, other: str, seed: int) -> list[Changed]:
    """All of one question."""
    n, m = asked.left.num_rows, asked.right.num_rows
    found = [Changed("as it is", asked)]
    found += [Changed(f"batches of {size}", _cut(asked, size)) for size in (1, 7, 10_000)]
    found += [Changed(f"workers: {workers}", asked, {"workers": workers}) for workers in (1, 2, 8)]
    orders = [
        _order(table, np.random.default_rng([seed, n, side])) for side, table in enumerate((asked.left, asked.right))
    ]
    permuted = asked._replace(left=asked.left.take(orders[0]), right=asked.right.take(orders[1]))
    found.append(Changed("permuted", permuted, {}, lambda answer: _renumbered(answer, orders)))
    how = _HOWS_SWAPPED.get(asked.how, asked.how)
    if how is not None:
        sizes = [size for _, size in asked.batches]
        batches = micro_batches(sizes[1::2], sizes[::2])
        window = asked.window._replace(left=asked.window.right, right=asked.window.left)
        swapped = Question(asked.right, asked.left, batches, other, window, how)
        found.append(
            Changed("swapped", swapped, {}, lambda answer: Counter({(j, i): c for (i, j), c in answer.items()}))
        )
    found.append(Changed("restarted in the middle", asked, restarts=max(1, len(asked.batches) // 4)))
    found.append(Changed("another structure each time", asked, another=True))
    assert n and m
    return found


def _cut(asked: Question, size: int) -> Question:
    pieces = -(-max(asked.left.num_rows, asked.right.num_rows) // size)
    sizes = [
        [max(0, min(size, table.num_rows - at * size)) for at in range(pieces)] for table in (asked.left, asked.right)
    ]
    return asked._replace(batches=micro_batches(*sizes))


def _order(table: pa.Table, rng: np.random.Generator) -> Any:
    """Rows move by up to ten places: nobody comes later than the lateness that the window is given."""
    return np.argsort(np.arange(table.num_rows) + rng.uniform(0, 10, table.num_rows), kind="stable")


def _renumbered(answer: Answer, orders: list[Any]) -> Answer:
    def back(side: int, number: int | None) -> int | None:
        return None if number is None else int(orders[side][number])

    return Counter({(back(0, i), back(1, j)): count for (i, j), count in answer.items()})


# ---- who runs it ----


def local(change: Changed, index: str) -> Answer:
    """The local engine; it has no checkpoint, so a restart is none of its business."""
    answer: Answer = Counter()
    with join_of(change.question, index=index, **change.options) as join:
        if change.another:
            assert join._join is not None
            join._join.manager._advisor = join._join.advisor = WhimsicalAdvisor(random.Random(0))
        for side, table in change.question.parts():
            answer += numbers_of(join.push(side, table))
        return answer + numbers_of(join.finish())


def in_spark(change: Changed, placement: str) -> Answer:
    """The operator of Spark, on state without a JVM."""
    spark = FakeSpark(plan_of(change.question, placement=placement, **{"workers": 2, **change.options}))
    rows: list[Any] = []
    for number, (left, right) in enumerate(tables_of(change.question)):
        if change.restarts and number % change.restarts == change.restarts - 1:
            spark.other_process(files=number // change.restarts % 2 == 0)
        if change.another:
            spark.plan = with_plan(spark.plan, index=registry.INDEXES[number % len(registry.INDEXES)])
            spark.other_process()
        rows += spark.micro_batch([left], [right])
    return answer_of(rows + spark.micro_batch([], [], _FAR))


def metamorphic(directory: Path, seeds: range) -> Tally:
    """One question per seed, in all its forms, through both runtimes."""
    tally = Tally()
    for seed in seeds:
        predicate, other, how = ASKED[seed % len(ASKED)]
        asked = registry.question(predicate, "seconds", how, size=60, seed=seed, batch=8)
        expected = nested.join(asked)
        for change in changes(asked, other, seed):
            index = registry.INDEXES[seed % len(registry.INDEXES)]
            if not change.restarts:
                tally.judge(expected, change.back(local(change, index)), seed, f"{change.name}, {index}")
            for placement in ("arrival", "key"):
                tally.judge(
                    expected, change.back(in_spark(change, placement)), seed, f"{change.name}, placement {placement}"
                )
    return tally


# ---- past every threshold ----

_MANY, _LENGTH = 21_000, 4_000


def large(directory: Path, seeds: range) -> Tally:
    """A band over windows of 4,000 tuples, where batches of 10,000 are more than one, through the local engine."""
    tally = Tally()
    for seed in seeds:
        sides = [_large_side(seed, side) for side in (0, 1)]
        span = Span(-3, 2)
        expected = timed(*sides, span, _LENGTH)
        rng = np.random.default_rng(seed)
        orders = [np.argsort(np.arange(_MANY) + rng.uniform(0, 500, _MANY), kind="stable") for _ in sides]
        index = registry.INDEXES[seed % 3]
        for size, workers, permuted in ((7, 2, False), (10_000, 1, False), (10_000, 8, True), (997, 2, True)):
            rows = orders if permuted else [np.arange(_MANY)] * 2
            found = _large_pairs(sides, rows, span, size, workers=workers, index=index)
            what = f"{index}, batches of {size}, {workers} workers{', permuted' if permuted else ''}"
            tally.case(seed, what, **differences(expected, np.sort(found)))
    return tally


def _large_side(seed: int, side: int) -> tuple[Any, Any]:
    keys = streams("uniform", _MANY, 2 * seed + side, np.int64) % _LENGTH
    return keys, np.arange(_MANY, dtype=np.int64)


def _large_pairs(sides: Any, rows: Any, span: Span, size: int, **options: Any) -> Any:
    found = []
    with pj.StreamJoin(
        on=pj.band("x", span.low, span.high),
        window=pj.TimeWindow(f"{_LENGTH} us", on="ts", lateness="1 hour"),
        **options,
    ) as join:
        for at in range(0, _MANY, size):
            for side, (keys, times), order in zip(("left", "right"), sides, rows, strict=True):
                mine = order[at : at + size]
                batch = {"x": keys[mine].astype(np.int32), "ts": times[mine].astype("M8[us]")}
                i, j = join.push(side, batch).pairs()
                found.append(rows[0][i] * _MANY + rows[1][j])
    return np.concatenate(found)


# ---- real Spark ----

#: batch, options: of one stream each; nothing of it is late.
_FORMS: tuple[tuple[int, Mapping[str, Any]], ...] = (
    (7, {"workers": 1, "placement": "arrival"}),
    (7, {"workers": 2, "placement": "key"}),
    (7, {"workers": 8, "placement": "arrival"}),
    (25, {"workers": 8, "placement": "key", "index": "wib-tree"}),
    (10_000, {"workers": 2, "placement": "arrival", "index": "rap-table"}),
)


def on_spark(directory: Path, seeds: range) -> Tally:
    """One stream per seed in five forms, as queries of a real Spark."""
    trial, tally = Trial(directory, settings={"spark.sql.shuffle.partitions": "8"}), Tally()
    for seed in seeds:
        for number, (batch, options) in enumerate(_FORMS):
            predicate = ("equal_and_band", "equal")[seed % 2]
            shape = Shape(predicate, "seconds", "inner", options, "20 seconds")
            trial.add(_Form(seed=seed, number=number, shape=shape, size=50, batch=batch))
    trial.run(lives=1)
    trial.judge(tally)
    return tally


class _Form(Case):
    """One of several queries of a seed: they have the same streams."""

    def __init__(self, number: int, **given: Any) -> None:
        super().__init__(**given)
        object.__setattr__(self, "number", number)

    @property
    def name(self) -> str:
        """Of its directory."""
        return f"{super().name}-{self.number}"  # type: ignore[attr-defined]


_SAME = "Each must give the multiset of the nested loop."

CLASSES = (
    Class(
        "inputs",
        "the same stream in another form",
        "Permuted within the lateness, in batches of 1, 7 and 10,000, sides swapped, 1, 2 and 8 workers, both placements, restarted "
        f"in the middle, another structure for each subwindow; local engine and operator of Spark. {_SAME}",
        metamorphic,
        28,
    ),
    Class(
        "inputs",
        "the same long stream in another form",
        f"{2 * _MANY:,} tuples through the local engine in batches of 7, 997 and 10,000, 1, 2 and 8 workers, permuted and not; plain "
        "numpy judges.",
        large,
        6,
    ),
    Class(
        "inputs",
        "the same stream in another form on Spark",
        f"Micro-batches of 7, 25 and all, 1, 2 and 8 workers, both placements, as queries of a real Spark. {_SAME}",
        on_spark,
        2,
    ),
)
