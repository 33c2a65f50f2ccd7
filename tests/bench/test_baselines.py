"""The baselines answer as the nested loop of the oracle, at every window, band, batching and number of cores."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.bench.baselines import BASELINES, HandshakeJoin, RedBlackJoin, SplitJoin, SymmetricHashJoin
from panjoin.bench.baselines.contract import MOST_TUPLES, interval
from panjoin.bench.baselines.handshake import SEGMENT
from panjoin.bench.baselines.rbsnlj import Tree
from panjoin.errors import DataError, ParameterError
from tests.bench.runtimes import answer_of, join_of
from tests.oracle import nested
from tests.oracle.question import Count, Question, Window, micro_batches

NAMES = list(BASELINES)
ENDS = {dtype: [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)] for dtype in (np.int32, np.int64)}


@st.composite
def questions(draw, equal_only):
    """Few distinct keys, sometimes NULL, windows of 1 to 9 tuples, batches of 0 to 9."""
    parts = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=5))
    lefts, rights = zip(*parts, strict=True)
    keys = st.none() | st.integers(-4, 4)
    columns = [draw(st.lists(keys, min_size=sum(sizes), max_size=sum(sizes))) for sizes in (lefts, rights)]
    low = 0 if equal_only else draw(st.integers(-3, 3))
    high = 0 if equal_only else draw(st.integers(low, 4))
    tables = [pa.table({"k": pa.array(column, pa.int64())}) for column in columns]
    window = Window(Count(draw(st.integers(1, 9))), Count(draw(st.integers(1, 9))))
    on = f"left.k BETWEEN right.k + {low} AND right.k + {high}".replace("+ -", "- ")
    return Question(*tables, micro_batches(lefts, rights), on, window), low, high


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_any_stream_gives_the_pairs_of_the_nested_loop(name, data):
    question, low, high = data.draw(questions(name == "symmetric-hash"))
    knobs = {"cores": data.draw(st.integers(1, 3))}
    if name == "rbsnlj":
        knobs["subwindow"] = data.draw(st.integers(1, 9))
    join = join_of(question, name, low, high, **knobs)
    assert answer_of(question, join, "k") == nested.join(question), knobs


@given(data=st.data())
def test_a_tree_stays_red_black_whatever_comes(data):
    keys = data.draw(st.lists(st.integers(-8, 8) | st.sampled_from(ENDS[np.int64]), min_size=1, max_size=70))
    if data.draw(st.booleans()):
        keys.sort(reverse=data.draw(st.booleans()))
    tree = Tree(np.empty((len(keys) + 1, 4), np.int64), first_no=0)
    for key in keys:
        tree.insert(np.array([key]))
        tree.check()
    depth_bound = 2 * np.log2(len(keys) + 1)
    assert _depth(tree.nodes, int(tree.nodes[0, 1])) <= depth_bound


def _depth(nodes, at):
    return 0 if at == 0 else 1 + max(_depth(nodes, int(nodes[at, 1])), _depth(nodes, int(nodes[at, 2])))


def test_the_tree_in_the_drawing_is_the_tree():
    tree = Tree(np.empty((8, 4), np.int64), first_no=0)
    tree.insert(np.array([5, 2, 8, 8, 1, 9, 4]))
    assert tree.nodes[1:].tolist() == [
        [5, 2, 4, 0],
        [2, 5, 7, 2],
        [8, 0, 0, 9],
        [8, 3, 6, 2],
        [1, 0, 0, 5],
        [9, 0, 0, 9],
        [4, 0, 0, 5],
    ]


@given(data=st.data())
def test_intervals_end_where_the_type_ends(data):
    dtype = data.draw(st.sampled_from([np.int32, np.int64]))
    least, most = ENDS[dtype]
    near = st.integers(-2, 2)
    keys = data.draw(st.lists(st.sampled_from([least + 2, 0, most - 2]).flatmap(lambda k: near.map(lambda d: k + d))))
    offsets = st.sampled_from([least, -1, 0, 1, most, 3 * least, 3 * most, most - least])
    below, above = sorted((data.draw(offsets), data.draw(offsets)))
    low, high = interval(np.array(keys, dtype), below, above)
    for key, first, last in zip(keys, low.tolist(), high.tolist(), strict=True):
        wanted = range(max(least, key + below), min(most, key + above) + 1)
        assert (wanted[0], wanted[-1]) == (first, last) if wanted else first > last


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_keys_at_the_ends_of_the_type_meet_only_their_neighbours(name, dtype):
    least, most = ENDS[dtype]
    high = 0 if name == "symmetric-hash" else 1
    join = BASELINES[name](window_left=9, window_right=9, low=0, high=high, dtype=dtype)
    join.store("right", np.array([least, least + 1, most - 1, most], dtype))
    assert join.push("left", np.array([least, most], dtype)).tolist() == ([1, 1] if high == 0 else [1, 2])
    assert join.push("right", np.array([most, least], dtype)).tolist() == [1, 1]


@pytest.mark.parametrize("name", NAMES)
def test_batches_past_every_threshold_answer_as_numpy_does(name):
    """Several segments, several blocks of the nested loop, several subwindows, wrapped rings."""
    rng, window, low, high = np.random.default_rng(1), 9_000, -2, 3
    if name == "symmetric-hash":
        low = high = 0
    join = BASELINES[name](window_left=window, window_right=window - 1, low=low, high=high, cores=2)
    streams = {side: rng.integers(0, 5_000, 24_000).astype(np.int32) for side in ("left", "right")}
    for size in (7_000, 3 * SEGMENT + 1, 10_001, 1):
        for side, other in (("left", "right"), ("right", "left")):
            begin, end = join.arrived[side], join.arrived[side] + size
            keys, window_of_other = streams[side][begin:end], streams[other][join.oldest(other) : join.arrived[other]]
            below, above = (low, high) if side == "right" else (-high, -low)
            window_of_other = np.sort(window_of_other)
            expected = np.searchsorted(window_of_other, keys + above, "right")
            expected -= np.searchsorted(window_of_other, keys + below)
            assert (join.push(side, keys) == expected).all(), (size, side)


@pytest.mark.parametrize("name", NAMES)
def test_storing_takes_in_what_pushing_does(name):
    stored, pushed = (BASELINES[name](window_left=5, window_right=5) for _ in range(2))
    for keys in (np.arange(7, dtype=np.int32), np.arange(3, dtype=np.int32)):
        stored.store("left", keys)
        pushed.push("left", keys)
    asked = np.arange(8, dtype=np.int32)
    assert stored.push("right", asked).tolist() == pushed.push("right", asked).tolist()
    assert stored.memory_bytes == pushed.memory_bytes > 0


def test_an_error_in_one_core_reaches_the_caller_and_no_core_waits_for_ever():
    join = HandshakeJoin(window_left=8, window_right=8, cores=3)
    join.rings["right"][0] = None
    with pytest.raises(AttributeError):
        join.push("left", np.arange(4, dtype=np.int32))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"window_left": 0}, "window_left must be 1 to 1,073,741,823 tuples, not 0"),
        ({"window_right": MOST_TUPLES + 1}, "window_right must be 1 to 1,073,741,823 tuples, not 1,073,741,824"),
        ({"low": 1, "high": 0}, "low must not be greater than high, but low is 1 and high is 0"),
        ({"cores": 0}, "cores must be at least 1, not 0"),
        ({"dtype": np.float64}, "dtype must be int32 or int64, not float64"),
    ],
)
def test_a_parameter_that_cannot_be_used_is_named(wrong, message):
    with pytest.raises(ParameterError, match=message):
        SplitJoin(**{"window_left": 4, "window_right": 4, **wrong})


def test_knobs_of_one_baseline_are_checked_as_well():
    with pytest.raises(ParameterError, match=r"equal keys only, not those from -1 to \+2; leave low and high 0"):
        SymmetricHashJoin(window_left=4, window_right=4, low=-1, high=2)
    with pytest.raises(ParameterError, match="subwindow must be at least 1, not 0"):
        RedBlackJoin(window_left=4, window_right=4, subwindow=0)


@pytest.mark.parametrize("name", NAMES)
def test_a_refused_batch_changes_nothing(name):
    join = BASELINES[name](window_left=4, window_right=4)
    join.store("right", np.array([1, 2], np.int32))
    with pytest.raises(ParameterError, match="side must be 'left' or 'right', not 'middle'"):
        join.push("middle", np.array([1], np.int32))
    with pytest.raises(DataError, match=r"keys must be int32, not int64; convert with .astype\(np.int32\)"):
        join.push("left", np.array([1]))
    with pytest.raises(DataError, match="keys must have one dimension, not 2"):
        join.push("left", np.array([[1]], np.int32))
    assert join.arrived == {"left": 0, "right": 2}
    assert join.push("left", np.array([2, 3], np.int32)).tolist() == [1, 0]
    assert join.push("left", []).tolist() == []
