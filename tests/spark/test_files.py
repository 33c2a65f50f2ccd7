"""Files of packed sources and their readers, without Spark: right rows in order, or the name of what is wrong."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles
from pyspark.sql.types import StructType

from panjoin.errors import DataError, StateError
from panjoin.spark import sources
from panjoin.spark.files import Part, rows, schema_of, sizes
from panjoin.spark.listing import Taken
from panjoin.spark.pack import Packer, opened
from panjoin.spark.packed import PackedSource
from panjoin.spark.sources import NEWEST, PackedFiles, PackedReader

TABLE = pa.table(
    {
        "k": pa.array(range(100), pa.int32()),
        "ts": pa.array(np.arange(100) * 1000, pa.timestamp("us", "UTC")),
        "other": np.zeros(100),
        "s": [None if n % 7 == 0 else str(n) for n in range(100)],
    }
)
SCHEMA = from_arrow_schema(TABLE.schema.remove(2))
WANTED = TABLE.select(["k", "ts", "s"]).to_pylist()


def write(path: Path, table: pa.Table, form: str) -> Taken:
    """A file of several parts, and what it looks like when it is taken."""
    if form == "parquet":
        pq.write_table(table, path, row_group_size=30)
    else:
        new = pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream
        with new(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=30)
    return taken(path)


def taken(path: Path) -> Taken:
    at = path.stat()
    return Taken(path.name, at.st_size, at.st_mtime_ns)


def kind(form: str) -> str:
    return "parquet" if form == "parquet" else "arrow"


def read(path: Path, form: str, schema: StructType = SCHEMA, part: Part | None = None) -> list[dict]:
    part = Part(taken(path)) if part is None else part
    return [row for batch in rows(path.parent, part, kind(form), schema) for row in batch.to_pylist()]


@pytest.mark.parametrize("form", ["parquet", "arrow", "stream"])
def test_rows_come_in_order_with_the_columns_asked_for_whole_and_by_part(tmp_path, form):
    path = tmp_path / "a"
    file = write(path, TABLE, form)
    assert read(path, form) == WANTED
    parts = len(sizes(tmp_path, file, kind(form)))
    assert parts == (1 if form == "stream" else 4)
    if parts > 1:
        assert [row for at in range(parts) for row in read(path, form, part=Part(file, at, at + 1))] == WANTED
    assert schema_of(path, kind(form)).simpleString() == "struct<k:int,ts:timestamp,other:double,s:string>"


def test_types_that_are_the_same_to_spark_are_taken(tmp_path):
    table = TABLE.set_column(1, "ts", TABLE["ts"].cast(pa.timestamp("ns", "Asia/Tokyo")))
    table = table.set_column(3, "s", table["s"].dictionary_encode())
    path = tmp_path / "a"
    write(path, table, "arrow")
    assert read(path, "arrow") == WANTED


def test_int96_timestamps_are_utc(tmp_path):
    path = tmp_path / "a"
    pq.write_table(TABLE, path, use_deprecated_int96_timestamps=True)
    assert schema_of(path, "parquet")["ts"].dataType.simpleString() == "timestamp"
    assert read(path, "parquet") == WANTED


@pytest.mark.parametrize("form", ["parquet", "arrow", "stream"])
def test_another_shape_is_refused_with_file_and_column(tmp_path, form):
    path = tmp_path / "orders"
    write(path, TABLE.drop_columns("s"), form)
    with pytest.raises(
        DataError, match=r"/orders has no column 's', only \['k', 'ts', 'other'\].*a directory of their"
    ):
        read(path, form)
    write(path, TABLE.set_column(0, "k", TABLE["k"].cast(pa.int64())), form)
    with pytest.raises(DataError, match=r"/orders: column 'k' is int64, and the schema of the source says int; write"):
        read(path, form)


@pytest.mark.parametrize("form", ["parquet", "arrow", "stream"])
@pytest.mark.parametrize("damage", ["cut", "noise", "empty"])
def test_a_corrupt_file_is_named(tmp_path, form, damage):
    path = tmp_path / "orders"
    write(path, TABLE, form)
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[: len(whole) // 2], "noise": bytes(range(256)) * 4, "empty": b""}[damage])
    with pytest.raises(DataError, match=r"/orders cannot be read: .*Mend it, or start with a new checkpointLocation"):
        read(path, form)


def test_offsets_of_texts_are_checked_before_they_are_used(tmp_path):
    path = tmp_path / "orders"
    write(path, TABLE, "arrow")
    whole = bytearray(path.read_bytes())
    at = whole.index(np.array([0, 0, 1, 2, 3, 4, 5, 6, 6], np.int32).tobytes())
    whole[at + 8 : at + 12] = (1 << 30).to_bytes(4, "little")
    path.write_bytes(whole)
    with pytest.raises(DataError, match="/orders cannot be read"):
        read(path, "arrow")


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_file_that_is_not_the_one_that_was_taken_is_named(tmp_path, form):
    path = tmp_path / "orders"
    file = write(path, TABLE, form)
    write(path, TABLE.slice(0, 50), form)
    with pytest.raises(DataError, match=rf"/orders has changed .* it had {file.size} bytes and has \d+\. .*put the"):
        read(path, form, part=Part(file))
    path.unlink()
    with pytest.raises(DataError, match="/orders is gone, and a micro-batch that took it is not done; put it back"):
        read(path, form, part=Part(file))


# ---- the reader ----


def reader(directory: Path, *, tasks: int = 3, most: int | None = None, event_time: str | None = "ts") -> PackedReader:
    narrow = pa.schema([("k", pa.int32()), ("s", pa.string())])
    source = type("Source", (PackedFiles,), {
        "carrier": Packer("left", narrow), "columns": SCHEMA, "sent": ("k", "s"), "event_time": event_time,
    })  # fmt: skip
    options = {"path": str(directory), "form": "parquet", "age": "1000000", "tasks": str(tasks)}
    made = source(options if most is None else options | {"most": str(most)})
    return made.streamReader(made.schema())


def steps(source: PackedReader) -> list[list[pa.Table]]:
    """The messages of every task of every micro-batch, through the JSON that Spark keeps."""
    offset, found = source.initialOffset(), []
    while True:
        after = json.loads(json.dumps(source.latestOffset(offset, source.getDefaultReadLimit())))
        if after == offset:
            assert source.partitions(offset, after) == []
            return found
        found.append([pa.Table.from_batches(source.read(task)) for task in source.partitions(offset, after)])
        offset = after


def carried(tables: list[pa.Table]) -> list[int]:
    payloads = [payload.as_buffer() for table in tables for payload in table["payload"]]
    return [key for payload in payloads for batch in opened(payload) for key in batch["k"].to_pylist()]


@pytest.mark.parametrize("tasks", [1, 2, 3, 50])
def test_order_does_not_depend_on_the_number_of_tasks(tmp_path, monkeypatch, tasks):
    monkeypatch.setattr(sources, "TASK_BYTES", 1)
    for number, (first, count) in enumerate([(0, 5), (5, 70), (75, 1), (76, 24)]):
        write(tmp_path / f"{number}", TABLE.slice(first, count), "parquet")
        os.utime(tmp_path / f"{number}", (number, number))
    ((*found,),) = steps(reader(tmp_path, tasks=tasks))
    assert carried(found) == list(range(100))
    assert 1 <= len(found) <= tasks
    assert len(found) > 1 or tasks == 1


def test_small_micro_batches_take_one_task_and_large_files_are_cut(tmp_path, monkeypatch):
    write(tmp_path / "a", TABLE, "parquet")
    assert [len(tasks) for tasks in steps(reader(tmp_path))] == [1]
    monkeypatch.setattr(sources, "TASK_BYTES", 1)
    assert [len(tasks) for tasks in steps(reader(tmp_path))] == [3]


def test_a_micro_batch_takes_as_many_files_as_it_may_and_the_newest_event_time_is_beside_its_messages(tmp_path):
    for number in range(3):
        write(tmp_path / f"{number}", TABLE.slice(number * 20, 20), "parquet")
        os.utime(tmp_path / f"{number}", (number, number))
    limited = reader(tmp_path, most=2)
    assert limited.getDefaultReadLimit() == ReadMaxFiles(2)
    first, second = steps(limited)
    assert (carried(first), carried(second)) == (list(range(40)), list(range(40, 60)))
    assert [table[NEWEST].cast(pa.int64()).to_pylist() for table in (*first, *second)] == [[39_000], [59_000]]
    everything = limited.latestOffset(limited.initialOffset(), ReadAllAvailable())
    assert len(everything["files"]) == 3


def test_available_now_does_not_see_what_comes_later(tmp_path):
    write(tmp_path / "0", TABLE, "parquet")
    source = reader(tmp_path)
    source.prepareForTriggerAvailableNow()
    write(tmp_path / "1", TABLE, "parquet")
    assert len(steps(source)) == 1
    assert len(steps(source)[0]) == 1


def test_offsets_that_are_not_two_steps_of_this_source_are_refused(tmp_path):
    for number in range(2):
        write(tmp_path / f"{number}", TABLE, "parquet")
    source = reader(tmp_path, most=1)
    start = source.initialOffset()
    first = source.latestOffset(start, ReadMaxFiles(1))
    second = source.latestOffset(first, ReadMaxFiles(1))
    with pytest.raises(StateError, match="from step 0 to 2 at once, and an offset names those of one step"):
        source.partitions(start, second)
    with pytest.raises(DataError, match="not that of a packed source"):
        source.partitions({"logOffset": 0}, first)


def test_without_event_times_the_watermark_column_stands_still(tmp_path):
    table = TABLE.set_column(1, "ts", pa.nulls(100, pa.timestamp("us", "UTC")))
    write(tmp_path / "0", table, "parquet")
    for event_time in ("ts", None):
        ((found,),) = steps(reader(tmp_path, event_time=event_time))
        assert found[NEWEST].cast(pa.int64()).to_pylist() == [0]
        assert len(carried([found])) == 100


def test_a_handle_carries_the_mark_of_its_watermark_and_refuses_other_columns():
    source = PackedSource(None, Path("/data"), "parquet", SCHEMA)
    with pytest.raises(ValueError, match="/data has no column 'at' for a watermark, only"):
        source.withWatermark("at", "1 minute")
    with pytest.raises(ValueError, match=r"withWatermark\('k'\) needs a timestamp, and the column is int"):
        source.withWatermark("k", "1 minute")
    with pytest.raises(ValueError, match="delayThreshold is '1 month'"):
        source.withWatermark("ts", "1 month")
    marked = source.withWatermark("ts", "1 minute")
    assert [field.name for field in marked.schema if field.metadata] == ["ts"]
    assert source.columns == ["k", "ts", "s"]
