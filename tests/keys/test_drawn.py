"""Values that nobody chose, of every type: their keys compare as DuckDB and Spark compare the values themselves.

values with NULLs, near the ends and near each other      rank them by key  ==  dense_rank() in SQL
texts and binaries, which have no order here              equal keys        ==  equal values in SQL
"""

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from panjoin.keys import codec
from tests.keys import nasty

ORDERED = list(nasty.VALUES)
BYTES = {"string": pa.string(), "binary": pa.binary()}


def physical(name):
    """A value as Arrow stores it: nasty ones, their neighbours, and any; a bit pattern for floats."""
    column = nasty.VALUES[name]
    subject = codec(column.type)
    if name == "bool":
        return st.booleans()
    bits = {"float": np.uint32, "double": np.uint64}.get(name)
    if bits is not None:
        width = np.dtype(bits).itemsize * 8
        nasty_bits = np.asarray(column).view(bits).tolist()
        return (
            st.sampled_from(nasty_bits)
            | st.floats(width=width).map(lambda x: _pattern(x, bits))
            | st.integers(0, 2**width - 1)
        )
    known = subject.keys_of(subject.decode(subject.encode(column)[0])).tolist()
    near = st.builds(
        lambda value, step: min(max(value + step, subject.lowest), subject.highest),
        st.sampled_from(known),
        st.integers(-2, 2),
    )
    return near | st.integers(-10, 10) | st.integers(*_limits(name, subject))


def _limits(name, subject):
    """DuckDB keeps a date's ends for infinity, and Spark's end with the year 9999."""
    return (-719_162, 2_932_896) if name == "date" else (subject.lowest, subject.highest)


def _pattern(number, bits):
    kind = np.float32 if bits is np.uint32 else np.float64
    return int(np.array(number, kind).view(bits))


def column_of(name, drawn):
    """The Arrow column of drawn physical values; None is NULL."""
    kind = nasty.VALUES[name].type
    mask = np.array([value is None for value in drawn], bool)
    held = [0 if value is None else value for value in drawn]
    if name == "bool":
        return pa.array(drawn, pa.bool_())
    if name.startswith("decimal"):
        words = np.array([word for value in held for word in (value, value >> 63)], np.int64)
        valid = pa.array(~mask).buffers()[1]
        return pa.Array.from_buffers(kind, len(held), [valid, pa.py_buffer(words.tobytes())])
    dtype = {"float": np.uint32, "double": np.uint64}.get(name, nasty.PHYSICAL[name])
    raw = np.array(held, dtype).view(nasty.PHYSICAL[name])
    return pa.array(raw, mask=mask).view(kind)


@st.composite
def tables(draw, least=1, most=12):
    """A column of every ordered type, and of texts and binaries."""
    count = draw(st.integers(least, most))

    def some(values):
        return draw(st.lists(st.none() | values, min_size=count, max_size=count))

    columns = {name: column_of(name, some(physical(name))) for name in ORDERED}
    texts = st.sampled_from(["", "a", "A", "a ", "a\0", "é", "e\u0301"]) | st.text(max_size=40)
    binaries = st.sampled_from([b"", b"\0", b"\0\0"]) | st.binary(max_size=40)
    return pa.table(
        {**columns, "string": pa.array(some(texts), pa.string()), "binary": pa.array(some(binaries), pa.binary())}
    )


def ranks_of_keys(table, name):
    """Dense ranks by our keys, the NULL lowest."""
    keys, valid = codec(table.schema.field(name).type).encode(table[name])
    valid = np.ones(len(keys), bool) if valid is None else valid
    ranks = np.ones(len(keys), np.int64)
    ranks[valid] = (not valid.all()) + 1 + np.unique(keys[valid], return_inverse=True)[1]
    return ranks.tolist()


def groups_of_keys(table, name):
    """For each row the first row with an equal key; NULLs are equal here."""
    keys, valid = codec(table.schema.field(name).type).encode(table[name])
    told = [None if valid is not None and not valid[at] else key for at, key in enumerate(keys.tolist())]
    return [told.index(key) for key in told]


def columns_in_sql():
    ranks = [f'dense_rank() OVER (ORDER BY "{name}" NULLS FIRST) AS "{name}"' for name in ORDERED]
    firsts = [f'min("row") OVER (PARTITION BY "{name}") AS "{name}"' for name in BYTES]
    return [*ranks, *firsts]


def assert_as(answer, table):
    """The keys of a table tell the same order and the same groups as an answer of columns_in_sql."""
    for name in ORDERED:
        assert ranks_of_keys(table, name) == answer[name], name
    for name in BYTES:
        assert groups_of_keys(table, name) == answer[name], name


@pytest.fixture(scope="module")
def database():
    with duckdb.connect() as connection:
        yield connection


@given(tables())
def test_keys_of_any_values_compare_as_duckdb_compares_the_values(database, table):
    database.register("drawn", table.append_column("row", pa.array(range(table.num_rows), pa.int64())))
    found = database.sql(f'SELECT {", ".join(columns_in_sql())} FROM drawn ORDER BY "row"').to_arrow_table()
    assert_as(found.to_pydict(), table)


@settings(max_examples=max(2, settings().max_examples // 15), phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(tables(least=50, most=60))
def test_keys_of_any_values_compare_as_spark_compares_the_values(spark, table):
    numbered = table.append_column("row", pa.array(range(table.num_rows), pa.int64()))
    spark.createDataFrame(numbered).coalesce(1).createOrReplaceTempView("drawn")
    columns = ", ".join(columns_in_sql()).replace('"', "`")
    found = spark.sql(f"SELECT {columns}, row FROM drawn").toArrow().sort_by("row")
    assert_as(found.to_pydict(), table)
