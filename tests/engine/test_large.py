"""The same answers past every threshold: threads, chunks, pieces of a merge, doublings of memory, blocks of pairs.

Small streams go through small code. Here windows hold a hundred thousand tuples in subwindows of the engine's own
choice, batches are larger and smaller than those, and the oracle is plain numpy: sort the right keys once, look up the
two ends for every left key, and drop the pairs that do not see each other.
"""

import numpy as np
import pyarrow as pa
import pytest

import panjoin as pj
from tests.oracle.question import micro_batches
from tests.registry import INDEXES
from tests.streams import streams

LEFTS, RIGHTS, WIDTH = 130_000, 110_000, 1 << 17
WINDOW = {"left": 70_000, "right": 50_000}
#: Micro-batches: one row, more than the window, none, and the rest in equal parts.
BATCHES = micro_batches([1, 80_000, 0, 17_000, 16_000, 16_999], [60_000, 1, 20_000, 0, 15_000, 14_999])
OPTIONS = [(name, workers) for name in INDEXES if name != "scan" for workers in (1, 3)]


def side(name, count, seed):
    uniform = streams("uniform", count, seed, np.int64) % WIDTH
    skewed = streams("zipf", count, seed + 1, np.int64) % 512
    return pa.table({"x": uniform.astype(np.int32), "wide": uniform * (1 << 33), "k": skewed.astype(np.int16)})


LEFT, RIGHT = side("left", LEFTS, 1), side("right", RIGHTS, 2)


def candidates(left, right, low, high):
    """All (i, j) with right[j] + low <= left[i] <= right[j] + high."""
    order = np.argsort(right, kind="stable")
    first = np.searchsorted(right[order], left - high, "left")
    last = np.searchsorted(right[order], left - low, "right")
    i = np.repeat(np.arange(len(left)), last - first)
    within = np.arange(len(i)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
    return i, order[np.repeat(first, last - first) + within]


def in_window(i, j):
    """Which pairs see each other: the later batch looks at the last W opposite tuples that came before it."""
    came = {"left": np.empty(LEFTS, np.int64), "right": np.empty(RIGHTS, np.int64)}
    before = {"left": np.empty(LEFTS, np.int64), "right": np.empty(RIGHTS, np.int64)}
    known = {"left": 0, "right": 0}
    for number, (name, size) in enumerate(BATCHES):
        mine = slice(known[name], known[name] + size)
        came[name][mine] = number
        before[name][mine] = known["right" if name == "left" else "left"]
        known[name] += size
    by_left = before["left"][i] - WINDOW["right"] <= j
    by_right = before["right"][j] - WINDOW["left"] <= i
    return np.where(came["left"][i] > came["right"][j], by_left, by_right)


def ascending(i, j):
    return np.sort(i.astype(np.int64) * RIGHTS + j)


def as_numpy_says(on):
    x, y = (table["x"].to_numpy().astype(np.int64) for table in (LEFT, RIGHT))
    i, j = candidates(x, y, *{"equal": (0, 0)}.get(on, (-3, 2)))
    if on == "equal and band":
        same = LEFT["k"].to_numpy()[i] == RIGHT["k"].to_numpy()[j]
        i, j = i[same], j[same]
    seen = in_window(i, j)
    return ascending(i[seen], j[seen])


CONDITIONS = {
    "equal": pj.equal("x"),
    "band": pj.band("x", -3, 2),
    "wide band": pj.band("wide", -3 * (1 << 33), 3 * (1 << 33) - 1),
    "equal and band": pj.equal("k") & pj.band("x", -3, 2),
}


@pytest.fixture(scope="module", params=CONDITIONS)
def condition_and_answer(request):
    return CONDITIONS[request.param], as_numpy_says(request.param)


@pytest.mark.parametrize(("index", "workers"), OPTIONS)
def test_large_windows_give_what_plain_numpy_gives(condition_and_answer, index, workers):
    condition, expected = condition_and_answer
    given, lefts, rights = {"left": 0, "right": 0}, [], []
    with pj.StreamJoin(on=condition, window=pj.CountWindow(**WINDOW), index=index, workers=workers) as join:
        for name, size in BATCHES:
            found = join.push(name, (LEFT if name == "left" else RIGHT).slice(given[name], size))
            given[name] += size
            i, j = found.pairs()
            assert found.count == len(i)
            lefts.append(i)
            rights.append(j)
    assert given == {"left": LEFTS, "right": RIGHTS}
    assert np.array_equal(ascending(np.concatenate(lefts), np.concatenate(rights)), expected)
    assert len(expected) > 1_000
