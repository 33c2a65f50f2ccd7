"""Messages without Spark: everything arrives, in order, in pieces that Spark can carry."""

import numpy as np
import pyarrow as pa
import pytest

from panjoin.spark import pack
from panjoin.spark.pack import MESSAGE, Message, Packer, Unpacker, grouped, in_order, opened
from panjoin.spark.worker_keys import worker_key

SCHEMA = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("s", pa.string())])


def rows(first: int, count: int) -> pa.RecordBatch:
    numbers = range(first, first + count)
    return pa.record_batch([list(numbers), list(numbers), [None if n % 3 else str(n) for n in numbers]], SCHEMA)


def carried(messages) -> pa.Table:
    payloads = [payload.as_buffer() for message in messages for payload in message["payload"]]
    return pa.Table.from_batches([batch for payload in payloads for batch in opened(payload)], SCHEMA)


def test_rows_come_back_in_order_and_few_messages_carry_them():
    batches = [rows(0, 10), rows(10, 0), rows(10, 1), rows(11, 100)]
    messages = list(Packer("right", SCHEMA)(iter(batches)))
    assert [message.schema for message in messages] == [MESSAGE]
    assert messages[0].to_pylist()[0] | {"payload": None} == {
        "worker": None, "side": "right", "partition": 0, "sequence": 0, "rows": 111, "places": b"", "payload": None,
    }  # fmt: skip
    assert carried(messages).equals(pa.Table.from_batches([rows(0, 111)]).cast(SCHEMA))


def test_a_task_without_rows_sends_nothing():
    assert list(Packer("left", SCHEMA)(iter([]))) == []
    assert list(Packer("left", SCHEMA)(iter([rows(0, 0)]))) == []


@pytest.mark.parametrize("limit", [("MOST_ROWS", 7), ("MOST_BYTES", 200)])
def test_messages_end_at_the_limit_also_inside_a_batch(monkeypatch, limit):
    monkeypatch.setattr(pack, *limit)
    messages = list(Packer("left", SCHEMA)(iter([rows(0, 5), rows(5, 40), rows(45, 1)])))
    assert [message["sequence"][0].as_py() for message in messages] == list(range(len(messages)))
    assert len(messages) > 5
    assert all(message["rows"][0].as_py() <= 13 for message in messages)
    assert carried(messages)["k"].to_pylist() == list(range(46))


def test_one_row_that_is_over_the_limit_is_a_message_of_its_own(monkeypatch):
    monkeypatch.setattr(pack, "MOST_BYTES", 1)
    assert [message["rows"][0].as_py() for message in Packer("left", SCHEMA)([rows(0, 2)])] == [1, 1]


def test_time_zone_and_layout_of_texts_do_not_depend_on_the_session():
    other = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us", "Asia/Tokyo")), ("s", pa.large_string())])
    assert carried(Packer("left", SCHEMA)([rows(0, 4).cast(other)])).to_batches()[0].equals(rows(0, 4))


def test_payloads_become_rows_under_the_names_of_the_result():
    result = pa.schema([pa.field(name, field.type) for name, field in zip("xyz", SCHEMA, strict=True)])
    payloads = [payload for _, payload in pack.payloads([rows(0, 3), rows(3, 2)], SCHEMA)]
    batch = pa.record_batch({"payload": pa.array([payload.to_pybytes() for payload in payloads], pa.binary())})
    table = pa.Table.from_batches(Unpacker(result)([batch]))
    assert table.schema == result
    assert table["x"].to_pylist() == [0, 1, 2, 3, 4]


def test_left_messages_come_first_then_partitions_then_sequences():
    wanted = [("left", 0, 0), ("left", 0, 1), ("left", 2, 0), ("right", 1, 0), ("right", 1, 10)]
    shuffled = [Message(*wanted[place], 0, b"", b"") for place in np.random.default_rng(1).permutation(5)]
    assert [(each.side, each.partition, each.sequence) for each in in_order(shuffled)] == wanted


def test_groups_hold_at_least_one_batch_and_no_empty_one():
    groups = grouped([rows(0, 0), rows(0, 9), rows(9, 1), rows(10, 1), rows(11, 3)], 3, 1 << 20)
    assert [[batch.num_rows for batch in group] for group in groups] == [[9], [1, 1], [3]]


def test_worker_keys_are_32_bit_numbers_that_differ():
    keys = [worker_key(worker) for worker in range(1000)]
    assert len(set(keys)) == 1000
    assert all(-(2**31) <= key < 2**31 for key in keys)
