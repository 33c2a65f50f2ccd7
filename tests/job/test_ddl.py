"""Columns in DDL are read without Spark as Spark reads them."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import StructType

from panjoin.errors import ParameterError
from panjoin.job.ddl import columns_of, spark_ddl
from panjoin.spark.operator import arrow_schema

EVERYTHING = (
    "a boolean, b tinyint, c byte, d smallint, e short, f int, g integer, h bigint, i long, j float, k real, l double, "
    "m string, n binary, o date, p timestamp, q timestamp_ntz, r timestamp_ltz, s decimal, t dec(5), u numeric(38, 18), "
    "v array<int>, w map<string, array<double>>, x struct<a: int, `b c`: struct<d string>>, "
    "`odd `` name` int COMMENT 'it\\'s, well', z INT NOT NULL"
)

SIMPLE = st.sampled_from([
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.binary(),
    pa.date32(), pa.timestamp("us", tz="UTC"), pa.timestamp("us"), pa.decimal128(10, 2), pa.decimal128(38, 38),
])  # fmt: skip
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r"), min_size=1, max_size=6)


def _structs(inner):
    names = st.lists(NAMES, min_size=1, max_size=3, unique_by=str.casefold)
    return names.flatmap(
        lambda given: st.tuples(*[inner] * len(given)).map(
            lambda kinds: pa.struct(list(zip(given, kinds, strict=True)))
        )
    )


TYPES = st.recursive(
    SIMPLE,
    lambda inner: inner.map(pa.list_) | st.tuples(inner, inner).map(lambda two: pa.map_(*two)) | _structs(inner),
    max_leaves=4,
)


@given(
    st.lists(st.tuples(NAMES, TYPES, st.booleans()), min_size=1, max_size=4, unique_by=lambda each: each[0].casefold())
)
def test_what_is_written_is_read_back(fields):
    schema = pa.schema([pa.field(name, kind, nullable) for name, kind, nullable in fields])
    assert columns_of(spark_ddl(schema)) == schema


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the text ends where a column's name should be"),
        ("x", "column 'x' has no type; there are 'boolean', "),
        ("x strin", "column 'x' has the type 'strin'; there are .*did you mean 'string'"),
        ("x int,", "the text ends where a column's name should be"),
        ("x int y int", "'y' follows"),
        ("x int; drop table y", "';' follows"),
        ("x decimal(39)", r"decimal\(39,0\) does not exist; at most 38 digits"),
        ("x decimal(2,3)", r"decimal\(2,3\) does not exist"),
        ("x array<int", "the text ends where '>' should stand"),
        ("x int, X int", "names column 'x' twice"),
        ("x int NOT", "the text ends where 'null' should stand"),
    ],
)
def test_what_is_no_list_of_columns_is_refused_with_the_place(text, said):
    with pytest.raises(ParameterError, match=said):
        columns_of(text)


def test_spark_reads_the_same_types(spark):
    ours, theirs = columns_of(EVERYTHING), arrow_schema(StructType.fromDDL(EVERYTHING))
    assert ours == theirs
    assert StructType.fromDDL(spark_ddl(ours)) == StructType.fromDDL(EVERYTHING.replace(" COMMENT 'it\\'s, well'", ""))
