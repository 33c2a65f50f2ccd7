"""Packed sources and sinks, as a user sees them: tuples that cross Spark as blocks and never become rows.

    orders = packed.read(spark, "/data/orders", max_files_per_trigger=8).withWatermark("ts", "1 minute")
    quotes = packed.read(spark, "/data/quotes", max_files_per_trigger=8).withWatermark("ts", "1 minute")
    joined = stream_join(orders, quotes, on=..., window=..., packed=True)
    packed.write(joined, "/data/matches").option("checkpointLocation", ...).start()

A `PackedSource` stands where `stream_join` takes a DataFrame; it can do nothing else, for it has no rows. Each side,
and the result, may be packed or not, as it suits.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructField, StructType, TimestampType

from panjoin.durations import microseconds_of
from panjoin.errors import ParameterError
from panjoin.spark.event_time import WATERMARK
from panjoin.spark.files import FORMATS, schema_of
from panjoin.spark.listing import listed
from panjoin.spark.pack import Unpacker
from panjoin.spark.sinks import PackedSink
from panjoin.spark.sources import messages

MARK = "panjoin.packed"  #: in the metadata of a column of payloads: the schema of the rows in them

#: Tasks of a source where Spark does not say how many cores there are (Spark Connect).
_CORES_UNKNOWN = 4


@dataclass(frozen=True)
class PackedSource:
    """Files that one side of a stream join reads; made by `read`."""

    spark: SparkSession = field(repr=False)
    path: Path
    form: str
    columns_read: StructType = field(repr=False)
    most: int | None = None
    age: int = 0
    event_time: str | None = None
    delay: str | None = None

    @property
    def sparkSession(self) -> SparkSession:
        """In which it is read."""
        return self.spark

    @property
    def isStreaming(self) -> bool:
        """It is a stream."""
        return True

    @property
    def schema(self) -> StructType:
        """Of the tuples; Spark's mark of a watermark on its column."""
        marked = {self.event_time: {WATERMARK: 0}}
        return StructType(
            [
                StructField(each.name, each.dataType, each.nullable, marked.get(each.name, each.metadata))
                for each in self.columns_read
            ]
        )

    @property
    def columns(self) -> list[str]:
        """Names of the tuples' columns."""
        return list(self.columns_read.names)

    def withWatermark(self, eventTime: str, delayThreshold: str) -> PackedSource:
        """As of a DataFrame: what is older than the newest `eventTime` seen, by more than the delay, is late."""
        kinds = {each.name: each.dataType for each in self.columns_read}
        if eventTime not in kinds:
            raise ParameterError(f"{self.path} has no column {eventTime!r} for a watermark, only {list(kinds)}")
        if not isinstance(kinds[eventTime], TimestampType):
            raise ParameterError(
                f"withWatermark({eventTime!r}) needs a timestamp, and the column is {kinds[eventTime].simpleString()}"
            )
        delay = f"{int(microseconds_of(delayThreshold, 'delayThreshold'))} microseconds"
        return replace(self, event_time=eventTime, delay=delay)

    def messages(self, carrier: Any, sent: pa.Schema) -> DataFrame:
        """The stream that `carrier` makes of batches with the columns of `sent`; for `stream_join`."""
        names = [name for name in self.columns if name in sent.names or name == self.event_time]
        columns = StructType([self.columns_read[name] for name in names])
        options = {"path": str(self.path), "form": self.form, "age": str(self.age), "tasks": str(self._tasks())}
        if self.most is not None:
            options["most"] = str(self.most)
        known = {"carrier": carrier, "columns": columns, "sent": tuple(sent.names), "event_time": self.event_time}
        return messages(self.spark, options, known, self.delay)

    def _tasks(self) -> int:
        if _connected(self.spark):
            return _CORES_UNKNOWN
        return int(self.spark.sparkContext.defaultParallelism)


def read(
    spark: SparkSession,
    path: str | Path,
    *,
    format: str = "parquet",  # noqa: A002  (Spark's word)
    schema: str | StructType | pa.Schema | None = None,
    max_files_per_trigger: int | None = None,
    max_file_age: Any = "1 day",
) -> PackedSource:
    """A stream of the files that are in a directory, and of those that come, as a side of `stream_join`.

    - `format` is "parquet", or "arrow": Arrow IPC files or streams.
    - `schema` are the columns that matter, as a DDL string, a Spark or an Arrow schema. None takes that of the oldest
      file that is there.
    - `max_files_per_trigger` bounds a micro-batch.
    - `max_file_age`: a file that is older than the newest one taken by more than that is not taken any more.

    Files are taken once, in the order of (time of change, name), and must not change; names that begin with `_` or `.`
    are not looked at. The directory has to be the same for the driver and every executor.
    """
    place = _local(path)
    if format not in FORMATS:
        raise ParameterError(f"format={format!r} is not read packed, only {' and '.join(FORMATS)}")
    if max_files_per_trigger is not None and max_files_per_trigger < 1:
        raise ParameterError(f"max_files_per_trigger must be at least 1, not {max_files_per_trigger}")
    age = microseconds_of(max_file_age, "max_file_age")
    here = not _connected(spark)
    if here and not place.is_dir():
        raise ParameterError(f"{place} is not a directory; make it before the query, or mend the path")
    return PackedSource(spark, place, format, _columns(spark, place, format, schema), max_files_per_trigger, age)


def write(joined: DataFrame, path: str | Path, *, format: str = "parquet") -> DataStreamWriter:  # noqa: A002
    """A writer of `stream_join(..., packed=True)` into files under `path`, exactly once.

    It is Spark's own `DataStreamWriter`: give it a `checkpointLocation` and a trigger, and start it. Every micro-batch
    with rows is a directory `batch=N`, which appears at once; `format` is "parquet" or "arrow".
    """
    if format not in FORMATS:
        raise ParameterError(f"format={format!r} is not written packed, only {' and '.join(FORMATS)}")
    result = _result(joined)
    joined.sparkSession.dataSource.register(PackedSink)
    options = {"path": str(_local(path)), "form": format, "rows": result.json()}
    return joined.writeStream.format(PackedSink.name()).outputMode("append").options(**options)


def unpack(joined: DataFrame) -> DataFrame:
    """The rows of a packed result, such as in `foreachBatch`."""
    result = _result(joined)
    return joined.mapInArrow(Unpacker(to_arrow_schema(result, timezone="UTC")), result)


def marked(payloads: DataFrame, result: StructType) -> DataFrame:
    """Payloads of a result, with its schema in the column's metadata."""
    return payloads.select(sf.col("payload").alias("payload", metadata={MARK: result.json()}))


def _result(joined: DataFrame) -> StructType:
    if joined.columns == ["payload"] and MARK in joined.schema["payload"].metadata:
        return StructType.fromJson(json.loads(joined.schema["payload"].metadata[MARK]))
    raise ParameterError(
        f"a DataFrame with the columns {joined.columns} is no packed result; give what stream_join(..., packed=True) "
        f"gave, as it is"
    )


def _columns(spark: SparkSession, place: Path, form: str, schema: Any) -> StructType:
    if isinstance(schema, pa.Schema):
        return from_arrow_schema(schema)
    if isinstance(schema, StructType):
        return schema
    if isinstance(schema, str):
        return spark.createDataFrame([], schema).schema
    if schema is not None:
        raise ParameterError(f"schema must be a DDL string, a Spark or an Arrow schema, not {schema!r}")
    if _connected(spark):
        raise ParameterError("over Spark Connect a packed source needs schema=, for its files are elsewhere")
    there = listed(place)
    if not there:
        raise ParameterError(f"{place} has no files yet to take a schema from; give schema=")
    return schema_of(place / there[0].name, form)


def _local(path: str | Path) -> Path:
    text = str(path)
    parts = urlsplit(text)
    if parts.scheme == "file":
        text = unquote(parts.path)
    elif "://" in text:
        raise ParameterError(
            f"{text} is not in a file system of the host, and packed files are read without Spark; mount it, or use "
            f"spark.readStream"
        )
    return Path(text).absolute()


def _connected(spark: SparkSession) -> bool:
    return "connect" in type(spark).__module__
