"""What a user of StreamJoin meets: wrong input, strange sizes, silence, late and far tuples, and how it can be asked."""

import datetime as dt
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import panjoin as pj
from tests.engine.runtimes import answer_of, numbers_of
from tests.oracle import nested
from tests.oracle.question import Question, micro_batches
from tests.registry import PREDICATES, question

KEYS = pa.schema({"k": pa.int32()})
TIMED = pa.schema({"k": pa.int32(), "ts": pa.timestamp("us")})


def timed(*rows: tuple[int, int | None]) -> pa.RecordBatch:
    keys, times = zip(*rows, strict=True)
    return pa.record_batch([pa.array(keys, pa.int32()), pa.array(times, pa.timestamp("us"))], schema=TIMED)


def pairs_of(result: pj.Result) -> list[tuple[int, int]]:
    return sorted(zip(*(side.tolist() for side in result.pairs()), strict=True))


def equi(window=None, **options) -> pj.StreamJoin:
    return pj.StreamJoin(on="left.k = right.k", window=window or pj.CountWindow(100), **options)


# ---- doors ----


def test_every_kind_of_table_is_taken():
    join = equi()
    join.push("left", {"k": np.array([1, 2], np.int64)})
    join.push("left", pd.DataFrame({"k": [3]}))
    join.push("left", pa.table({"k": [4]}))
    assert pairs_of(join.push("right", pa.record_batch({"k": [4, 3, 2]}))) == [(1, 2), (2, 1), (3, 0)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: pj.StreamJoin(on="left.k = right.k", window=10), pj.ParameterError, "window"),
        (lambda: equi(pj.CountWindow(0)), pj.ParameterError, "a window of 0 tuples joins nothing; use at least 1"),
        (lambda: equi(pj.CountWindow(-3)), pj.ParameterError, "must be between 1 and"),
        (lambda: equi(pj.TimeWindow("-1 second", on="ts")), pj.ParameterError, "must not be negative"),
        (lambda: equi(index="b-tree"), pj.ParameterError, "no index structure is called 'b-tree'"),
        (lambda: equi(subwindow=0), pj.ParameterError, "subwindow must be at least 1, not 0"),
        (lambda: equi(workers=0), pj.ParameterError, "workers must be at least 1, not 0"),
        (lambda: equi(window_size=5), pj.ParameterError, "no option is called 'window_size'"),
        (lambda: equi(emit="ranges", index="scan"), pj.ParameterError, "needs an index whose tuples stay sorted"),
        (lambda: equi(schemas=(KEYS, pa.schema({"j": pa.int32()}))), pj.PanJoinError, "no column"),
        (lambda: equi().advance(5), pj.ParameterError, r"advance\(\) moves event time, which a CountWindow does not"),
    ],
)
def test_what_cannot_be_is_refused_with_its_value(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_refused_push_leaves_the_join_as_it_was_and_usable():
    join = equi()
    join.push("left", {"k": [1, 2]})
    for wrong in ({"k": ["a"]}, {"j": [1]}, {"k": [1], "more": [1]}, 7, {"k": [[1]]}):
        with pytest.raises(pj.DataError):
            join.push("left", wrong)
    assert pairs_of(join.push("right", {"k": [2]})) == [(1, 0)]
    assert join.stats()["arrived"] == {"left": 2, "right": 1}


def test_a_first_push_whose_column_is_missing_does_not_decide_the_schema():
    join = equi()
    with pytest.raises(pj.DataError, match="the left side has no column 'k'"):
        join.push("left", {"j": [1]})
    join.push("left", {"k": [1]})
    assert join.push("right", {"k": [1]}).count == 1


def test_types_that_do_not_compare_are_refused_when_the_second_side_comes_and_another_type_is_taken():
    join = equi()
    join.push("left", {"k": [1]})
    with pytest.raises(pj.ConditionError):
        join.push("right", {"k": ["1"]})
    assert join.push("right", {"k": [1]}).count == 1


def test_an_event_time_beyond_reason_is_refused_and_what_is_collected_stays():
    join = equi(pj.TimeWindow("1 s", on="ts"), batch_size=10, schemas=(TIMED, TIMED))
    join.push("left", timed((1, 5)))
    with pytest.raises(pj.DataError, match="is more than 73,000 years from 1970"):
        join.push("left", timed((1, 2**62)))
    join.push("right", timed((1, 5)))
    assert join.finish().count == 1


# ---- sizes ----


@pytest.mark.parametrize("window", [1, 2, 7])
@pytest.mark.parametrize("batch", [1, 5, 40])
def test_windows_smaller_than_a_batch_hold_its_last_tuples(window, batch):
    keys = pa.table({"k": pa.array(np.arange(80) % 3, pa.int32())})
    sizes = [batch] * (80 // batch)
    asked = question("equal", "last_1")._replace(
        left=keys, right=keys, batches=micro_batches(sizes, sizes), window=nested_window(window)
    )
    assert answer_of(asked, subwindow=None) == nested.join(asked)


def nested_window(size: int):
    from tests.oracle.question import Count, Window  # noqa: PLC0415  (beside its only use)

    return Window(Count(size), Count(size + 1))


def test_empty_batches_and_batches_of_nulls_alone_match_nothing_and_are_numbered():
    join = equi()
    join.push("left", KEYS.empty_table())
    join.push("left", {"k": pa.array([None, None], pa.int32())})
    join.push("right", {"k": pa.array([None, 3], pa.int32())})
    assert join.push("left", {"k": pa.array([3], pa.int32())}).pairs()[0].tolist() == [2]


def test_a_million_by_a_million_equal_keys_are_counted_at_once_and_stream_out_in_bounded_memory():
    many = {"k": np.zeros(1_000_000, np.int32)}
    join = equi(pj.CountWindow(1_000_000))
    join.push("left", many)
    result = join.push("right", many)
    assert result.count == 10**12
    tracemalloc.start()
    rows = 0
    for batch in result.batches():
        rows += batch.num_rows
        if rows > 20_000_000:
            break
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


def test_counts_past_31_bits_are_right_per_tuple_and_in_total():
    join = equi(pj.CountWindow(300_000), emit="counts", subwindow=100_000)
    join.push("left", {"k": np.zeros(300_000, np.int32)})
    counts = join.push("right", {"k": np.zeros(10_000, np.int32)}).to_arrow()["count"].to_numpy()
    assert counts.sum() == 3 * 10**9
    assert set(counts.tolist()) == {300_000}


def test_a_self_join_sees_a_pair_once_on_the_later_arrival():
    join = equi(pj.CountWindow(10))
    seen = []
    for batch in ([1, 1], [2, 1]):
        for side in ("left", "right"):
            seen += pairs_of(join.push(side, {"k": batch}))
    assert sorted(seen) == [(i, j) for i in range(4) for j in range(4) if [1, 1, 2, 1][i] == [1, 1, 2, 1][j]]


# ---- time ----


def test_an_event_on_the_boundary_of_the_window_joins_and_one_microsecond_beyond_does_not():
    join = equi(pj.TimeWindow(left="10 us", right="3 us", on="ts", lateness="1 hour"))
    join.push("left", timed((1, 100)))
    assert pairs_of(join.push("right", timed((1, 110), (1, 111), (1, 97), (1, 96)))) == [(0, 0), (0, 2)]


def test_late_tuples_are_handed_back_and_counted():
    join = equi(pj.TimeWindow("10 us", on="ts", lateness="5 us"), schemas=(TIMED, TIMED))
    join.push("left", timed((1, 100)))
    join.push("right", timed((1, 100)))
    result = join.push("left", timed((1, 95), (1, 94), (1, 96)))
    assert result.late.to_pylist() == [{"k": 1, "ts": dt.datetime(1970, 1, 1, 0, 0, 0, 94)}]
    assert pairs_of(result) == [(1, 0), (3, 0)]
    assert join.stats()["late"] == {"left": 1, "right": 0}


def test_one_event_from_2038_is_set_aside_and_expires_nothing():
    join = equi(pj.TimeWindow("10 us", on="ts"), max_advance="1 hour", schemas=(TIMED, TIMED))
    join.push("left", timed((1, 100)))
    join.push("right", timed((2, 100)))
    far = join.push("right", timed((1, 2**51), (1, 101)))
    assert far.late.num_rows == 1
    assert pairs_of(far) == [(0, 2)]
    assert join.stats()["quarantined"] == {"left": 0, "right": 1}
    assert join.push("left", timed((1, 102))).count == 1


def test_a_silent_side_holds_state_only_until_the_idle_timeout():
    now = [0.0]
    window = pj.TimeWindow("10 us", on="ts")
    join = equi(window, idle_timeout="1 minute", clock=lambda: now[0], schemas=(TIMED, TIMED))
    join.push("right", timed((1, 0)))
    for second in range(59):
        now[0] = second
        join.push("left", timed((1, second * 1000)))
    assert join.stats()["watermark"] == 0
    held = len(join.stats()["subwindows"]["left"])
    now[0] = 61
    join.push("left", timed((1, 10**6)))
    assert join.stats()["watermark"] == 10**6
    assert held > len(join.stats()["subwindows"]["left"]) == 1


def test_late_buffers_take_out_of_order_tuples_beside_the_subwindow_of_their_time():
    join = equi(pj.TimeWindow("1 ms", on="ts", lateness="1 ms"), subwindow=4, workers=2, schemas=(TIMED, TIMED))
    for start in (0, 100, 200):
        join.push("left", timed(*((1, start + i) for i in range(4))))
    join.push("left", timed((1, 300), (1, 301)))
    join.push("left", timed((1, 101), (1, 2), (1, 302)))
    assert [info["late"] for info in join.stats()["subwindows"]["left"]] == [1, 1, 0, 0]
    assert join.push("right", timed((1, 302))).count == 17


def test_an_unmatched_tuple_comes_out_when_the_watermark_has_passed_its_window_and_not_before():
    join = equi(pj.TimeWindow("10 us", on="ts"), how="left", schemas=(TIMED, TIMED))
    join.push("left", timed((1, 100)))
    assert join.advance(110).count == 0
    result = join.advance(111)
    assert result.to_arrow().to_pylist() == [
        {"k_left": 1, "ts_left": dt.datetime(1970, 1, 1, 0, 0, 0, 100), "k_right": None, "ts_right": None}
    ]
    assert join.finish().count == 0


@pytest.mark.parametrize("moment", [dt.datetime(1970, 1, 1, 0, 0, 1), np.datetime64("1970-01-01T00:00:01"), 10**6])
def test_event_time_is_a_datetime_or_microseconds(moment):
    join = equi(pj.TimeWindow("1 s", on="ts"), schemas=(TIMED, TIMED))
    join.advance(moment)
    assert join.stats()["watermark"] == 10**6


def test_a_stream_that_has_only_one_side_is_all_unmatched_at_the_end():
    join = equi(how="left")
    join.push("left", {"k": [1, 2], "v": ["a", "b"]})
    result = join.finish()
    assert result.to_arrow().to_pylist() == [{"k": 1, "v": "a"}, {"k": 2, "v": "b"}]
    assert [side.tolist() for side in result.pairs()] == [[0, 1], [-1, -1]]


# ---- asking in other ways ----


def test_results_stay_readable_after_later_pushes():
    join = equi(pj.CountWindow(1000), subwindow=8)
    kept = []
    for round_ in range(30):
        join.push("left", {"k": [round_ % 3] * 3})
        kept.append(join.push("right", {"k": [round_ % 3]}))
    assert [result.count for result in kept] == [3 * (round_ // 3 + 1) for round_ in range(30)]
    assert [len(result.pairs()[0]) for result in kept] == [result.count for result in kept]


def test_a_stream_of_batches_gives_the_same_results_as_pushing_them():
    asked = question("band", "seconds_one_sided_late", size=200)
    from tests.engine.runtimes import join_of  # noqa: PLC0415  (beside its only use)

    with join_of(asked, index="bi-sort") as join:
        answer = sum((numbers_of(result) for result in join.stream(asked.parts())), numbers_of(join.flush()))
        answer += numbers_of(join.finish())
    assert answer == nested.join(asked)


def test_a_stream_that_breaks_off_has_joined_what_came_before():
    def batches():
        yield "left", {"k": [1]}
        yield "right", {"k": [1]}
        yield "right", {"k": ["no"]}

    join, counts = equi(), []
    with pytest.raises(pj.DataError):
        counts += [result.count for result in join.stream(batches())]
    assert join.push("right", {"k": [1]}).count == 1


def test_explain_says_what_is_indexed_how_and_what_is_left_over():
    join = pj.StreamJoin(
        on="left.s = right.s AND left.x BETWEEN right.x - 5 AND right.x + 5 AND left.y != right.y",
        window=pj.TimeWindow("10 minutes", on="ts"),
        schemas=(pa.schema({"s": pa.string(), "x": pa.int32(), "y": pa.int32(), "ts": pa.timestamp("us")}),) * 2,
    )
    text = join.explain()
    for part in ("left.s = right.s", "residual   left.y != right.y", "10 minutes", "int64 key", "band"):
        assert part in text, text


def test_a_condition_with_nothing_to_index_scans_and_says_so():
    join = pj.StreamJoin(on="left.k = 1 OR right.k = 2", window=pj.CountWindow(9), schemas=(KEYS, KEYS))
    join.push("left", {"k": pa.array([1, 5], pa.int32())})
    assert pairs_of(join.push("right", {"k": pa.array([2, 3], pa.int32())})) == [(0, 0), (0, 1), (1, 0)]
    assert "nothing here can be indexed" in join.explain()


# ---- metamorphic ----


@pytest.mark.parametrize("name", ["equal", "band", "equal_and_band", "bands_apart", "residual"])
def test_batches_workers_sides_and_order_change_nothing(name):
    asked = question(name, "seconds", size=120)
    expected = nested.join(asked)
    left, right = asked.left.num_rows, asked.right.num_rows
    for sizes in ([(left, right)], [(1, 1)] * min(left, right) + [(left - min(left, right), right - min(left, right))]):
        cut = asked._replace(batches=micro_batches(*zip(*sizes, strict=True)))
        assert answer_of(cut, index="auto") == expected
    for workers in (1, 8):
        assert answer_of(asked, index="bi-sort", workers=workers) == expected
    rng = np.random.default_rng(0)
    orders = rng.permutation(left), rng.permutation(right)
    shuffled = asked._replace(left=asked.left.take(orders[0]), right=asked.right.take(orders[1]))
    back = {(int(orders[0][i]), int(orders[1][j])) for i, j in answer_of(shuffled, index="rap-table")}
    assert back == set(expected)


def test_swapping_the_sides_swaps_the_pairs():
    asked = question("band_lopsided", "seconds", size=80)
    swapped = Question(
        asked.right,
        asked.left,
        tuple(("right" if side == "left" else "left", size) for side, size in asked.batches),
        "right.x - left.x BETWEEN -5 AND 10",
        asked.window,
    )
    assert {(j, i) for i, j in answer_of(swapped)} == set(answer_of(asked))
    assert "band_lopsided" in PREDICATES


NUMBER_TYPES = [
    pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(),
    pa.decimal128(9, 2), pa.decimal128(18, 0), pa.decimal128(18, 3),
]  # fmt: skip
CONDITIONS = {
    "left.x = right.y": lambda x, y: x == y,
    "left.x != right.y": lambda x, y: x != y,
    "left.x <= right.y": lambda x, y: x <= y,
    "left.x BETWEEN right.y - 1 AND right.y + 1": lambda x, y: abs(x - y) <= 1,
}


@pytest.mark.parametrize("on", CONDITIONS)
@pytest.mark.parametrize("second", NUMBER_TYPES, ids=str)
@pytest.mark.parametrize("first", NUMBER_TYPES, ids=str)
def test_numbers_of_any_two_types_meet_whichever_comes_first(first, second, on):
    numbers = [3, 0, 2, 1]
    batches = {
        "left": pa.table({"x": pa.array([str(each) for each in numbers]).cast(first)}),
        "right": pa.table({"y": pa.array([str(each) for each in numbers]).cast(second)}),
    }
    expected = [(i, j) for i, x in enumerate(numbers) for j, y in enumerate(numbers) if CONDITIONS[on](x, y)]
    for sides in (("left", "right"), ("right", "left")):
        with pj.StreamJoin(on=on, window=pj.CountWindow(10), workers=1) as join:
            found = [join.push(side, batches[side]).pairs() for side in sides]
        pairs = [pair for left, right in found for pair in zip(left.tolist(), right.tolist(), strict=True)]
        assert sorted(pairs) == expected, sides
