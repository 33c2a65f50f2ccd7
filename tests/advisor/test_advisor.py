"""The paper's strategy, decided at each create by what the last subwindows have shown."""

import numpy as np
import pyarrow as pa
import pytest

import panjoin as pj
from panjoin.advisor import Advisor, decide
from panjoin.observation import Seen
from tests.advisor.costs import calibration

COSTS = calibration(large_batch=1024, match_ns=11.0)  # large from 1,024 tuples, or from 1 match per tuple and subwindow
KEYS = pa.schema({"k": pa.int32()})


@pytest.mark.parametrize(
    ("seen", "structure", "why"),
    [
        (Seen(5000), "bi-sort", "batches of 5,000 are large (wib-tree costs less only below 1,024)"),
        (
            Seen(100, 3.0, 0.0),
            "bi-sort",
            "3.0 matches per tuple and subwindow are many (rap-table costs less only below 1.0)",
        ),
        (Seen(100, 0.5, 0.01), "rap-table", "values are stable (drift 0.01)"),
        (Seen(100, 0.5, 0.9), "wib-tree", "values drift (0.90, 0.2 is much)"),
        (Seen(100, 0.5, 0.0, 0.5), "wib-tree", "50% of the tuples overflowed the last splitters"),
        (Seen(100, 0.5, 0.0, 0.1), "rap-table", "values are stable"),
        (Seen(100), "wib-tree", "little is known of the values yet"),
    ],
)
def test_large_batches_and_many_matches_sort_stable_values_get_splitters_the_rest_a_tree(seen, structure, why):
    chosen, told = decide(seen, 4096, COSTS)
    assert chosen == structure
    assert why in told


def keys(low, high, count):
    return {"k": np.random.default_rng(low).integers(low, high, count, dtype=np.int32)}


def automatic(monkeypatch, **options) -> pj.StreamJoin:
    monkeypatch.setattr("panjoin.advisor.known", lambda: COSTS)
    return pj.StreamJoin(
        on="left.k = right.k", window=pj.CountWindow(100_000), schemas=(KEYS, KEYS), subwindow=4000, **options
    )


def structures(join, side="left"):
    return [info["structure"] for info in join.stats()["subwindows"][side]]


def test_a_chain_mixes_structures_as_the_stream_changes_and_says_why(monkeypatch):
    join = automatic(monkeypatch, workers=1)
    for _ in range(90):  # small batches of the same values: at first nothing is known of them
        join.push("left", keys(0, 10**6, 100))
    assert structures(join) == ["wib-tree", "rap-table", "rap-table"]
    assert (
        "newest subwindow rap-table: batches of 100 and 0.0 matches per tuple and subwindow are small" in join.explain()
    )
    for start in range(0, 16_000_000, 10**5):  # values that increase
        join.push("left", keys(10**6 + start, 1_100_000 + start, 100))
    assert structures(join)[-1] == "wib-tree"
    assert "values drift" in join.explain()
    for _ in range(8):  # large batches
        join.push("left", keys(0, 10**6, 8000))
    assert structures(join)[-1] == "bi-sort"
    assert "batches of 8,000 are large" in join.explain()
    assert join.push("right", {"k": np.arange(10, dtype=np.int32)}).count >= 0


def test_many_matches_make_the_side_that_is_probed_sort(monkeypatch):
    join = automatic(monkeypatch)
    for _ in range(90):
        join.push("left", keys(0, 1000, 100))
        join.push("right", keys(0, 10, 100))
    assert structures(join)[-1] == structures(join, "right")[-1] == "bi-sort"
    assert "matches per tuple and subwindow are many" in join.explain()


def test_splitters_that_do_not_fit_are_noticed_by_the_histogram(monkeypatch):
    monkeypatch.setattr("panjoin.advisor.known", lambda: COSTS)
    advisor = Advisor(partitions=4)

    class Status:
        side, histogram = "left", ((97, 1, 1, 1), (0, 1, 2, 3), (0, 1, 2, 3))

    for _ in range(20):
        advisor.took("left", np.sort(keys(0, 10**6, 100)["k"]), 100, 100)
    assert advisor.choose("left", 100, np.arange(100, dtype=np.int32)).name == "rap-table"
    advisor.observe([Status()])
    assert advisor.choose("left", 100, np.arange(100, dtype=np.int32)).name == "wib-tree"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"index": "rap-table"}, "structure  rap-table, asked for"),
        ({"emit": "ranges"}, "structure  bi-sort, for range records name positions of sorted tuples"),
        ({"emit": ["sum(k)"]}, "structure  bi-sort, for sorted tuples are aggregated without making pairs"),
        ({"on": "left.k = 1 OR right.k = 2"}, "structure  scan, for nothing in the condition can be indexed"),
        ({}, "no subwindow yet"),
    ],
)
def test_explain_says_which_structure_and_why(options, told):
    options = {"on": "left.k = right.k", "window": pj.CountWindow(10), "schemas": (KEYS, KEYS)} | options
    join = pj.StreamJoin(**options)
    assert told in join.explain()
    join.push("left", {"k": [1, 2]})
    assert join.push("right", {"k": [2]}).count >= 1


def test_what_a_structure_was_asked_for_is_told_per_subwindow_too():
    join = pj.StreamJoin(
        on="left.k = right.k", window=pj.CountWindow(100), schemas=(KEYS, KEYS), index="wib-tree", subwindow=4
    )
    join.push("left", {"k": list(range(10))})
    assert structures(join) == ["wib-tree"] * 3
