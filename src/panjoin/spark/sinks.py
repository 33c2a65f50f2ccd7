"""Packed sinks: payloads of a result become files, without becoming rows on the way, exactly once.

    task     payloads ──> _pending/17/3-8f2a.parquet         (any number of attempts, each under a name of its own)
    commit   the files of the attempts that count ──> _pending/17/commit/ ──rename──> batch=17/
    again    batch=17/ is there: what came again is thrown away

A micro-batch is a directory, and one rename makes it visible: readers see all of it or nothing, whenever a task, the
driver or the host dies. Its number is a partition column for those who read the sink (`batch`). Names that begin with
`_` are invisible to Spark, DuckDB, pyarrow and to packed sources alike.

Invariant: a sink belongs to one query, by the identity in its checkpoint. Another one would count its micro-batches
from 0 again, and be taken for a repetition.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from panjoin.errors import StateError
from panjoin.spark.pack import opened

NAME = "panjoin_packed_sink"
PENDING, OWNER = "_pending", "_query.json"
#: Under which Spark tells tasks whose they are.
_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """What a task has done."""

    query: str
    file: str | None  #: in the pending directory of the micro-batch; None when there was nothing to write
    task: int
    rows: int


class PackedSink(DataSource):
    """What Spark knows of it."""

    @classmethod
    def name(cls) -> str:
        """Under which Spark knows it."""
        return NAME

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: ARG002
        """For one query."""
        options = self.options
        return PackedWriter(Path(options["path"]), options["form"], StructType.fromJson(json.loads(options["rows"])))


class PackedWriter(DataSourceStreamArrowWriter):
    """Of one directory."""

    def __init__(self, directory: Path, form: str, schema: StructType) -> None:
        self.directory, self.form = directory, form
        self.schema = to_arrow_schema(schema, timezone="UTC")

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """The payloads of a task into a file that nobody sees yet."""
        context = TaskContext.get()
        assert context is not None
        query, batch = (str(context.getLocalProperty(key)) for key in (_QUERY, _BATCH))
        name, rows = f"{context.partitionId()}-{uuid4().hex}.{self.form}", 0
        path = self.directory / PENDING / batch / name
        found = (each for each in _rows(iterator, self.schema) if each.num_rows)
        first = next(found, None)
        if first is None:
            return Written(query, None, context.partitionId(), 0)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as handle:
            with _writer(handle, self.schema, self.form) as writer:
                writer.write_batch(first)
                rows += first.num_rows
                for each in found:
                    writer.write_batch(each)
                    rows += each.num_rows
            handle.flush()
            os.fsync(handle.fileno())
        return Written(query, name, context.partitionId(), rows)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """On the driver: the micro-batch becomes visible, unless it is already."""
        written = [each for each in messages if isinstance(each, Written)]
        if written:
            self._refuse_other(written[0].query)
        pending, place = self.directory / PENDING, self.directory / f"batch={batchId}"
        full = [each for each in written if each.file is not None]
        if full and not place.exists():
            together = pending / str(batchId) / "commit"
            shutil.rmtree(together, ignore_errors=True)  # of a commit that was not finished
            together.mkdir(parents=True)
            for each in full:
                assert each.file is not None
                (pending / str(batchId) / each.file).rename(together / f"task-{each.task:05}.{self.form}")
            _synced(together)
            together.rename(place)
            _synced(self.directory)
        for left in self._pending():
            if int(left.name) <= batchId:
                shutil.rmtree(left, ignore_errors=True)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """On the driver: the micro-batch will be tried again, under other names."""
        for each in messages:
            if isinstance(each, Written) and each.file is not None:
                with suppress(OSError):
                    (self.directory / PENDING / str(batchId) / each.file).unlink()

    def _pending(self) -> list[Path]:
        with suppress(FileNotFoundError):
            return [each for each in (self.directory / PENDING).iterdir() if each.name.isdecimal()]
        return []

    def _refuse_other(self, query: str) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / OWNER
        if not path.exists():
            mine = path.with_name(f"{OWNER}.{uuid4().hex}")
            mine.write_text(json.dumps({"query": query}))
            with suppress(FileExistsError):
                os.link(mine, path)  # in one step, and only if there is none
            mine.unlink()
            _synced(self.directory)
        owner = json.loads(path.read_text())["query"]
        if owner != query:
            raise StateError(
                f"{self.directory} is the packed sink of the query {owner}, and this is {query}: its micro-batches "
                f"would be taken for repetitions; write into an empty directory, or go on from the other's checkpoint"
            )


def _rows(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for payload in batch.column(0).drop_null():
            for rows in opened(payload.as_buffer()):
                yield pa.RecordBatch.from_arrays(rows.columns, schema=schema)


def _writer(handle: Any, schema: pa.Schema, form: str) -> Any:
    return pq.ParquetWriter(handle, schema) if form == "parquet" else pa.ipc.new_file(handle, schema)


def _synced(directory: Path) -> None:
    """What was renamed in it stays so."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
