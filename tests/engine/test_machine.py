"""A state machine over the whole life of a join: push, advance, flush, finish, and calls that must be refused.

The model is the nested loop over the batches processed so far. After every step: all pairs are there once, unmatched
tuples have been handed out exactly when they have left their window, late ones are counted, and every index and chain
is sound.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from panjoin.engine.stream_join import StreamJoin
from panjoin.errors import DataError, ParameterError, StateError
from tests.engine.runtimes import numbers_of, window_of
from tests.oracle import nested
from tests.oracle.question import HOWS, Count, Question, Time, Window

SCHEMA = pa.schema({"k": pa.int32(), "ts": pa.timestamp("us")})
CONDITIONS = [
    "left.k = right.k",
    "left.k BETWEEN right.k - 1 AND right.k + 2",
    "left.k != right.k",
    "left.k < right.k",
    "left.k = right.k - 1 OR left.k BETWEEN right.k + 1 AND right.k + 2",
]
TS = ("ts", "ts")
WINDOWS = [
    Window(Count(1), Count(3)),
    Window(Count(6), Count(4)),
    Window(Time(4), Time(4), TS, lateness=0),
    Window(Time(0), Time(9), TS, lateness=3),
    Window(Count(5), Time(3), TS, lateness=2),
    Window(Time(3), Count(5), TS, lateness=2),
]
AGGREGATES = ["count", "count(k) as n", "sum(k)", "min(k)", "max(k)"]
INDEXES = ["bi-sort", "rap-table", "wib-tree", "scan", "auto"]


class JoinMachine(RuleBasedStateMachine):
    """See the head of this file."""

    @initialize(
        condition=st.sampled_from(CONDITIONS),
        window=st.sampled_from(WINDOWS),
        how=st.sampled_from(HOWS),
        index=st.sampled_from(INDEXES),
        subwindow=st.sampled_from([1, 2, 4, None]),
        workers=st.sampled_from([1, 2, 3]),
        batch_size=st.sampled_from([None, None, 3]),
        emit=st.sampled_from(["rows", "rows", "rows", "counts", "ranges", "aggregates"]),
    )
    def begin(self, condition, window, how, index, subwindow, workers, batch_size, emit):
        if emit != "rows":
            how = "inner"
        if emit == "ranges":  # records are resolved as they come, so nothing may be collected
            index, batch_size = "bi-sort", None
        self.emit, self.told = emit, {}
        self.asked = Question(SCHEMA.empty_table(), SCHEMA.empty_table(), (), condition, window, how)
        self.batch_size = batch_size
        self.join = StreamJoin(
            on=condition,
            window=window_of(window),
            how=how,
            index=index,
            subwindow=subwindow,
            workers=workers,
            batch_size=batch_size,
            emit=AGGREGATES if emit == "aggregates" else emit,
            schemas=(SCHEMA, SCHEMA),
        )
        self.collected = {"left": [], "right": []}
        self.processed: list[tuple[str, list]] = []
        self.in_force: list[int | None] = []
        self.advanced: int | None = None
        self.answer: Counter = Counter()
        self.late = 0
        self.clock = 20
        self.finished = False

    # ---- the model ----

    def watermark(self) -> int | None:
        question = self.question()
        probe = question._replace(batches=(*question.batches, ("left", 0)))
        of_data = nested.watermarks_of(probe)
        known = [value for value in (*of_data, self.advanced) if value is not None]
        return max(known, default=None)

    def question(self) -> Question:
        sides = {side: [row for s, rows in self.processed if s == side for row in rows] for side in ("left", "right")}
        tables = [pa.Table.from_pylist(sides[side], SCHEMA) for side in ("left", "right")]
        batches = tuple((side, len(rows)) for side, rows in self.processed)
        return self.asked._replace(left=tables[0], right=tables[1], batches=batches)

    def process(self, side: str) -> None:
        rows, self.collected[side] = self.collected[side], []
        if rows:
            self.in_force.append(self.watermark())
            self.processed.append((side, rows))

    def expected(self) -> Counter:
        """All pairs, and the unmatched tuples that have left."""
        question, watermark = self.question(), self.watermark()
        whole = nested.join(question, self.in_force)
        counts = {"left": question.left.num_rows, "right": question.right.num_rows}
        return Counter({pair: n for pair, n in whole.items() if self.is_due(question, pair, counts, watermark)})

    def is_due(self, question, pair, counts, watermark) -> bool:
        if None not in pair or question.how == "left_semi" or self.finished:
            return True
        side = "left" if pair[1] is None else "right"
        number = pair[0] if side == "left" else pair[1]
        rule = question.window.left if side == "left" else question.window.right
        if isinstance(rule, Count):
            return number < counts[side] - rule.size
        table = question.left if side == "left" else question.right
        time = table.column("ts").cast(pa.int64())[number].as_py()
        return time is None or (watermark is not None and time + rule.length < watermark)

    # ---- verbs ----

    @precondition(lambda self: not self.finished)
    @rule(
        side=st.sampled_from(["left", "right"]),
        rows=st.lists(
            st.tuples(st.one_of(st.none(), st.integers(-2, 4)), st.integers(-5, 2), st.integers(0, 9)), max_size=6
        ),
        step=st.integers(0, 6),
    )
    def push(self, side, rows, step):
        self.clock += step
        times = [None if hole == 0 else self.clock + shift for _, shift, hole in rows]
        batch = [{"k": k, "ts": ts} for (k, _, _), ts in zip(rows, times, strict=True)]
        columns = [pa.array([row["k"] for row in batch], pa.int32()), pa.array(times, pa.timestamp("us"))]
        result = self.join.push(side, pa.record_batch(columns, schema=SCHEMA))
        self.collected[side] += pa.RecordBatch.from_arrays(columns, schema=SCHEMA).to_pylist()
        if self.batch_size is None or len(self.collected[side]) >= self.batch_size:
            self.process(side)
        self.take(result)

    @precondition(lambda self: not self.finished)
    @rule()
    def flush(self):
        result = self.join.flush()
        self.drain()
        self.take(result)

    @precondition(lambda self: not self.finished and self.asked.window.ts is not None)
    @rule(step=st.integers(-5, 12))
    def advance(self, step):
        result = self.join.advance(self.clock + step)
        self.drain()
        self.advanced = max(self.clock + step, self.advanced or self.clock + step)
        self.take(result)

    @precondition(lambda self: not self.finished)
    @rule(often=st.integers(0, 9))
    def finish(self, often):
        if often == 0:
            result = self.join.finish()
            self.drain()
            self.finished = True
            self.take(result)

    @precondition(lambda self: not self.finished)
    @rule()
    def a_refused_push_changes_nothing(self):
        with pytest.raises(ParameterError, match="side must be 'left' or 'right', not 'middle'"):
            self.join.push("middle", {"k": [1]})
        with pytest.raises(DataError, match="lacks column 'ts'"):
            self.join.push("left", {"k": [1]})
        with pytest.raises(DataError, match="cannot be read as int32, its type in the first batch"):
            self.join.push("right", {"k": ["a"], "ts": pa.array([1], pa.timestamp("us"))})

    @precondition(lambda self: self.finished)
    @rule()
    def a_finished_join_takes_nothing(self):
        with pytest.raises(StateError, match="cannot push: this join is finished; make a new StreamJoin"):
            self.join.push("left", {"k": [1]})
        with pytest.raises(StateError, match="cannot finish"):
            self.join.finish()

    def drain(self):
        for side in ("left", "right"):
            self.process(side)

    def take(self, result):
        self.late += result.late.num_rows
        if self.emit == "ranges":
            left, right = self.join.resolve(result.ranges())
            self.answer += Counter(zip(left.tolist(), right.tolist(), strict=True))
            return
        if self.emit != "rows":
            for row in result.to_arrow().to_pylist():
                key = (row.pop("side"), row.pop("id"))
                assert key not in self.told, "a tuple is answered once"
                self.told[key] = tuple(row.values())
            return
        assert result.count == sum(numbers_of(result).values()) == result.to_arrow().num_rows
        self.answer += numbers_of(result)

    # ---- after every step ----

    @invariant()
    def everything_due_has_been_handed_out_once(self):
        if not hasattr(self, "join"):
            return
        if self.emit in ("rows", "ranges"):
            assert self.answer == self.expected(), self.question()
        elif self.emit == "counts":
            counts = nested.counts(self.question(), self.in_force)
            assert self.told == {key: (count,) for key, count in counts.items()}, self.question()
        else:
            folded = nested.aggregates(self.question(), {"left": "k", "right": "k"}, self.in_force)
            assert self.told == {
                key: (one.matches, one.count, one.sum, one.min, one.max) for key, one in folded.items()
            }, self.question()

    @invariant()
    def late_tuples_are_counted(self):
        if hasattr(self, "join"):
            assert self.late == len(nested.look(self.question(), self.in_force).late)

    @invariant()
    def every_index_is_sound(self):
        if hasattr(self, "join") and self.join._join is not None:
            for worker in self.join._join.crew.workers:
                for chain in worker.chains.values():
                    for subwindow in chain:
                        subwindow.index.check()
                        assert subwindow.index.size <= subwindow.size <= subwindow.capacity

    def teardown(self):
        if hasattr(self, "join"):
            self.join.close()


TestJoinMachine = JoinMachine.TestCase
