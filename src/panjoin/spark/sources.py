"""Packed sources: files of tuples that become messages where they are read, so that no tuple crosses the JVM as a row.

    row DataFrame     file ─ JVM reader ─ rows ─ Arrow ─> Packer ─ messages ─> JVM ─ shuffle ─> worker
    packed source     file ──────────────────────────> Packer ─ messages ─> JVM ─ shuffle ─> worker

`packed.read` gives a handle and starts nothing. Only `stream_join` knows which columns are read and which worker gets
what; it hands the packer to the reader (`messages`), which Spark calls through its Python data source interface:

    driver      initialOffset, latestOffset ── listing.py ── which files        partitions ── which part to which task
    executor    read ── files.py ── batches ── Packer ── messages, and the newest event time of each

**Watermark.** Beside each message stands the newest event time of the tuples read so far in the task. Spark's
watermark is the maximum of its column less the delay, and the maximum over messages is that over tuples: the same
watermark, micro-batch by micro-batch, as from rows. Whether a tuple is late is decided in the worker, tuple by tuple.

Invariant: order of arrival is (order of files, position in the file), however a micro-batch is cut into tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from panjoin.errors import StateError
from panjoin.spark.files import Part, rows, sizes
from panjoin.spark.listing import Position, Taken, advanced, listed
from panjoin.spark.pack import MESSAGE

#: The column beside a message that carries the watermark.
NEWEST = "newest"
#: Bytes of files that are worth a task of their own.
TASK_BYTES = 4 << 20


class Share(InputPartition):
    """What one task reads."""

    def __init__(self, parts: tuple[Part, ...]) -> None:
        super().__init__(parts)


class PackedFiles(DataSource):
    """What Spark knows of a packed source. A subclass for each join side carries what only the join knows."""

    registered: ClassVar[str] = "panjoin_packed_files"
    carrier: ClassVar[Any] = None  #: batches of this task into messages
    columns: ClassVar[StructType]  #: those that are read
    sent: ClassVar[tuple[str, ...]]  #: those that cross
    event_time: ClassVar[str | None] = None

    @classmethod
    def name(cls) -> str:
        """Under which Spark knows it."""
        return cls.registered

    def schema(self) -> StructType:
        """Messages, and what carries the watermark."""
        return from_arrow_schema(MESSAGE.append(pa.field(NEWEST, pa.timestamp("us", "UTC"))))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """The reader of a query, on the driver; a copy of it on every executor."""
        return PackedReader(self, schema)


class PackedReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Of one directory."""

    def __init__(self, source: PackedFiles, schema: StructType) -> None:
        options = source.options
        self.directory, self.form = Path(options["path"]), options["form"]
        most = options.get("most")
        self.most = None if most is None else int(most)
        self.age, self.tasks = int(options["age"]), int(options["tasks"])
        self.carrier, self.columns = type(source).carrier, type(source).columns
        self.sent, self.event_time = type(source).sent, type(source).event_time
        self.schema = to_arrow_schema(schema, timezone="UTC")
        self._until: list[Taken] | None = None

    # ---- on the driver ----

    def initialOffset(self) -> dict[str, Any]:
        """Before the first file."""
        return Position.start().offset()

    def getDefaultReadLimit(self) -> ReadLimit:
        """As the user said."""
        return ReadAllAvailable() if self.most is None else ReadMaxFiles(self.most)

    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all that counts."""
        self._until = listed(self.directory)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The next step."""
        files = listed(self.directory) if self._until is None else self._until
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        return advanced(Position.from_offset(start), files, most, self.age, self.directory).offset()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The files of the last step, in order, cut into tasks of about equal size."""
        before, after = Position.from_offset(start), Position.from_offset(end)
        if before.number == after.number:
            return []
        if before.number + 1 != after.number:
            raise StateError(
                f"Spark asks for the files of {self.directory} from step {before.number} to {after.number} at once, "
                f"and an offset names those of one step; start with a new checkpointLocation"
            )
        return self._shares(after.files)

    def _shares(self, files: Sequence[Taken]) -> list[InputPartition]:
        total = sum(file.size for file in files)
        tasks = max(1, min(self.tasks, total // TASK_BYTES))
        parts: list[tuple[int, Part]] = []
        for file in files:
            if file.size * tasks <= total:  # fits into a task, so there is no need to look inside
                parts.append((file.size, Part(file)))
                continue
            inside = sizes(self.directory, file, self.form)
            if len(inside) == 1:
                parts.append((file.size, Part(file)))
                continue
            scale = file.size / max(1, sum(inside))
            parts += [(int(size * scale), Part(file, at, at + 1)) for at, size in enumerate(inside)]
        return [Share(tuple(group)) for group in _cut(parts, tasks) if group]

    # ---- on the executors ----

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a task."""
        newest: list[int] = []
        for message in self.carrier(self._batches(partition.value, newest)):
            beside = pa.array([newest[0] if newest else 0], self.schema.field(NEWEST).type)
            yield pa.RecordBatch.from_arrays([*message.columns, beside], schema=self.schema)

    def _batches(self, parts: Iterable[Part], newest: list[int]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            for batch in rows(self.directory, part, self.form, self.columns):
                if self.event_time is not None:
                    time = pc.max(batch.column(self.event_time)).value  # None: no row, or none that has a time
                    if time is not None:
                        newest[:] = [max([time, *newest])]
                yield batch.select(list(self.sent))


def _cut(parts: Sequence[tuple[int, Part]], tasks: int) -> list[list[Part]]:
    """Parts in order, in at most `tasks` groups of about equal size."""
    total, done = sum(size for size, _ in parts) or 1, 0
    groups: list[list[Part]] = [[] for _ in range(tasks)]
    for size, part in parts:
        groups[min(tasks - 1, (done + size // 2) * tasks // total)].append(part)
        done += size
    return groups


def _pickled(known: dict[str, Any]) -> bytes:
    return bytes(cloudpickle.dumps(sorted(known.items())))  # type: ignore[no-untyped-call]


def messages(spark: SparkSession, options: dict[str, str], known: dict[str, Any], delay: str | None) -> DataFrame:
    """The stream of messages of one side. `known` are attributes of `PackedFiles`."""
    named = f"panjoin_packed_{blake2b(_pickled(known), digest_size=8).hexdigest()}"
    source = type("PackedSide", (PackedFiles,), {**known, "registered": named, "__module__": __name__})
    spark.dataSource.register(source)
    stream = spark.readStream.format(named).options(**options).load()
    if delay is not None:
        stream = stream.withWatermark(NEWEST, delay)
    return stream.select(*MESSAGE.names)
