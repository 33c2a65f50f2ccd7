"""A pair matches when Spark's batch inner join with the same ON text returns it: every form, every mixture of types."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions

from panjoin.predicate import parse
from tests.predicate.nasty import SCHEMA, TABLE, every_pair, texts

CONDITIONS_PER_JOB = 450


@pytest.fixture(scope="module")
def two_sides(spark):
    """The table of nasty values under both names, with its row numbers."""
    numbered = TABLE.append_column("row", pa.array(range(TABLE.num_rows), pa.int32()))
    frame = spark.createDataFrame(numbered)
    frame = frame.withColumn("ntz", frame["ntz"].cast("timestamp_ntz"))
    return frame.alias("left"), frame.alias("right")


def as_spark_says(two_sides, conditions):
    """One boolean column per condition, over all pairs in the order of `every_pair`."""
    left, right = two_sides
    truths = [f"coalesce({text}, false) AS c{at}" for at, text in enumerate(conditions)]
    table = left.crossJoin(right).selectExpr("left.row AS l", "right.row AS r", *truths).toArrow()
    return table.take(pc.sort_indices(table, [("l", "ascending"), ("r", "ascending")]))


def test_every_condition_holds_where_spark_says_so(two_sides):
    everything, pairs = texts(), every_pair()
    differ = []
    for first in range(0, len(everything), CONDITIONS_PER_JOB):
        conditions = everything[first : first + CONDITIONS_PER_JOB]
        expected = as_spark_says(two_sides, conditions)
        for at, text in enumerate(conditions):
            ours = parse(text).bind(SCHEMA, SCHEMA).full(*pairs)
            spark_says = expected.column(f"c{at}").to_numpy()
            if not np.array_equal(ours, spark_says):
                row = int(np.flatnonzero(ours != spark_says)[0])
                differ.append((text, f"row {row // TABLE.num_rows} with {row % TABLE.num_rows}", bool(spark_says[row])))
    assert len(everything) > 800
    assert not differ


def test_the_join_itself_returns_the_pairs_that_the_condition_selects(two_sides):
    left, right = two_sides
    text = "left.f64 BETWEEN right.f32 - 0.5 AND right.f32 + 0.5 AND left.i32 != right.i32"
    joined = left.join(right, functions.expr(text))
    rows = {(row.l, row.r) for row in joined.selectExpr("left.row AS l", "right.row AS r").collect()}
    ours = np.flatnonzero(parse(text).bind(SCHEMA, SCHEMA).full(*every_pair()))
    assert rows == {divmod(int(at), TABLE.num_rows) for at in ours}
    assert rows
