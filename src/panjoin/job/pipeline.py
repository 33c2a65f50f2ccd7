"""A job on Spark: sources become DataFrames, one call joins them, the sink takes the rows.

read ─ parse value ─ select, rename ─ withWatermark ┐
                                                    stream_join ── write
read ─ parse value ─ select, rename ─ withWatermark ┘
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pyspark
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

from panjoin.durations import microseconds_of, spelled
from panjoin.errors import ParameterError
from panjoin.job.check import SIDES, Job
from panjoin.job.ddl import columns_of, spark_ddl
from panjoin.job.model import (
    AVAILABLE_NOW,
    AnySink,
    FileSink,
    FileSource,
    KafkaSink,
    KafkaSource,
    MemorySink,
    RateSource,
    SocketSource,
    Source,
)
from panjoin.spark.operator import stream_join
from panjoin.spark.session_builder import session

#: The connector is not among Spark's own files; Scala's version is that of the pip-installed Spark.
KAFKA = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false"}
_QUIET = {"spark.ui.showConsoleProgress": "false"}


def open_session(
    job: Job, *, master: str | None = None, settings: Mapping[str, str] | None = None, packages: Iterable[str] = ()
) -> SparkSession:
    """The session of a job. What the command line says (`settings`) wins over what the job file says.

    On this machine alone nothing listens on other addresses than loopback, and there is one shuffle partition for each
    core: 200, Spark's default, cost a state store each in every micro-batch.
    """
    master = master or job.run.master or "local[*]"
    ours = dict(_QUIET)
    if master.startswith("local"):
        ours |= {**_LOOPBACK, "spark.sql.shuffle.partitions": str(_cores(master))}
    if job.run.resident is not None:
        os.environ["PANJOIN_RESIDENT_DIR"] = job.run.resident  # Python workers on this machine inherit it
        ours["spark.executorEnv.PANJOIN_RESIDENT_DIR"] = job.run.resident
    if list(packages):
        ours["spark.jars.packages"] = ",".join(packages)
    return session(job.name, master=master, settings={**ours, **job.settings, **(settings or {})})


def _cores(master: str) -> int:
    named = re.match(r"local\[(\d+)", master)
    if named is not None:
        return int(named[1])
    return 1 if master == "local" else len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 4


def joined(spark: SparkSession, job: Job) -> DataFrame:
    """The rows."""
    options = job.options
    emit = list(options.aggregates) if options.emit == "aggregates" else options.emit
    extent = options.subwindow
    subwindow = None if extent is None else extent.tuples if extent.micros is None else spelled(extent.micros)
    return stream_join(
        *(_frame(spark, job, number) for number in (0, 1)), on=job.condition, window=job.window, how=options.how,
        index=options.index, workers=options.workers, emit=emit, suffixes=options.suffixes, name=job.name,
        subwindow=subwindow, partitions=options.partitions,
    )  # fmt: skip


def start(spark: SparkSession, job: Job) -> StreamingQuery:
    """Start the query of a streaming job."""
    rows = joined(spark, job)
    writer = _payload(job, rows).writeStream.queryName(job.name).options(**_sink_options(job))
    writer = writer.format(job.sink.format).option("checkpointLocation", str(job.run.checkpoint))
    if job.run.trigger == AVAILABLE_NOW:
        writer = writer.trigger(availableNow=True)
    else:
        length = spelled(microseconds_of(job.run.trigger, "the trigger"))
        writer = writer.trigger(processingTime=length)
    return writer.start()


def write(spark: SparkSession, job: Job) -> int:
    """Join two tables at once; returns the number of rows."""
    counted = Observation("rows")
    rows = _payload(job, joined(spark, job)).observe(counted, sf.count(sf.lit(1)).alias("rows"))
    if job.sink.format in ("console", "memory"):
        rows.show(getattr(job.sink, "rows", 20), truncate=False)
        return rows.count()
    rows.write.format(job.sink.format).options(**_sink_options(job)).mode("error").save()
    return int(counted.get["rows"])


def shown(spark: SparkSession, job: Job) -> DataFrame | None:
    """What a memory sink has, as many rows as it shows."""
    return spark.table(f"`{job.name}`").limit(job.sink.rows) if isinstance(job.sink, MemorySink) else None


# ---- sources ----


def _frame(spark: SparkSession, job: Job, number: int) -> DataFrame:
    source = job.sources[number]
    frame = _parsed(source, _loaded(spark, source, SIDES[number], job.schemas[number]))
    frame = _renamed(source, frame)
    if source.watermark is None or job.window.on is None or not source.streaming:
        return frame
    delay = spelled(microseconds_of(source.watermark, "the watermark"))
    return frame.withWatermark(_quoted(job.window.on[number]), delay)


def _loaded(spark: SparkSession, source: Source, side: str, schema: Any) -> DataFrame:
    reader: Any = spark.readStream if source.streaming else spark.read
    reader = reader.format(source.format).options(**source.options)
    for key, value in _source_options(source).items():
        reader = reader.option(key, value)
    text = getattr(source, "columns", None)
    if (
        isinstance(source, FileSource)
        and text is None
        and schema is not None
        and not source.rename
        and not source.select
    ):
        reader = reader.schema(spark_ddl(schema))
    elif text is not None and not isinstance(source, (KafkaSource, SocketSource)):
        reader = reader.schema(spark_ddl(columns_of(text)))
    elif isinstance(source, FileSource) and source.streaming:
        reader = reader.schema(spark.read.format(source.format).options(**source.options).load(source.path).schema)
    path = getattr(source, "path", None)
    try:
        frame: DataFrame = reader.load() if path is None else reader.load(path)
    except AnalysisException as error:
        raise ParameterError(f"the {side} side cannot be read: {_first_line(error)}{_remedy(source.format)}") from error
    return frame


def _source_options(source: Source) -> dict[str, str]:
    if isinstance(source, KafkaSource):
        found = {"kafka.bootstrap.servers": source.bootstrap_servers, "subscribe": source.topic}
        found["startingOffsets"] = source.starting_offsets
        if source.records_per_batch is not None:
            found["maxOffsetsPerTrigger"] = str(source.records_per_batch)
        return found
    if isinstance(source, SocketSource):
        stamped = str(source.timestamp_as is not None).lower()
        return {"host": source.host, "port": str(source.port), "includeTimestamp": stamped}
    if isinstance(source, RateSource):
        return {"rowsPerSecond": str(source.rows_per_second)}
    most = getattr(source, "files_per_batch", None)
    return {} if most is None else {"maxFilesPerTrigger": str(most)}


def _parsed(source: Source, frame: DataFrame) -> DataFrame:
    """Columns out of a record's value."""
    if not isinstance(source, (KafkaSource, SocketSource)):
        return frame
    stamp = [] if source.timestamp_as is None else [sf.col("timestamp").alias(source.timestamp_as)]
    value = sf.col("value").cast("string")
    if source.value == "text":
        return frame.select(value.alias("value"), *stamp)
    assert source.columns is not None
    read = sf.from_json if source.value == "json" else sf.from_csv
    return frame.select(read(value, spark_ddl(columns_of(source.columns))).alias("value"), *stamp).select(
        "value.*", *[sf.col(_quoted(name)) for name in ([] if source.timestamp_as is None else [source.timestamp_as])]
    )


def _renamed(source: Source, frame: DataFrame) -> DataFrame:
    if source.select is None and not source.rename:
        return frame
    names = frame.columns if source.select is None else source.select
    return frame.select(*[sf.col(_quoted(name)).alias(source.rename.get(name, name)) for name in names])


# ---- sinks ----


def _payload(job: Job, rows: DataFrame) -> DataFrame:
    if not isinstance(job.sink, KafkaSink):
        return rows
    return rows.select(sf.to_json(sf.struct(*[sf.col(_quoted(name)) for name in rows.columns])).alias("value"))


def _sink_options(job: Job) -> dict[str, str]:
    sink = job.sink
    found = dict(sink.options)
    if isinstance(sink, KafkaSink):
        found |= {"kafka.bootstrap.servers": sink.bootstrap_servers, "topic": sink.topic}
    if isinstance(sink, (FileSink, AnySink)) and sink.path is not None:
        found["path"] = sink.path
    return found


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def _remedy(name: str) -> str:
    return f"; the connector is no part of Spark: add --packages {KAFKA}" if name == "kafka" else ""
