"""Batches of every make come in unchanged, uncopied where possible, and of one schema per side."""

import subprocess
import sys
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from panjoin.errors import DataError
from panjoin.records import RecordDoor, to_batch

BIG = 2**53 + 1


def address(array: pa.Array) -> int:
    return array.buffers()[1].address


# ---- what comes in ----


def test_a_record_batch_is_taken_as_it_is():
    batch = pa.record_batch({"x": [1, 2]})
    assert to_batch(batch) is batch


def test_a_table_in_one_piece_is_not_copied_and_one_in_many_is_combined():
    column = pa.array(np.arange(1000))
    assert address(to_batch(pa.table({"x": column})).column("x")) == address(column)
    table = pa.table({"x": pa.chunked_array([[1, 2], [], [3]])})
    assert to_batch(table).column("x").to_pylist() == [1, 2, 3]
    empty = to_batch(table.slice(0, 0))
    assert (empty.num_rows, empty.schema) == (0, table.schema)
    assert to_batch(pa.table({"x": pa.chunked_array([], pa.int8())})).schema.field("x").type == pa.int8()


def test_chunks_with_different_dictionaries_are_combined():
    parts = [pa.record_batch({"s": pa.array(words).dictionary_encode()}) for words in (["a", "b"], ["c", "a", None])]
    assert to_batch(pa.Table.from_batches(parts)).column("s").to_pylist() == ["a", "b", "c", "a", None]


def test_numpy_columns_share_their_memory_and_keep_their_type():
    columns = {
        "i8": np.arange(3, dtype=np.int8),
        "i64": np.array([BIG, -BIG, 2**63 - 1]),
        "f32": np.array([0.5, np.nan, -0.0], np.float32),
        "f64": np.array([0.5, np.nan, -np.inf]),
        "t": np.array(["2026-01-01", "2026-01-02", "2026-01-03"], "M8[us]"),
    }
    batch = to_batch(columns)
    for name, column in columns.items():
        assert address(batch.column(name)) == column.__array_interface__["data"][0], name
        assert batch.column(name).null_count == 0, name
    assert [str(t) for t in batch.schema.types] == ["int8", "int64", "float", "double", "timestamp[us]"]


def test_lists_masked_arrays_foreign_byte_order_and_arrow_columns_come_in_by_dict():
    batch = to_batch(
        {
            "list": [BIG, None, 3],
            "masked": np.ma.array([BIG, 2, 3], mask=[False, True, False]),
            "big_endian": np.array([1, 2, BIG], ">i8"),
            "strided": np.arange(6)[::2],
            "arrow": pa.chunked_array([["a"], ["b", None]]),
            "polars": pl.Series([1, None, 3]),
            "pandas": pd.Series([1, 2, 3]),
            "nat": np.array(["2026-01-01", "NaT", "2026-01-03"], "M8[s]"),
            "object": np.array([Decimal("1.5"), None, Decimal("2.5")], object),
        }
    )
    assert batch.column("list").to_pylist() == [BIG, None, 3]
    assert batch.column("masked").to_pylist() == [BIG, None, 3]
    assert batch.column("big_endian").to_pylist() == [1, 2, BIG]
    assert batch.column("strided").to_pylist() == [0, 2, 4]
    assert batch.column("arrow").to_pylist() == ["a", "b", None]
    assert batch.column("polars").to_pylist() == [1, None, 3]
    assert batch.column("pandas").to_pylist() == [1, 2, 3]
    assert batch.column("nat").null_count == 1
    assert batch.column("object").type == pa.decimal128(2, 1)


def test_pandas_columns_keep_64_bits_beside_a_null_and_nan_stays_nan():
    frame = pd.DataFrame(
        {
            "object": pd.Series([BIG, None, 3], dtype=object),
            "Int64": pd.array([BIG, None, 3], dtype="Int64"),
            "plain": [BIG, 2, 3],
            "float": [1.0, np.nan, 2.0],
            "text": ["a", None, np.nan],
            "time": pd.to_datetime(["2026-01-01", None, "2026-01-02"]),
            "category": pd.Categorical(["x", None, "y"]),
            "arrow": pd.array([1, None, 3], dtype="int64[pyarrow]"),
        }
    ).set_axis(["never", "a", "column"])
    batch = to_batch(frame)
    assert batch.column("object").to_pylist() == [BIG, None, 3]
    assert batch.column("Int64").to_pylist() == [BIG, None, 3]
    assert batch.column("plain").to_pylist() == [BIG, 2, 3]
    assert batch.column("float").null_count == 0
    assert np.isnan(batch.column("float")[1].as_py())
    assert batch.column("text").to_pylist() == ["a", None, None]
    assert batch.column("time").null_count == 1
    assert batch.column("category").to_pylist() == ["x", None, "y"]
    assert batch.column("arrow").to_pylist() == [1, None, 3]
    assert batch.schema.names == list(frame.columns)


def test_nanoseconds_since_1970_beside_a_null_keep_every_digit():
    nanos = 1_700_000_000_123_456_789
    frame = pd.DataFrame(
        {
            "whole": pd.array([nanos, None], dtype="Int64"),
            "time": pd.Series([nanos, None], dtype="Int64").astype("datetime64[ns]"),
            "object": pd.Series([nanos, None], dtype=object),
        }
    )
    told = {"list": [nanos, None], "masked": np.ma.array([nanos, 0], mask=[False, True])}
    for batch in (to_batch(frame), to_batch(told), to_batch(pl.DataFrame({"whole": [nanos, None]}))):
        for name in batch.schema.names:
            column = batch.column(name)
            assert column.null_count == 1, name
            assert column.cast(pa.int64())[0].as_py() == nanos, name


def test_plain_pandas_columns_share_their_memory():
    frame = pd.DataFrame({"a": np.arange(100), "b": np.arange(100) * 0.5})
    batch = to_batch(frame)
    for name in frame:
        assert address(batch.column(name)) == frame[name].to_numpy().__array_interface__["data"][0]


def test_polars_and_other_speakers_of_arrow_are_read():
    frame = pl.DataFrame({"x": [BIG, None], "s": ["a", "b"], "c": pl.Series(["u", None], dtype=pl.Categorical)})
    batch = to_batch(frame)
    assert batch.column("x").to_pylist() == [BIG, None]
    assert batch.column("s").to_pylist() == ["a", "b"]
    assert batch.column("c").to_pylist() == ["u", None]
    with duckdb.connect() as connection:
        assert to_batch(connection.sql("select 1 as x, 'a' as s")).to_pylist() == [{"x": 1, "s": "a"}]

    class Speaker:
        def __arrow_c_array__(self, requested_schema=None):
            return pa.record_batch({"x": [7]}).__arrow_c_array__(requested_schema)

    assert to_batch(Speaker()).to_pylist() == [{"x": 7}]


def test_all_else_works_where_pandas_is_missing():
    script = """
import sys
from importlib.abc import MetaPathFinder

class NoPandas(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NoPandas())
import polars
import panjoin.records as records
assert records.to_batch({"x": [1], "y": polars.Series([2])}).num_rows == 1
assert records.to_batch(polars.DataFrame({"x": [1]})).num_rows == 1
assert "pandas" not in sys.modules
"""
    environment = {"PYTHONPATH": ":".join(sys.path)}
    assert subprocess.run([sys.executable, "-c", script], env=environment, check=False).returncode == 0


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array([[1], None, [2, 3]]),
        pa.array([{"p": {"q": [1]}}, None, {"p": None}]),
        pa.array([b"x" * 100_000, None, b""], pa.large_binary()),
        pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int32())),
        pa.array(["text", None, "longer than twelve bytes"], pa.large_string()),
    ],
    ids=lambda column: str(column.type)[:20],
)
def test_payload_columns_of_any_type_pass_untouched(column):
    door = RecordDoor("left")
    for _ in range(2):
        admitted = door.admit(pa.record_batch({"k": [1, 2, 3], "payload": column})).column("payload")
        assert admitted.type == column.type
        assert [b and b.address for b in admitted.buffers()] == [b and b.address for b in column.buffers()]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            5,
            "left batch is a builtins.int; give a pyarrow RecordBatch or Table, a pandas or polars DataFrame, or",
        ),
        ([{"x": 1}], "left batch is a builtins.list; give a pyarrow"),
        ({"x": [1, 2], "y": [1]}, "left columns must have one length, not 'x': 2, 'y': 1"),
        ({"x": 5}, "left column 'x' cannot be read"),
        ({"x": [1, "a"]}, "left column 'x' cannot be read: .*tried to convert to int64"),
        ({"x": np.zeros((2, 2))}, "left column 'x' cannot be read: only handle 1-dimensional arrays"),
        ({"x": np.zeros(2, complex)}, "left column 'x' cannot be read: Unsupported numpy type"),
        ({0: [1]}, r"left column names must be text, not 0 \(int\); rename it"),
        (pd.DataFrame({0: [1]}), r"left column names must be text, not 0 \(int\); rename it"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "left batch has more than one column 'a'; rename all but one"),
        (pa.table([[1], [2]], names=["a", "a"]), "left batch has more than one column 'a'; rename all but one of them"),
        ({}, "left batch has no columns; give a pyarrow"),
        ({"x": []}, "left column 'x' has no type: .*pyarrow.array"),
        ({"x": [None]}, "left column 'x' has no type: it holds nothing but NULL"),
    ],
)
def test_what_cannot_come_in_is_refused_with_the_remedy_and_the_door_stays_open(data, message):
    door = RecordDoor("left")
    with pytest.raises(DataError, match=f"^{message}"):
        door.admit(data)
    assert door.schema is None
    assert door.admit({"other": [1]}).to_pylist() == [{"other": 1}]


# ---- one schema per side ----


@pytest.fixture
def door():
    opened = RecordDoor("right")
    opened.admit({"k": np.array([1]), "s": ["a"], "d": pa.array(["u"]).dictionary_encode()})
    return opened


def batch(**columns):
    return {"k": [1], "s": ["a"], "d": pa.array(["u"]).dictionary_encode()} | columns


def test_columns_in_another_order_or_nullability_are_accepted_and_put_in_order(door):
    schema = pa.schema(
        [pa.field("s", pa.string(), nullable=False), ("d", door.schema.field("d").type), ("k", pa.int64())]
    )
    strange = pa.table([["b"], pa.array([None]).cast(schema.field("d").type), [2]], schema=schema)
    admitted = door.admit(strange.replace_schema_metadata({"made": "elsewhere"}))
    assert admitted.schema.equals(door.schema, check_metadata=True)
    assert admitted.to_pylist() == [{"k": 2, "s": "b", "d": None}]


def test_other_layouts_of_the_same_values_are_converted_to_the_first_ones(door):
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.null()):
        text = pa.nulls(1) if kind == pa.null() else pa.array(["z"]).cast(kind)
        admitted = door.admit(batch(s=text, d=text))
        assert admitted.schema == door.schema
        assert admitted.column("s").to_pylist() == admitted.column("d").to_pylist() == text.to_pylist()


def test_lists_and_objects_take_the_type_of_the_first_batch():
    door = RecordDoor("left", pa.schema([("x", pa.int16()), ("y", pa.float64())]))
    assert door.admit({"x": [1, None], "y": [1, 2]}).schema == door.schema
    assert door.admit({"x": [], "y": []}).num_rows == 0
    assert door.admit(pd.DataFrame({"x": pd.Series([None], dtype=object), "y": [0.5]})).column("x").null_count == 1
    with pytest.raises(
        DataError, match=r"left column 'x' cannot be read as int16, its type in the first batch: .*70000"
    ):
        door.admit({"x": [70_000], "y": [1]})


def test_many_pandas_categories_fit_the_first_batch_of_few():
    door = RecordDoor("left")
    door.admit(pd.DataFrame({"c": pd.Categorical(["a"])}))
    words = [str(n) for n in range(1000)]
    assert door.admit(pd.DataFrame({"c": pd.Categorical(words)})).column("c").to_pylist() == words


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"k": np.array([0.5])},
            "right column 'k' was int64 in the first batch and is double in this one; cast it to",
        ),
        (
            {"k": np.array([1], np.int32)},
            "right column 'k' was int64 in the first batch and is int32 in this one; cast",
        ),
        ({"s": pa.array([b"a"])}, "right column 's' was string in the first batch and is binary in this one; cast it"),
        ({"new": [1]}, "right batch has a column 'new' that the first one had not; drop it, or start a new join with"),
    ],
)
def test_another_schema_is_refused_naming_the_column_both_types_and_the_remedy(door, change, message):
    schema = door.schema
    with pytest.raises(DataError, match=f"^{message}"):
        door.admit(batch(**change))
    assert door.schema is schema
    assert door.admit(batch()).num_rows == 1


def test_a_missing_column_is_named_with_the_remedy(door):
    with pytest.raises(
        DataError, match=r"^right batch lacks column 's', which the first one had; it has 'k', 'd'. Add it"
    ):
        door.admit({"k": [1], "d": ["u"]})
    doubled = pa.table([[1], [1], ["a"], ["u"]], names=["k", "k", "s", "d"])
    with pytest.raises(DataError, match="right batch has more than one column 'k'"):
        door.admit(doubled)


def test_a_dictionary_grows_past_the_indices_of_the_first_one():
    door = RecordDoor("left", pa.schema([("d", pa.dictionary(pa.int8(), pa.string()))]))
    assert door.schema.field("d").type == pa.dictionary(pa.int32(), pa.string())
    words = [str(n) for n in range(300)]
    assert door.admit({"d": pa.array(words).dictionary_encode()}).column("d").to_pylist() == words


def test_malformed_arrow_is_refused_before_use_when_the_door_validates():
    offsets = pa.py_buffer(np.array([0, 1_000_000, 5], np.int32).tobytes())
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"hello")])
    door = RecordDoor("left", validate=True)
    with pytest.raises(DataError, match=r"^left batch is malformed: .*; nothing of it was used"):
        door.admit(pa.RecordBatch.from_arrays([broken], names=["s"]))
    assert door.admit({"s": ["fine"]}).num_rows == 1
