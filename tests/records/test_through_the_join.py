"""What came in by the door comes out of the join: payloads of every type, and columns of every name, also in Spark."""

import datetime as dt
import decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import panjoin as pj
from panjoin.spark import stream_join

WORDS = pa.array(["a", None, "a longer word than twelve bytes"])
PAYLOADS = {
    "dictionary": WORDS.dictionary_encode(),
    "list": pa.array([[1], None, [2, None, 3]], pa.list_(pa.int16())),
    "list_view": pa.array([[1], None, [2, None, 3]], pa.list_view(pa.int16())),
    "large_list": pa.array([["x"], [], None], pa.large_list(pa.string())),
    "struct": pa.array([{"p": {"q": [1]}}, None, {"p": None}]),
    "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int32())),
    "large_binary": pa.array([b"x" * 100_000, None, b""], pa.large_binary()),
    "fixed_binary": pa.array([b"abc", None, b"xyz"], pa.binary(3)),
    "uint64": pa.array([2**64 - 1, None, 0], pa.uint64()),
    "time": pa.array([dt.time(23, 59, 59, 999999), None, dt.time(0)]),
    "nanoseconds": pa.array([1_700_000_000_000_000_001, None, -1], pa.timestamp("ns")),
    "wide decimal": pa.array([decimal.Decimal("1.5"), None, decimal.Decimal(10) ** 37], pa.decimal256(60, 3)),
    "nothing but NULL": pa.nulls(3, pa.int8()),
}
KEYS = pa.array([1, 2, 3], pa.int32())


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_of_any_type_comes_out_of_the_join_as_it_went_in(name):
    payload = PAYLOADS[name]
    with pj.StreamJoin(on="left.k = right.k", window=pj.CountWindow(100), how="left", subwindow=2) as join:
        for at in range(3):  # one batch per row, so that the rows of the result come from several subwindows
            join.push("left", pa.record_batch({"k": KEYS.slice(at, 1), "payload": payload.slice(at, 1)}))
        rows = join.push("right", pa.record_batch({"k": KEYS.take(pa.array([2, 1])), "payload": payload.slice(1)}))
        found = pa.concat_tables([rows.to_arrow(), join.finish().to_arrow()]).sort_by("k_left")
    assert found.schema.field("payload_left").type == found.schema.field("payload_right").type == payload.type
    assert found["payload_left"].to_pylist() == payload.to_pylist()
    assert found["payload_right"].to_pylist() == [None, payload[2].as_py(), payload[1].as_py()]


def test_batches_with_dictionaries_of_their_own_come_out_with_their_own_words():
    with pj.StreamJoin(on="left.s = right.s", window=pj.CountWindow(100)) as join:
        for words in (["a", "b"], ["c", "a", None], ["b"]):
            join.push("left", {"s": pa.array(words).dictionary_encode()})
        found = join.push("right", {"s": pa.array(["c", "b"]).dictionary_encode()}).to_arrow()
    assert sorted(zip(found["s_left"].to_pylist(), found["s_right"].to_pylist(), strict=True)) == [
        ("b", "b"), ("b", "b"), ("c", "c"),
    ]  # fmt: skip


def test_layouts_that_arrow_cannot_pick_rows_out_of_come_out_as_the_same_values():
    text, inner = WORDS.cast(pa.string_view()), pa.string_view()
    columns = {
        "text": (text, pa.large_string()),
        "bytes": (pa.array([b"\0", None, b"x" * 20], pa.binary_view()), pa.large_binary()),
        "runs": (pc.run_end_encode(pa.array([7, 7, None])), pa.int64()),
        "list": (pa.array([["x"], None, [None, "y" * 20]], pa.list_(inner)), pa.list_(pa.large_string())),
        "large list": (pa.array([["x"], None, []], pa.large_list(inner)), pa.large_list(pa.large_string())),
        "pair": (pa.array([["x", "y"], None, ["z", None]], pa.list_(inner, 2)), pa.list_(pa.large_string(), 2)),
        "struct": (
            pa.array([{"a": "x"}, None, {"a": None}], pa.struct([("a", inner)])),
            pa.struct([("a", pa.large_string())]),
        ),
        "map": (pa.array([[("k", 1)], None, []], pa.map_(inner, pa.int8())), pa.map_(pa.large_string(), pa.int8())),
        "few": (WORDS.cast(pa.dictionary(pa.int8(), pa.string())), pa.dictionary(pa.int32(), pa.string())),
    }
    arrays = {name: array for name, (array, _) in columns.items()}
    with pj.StreamJoin(on="left.k = right.k", window=pj.CountWindow(10)) as join:
        join.push("left", {"k": KEYS, **arrays})
        found = join.push("right", {"k": KEYS}).to_arrow().sort_by("k_left")
    for name, (array, kind) in columns.items():
        assert found.schema.field(name).type == kind, name
        assert found[name].to_pylist() == array.to_pylist(), name


def test_views_of_lists_of_views_are_refused_with_the_remedy():
    column = pa.array([["x"]], pa.list_view(pa.string_view()))
    with pj.StreamJoin(on="left.k = right.k", window=pj.CountWindow(10)) as join:
        with pytest.raises(
            pj.DataError, match=r"^left batch: a column of type list_view<.*> cannot be kept; give it as list<"
        ):
            join.push("left", {"k": [1], "v": column})
        join.push("left", {"k": [1]})


def test_frames_of_polars_come_out_with_their_texts_lists_and_categories():
    frame = pl.DataFrame(
        {
            "s": ["a", "a longer word than twelve bytes", None],
            "list": [["x"], None, ["y", None]],
            "struct": [{"a": "q"}, None, {"a": None}],
            "category": pl.Series(["u", None, "v"], dtype=pl.Categorical),
            "bytes": [b"x", None, b""],
        }
    )
    with pj.StreamJoin(on="left.s = right.s", window=pj.CountWindow(10)) as join:
        join.push("left", frame)
        found = join.push("right", frame[::-1]).to_arrow().sort_by("s_left")
    for name in frame.columns:
        assert found[f"{name}_left"].to_pylist() == found[f"{name}_right"].to_pylist() == frame[name].to_list()[:2]


def test_dictionaries_of_few_words_each_may_have_many_words_together():
    with pj.StreamJoin(on="left.k = right.k", window=pj.CountWindow(1000)) as join:
        for first in (0, 100, 200):
            words = pa.array([str(first + at) for at in range(100)]).cast(pa.dictionary(pa.int8(), pa.string()))
            join.push("left", {"k": range(first, first + 100), "word": words})
        found = join.push("right", {"k": range(300)}).to_arrow()
    assert found.num_rows == 300
    assert all(
        str(key) == word for key, word in zip(found["k_left"].to_pylist(), found["word"].to_pylist(), strict=True)
    )


def test_malformed_arrow_is_refused_by_a_join_that_validates_and_the_join_goes_on():
    offsets = pa.py_buffer(np.array([0, 1_000_000, 5], np.int32).tobytes())
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"hello")])
    with pj.StreamJoin(on="left.k = right.k", window=pj.CountWindow(10), validate=True) as join:
        with pytest.raises(pj.DataError, match=r"^left batch is malformed: .*; nothing of it was used"):
            join.push("left", pa.record_batch({"k": KEYS[:2], "text": broken}))
        join.push("left", {"k": [1], "text": ["fine"]})
        assert join.push("right", {"k": [1]}).to_arrow()["text"].to_pylist() == ["fine"]


# ---- names ----

NAMES = ["_x", "a b", "a.b", "class", "a`b", "größe", "left", "SELECT", "1st", "'; DROP TABLE t --", ""]


def quoted(name):
    return f"`{name.replace('`', '``')}`"


@pytest.mark.parametrize("name", [name for name in NAMES if name])
def test_a_column_of_any_name_is_a_key_a_time_a_value_and_a_result(name):
    noon = dt.datetime(2026, 1, 5, 12)
    side = {name: [1, 2, 3], "ts " + name: [noon] * 3, "v " + name: [10, 20, 30]}
    window = pj.TimeWindow("1 minute", on="ts " + name)
    for on in (f"left.{quoted(name)} < right.{quoted(name)}", pj.less(name)):
        with pj.StreamJoin(on=on, window=window) as join:
            join.push("right", side)
            found = join.push("left", side).to_arrow()
        both = [f"{column}{suffix}" for suffix in ("_left", "_right") for column in side]
        assert found.column_names == both
        pairs = sorted(zip(found[f"{name}_left"].to_pylist(), found[f"v {name}_right"].to_pylist(), strict=True))
        assert pairs == [(1, 20), (1, 30), (2, 30)]
    with pj.StreamJoin(on=pj.less(name), window=window, emit=[f"sum({quoted('v ' + name)}) as total"]) as join:
        join.push("right", side)
        totals = join.push("left", side).to_arrow().to_pylist()
    assert [row["total"] for row in totals if row["side"] == "left"] == [50, 30, None]


def test_columns_of_every_name_at_once_keep_their_values():
    side = {name: [at] for at, name in enumerate(NAMES)}
    with pj.StreamJoin(on=pj.equal("_x"), window=pj.CountWindow(5)) as join:
        join.push("left", side)
        (row,) = join.push("right", side).to_arrow().to_pylist()
    assert row == {f"{name}{suffix}": at for at, name in enumerate(NAMES) for suffix in ("_left", "_right")}


def test_in_spark_columns_of_any_name_and_nested_payloads_come_out_as_they_went_in(spark):
    names = [name for name in NAMES if name]
    columns = {name: pa.array([at, 2**53 + 1, None]) for at, name in enumerate(names)}
    nested = {
        "a list": PAYLOADS["list"],
        "a struct": PAYLOADS["struct"],
        "a map": PAYLOADS["map"],
        "bytes": pa.array([b"\0", None, b"x" * 1000]),
    }
    table = pa.table({"k": KEYS, **columns, **nested})
    frame = spark.createDataFrame(table)
    on = "left.k = right.k AND left.`'; DROP TABLE t --` <=> right.`'; DROP TABLE t --` AND left.`a``b` >= right.`a``b`"
    found = stream_join(frame, frame, on=on, window=pj.CountWindow(5))
    wanted = frame.alias("left").join(frame.alias("right"), on=_expression(on))
    rows = found.orderBy("k_left").toArrow()
    assert rows.column_names == [f"{name}{suffix}" for suffix in ("_left", "_right") for name in table.column_names]
    assert [tuple(row.values()) for row in rows.to_pylist()] == [
        tuple(column.as_py() for column in row) for row in _rows(wanted.orderBy("left.k").toArrow())
    ]
    assert rows.num_rows == 2


def _expression(text):
    from pyspark.sql.functions import expr  # noqa: PLC0415  (only the test of Spark needs it)

    return expr(text)


def _rows(table):
    return zip(*table.columns, strict=True)
