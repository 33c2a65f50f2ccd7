"""The session that the Spark tests share."""

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession


def _double(batches):
    import panjoin  # noqa: PLC0415  (in the worker process, which must find the package)

    for batch in batches:
        doubled = [2 * number for number in batch.column("id").to_pylist()]
        yield pa.RecordBatch.from_pydict({"x": doubled, "version": [panjoin.__version__] * len(doubled)})


def test_python_workers_of_the_shared_spark_can_import_panjoin(spark: SparkSession) -> None:
    rows = spark.range(4, numPartitions=2).mapInArrow(_double, "x long, version string").collect()
    assert sorted(row.x for row in rows) == [0, 2, 4, 6]


def test_the_shared_spark_keeps_its_files_out_of_the_working_directory(spark: SparkSession) -> None:
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW one AS SELECT 1 AS one")
    assert spark.sql("SELECT sum(one) AS s FROM one").collect()[0].s == 1
    assert not {"spark-warehouse", "metastore_db", "derby.log"} & {path.name for path in Path().iterdir()}
