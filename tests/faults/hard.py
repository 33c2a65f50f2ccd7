"""Streams that are hard on an index or a clock: storms of one key, bands that match everything, keys that only rise,
event times from the next decade.

Large ones go through the local engine, with plain numpy as the judge (`tests/oracle/vector.py`); small ones of the same make
through the processor on state without a JVM, with the nested loop.
"""

from __future__ import annotations

import itertools
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import panjoin as pj
from tests.engine.runtimes import answer_of as local_answer
from tests.faults.catalogue import Class
from tests.faults.records import Tally
from tests.oracle import nested
from tests.oracle.question import Count, Question, Time, Window, micro_batches
from tests.oracle.vector import Span, counted, differences
from tests.spark.fake_spark import FakeSpark
from tests.spark.questions import answer_of, plan_of
from tests.spark.questions import micro_batches as tables_of

STRUCTURES = ("bi-sort", "rap-table", "wib-tree")
_FAR = 1 << 42  #: milliseconds: behind everything

Keys = Callable[[np.random.Generator, int], Any]


class Hard(NamedTuple):
    """Keys of one side, and the band that they are joined by."""

    keys: Keys
    span: Span
    size: int  #: tuples of a side in the local engine
    window: int


def _storm(rng: np.random.Generator, n: int) -> Any:
    return np.where(rng.random(n) < 0.5, 7, rng.integers(0, n, n))


HARD = {
    "storm": Hard(_storm, Span(0, 0), 12_000, 1_500),
    "everything": Hard(lambda rng, n: rng.integers(0, 1_000, n), Span(-2_000, 2_000), 5_000, 900),
    "rising": Hard(lambda rng, n: np.cumsum(rng.integers(0, 3, n)), Span(-5, 5), 60_000, 20_000),
}


def _sizes(rng: np.random.Generator, total: int, pieces: int) -> list[int]:
    marks = np.sort(rng.integers(0, total, pieces - 1))
    return [int(size) for size in np.diff([0, *marks, total])]


def _local(hard: Hard, seed: int, tally: Tally, structures: tuple[str, ...]) -> None:
    """One structure after the other, with 1 to 3 workers."""
    rng = np.random.default_rng(seed)
    left, right = (hard.keys(rng, n) for n in (hard.size, hard.size * 3 // 4))
    batches = micro_batches(_sizes(rng, len(left), 9), _sizes(rng, len(right), 9))
    index, workers = structures[seed % len(structures)], 1 + seed % 3
    given, found = {"left": 0, "right": 0}, []
    with pj.StreamJoin(
        on=pj.band("x", hard.span.low, hard.span.high), window=pj.CountWindow(hard.window), index=index, workers=workers
    ) as join:
        for side, size in batches:
            keys = left if side == "left" else right
            i, j = join.push(side, {"x": keys[given[side] : given[side] + size].astype(np.int32)}).pairs()
            given[side] += size
            found.append(i * len(right) + j)
    expected = counted(left, right, hard.span, batches, hard.window)
    tally.case(seed, f"{index}, {workers} workers", **differences(expected, np.sort(np.concatenate(found))))


def _spark(hard: Hard, seed: int, tally: Tally, structures: tuple[str, ...]) -> None:
    """Both placements; processes and their files are lost in between."""
    rng = np.random.default_rng([seed, 1])
    tables = [pa.table({"x": pa.array(hard.keys(rng, n), pa.int32())}) for n in (90, 70)]
    on = f"left.x BETWEEN right.x + {hard.span.low} AND right.x + {hard.span.high}"
    batches = micro_batches(*(_sizes(rng, table.num_rows, 5) for table in tables))
    question = Question(tables[0], tables[1], batches, on, Window(Count(30), Count(25)))
    placement = ("arrival", "key")[seed % 2]
    index = structures[seed % len(structures)]
    spark = FakeSpark(plan_of(question, workers=1 + seed % 3, placement=placement, index=index), seed=seed, forget=0.3)
    rows = [row for left, right in tables_of(question) for row in spark.micro_batch([left], [right])]
    tally.judge(nested.join(question), answer_of(rows), seed, f"{index}, placement {placement}")


def _both(name: str, structures: tuple[str, ...] = STRUCTURES) -> Callable[[Path, range], Tally]:
    def run(directory: Path, seeds: range) -> Tally:
        tally = Tally()
        for seed in seeds:
            _local(HARD[name], seed, tally, structures)
            _spark(HARD[name], seed, tally, structures)
        return tally

    return run


# ---- 10^6 x 10^6 ----

#: Of memory, while 20 million of the 10^12 rows are handed out.
MOST_MEMORY = 1 << 30


def equal_keys(directory: Path, seeds: range, many: int = 1_000_000) -> Tally:
    """Counted at once, and handed out in pieces; how much memory this process has ever had is asked before and after."""
    tally = Tally()
    for seed in seeds:
        index = STRUCTURES[seed % len(STRUCTURES)]
        keys = {"k": np.full(many, seed, np.int32)}
        with pj.StreamJoin(on="left.k = right.k", window=pj.CountWindow(many), index=index) as join:
            join.push("left", keys)
            result = join.push("right", keys)
            before, rows, unequal = _most_memory(), 0, 0
            for batch in itertools.islice(result.batches(), 200):
                rows += batch.num_rows
                unequal += int((batch.column(0).to_numpy() != seed).sum())
                if rows >= 20_000_000:
                    break
            grown = _most_memory() - before
            missing = max(0, min(20_000_000, many * many) - rows)
            lost, more = max(0, many * many - result.count), max(0, result.count - many * many)
        what = f"{index}: {result.count} pairs, {grown >> 20} MiB for {rows} rows of them"
        tally.case(seed, what, lost=lost + missing, duplicated=more, wrong=unequal, undetected=int(grown > MOST_MEMORY))
    return tally


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# ---- a clock that jumps ----

_SECOND = 1_000_000
NOW, Y2038 = 1_700_000_000 * _SECOND, 2_147_483_648 * _SECOND
_TICKS = 60


def _clocked(seed: int, lateness: int | None, jumps: int) -> Question:
    """A second per tuple and side; in the middle `jumps` tuples come from 2038, and then it is today again."""
    rng = np.random.default_rng([seed, 2038])
    tables = []
    for side in range(2):
        times = NOW + (np.arange(_TICKS) - rng.integers(0, 2, _TICKS)) * _SECOND
        if jumps > side:
            times[rng.integers(_TICKS // 3, _TICKS // 2, jumps)] = Y2038 + rng.integers(0, 3, jumps) * _SECOND
        keys = pa.array(rng.integers(0, 4, _TICKS), pa.int32())
        tables.append(pa.table({"k": keys, "ts": pa.array(times, pa.timestamp("us"))}))
    sizes = [_sizes(rng, _TICKS, 12) for _ in tables]
    window = Window(Time(5 * _SECOND), Time(5 * _SECOND), ("ts", "ts"), lateness)
    return Question(tables[0], tables[1], micro_batches(*sizes), "left.k = right.k", window)


def _today(question: Question) -> Question:
    """Tuples from 2038 match nothing: they are set aside."""
    sides = []
    for table in (question.left, question.right):
        times = table["ts"].cast(pa.int64()).to_numpy()
        known = pa.array(times, pa.int64(), mask=times > NOW + 3600 * _SECOND).cast(pa.timestamp("us"))
        sides.append(table.set_column(1, "ts", known))
    return question._replace(left=sides[0], right=sides[1])


def clock(directory: Path, seeds: range) -> Tally:
    """Set aside (`max_advance`), or believed: then all that comes after it on both sides is late, and counted as such."""
    tally = Tally()
    for seed in seeds:
        options: dict[str, Any] = {"index": STRUCTURES[seed % 3], "workers": 1 + seed % 2}
        aside = _clocked(seed, 2 * _SECOND, jumps=2)
        expected = nested.join(_today(aside))
        found = local_answer(aside, **options, max_advance="1 hour")
        tally.judge(expected, found, seed, "set aside")

        believed = _clocked(
            seed, 2 * _SECOND, jumps=1 + seed % 2
        )  # of one side alone: its watermark waits for the other
        look = nested.look(believed)
        with_late = local_answer(believed, **options)
        tally.judge(nested.join(believed), with_late, seed, "believed")
        late, told = len(look.late), _late(believed, options)
        tally.case(seed, f"{late} tuples are late, {told} were told", undetected=int(late != told))

        marks = [
            None if mark is None or mark < 1000 else mark // 1000 * 1000 for mark in nested.watermarks_of(believed)
        ]
        marks = [mark for pair in zip(marks[::2], marks[::2], strict=True) for mark in pair]  # one per micro-batch
        question = believed._replace(window=believed.window._replace(lateness=None))
        spark = FakeSpark(plan_of(question, workers=2, placement=("arrival", "key")[seed % 2]), seed=seed, forget=0.3)
        rows = [
            row
            for mark, (left, right) in zip(marks[::2], tables_of(question), strict=True)
            for row in spark.micro_batch([left], [right], 0 if mark is None else mark // 1000)
        ]
        tally.judge(nested.join(question, marks), answer_of(rows), seed, "in Spark's operator")
    return tally


def _late(question: Question, options: dict[str, Any]) -> int:
    """As the join counts them."""
    from tests.engine.runtimes import join_of  # noqa: PLC0415  (beside its only use)

    with join_of(question, **options) as join:
        for side, table in question.parts():
            join.push(side, table)
        return sum(join.stats()["late"].values())


_JUDGE = "Plain numpy judges the local engine, the nested loop the operator of Spark; processes lose their memory in between."

CLASSES = (
    Class(
        "load",
        "one key has half of all tuples",
        f"Every second tuple of either side has one key; all structures, 1 to 3 workers, both placements. {_JUDGE}",
        _both("storm"),
        12,
    ),
    Class(
        "load",
        "a band that matches everything",
        f"Every tuple matches every one in the window; all structures, 1 to 3 workers, both placements. {_JUDGE}",
        _both("everything"),
        12,
    ),
    Class(
        "load",
        "keys that only increase",
        f"Under RaP-Table, whose splitters come from the subwindow before, and under WiB+-Tree, which only ever splits its last "
        f"leaf. {_JUDGE}",
        _both("rising", ("rap-table", "wib-tree")),
        24,
    ),
    Class(
        "load",
        "a million by a million equal keys",
        f"One key on both sides: 10^12 pairs are counted at once; 20 million of them are handed out, for which the process may grow "
        f"by {MOST_MEMORY >> 20} MiB at most. All structures.",
        equal_keys,
        6,
    ),
    Class(
        "load",
        "a clock that jumps to 2038 and back",
        "Tuples are dated 2038 in the middle of a stream, then it is today again. Set aside when `max_advance` says so; else event "
        "time has moved, and what the nested loop calls late is dropped and counted, one by one. In the local engine and in the "
        "operator of Spark.",
        clock,
        40,
    ),
)
