"""A state machine over the whole life of a join in Spark, without a JVM: what happens to tasks must not matter.

    micro-batches, watermarks                     the model is the nested loop over what was processed so far
    another process, on the same files or none    as Spark's Python workers are not sticky
    attempts that die at any put of state,        as workers are killed, commits fail, and slow tasks run twice
    or end and are not committed
    resident files flipped, cut, removed          as disks do
    a restart with another structure              which is accepted

After every micro-batch the rows handed out so far are the model's, and after every step indexes and files are sound.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from panjoin.spark import processor as processors
from panjoin.spark.keeper import Keeper
from tests.engine.test_machine import CONDITIONS
from tests.oracle import nested
from tests.oracle.question import HOWS, Count, Question, Time, Window
from tests.spark.fake_spark import FakeSpark
from tests.spark.questions import NO, answer_of, plan_of

SCHEMA = pa.schema({"k": pa.int32(), "ts": pa.timestamp("us")})
MILLI = 1000
TS = ("ts", "ts")
WINDOWS = [
    Window(Count(1), Count(3)),
    Window(Count(6), Count(4)),
    Window(Time(4 * MILLI), Time(4 * MILLI), TS),
    Window(Time(0), Time(9 * MILLI), TS),
    Window(Count(5), Time(3 * MILLI), TS),
]
INDEXES = ["bi-sort", "rap-table", "wib-tree", "scan"]
PROCESSES = 3


class DurabilityMachine(RuleBasedStateMachine):
    """See the head of this file."""

    @initialize(
        condition=st.sampled_from(CONDITIONS),
        window=st.sampled_from(WINDOWS),
        how=st.sampled_from(HOWS),
        index=st.sampled_from(INDEXES),
        subwindow=st.sampled_from([1, 3, 8]),
        workers=st.sampled_from([1, 2]),
    )
    def begin(self, condition, window, how, index, subwindow, workers):
        empty = SCHEMA.empty_table()
        self.asked = Question(empty, empty, (), condition, window, how)
        plan = plan_of(self.asked, index=index, subwindow=subwindow, partitions=1, workers=workers)
        self.spark = FakeSpark(plan)
        self.processes = [self.spark.process] + [Keeper(processors.RESIDENTS_KEPT) for _ in range(PROCESSES - 1)]
        self.processed = {"left": [], "right": []}
        self.sizes: list[tuple[str, int]] = []
        self.in_force: list[int | None] = []
        self.watermark = 0  #: milliseconds
        self.clock = 20
        self.answer: Counter = Counter()

    # ---- the model ----

    def question(self) -> Question:
        tables = [pa.Table.from_pylist(self.processed[side], SCHEMA) for side in ("left", "right")]
        return self.asked._replace(left=tables[0], right=tables[1], batches=tuple(self.sizes))

    def expected(self) -> Counter:
        """All pairs, and the unmatched tuples that have left."""
        question = self.question()
        whole = nested.join(question, self.in_force)
        return Counter({pair: n for pair, n in whole.items() if self.has_left(question, pair)})

    def has_left(self, question, pair) -> bool:
        if None not in pair or question.how == "left_semi":
            return True
        side = "left" if pair[1] is None else "right"
        number = pair[0] if side == "left" else pair[1]
        rule_ = question.window.left if side == "left" else question.window.right
        if isinstance(rule_, Count):
            return number < len(self.processed[side]) - rule_.size
        time = self.processed[side][number]["ts"]
        return time is None or time + rule_.length < self.watermark * MILLI

    # ---- what a query does ----

    tuples = st.lists(
        st.tuples(st.one_of(st.none(), st.integers(-2, 4)), st.integers(-5, 2), st.integers(0, 9)), max_size=7
    )

    @rule(left=tuples, right=tuples, step=st.integers(0, 6), delay=st.sampled_from([None, 0, 2, 6]))
    def micro_batch(self, left, right, step, delay):
        """The watermark moves before the tuples come, as Spark has it; None: it stays."""
        if delay is not None and self.asked.window.ts is not None:
            self.watermark = max(self.watermark, self.clock - delay)
        self.clock += step
        tables = []
        for side, rows in (("left", left), ("right", right)):
            first = len(self.processed[side])
            times = [None if hole == 0 else (self.clock + shift) * MILLI for _, shift, hole in rows]
            self.processed[side] += [{"k": k, "ts": ts} for (k, _, _), ts in zip(rows, times, strict=True)]
            table = pa.Table.from_pylist(self.processed[side][first:], SCHEMA)
            tables.append(table.append_column(NO, pa.array(range(first, first + len(rows)), pa.int64())))
            self.sizes.append((side, len(rows)))
            self.in_force.append(self.watermark * MILLI or None)
        self.answer += answer_of(self.spark.micro_batch([tables[0]], [tables[1]], self.watermark))
        assert self.answer == self.expected(), self.asked

    # ---- what happens to it ----

    @rule(number=st.integers(0, PROCESSES - 1))
    def another_process(self, number):
        """Which may hold windows of long ago."""
        self.spark.process = self.processes[number]

    @rule()
    def another_executor(self):
        self.spark.other_process(files=False)
        self.processes[0] = self.spark.process

    @rule(number=st.integers(0, PROCESSES - 1), fail_at=st.one_of(st.none(), st.integers(0, 6)))
    def a_doomed_attempt(self, number, fail_at):
        """It dies at a put of state, or another attempt of the same task is committed instead."""
        self.spark.doomed.append((self.processes[number], fail_at))

    @rule(which=st.integers(0, 1 << 20), at=st.integers(0, 1 << 20), harm=st.sampled_from(["flip", "cut", "remove"]))
    def damage(self, which, at, harm):
        """To one resident file, seen by a process that has not opened it before."""
        files = [path for path in sorted(self.spark.directory.rglob("*")) if path.is_file() and path.name != "lock"]
        if not files:
            return
        path = files[which % len(files)]
        blob = bytearray(path.read_bytes())
        if harm == "remove":
            path.unlink()
        elif harm == "cut":
            os.truncate(path, at % len(blob))
        else:
            blob[at % len(blob)] ^= 1 << at % 8
            path.write_bytes(blob)
            os.utime(path, ns=(0, 0))  # a clock tick later than it was written

    @rule(index=st.sampled_from(INDEXES))
    def restarted_with_another_structure(self, index):
        self.spark.plan = replace(self.spark.plan, options=replace(self.spark.plan.options, index=index))

    # ---- what always holds ----

    @invariant()
    def indexes_are_sound(self):
        for process in getattr(self, "processes", ()):
            for _, resident in process._held.values():
                if resident.shelf.intact:
                    for subwindow, _ in resident.subwindows():
                        subwindow.index.check()

    @invariant()
    def only_what_can_still_be_asked_for_is_kept(self):
        spark = getattr(self, "spark", None)
        for directory in [] if spark is None else spark.directory.glob("*/*/*"):
            # those of the committed version, of the last attempts from it, and of one version before
            assert len(list(directory.glob("manifest-*"))) <= 2 + spark.attempts


TestDurability = DurabilityMachine.TestCase
