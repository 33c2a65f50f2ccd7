"""Counts, aggregates and range records against the nested loop; the last resolved through the manager's mirror."""

import math
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.engine.stream_join import StreamJoin
from panjoin.errors import DataError, ParameterError, StateError
from panjoin.window import CountWindow, TimeWindow
from tests.engine.runtimes import join_of
from tests.oracle import nested
from tests.oracle.question import Count, Question, Window
from tests.strategies import questions

STRUCTURES = st.sampled_from(["bi-sort", "scan"])


def tables_of(question: Question, **options):
    with join_of(question, **options) as join:
        return pa.concat_tables(
            [*(join.push(side, table).to_arrow() for side, table in question.parts()), join.finish().to_arrow()]
        )


@given(questions(hows=["inner"]), STRUCTURES, st.sampled_from([1, 3, 8]))
def test_counts_are_those_of_the_nested_loop(question, index, subwindow):
    table = tables_of(question, emit="counts", index=index, subwindow=subwindow, partitions=1)
    found = {(row["side"], row["id"]): row["count"] for row in table.to_pylist()}
    assert table.num_rows == len(found)
    assert found == nested.counts(question)


@given(questions(hows=["inner"]), STRUCTURES, st.sampled_from([1, 3, 8]))
def test_the_total_is_the_sum_of_the_counts_of_the_nested_loop(question, index, subwindow):
    table = tables_of(question, emit="total", index=index, subwindow=subwindow, partitions=1)
    found: Counter[str] = Counter()
    expected: Counter[str] = Counter()
    for row in table.to_pylist():
        found[row["side"]] += row["count"]
    for (side, _), count in nested.counts(question).items():
        expected[side] += count
    assert +found == +expected


@given(questions(hows=["inner"]), st.sampled_from([1, 3, 8]))
def test_range_records_resolve_to_the_pairs_of_the_nested_loop(question, subwindow):
    answer: Counter = Counter()
    with join_of(question, emit="ranges", subwindow=subwindow, partitions=1) as join:
        for side, table in question.parts():
            # an expired or merged subwindow is a thing of the past: records are resolved as they come, so ask for
            # them before the batch's own insert cannot matter (it goes into the other stream's window)
            left, right = join.resolve(join.push(side, table).ranges())
            answer += Counter(zip(left.tolist(), right.tolist(), strict=True))
    assert answer == nested.join(question)


def same(one, other) -> bool:
    if one is None or other is None:
        return one is other
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or one == other or math.isclose(one, other, rel_tol=1e-12)
    return one == other


WANTED = [
    "count",
    "count(right.x) as n",
    "sum(right.x) as s",
    "min(right.x) as a",
    "max(right.x) as b",
    "avg(right.x) as m",
]
KINDS = {
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "decimal": pa.decimal128(9, 2),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "condition", ["left.k = right.k", "left.k BETWEEN right.k - 2 AND right.k + 1", "left.k != right.k"]
)
@pytest.mark.parametrize("index", ["bi-sort", "scan"])
def test_aggregates_are_those_of_the_nested_loop(kind, condition, index):
    rng = np.random.default_rng(5)
    values = [None if rng.random() < 0.2 else Decimal(int(rng.integers(-500, 500))) / 4 for _ in range(90)]
    if kind == "float64":
        values = [math.nan if rng.random() < 0.02 else value and float(value) for value in values]
    elif kind.startswith("int"):
        values = [value if value is None else int(value * 4) << (20 if kind == "int32" else 50) for value in values]
    left = pa.table({"k": pa.array(rng.integers(0, 9, 90), pa.int32())})
    right = pa.table({"k": pa.array(rng.integers(0, 9, 90), pa.int32()), "x": pa.array(values, KINDS[kind])})
    batches = tuple((side, 10) for _ in range(9) for side in ("right", "left"))
    question = Question(left, right, batches, condition)
    table = tables_of(question, emit=WANTED, index=index, subwindow=16)
    expected = nested.aggregates(question, {"right": "x"})
    rows = [row for row in table.to_pylist() if row["side"] == "left"]
    assert len(rows) == 90
    for row in rows:
        one = expected["left", row["id"]]
        found = (row["count"], row["n"], row["s"], row["a"], row["b"])
        assert all(map(same, found, (one.matches, one.count, one.sum, one.min, one.max))), (row, one)
        average = None if one.avg is None else float(one.avg)
        assert same(None if row["m"] is None else float(row["m"]), average) or (
            kind == "decimal" and abs(float(row["m"]) - average) <= 5e-7
        )


def test_tuples_that_come_before_the_other_sides_columns_are_known_are_counted_at_once_and_only_once():
    join = StreamJoin(on="left.k = right.k", window=CountWindow(9), emit="counts")
    assert join.push("left", {"k": [1, 1]}).to_arrow()["count"].to_pylist() == [0, 0]
    assert join.push("left", {"k": [1]}).to_arrow()["id"].to_pylist() == [2]
    assert join.push("right", {"k": [1]}).to_arrow().to_pylist() == [{"side": "right", "id": 0, "count": 3}]


def test_a_tuple_of_the_aggregated_side_gets_nulls_and_its_count():
    schemas = (pa.schema({"k": pa.int64()}), pa.schema({"k": pa.int64(), "x": pa.int64()}))
    join = StreamJoin(on="left.k = right.k", window=CountWindow(9), emit=["count", "sum(x)"], schemas=schemas)
    first = join.push("left", {"k": [1, 1]}).to_arrow().to_pylist()
    assert [row["count"] for row in first] == [0, 0]
    assert join.push("right", {"k": [1], "x": [5]}).to_arrow().to_pylist() == [
        {"side": "right", "id": 0, "count": 2, "sum(x)": None}
    ]
    assert join.push("left", {"k": [1]}).to_arrow().to_pylist() == [{"side": "left", "id": 2, "count": 1, "sum(x)": 5}]


def test_a_sum_of_whole_numbers_that_leaves_64_bits_is_an_error_and_no_wrong_number():
    join = StreamJoin(on="left.k = right.k", window=CountWindow(9), emit=["sum(x)"], subwindow=3)
    join.push("left", {"k": [1]})
    join.push("right", {"k": [1, 1, 2, 2], "x": [2**62, 2**62, 2**62, -(2**62)]})
    assert join.push("left", {"k": [2]}).to_arrow()["sum(x)"].to_pylist() == [0]
    with pytest.raises(DataError, match=r"'sum\(x\)' leaves 64 bits .* cast the column to a decimal or a double"):
        join.push("left", {"k": [1]}).to_arrow()


def test_an_aggregate_over_text_is_refused_with_the_remedy():
    with pytest.raises(DataError, match=r"column 'x' is string.*use emit='rows'"):
        StreamJoin(
            on="left.k = right.k",
            window=CountWindow(9),
            emit=["max(x)"],
            schemas=(pa.schema({"k": pa.int64()}), pa.schema({"k": pa.int64(), "x": pa.string()})),
        )


def test_a_column_of_two_types_asks_for_each_side_by_itself():
    with pytest.raises(ParameterError, match=r"'max\(x\)' would be .* such as 'max\(left.x\) as from_left'"):
        StreamJoin(
            on="left.k = right.k",
            window=CountWindow(9),
            emit=["max(x)"],
            schemas=(pa.schema({"k": pa.int64(), "x": pa.int32()}), pa.schema({"k": pa.int64(), "x": pa.float64()})),
        )


def test_a_record_of_a_version_that_is_gone_is_a_clear_error():
    join = StreamJoin(on="left.k = right.k", window=CountWindow(5000), emit="ranges")
    join.push("left", {"k": list(range(3000))})
    records = join.push("right", {"k": [7]}).ranges()
    assert [one.tolist() for one in join.resolve(records)] == [[7], [0]]
    join.push("left", {"k": list(range(900))})
    assert [one.tolist() for one in join.resolve(records)] == [[7], [0]], "what waits in the buffer shifts nothing"
    join.push("left", {"k": list(range(190))})
    with pytest.raises(StateError, match="positions have shifted; resolve records before the next push"):
        join.resolve(records)


def test_a_record_of_an_expired_subwindow_is_a_clear_error():
    join = StreamJoin(on="left.k = right.k", window=CountWindow(8), emit="ranges", subwindow=4)
    join.push("left", {"k": [1, 2, 3, 4]})
    records = join.push("right", {"k": [2]}).ranges()
    join.push("left", {"k": list(range(20))})
    with pytest.raises(StateError, match="subwindow 0 of the left stream is not held any more"):
        join.resolve(records)


def test_records_are_refused_by_a_join_that_makes_none():
    join = StreamJoin(on="left.k = right.k", window=CountWindow(8))
    with pytest.raises(StateError, match='range records are made with emit="ranges"'):
        join.push("left", {"k": [1]}).ranges()
    with pytest.raises(StateError, match='only a join with emit="ranges" has records'):
        join.resolve(pa.table({}))


def test_a_record_spans_any_number_of_matches():
    join = StreamJoin(on="left.k = right.k", window=CountWindow(100_000), emit="ranges", subwindow=20_000)
    join.push("left", {"k": np.ones(60_000, np.int32)})
    records = join.push("right", {"k": np.ones(1, np.int32)}).ranges()
    assert records.num_rows == 3
    assert len(join.resolve(records)[0]) == 60_000


def test_the_memory_of_the_mirror_is_reported():
    join = StreamJoin(on="left.k = right.k", window=CountWindow(100), emit="ranges")
    join.push("left", {"k": [1]})
    join.push("right", {"k": [1]})
    assert join.stats()["mirror_bytes"] > 0


def test_a_time_filter_turns_ranges_into_single_tuples_that_are_right():
    join = StreamJoin(on="left.k = right.k", window=TimeWindow("5 us", on="ts"), emit="ranges")
    times = pa.array([0, 1, 2, 3, 4, 5, 6], pa.timestamp("us"))
    join.push("left", {"k": [1] * 7, "ts": times})
    records = join.push("right", {"k": [1], "ts": pa.array([7], pa.timestamp("us"))}).ranges()
    assert sorted(records["tuple"].to_pylist()) == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("emit", ["rows", "counts"])
def test_the_living_in_an_expiring_subwindow_are_counted_without_their_pairs(emit):
    keys = np.random.default_rng(3).integers(0, 4, 4000)
    question = Question(
        pa.table({"k": pa.array(keys[:2000], pa.int32())}),
        pa.table({"k": pa.array(keys[2000:], pa.int32())}),
        tuple((side, 100) for _ in range(20) for side in ("left", "right")),
        "left.k BETWEEN right.k AND right.k + 1",
        Window(Count(700), Count(550)),
    )
    expected = nested.counts(question)
    with join_of(question, emit=emit, subwindow=256, index="bi-sort") as join:
        for side, table in question.parts():
            result = join.push(side, table)
            first = join.stats()["arrived"][side] - table.num_rows
            mine = [expected[side, number] for number in range(first, first + table.num_rows)]
            if emit == "counts":
                assert result.to_arrow()["count"].to_pylist() == mine
            else:
                assert result.count == sum(mine) == len(result.pairs()[0])
