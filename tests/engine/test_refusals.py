"""What is refused is refused with its own batch, and whatever was accepted is joined, also around a refusal."""

import datetime as dt
from itertools import chain

import pandas as pd
import pyarrow as pa
import pytest

import panjoin as pj

NS, US = pa.timestamp("ns"), pa.timestamp("us")


def at(values, kind=NS, **more):
    return {"k": [1] * len(values), "t": pa.array(values, kind), **more}


def pairs_of(result: pj.Result) -> list[tuple[int, int]]:
    return sorted(zip(*(side.tolist() for side in result.pairs()), strict=True))


CONDITIONS = [
    "left.t < right.t",  # the key itself
    "left.k = right.k AND left.t < right.t",  # part of it
    "left.k <= right.k AND left.t < right.t",  # evaluated on candidates
]


@pytest.mark.parametrize("on", CONDITIONS)
@pytest.mark.parametrize("emit", ["rows", "counts"])
@pytest.mark.parametrize("batch_size", [None, 1, 10])
def test_a_value_that_cannot_be_read_spoils_no_other_push(on, emit, batch_size):
    join = pj.StreamJoin(on=on, window=pj.CountWindow(100), emit=emit, batch_size=batch_size)
    results = []
    for side in ("left", "right", "left", "right"):
        with pytest.raises(pj.DataError, match=rf"column '{side}.t': 1 ns at row 1 is not a whole number of micro"):
            join.push(side, at([9000, 1]))
        results.append(join.push(side, at([2000 if side == "left" else 3000])))
    results.append(join.finish())
    assert join.stats()["arrived"] == {"left": 2, "right": 2}
    tables = [result.to_arrow() for result in results]
    assert sum(t.num_rows if emit == "rows" else sum(t["count"].to_pylist()) for t in tables) == 4


def test_tuples_that_wait_for_the_other_side_outlive_its_refused_first_batch():
    join = pj.StreamJoin(on="left.t < right.t", window=pj.CountWindow(100))
    join.push("left", at([1000, 2000]))
    with pytest.raises(pj.DataError, match="5001 ns"):
        join.push("right", at([5001]))
    assert pairs_of(join.push("right", at([7], US))) == [(0, 0), (1, 0)], "of another type than the refused one"


@pytest.mark.parametrize("how", ["inner", "full"])
def test_an_event_time_beyond_reason_is_refused_before_the_other_side_is_known(how):
    join = pj.StreamJoin(on=pj.equal("k"), window=pj.TimeWindow("1 s", on="t"), how=how)
    join.push("left", at([5], US))
    with pytest.raises(pj.DataError, match="is more than 73,000 years from 1970"):
        join.push("left", at([2**62], US))
    with pytest.raises(pj.DataError, match="does not fit 64-bit microseconds"):
        pj.StreamJoin(on=pj.equal("k"), window=pj.TimeWindow("1 s", on="t")).push(
            "left", at([2**62], pa.timestamp("s"))
        )
    join.push("left", at([6], US))
    assert pairs_of(join.push("right", at([5], US))) == [(0, 0), (1, 0)]


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ({"k": [[1]], "t": [dt.datetime(2026, 1, 1)]}, pj.ConditionError, "left.k is list<.*which a condition cannot"),
        ({"k": [1], "t": ["now"]}, pj.DataError, "left.t is string, but event time must be a timestamp or a date"),
        ({"k": [1], "T": [dt.datetime(2026, 1, 1)]}, pj.DataError, "no event-time column 't'.*did you mean 'T'"),
        (
            {"k": pa.array([1], pa.date64()), "t": [dt.datetime(2026, 1, 1)]},
            pj.DataError,
            "1 ms at row 0 is not a date",
        ),
    ],
)
def test_columns_that_no_other_side_could_fit_are_refused_at_once(data, error, message):
    join = pj.StreamJoin(on=pj.equal("k"), window=pj.TimeWindow("1 s", on="t"))
    with pytest.raises(error, match=message):
        join.push("left", data)
    assert join.push("left", {"k": [1], "t": [dt.datetime(2026, 1, 1)]}).count == 0


# ---- a stream that is not read to its end ----


BATCHES = [("left", {"k": [1]}), ("right", {"k": [1]}), ("right", {"k": [1, 1]}), ("left", {"k": [1]})]


@pytest.mark.parametrize("read", [1, 2, 3])
def test_what_a_stream_has_read_ahead_is_joined_by_the_next_call(read):
    join = pj.StreamJoin(on=pj.equal("k"), window=pj.CountWindow(10))
    results = join.stream(iter(BATCHES))
    found = [pairs_of(next(results)) for _ in range(read)]
    results.close()
    found += [pairs_of(join.push("left", {"k": [1]}))]
    taken = BATCHES[: read + 1]
    lefts, rights = (sum(len(data["k"]) for side, data in taken if side == each) for each in ("left", "right"))
    assert sorted(chain.from_iterable(found)) == [(i, j) for i in range(lefts + 1) for j in range(rights)]


def test_what_came_before_a_source_that_broke_is_joined_by_the_next_call():
    def source():
        yield from BATCHES[:3]
        raise OSError("the source is gone")

    join, found = pj.StreamJoin(on=pj.equal("k"), window=pj.CountWindow(10)), []
    with pytest.raises(OSError, match="the source is gone"):
        found.extend(pair for result in join.stream(source()) for pair in pairs_of(result))
    found += pairs_of(join.flush())
    assert found == [(0, 0), (0, 1), (0, 2)]


# ---- the door of the join itself ----


@pytest.mark.parametrize("schemas", [pa.schema({}), (pa.schema({"k": pa.int32()}),), ("left", "right")])
def test_schemas_are_two(schemas):
    with pytest.raises(pj.ParameterError, match="schemas must be two pyarrow schemas, those of left and right, not"):
        pj.StreamJoin(on=pj.equal("k"), window=pj.CountWindow(1), schemas=schemas)


@pytest.mark.parametrize("moment", [pd.NaT, None, 1.5, "2026", True])
def test_what_is_no_point_in_time_does_not_move_it(moment):
    join = pj.StreamJoin(on=pj.equal("k"), window=pj.TimeWindow("1 s", on="t"))
    with pytest.raises(pj.ParameterError, match="is no point in time; give a datetime, or whole microseconds"):
        join.advance(moment)


@pytest.mark.parametrize("moment", [2**70, -(2**62)])
def test_time_does_not_move_beyond_reason(moment):
    join = pj.StreamJoin(on=pj.equal("k"), window=pj.TimeWindow("1 s", on="t"))
    with pytest.raises(pj.ParameterError, match=f"{moment} us is more than 73,000 years from 1970"):
        join.advance(moment)
