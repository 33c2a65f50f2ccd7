"""Keys compare as Spark and DuckDB compare the values, and decode to them."""

from itertools import pairwise
from math import isnan

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.keys import codec
from tests.keys import nasty

TABLE = nasty.table()
NAMES = list(nasty.VALUES)
RANKS = ", ".join(f"dense_rank() over (order by {name} nulls first) as {name}" for name in NAMES)


def ranks_of_keys(name):
    """Dense ranks by our keys, the NULL lowest: 1 for the NULL, equal keys share a rank."""
    keys, valid = codec(TABLE.schema.field(name).type).encode(TABLE[name])
    ranks = np.ones(len(TABLE), np.int64)
    ranks[valid] = 2 + np.unique(keys[valid], return_inverse=True)[1]
    return ranks


@pytest.fixture(scope="module")
def spark_ranks(spark):
    frame = spark.createDataFrame(TABLE.append_column("row", pa.array(range(len(TABLE)))))
    frame.createOrReplaceTempView("nasty")
    rows = spark.sql(f"select row, {RANKS} from nasty").collect()
    return {row["row"]: row for row in rows}


@pytest.mark.parametrize("name", NAMES)
def test_keys_order_as_spark_orders(spark_ranks, name):
    expected = [spark_ranks[row][name] for row in range(len(TABLE))]
    assert ranks_of_keys(name).tolist() == expected


@pytest.mark.parametrize("name", NAMES)
def test_keys_order_as_duckdb_orders(name):
    with duckdb.connect() as connection:
        connection.register("nasty", TABLE.select([name]).append_column("row", pa.array(range(len(TABLE)))))
        query = f'select dense_rank() over (order by "{name}" nulls first) from nasty order by row'
        rows = connection.execute(query).fetchall()
    assert ranks_of_keys(name).tolist() == [rank for (rank,) in rows]


@pytest.mark.parametrize("name", NAMES)
def test_decoding_gives_the_values_back(name):
    column = nasty.VALUES[name]
    subject = codec(column.type)
    keys, valid = subject.encode(column)
    assert valid is None
    assert keys.dtype == subject.dtype
    assert ((keys >= subject.lowest) & (keys <= subject.highest)).all()
    decoded = subject.decode(keys)
    assert decoded.dtype == nasty.PHYSICAL[name] == subject.physical
    if name == "bool":
        expected = np.array(column.to_pylist())
    elif name.startswith("decimal"):
        expected = np.array([int(x.scaleb(column.type.scale)) for x in column.to_pylist()])
    else:
        expected = np.frombuffer(column.buffers()[1], subject.physical, len(column))
    np.testing.assert_array_equal(decoded, expected)
    np.testing.assert_array_equal(subject.keys_of(decoded), keys)


@pytest.mark.parametrize("name", NAMES)
def test_32_bits_are_used_where_they_suffice(name):
    subject = codec(nasty.VALUES[name].type)
    small = {"bool", "byte", "short", "int", "float", "date", "decimal_9_2", "decimal_9_0"}
    assert subject.dtype == (np.int32 if name in small else np.int64)
    assert subject.exact
    assert subject.orderable


@pytest.mark.parametrize(("kind", "bits"), [(np.float32, np.uint32), (np.float64, np.uint64)])
def test_floats_have_one_zero_and_one_nan_which_is_the_greatest_key(kind, bits):
    subject = codec(pa.from_numpy_dtype(kind))
    zeros = subject.keys_of(np.array([0.0, -0.0], kind))
    assert zeros.tolist() == [0, 0]
    nans = nasty.VALUES["float" if kind is np.float32 else "double"].to_numpy()[-3:]
    assert len(set(nans.view(bits).tolist())) == 3
    assert set(subject.keys_of(nans).tolist()) == {subject.nan_key} == {subject.highest}
    low, high = subject.keys_of(np.array([-np.inf, np.inf], kind))
    assert low == subject.lowest
    assert high == subject.infinity < subject.nan_key
    assert codec(pa.int64()).nan_key is None


@given(st.lists(st.floats(), min_size=2))
def test_doubles_order_as_python_orders_them(numbers):
    subject = codec(pa.float64())
    keys = subject.keys_of(np.array(numbers)).tolist()
    for (x, kx), (y, ky) in pairwise(zip(numbers, keys, strict=True)):
        if isnan(x) or isnan(y):
            assert (kx == ky) == (isnan(x) and isnan(y))
            assert (kx < ky) == (not isnan(x))
        else:
            assert (x < y) == (kx < ky)
            assert (x == y) == (kx == ky)
    again = subject.keys_of(subject.decode(np.array(keys)))
    assert again.tolist() == keys


@given(st.lists(st.floats(width=32), min_size=2))
def test_floats_order_as_the_same_doubles(numbers):
    narrow = codec(pa.float32()).keys_of(np.array(numbers, np.float32))
    wide = codec(pa.float64()).keys_of(np.array(numbers))
    assert [(b > a) - (b < a) for a, b in pairwise(narrow.tolist())] == [
        (b > a) - (b < a) for a, b in pairwise(wide.tolist())
    ]
