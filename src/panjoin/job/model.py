"""The tables of a job file, as pydantic models: what may stand there, of which type, and what it means.

    name        of the query
    [left]      one side:   a SOURCES entry by its `format`, else AnySource
    [right]     the other
    [join]      condition, join type, structure, form of result
    [window]    which tuples can still meet
    [sink]      where rows go: a SINKS entry by its `format`, else AnySink
    [run]       trigger, checkpoint, resident directory
    [spark]     settings of the session

Every description below is a line of the reference (`reference.py`). Types are strict: "5" is no number. Paths are as
written here; `check.py` resolves and confines them, and fits condition and window to the columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from panjoin.durations import microseconds_of
from panjoin.errors import ParameterError
from panjoin.job.ddl import columns_of
from panjoin.predicate import parse
from panjoin.window import SIDES, CountWindow, MixedWindow, TimeWindow
from panjoin.window import Window as JoinWindow

AVAILABLE_NOW = "available now"


class Table(BaseModel):
    """One table of a job file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


def _checked(check: Callable[[Any], object]) -> AfterValidator:
    """The value as it is, once `check` has not raised."""

    def run(value: Any) -> Any:
        check(value)
        return value

    return AfterValidator(run)


def _of_kind(pattern: str, wanted: str) -> AfterValidator:
    def check(value: str) -> None:
        if not re.fullmatch(pattern, value):
            raise ParameterError(f"must be {wanted}, not {value!r}")

    return _checked(check)


def _duration(value: str) -> None:
    microseconds_of(value, "this length of time")


def _option(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


Name = Annotated[str, _of_kind(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", "letters, digits, '_' and '-', at most 64 of them")]
Format = Annotated[str, _of_kind(r"[A-Za-z][A-Za-z0-9_.-]*", "the name of a Spark data source")]
Duration = Annotated[str, _checked(_duration)]
Columns = Annotated[str, _checked(columns_of)]
Options = dict[str, Annotated[str, BeforeValidator(_option)]]
Count = Annotated[int, Field(ge=1)]
Encoding = Literal["json", "csv", "text"]


# ---- sources ----


class Source(Table):
    """What all sources have."""

    format: str = Field(description="which source")
    streaming: bool = Field(True, description="false: a table that is read once; both sides, or one")
    watermark: Duration | None = Field(
        None, description="how late a tuple may come, such as '1 minute'; needed for streams in a time window"
    )
    select: list[str] | None = Field(None, description="the columns to keep; all when left out")
    rename: dict[str, str] = Field({}, description="new names of columns: {old = 'new'}; after `select`")
    options: Options = Field({}, description="options of the Spark data source")


class FileSource(Source):
    """Files in a directory; new ones are joined as they come."""

    format: Literal["parquet", "csv", "json", "orc"] = Field(description="the files' format")
    path: str = Field(description="the directory, seen from the job file")
    columns: Columns | None = Field(
        None,
        alias="schema",
        description="the columns, such as 'ts timestamp, price int'; Parquet files that are there tell it themselves",
    )
    files_per_batch: Count | None = Field(None, description="files taken into one micro-batch; Spark's default is all")


class KafkaSource(Source):
    """Records of Kafka topics. The connector is no part of Spark: `panjoin run JOB --packages COORDINATES`."""

    format: Literal["kafka"]
    bootstrap_servers: str = Field(description="brokers, such as 'localhost:9092'")
    topic: str = Field(description="one topic, or several with commas between")
    value: Encoding = Field("json", description="what a record's value holds; 'text' is one column `value`")
    columns: Columns | None = Field(None, alias="schema", description="the columns in a JSON or CSV value")
    timestamp_as: str | None = Field(None, description="name of a column for the records' own timestamps")
    starting_offsets: Literal["earliest", "latest"] = Field("latest", description="where a first start begins")
    records_per_batch: Count | None = Field(None, description="records taken into one micro-batch, at most")


class RateSource(Source):
    """Spark's own made-up stream: columns `timestamp` and `value` (0, 1, 2, ...)."""

    format: Literal["rate"]
    rows_per_second: Count = Field(1, description="tuples per second")


class SocketSource(Source):
    """Lines from a TCP socket, for trying out: Spark cannot read them again after a failure."""

    format: Literal["socket"]
    host: str = Field("127.0.0.1", description="the server's name or address")
    port: Annotated[int, Field(ge=1, le=65535)] = Field(description="its port")
    value: Encoding = Field("text", description="what a line holds; 'text' is one column `value`")
    columns: Columns | None = Field(None, alias="schema", description="the columns in a JSON or CSV line")
    timestamp_as: str | None = Field(None, description="name of a column for the time when a line came")


class AnySource(Source):
    """Any other Spark data source, by name."""

    format: Format = Field(description="the source's name, such as 'delta'")
    path: str | None = Field(None, description="for sources that have one")
    columns: Columns | None = Field(None, alias="schema", description="for sources that want it said")


SOURCES: dict[str, type[Source]] = {
    **dict.fromkeys(("parquet", "csv", "json", "orc"), FileSource),
    "kafka": KafkaSource,
    "rate": RateSource,
    "socket": SocketSource,
}


# ---- the join ----


class Join(Table):
    """What is joined with what; the words are those of `stream_join`."""

    on: Annotated[str, _checked(parse)] = Field(description="the condition, in SQL over `left` and `right`")
    how: str = Field("inner", description="inner, left, right, full, left_semi or left_anti")
    index: str = Field("auto", description="the structure of subwindows: auto, bi-sort, rap-table, wib-tree or scan")
    emit: str | list[str] = Field("rows", description="rows, counts, or a list such as ['count', 'sum(price)']")
    workers: Count | None = Field(None, description="fixed by the first start; the number of cores when left out")
    partitions: Count | None = Field(None, description="of a subwindow; chosen when left out")
    subwindow: Count | Duration | None = Field(None, description="its size in tuples or as a length of time")
    suffixes: Annotated[list[str], Field(min_length=2, max_length=2)] = Field(
        ["_left", "_right"], description="for names that are on both sides"
    )


class CountOfSides(Table):
    """One number for each side, or for one."""

    left: Count | None = None
    right: Count | None = None


class TimeOfSides(Table):
    """One length for each side, or for one."""

    left: Duration | None = None
    right: Duration | None = None


class Window(Table):
    """`time`, or `count`, or each of them for one side."""

    time: Duration | TimeOfSides | None = Field(None, description="'10 minutes', or {left = '1 hour', right = '0 s'}")
    count: Count | CountOfSides | None = Field(None, description="1000, or {left = 1000, right = 50}")
    on: str | Annotated[list[str], Field(min_length=2, max_length=2)] | None = Field(
        None, description="the event-time column, or one for each side: ['ts', 'time']"
    )


# ---- where rows go ----


class Sink(Table):
    """What all sinks have."""

    format: str = Field(description="which sink")
    options: Options = Field({}, description="options of the Spark data sink")


class FileSink(Sink):
    """Files in a directory; each row exactly once."""

    format: Literal["parquet", "csv", "json", "orc"]
    path: str = Field(description="the directory, seen from the job file")


class ConsoleSink(Sink):
    """Printed by Spark, micro-batch by micro-batch."""

    format: Literal["console"]


class MemorySink(Sink):
    """Kept in the driver; the first rows are printed at the end. For trying out."""

    format: Literal["memory"]
    rows: Count = Field(20, description="how many rows are printed")


class KafkaSink(Sink):
    """Records of a Kafka topic: the row as JSON. Kafka gives each row at least once."""

    format: Literal["kafka"]
    bootstrap_servers: str = Field(description="brokers, such as 'localhost:9092'")
    topic: str = Field(description="the topic")


class AnySink(Sink):
    """Any other Spark data sink, by name."""

    format: Format = Field(description="the sink's name, such as 'delta' or 'noop'")
    path: str | None = Field(None, description="for sinks that have one")


SINKS: dict[str, type[Sink]] = {
    **dict.fromkeys(("parquet", "csv", "json", "orc"), FileSink),
    "console": ConsoleSink,
    "memory": MemorySink,
    "kafka": KafkaSink,
}


# ---- how it runs ----


class Run(Table):
    """How the query runs."""

    trigger: str = Field(
        AVAILABLE_NOW,
        description="'available now': all that is there, then it ends; a length of time, such as '5 seconds': a "
        "micro-batch so often, until it is stopped",
    )
    checkpoint: str | None = Field(None, description="its directory; `NAME-checkpoint` when left out")
    resident: str | None = Field(None, description="a directory on every executor, for windows beside Spark's state")
    master: Annotated[str, _of_kind(r"local(\[(\*|\d+)(, ?\d+)?\])?", "local, local[2] or local[*]")] | None = Field(
        None, description="local, local[2] or local[*]; clusters are named on the command line: --master"
    )


#: Tables and the models of those that have one only.
TABLES: dict[str, type[Table]] = {"join": Join, "window": Window, "run": Run}
NEEDED = ("name", "left", "right", "join", "window", "sink")


def schema_of(source: Source) -> pa.Schema | None:
    """The columns that the job file itself says, before `select` and `rename`; None where only Spark can tell."""
    if isinstance(source, RateSource):
        return pa.schema([("timestamp", pa.timestamp("us", tz="UTC")), ("value", pa.int64())])
    text = getattr(source, "columns", None)
    own = None if text is None else columns_of(text)
    if isinstance(source, (KafkaSource, SocketSource)):
        own = pa.schema([("value", pa.string())]) if source.value == "text" else own
        if own is not None and source.timestamp_as is not None:
            own = own.append(pa.field(source.timestamp_as, pa.timestamp("us", tz="UTC")))
    return own


def window_of(table: Window) -> JoinWindow:
    """The window that a table means."""
    ways: dict[str, Any] = {}
    for key, given in (("time", table.time), ("count", table.count)):
        both = not isinstance(given, Table)
        sides = {side: given if both else getattr(given, side) for side in SIDES}
        for side, value in sides.items():
            if value is not None and side in ways:
                raise ParameterError(f"the {side} side has a time and a count; give each side one of them")
            if value is not None:
                ways[side] = (key, value)
    for side in SIDES:
        if side not in ways:
            raise ParameterError(
                f"the {side} side has no length; write time = '10 minutes' with on = 'ts', or count = 1000"
            )
    on = None if table.on is None else table.on if isinstance(table.on, str) else (table.on[0], table.on[1])
    (left, first), (right, second) = ways["left"], ways["right"]
    if left == right == "count":
        if on is not None:
            raise ParameterError("'on' names event times, which a count window has none of; leave it out")
        return CountWindow(left=first, right=second)
    if left == right:
        return TimeWindow(left=first, right=second, on=on)
    each = [CountWindow(size) if key == "count" else TimeWindow(size, on=on) for key, size in (ways[s] for s in SIDES)]
    return MixedWindow(left=each[0], right=each[1])
