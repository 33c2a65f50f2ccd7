"""Aggregates: what is understood, where they apply, which type they give (as Spark gives it)."""

import pyarrow as pa
import pytest

from panjoin.aggregates import Aggregate, aggregates, refuse_collisions
from panjoin.errors import DataError, ParameterError

LEFT = pa.schema({"k": pa.int32(), "price": pa.float32(), "text": pa.string()})
RIGHT = pa.schema({"k": pa.int64(), "qty": pa.decimal128(10, 2), "list": pa.list_(pa.int8())})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("count", Aggregate("count")),
        ("count(*)", Aggregate("count")),
        ("COUNT ( * ) AS n", Aggregate("count", name="n")),
        ("count(price)", Aggregate("count", "price")),
        ("sum(price)", Aggregate("sum", "price", "sum(price)")),
        ("avg(right.price)", Aggregate("avg", "price", "avg(right.price)", of="right")),
        ("mean(price) as m", Aggregate("avg", "price", "m")),
        ("min( Left . price )", Aggregate("min", "price", of="left")),
        ("max(`a.b`)", Aggregate("max", "a.b")),
        ("max(`right.x`)", Aggregate("max", "right.x")),
        ("max(a b)", Aggregate("max", "a b")),
        ("sum(right.`tick``ed`) as `the sum`", Aggregate("sum", "tick`ed", "the sum", "right")),
        ("count(right.*)", Aggregate("count", of="right")),
    ],
)
def test_aggregates_are_read_from_text(text, expected):
    assert Aggregate.parse(text) == expected


def test_results_are_named_after_what_they_are():
    assert [one.name for one in aggregates(["count", "sum(right.price)", Aggregate("max", "a b")])] == [
        "count",
        "sum(right.price)",
        "max(a b)",
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], r"emit is an empty list of aggregates; write for example 'count', 'sum\(price\)'"),
        (["sum("], r"'sum\(' is no aggregate; write for example"),
        (["sum(a) total"], "'sum.a. total' is no aggregate"),
        (["median(x)"], "no aggregate is called 'median'; there are 'count', 'sum', 'min', 'max', 'avg'"),
        (["summ(x)"], "no aggregate is called 'summ'; .* did you mean 'sum'"),
        (["sum"], r"sum needs a column, such as 'sum\(price\)'"),
        (["max(*)"], "max needs a column"),
        ([5], "an aggregate is text or an Aggregate, not 5"),
        (["sum(x)", "SUM(x)"], r"two aggregates are called 'sum\(x\)'; name one of them: 'sum\(x\) as other'"),
    ],
)
def test_what_is_no_aggregate_is_refused_with_the_remedy(given, message):
    with pytest.raises(ParameterError, match=message):
        aggregates(given)


def test_the_aggregated_side_is_left_or_right():
    with pytest.raises(ParameterError, match="of must be 'left' or 'right', the side that is aggregated, not 'both'"):
        Aggregate("sum", "x", of="both")


def test_an_aggregate_is_of_the_sides_that_have_its_column():
    assert Aggregate.parse("sum(k)").sides(LEFT, RIGHT) == ("left", "right")
    assert Aggregate.parse("sum(right.k)").sides(LEFT, RIGHT) == ("right",)
    assert Aggregate.parse("sum(price)").sides(LEFT, RIGHT) == ("left",)
    assert Aggregate.parse("count").sides(LEFT, RIGHT) == ("left", "right")
    assert Aggregate.parse("count(left.*)").sides(LEFT, RIGHT) == ("left",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sum(prise)", "no column 'prise' on either side; there are .*; did you mean 'price'"),
        ("sum(right.price)", "no column 'price' on the right side; there are 'k', 'qty', 'list'"),
        ("sum(text)", r"'sum\(text\)': sum needs numbers, not string; cast the column, or use count"),
        ("avg(text)", "avg needs numbers, not string"),
        ("min(list)", "values of type list<.*> have no order; aggregate another column"),
    ],
)
def test_columns_that_cannot_be_aggregated_are_refused(text, message):
    with pytest.raises(DataError, match=message):
        Aggregate.parse(text).sides(LEFT, RIGHT)


def test_the_values_of_a_dictionary_are_aggregated():
    words, numbers = (pa.dictionary(pa.int8(), kind) for kind in (pa.string(), pa.int16()))
    assert Aggregate("max", "x").result_type(words) == pa.string()
    assert Aggregate("sum", "x").result_type(numbers) == pa.int64()
    with pytest.raises(DataError, match="sum needs numbers, not string"):
        Aggregate("sum", "x").result_type(words)


def test_a_result_is_not_called_like_a_column_of_the_tuples_it_is_given_to():
    refuse_collisions(aggregates(["sum(price) as qty2", "count as n", "max(price) as text"]), LEFT, RIGHT)
    with pytest.raises(ParameterError, match=r"'qty' is called like a column of the right tuples .*; name it: 'qty as"):
        refuse_collisions(aggregates(["sum(price) as qty"]), LEFT, RIGHT)
    with pytest.raises(ParameterError, match="'text' is called like a column of the left tuples"):
        refuse_collisions(aggregates(["count as text"]), LEFT, RIGHT)


TYPES = {
    "byte": pa.int8(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal_9_2": pa.decimal128(9, 2),
    "decimal_18_4": pa.decimal128(18, 4),
    "decimal_36_36": pa.decimal128(36, 36),
}


def test_results_have_the_types_that_spark_gives_them(spark):
    table = pa.table({name: pa.nulls(1, kind) for name, kind in TYPES.items()})
    spark.createDataFrame(table).createOrReplaceTempView("typed")
    asked = [Aggregate(function, name) for function in ("count", "sum", "min", "max", "avg") for name in TYPES]
    query = ", ".join(f"{one.function}({one.column}) as `{one.name}`" for one in asked)
    given = spark.sql(f"select {query} from typed").toArrow().schema
    for one in asked:
        assert given.field(one.name).type == one.result_type(TYPES[one.column]), one.name
