"""Two flush conditions, either is enough; the clock is an argument."""

import pyarrow as pa

from panjoin.engine.collector import Collector


def rows(count: int) -> pa.RecordBatch:
    return pa.record_batch({"x": list(range(count))}, schema=pa.schema([("x", pa.int64())]))


def sizes(batches: list[tuple[str, pa.RecordBatch]]) -> list[tuple[str, int]]:
    return [(side, batch.num_rows) for side, batch in batches]


def test_without_conditions_every_arrival_is_a_batch():
    collector = Collector()
    collector.add("left", rows(3), now=0)
    assert sizes(collector.due(0)) == [("left", 3)]
    assert collector.due(0) == []


def test_the_maximum_count_flushes_only_its_own_buffer():
    collector = Collector(count=4)
    collector.add("left", rows(3), now=0)
    collector.add("right", rows(1), now=0)
    assert collector.due(0) == []
    collector.add("left", rows(2), now=0)
    assert sizes(collector.due(0)) == [("left", 5)]
    assert collector.held == {"left": 0, "right": 1}


def test_the_maximum_time_runs_from_the_oldest_tuple_collected():
    collector = Collector(count=100, seconds=2.0)
    collector.add("left", rows(1), now=10.0)
    collector.add("left", rows(1), now=11.5)
    assert collector.due(11.9) == []
    assert sizes(collector.due(12.0)) == [("left", 2)]
    collector.add("left", rows(1), now=13.0)
    assert collector.due(14.9) == []


def test_both_buffers_due_at_once_come_left_first():
    collector = Collector(seconds=1.0)
    collector.add("right", rows(1), now=0)
    collector.add("left", rows(2), now=0.5)
    assert sizes(collector.due(2)) == [("left", 2), ("right", 1)]


def test_an_empty_arrival_starts_no_clock_and_makes_no_batch():
    collector = Collector(seconds=1.0)
    collector.add("left", rows(0), now=0)
    assert collector.due(5) == []
    assert collector.drain() == []


def test_draining_hands_out_everything_held():
    collector = Collector(count=10)
    collector.add("right", rows(1), now=0)
    collector.add("left", rows(2), now=0)
    assert sizes(collector.drain()) == [("left", 2), ("right", 1)]
    assert collector.drain() == []
