"""From the document to a job that can run; all problems at once, before Spark starts.

    Document ── each table by its model ──> tables ── paths, settings ──> Job
                        │                      └───── condition, window and options meet the columns
                        └── problems ─────────────────────┴──> JobError, with a line for each

A table that is wrong does not hide what is wrong in the others: each is checked alone, and what joins them is checked
as far as its parts are right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from panjoin import index as structures
from panjoin.durations import microseconds_of
from panjoin.engine.build import specify
from panjoin.errors import PanJoinError, ParameterError
from panjoin.expression import columns as condition_columns
from panjoin.job import model
from panjoin.job.document import Document, read
from panjoin.job.files import parquet_columns
from panjoin.job.model import AVAILABLE_NOW, NEEDED, SINKS, SOURCES, FileSource, Join, Sink, Source, Table, window_of
from panjoin.job.places import Places
from panjoin.job.problems import Path, Problem
from panjoin.job.settings import settings_of
from panjoin.job.wording import told
from panjoin.options import Options
from panjoin.predicate import Condition, parse
from panjoin.suggest import choices
from panjoin.window import Window

SIDES = ("left", "right")
_ALL = ("name", *SIDES, "join", "window", "sink", "run", "spark")


@dataclass(frozen=True)
class Job:
    """A pipeline that can run: every path absolute, every part checked."""

    name: str
    sources: tuple[Source, Source]
    schemas: tuple[pa.Schema | None, pa.Schema | None]  #: after `select` and `rename`; None where only Spark can tell
    condition: Condition
    window: Window
    options: Options
    sink: Sink
    run: model.Run
    settings: dict[str, str]

    @property
    def streaming(self) -> bool:
        """True unless both sides are tables."""
        return any(source.streaming for source in self.sources)

    @property
    def bounded(self) -> bool:
        """True when it ends by itself."""
        return not self.streaming or self.run.trigger == AVAILABLE_NOW


def load(file: File, *, allow_paths: Iterable[str] = (), allow_conf: bool = False) -> Job:
    """The job of a file; raises a JobError with everything that is wrong."""
    return checked(read(file), Places.of(file, allow_paths), allow_conf=allow_conf)


def checked(document: Document, places: Places, *, allow_conf: bool = False) -> Job:
    """The job of a document."""
    check = _Check(document, places)
    job = check.job(allow_conf)
    if job is None or check.problems:
        raise document.error(check.problems)
    return job


class _Check:
    def __init__(self, document: Document, places: Places) -> None:
        self.tree, self.places = document.tree, places
        self.problems: list[Problem] = []

    def note(self, path: Path, message: object) -> None:
        """A problem, unless it follows from one that is there or further in."""
        if not path or not any(known.path[: len(path)] == path for known in self.problems):
            self.problems.append(Problem(path, str(message)))

    def job(self, allow_conf: bool) -> Job | None:
        """Everything; what could not be made is None."""
        for key in self.tree:
            if key not in _ALL:
                self.note((key,), f"no table of a job file is called {key!r}; {choices(key, _ALL)}")
        for key in NEEDED:
            if key not in self.tree:
                self.note((), f"{key!r} is missing; {_WHAT[key]}")
        name = self._name()
        sources = {side: self._source(side) for side in SIDES if side in self.tree}
        join = self._one("join", Join)
        sink = self._sink()
        run = self._run(name or "job", sink)
        settings, wrong = settings_of(self.tree.get("spark", {}), allow_all=allow_conf)
        self.problems += wrong
        window = self._window(self._one("window", model.Window))
        knobs = self._knobs() if join is None else join
        options = None if knobs is None else self._options(knobs, window)
        left, right = (sources.get(side) for side in SIDES)
        schemas = self._columns("left", left), self._columns("right", right)
        if join is not None:
            self._fit(parse(join.on), window, options, schemas)
        self._watermarks(window, sources)
        if None in (name, left, right, join, window, options, sink, run):
            return None
        assert name and left and right and join and window and options and sink and run
        return Job(name, (left, right), schemas, parse(join.on), window, options, sink, run, settings)

    # ---- each table alone ----

    def _name(self) -> str | None:
        named = self._validated(_Named, {"name": self.tree["name"]}, ()) if "name" in self.tree else None
        return None if named is None else named.name

    def _one(self, key: str, kind: type[Table]) -> Any:
        return self._validated(kind, self.tree[key], (key,)) if key in self.tree else None

    def _knobs(self) -> Join | None:
        """What is right of [join], where its condition is wrong or missing: that hides nothing of its options."""
        table = self.tree.get("join")
        if not isinstance(table, dict):
            return None
        wrong = {known.path[1] for known in self.problems if known.path[:1] == ("join",) and len(known.path) > 1}
        try:
            return _Knobs.model_validate({key: value for key, value in table.items() if key not in wrong | {"on"}})
        except ValidationError:
            return None

    def _validated(self, kind: type[Table], table: Any, path: Path) -> Any:
        """The table; where it is wrong, what is left without its wrong keys, so that the rest is checked as well."""
        if not isinstance(table, dict):
            self.note(path, f"must be a table, such as [{path[-1]}], not {table!r}")
            return None
        try:
            return kind.model_validate(table)
        except ValidationError as error:
            self.problems += told(error, kind, table, path)
            wrong = {str(found["loc"][0]) for found in error.errors() if found["loc"]}
        try:
            return kind.model_validate({key: value for key, value in table.items() if key not in wrong})
        except ValidationError:
            return None

    def _by_format(self, path: Path, kinds: dict[str, Any], other: type[Table]) -> Any:
        table = self.tree[path[0]]
        if isinstance(table, dict) and not isinstance(table.get("format"), str):
            said = "is missing" if "format" not in table else f"must be a text, not {table['format']!r}"
            self.note((*path, "format"), f"{said}; {choices('', kinds)}, or another data source of Spark")
            return None
        kind = kinds.get(table.get("format", ""), other) if isinstance(table, dict) else other
        return self._validated(kind, self._placed(table, path), path)

    def _placed(self, table: Any, path: Path) -> Any:
        """With the paths in it resolved, as far as they are texts."""
        if not isinstance(table, dict):
            return table
        table = dict(table)
        for key in ("path", "checkpoint", "resident"):
            if isinstance(table.get(key), str):
                table[key] = self._place(table[key], (*path, key), self.places.resolved)
        if isinstance(table.get("options"), dict):
            options = table["options"] = dict(table["options"])
            for key, value in options.items():
                inner = (*path, "options", key)
                if key.lower() in _OWN_KEY:
                    self.note(inner, f"{key!r} is a key of its own here, not an option; {_OWN_KEY[key.lower()]}")
                if isinstance(value, str):
                    options[key] = self._place(value, inner, self.places.looked_through)
        return table

    def _place(self, written: str, path: Path, resolve: Callable[[str], str]) -> str:
        try:
            return resolve(written)
        except ParameterError as error:
            self.note(path, error)
            return written

    def _source(self, side: str) -> Source | None:
        source: Source | None = self._by_format((side,), SOURCES, model.AnySource)
        if source is None:
            return None
        wants = getattr(source, "value", source.format) in ("json", "csv")
        if wants and getattr(source, "columns", None) is None:
            self.note((side, "schema"), "is missing; name the columns, such as schema = 'ts timestamp, price int'")
        if not source.streaming and source.format in ("kafka", "rate", "socket"):
            self.note((side, "streaming"), f"the source {source.format!r} is a stream; leave 'streaming = false' out")
        return source

    def _sink(self) -> Sink | None:
        if "sink" not in self.tree:
            return None
        sink: Sink | None = self._by_format(("sink",), SINKS, model.AnySink)
        return sink

    def _run(self, name: str, sink: Sink | None) -> model.Run | None:
        table = self.tree.get("run", {})
        if isinstance(table, dict):
            table = {"checkpoint": f"{name}-checkpoint", **table}
        run: model.Run | None = self._validated(model.Run, self._placed(table, ("run",)), ("run",))
        if run is None:
            return None
        if run.trigger != AVAILABLE_NOW:
            try:
                microseconds_of(run.trigger, "the trigger")
            except ParameterError as error:
                self.note(("run", "trigger"), f"{error}; or {AVAILABLE_NOW!r}")
        if run.checkpoint == getattr(sink, "path", None):
            self.note(("run", "checkpoint"), "is the sink's own directory; give the checkpoint one for itself")
        return run

    # ---- what they say together ----

    def _window(self, table: model.Window | None) -> Window | None:
        if table is None:
            return None
        try:
            return window_of(table)
        except PanJoinError as error:
            self.note(("window",), error)
            return None

    def _options(self, join: Join, window: Window | None) -> Options | None:
        knobs = {key: getattr(join, key) for key in ("how", "index", "emit", "workers", "partitions", "subwindow")}
        made: Options | None = Options()
        for key, value in (*knobs.items(), ("suffixes", tuple(join.suffixes))):
            try:  # one by one, so that each is said under its own key
                one = Options.of({key: value})
                one.check_index(structures.names())
                if window is not None:
                    one.check_window(window)
            except PanJoinError as error:
                self.note(("join", key), error)
                made = None
        if made is None:
            return None
        try:
            return Options.of({**knobs, "suffixes": tuple(join.suffixes)})
        except PanJoinError as error:
            self.note(("join",), error)
            return None

    def _columns(self, side: str, source: Source | None) -> pa.Schema | None:
        """After `select` and `rename`."""
        if source is None:
            return None
        schema = model.schema_of(source)
        if schema is None and isinstance(source, FileSource) and source.format == "parquet":
            schema = parquet_columns(source.path)
            if schema is None and source.streaming:
                note = f"there are no Parquet files in {source.path} yet to tell the columns; name them with 'schema'"
                self.note((side, "schema"), note)
        if schema is None:
            return None
        for key, names in (("select", source.select or []), ("rename", [*source.rename])):
            for name in names:
                if name not in schema.names:
                    self.note((side, key), f"there is no column {name!r}; {choices(name, schema.names)}")
                    return None
            if key == "select" and names:
                schema = pa.schema([schema.field(name) for name in names])
        schema = pa.schema([field.with_name(source.rename.get(field.name, field.name)) for field in schema])
        twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
        if twice is not None:
            self.note((side, "rename"), f"makes two columns {twice!r}; every column needs a name of its own")
            return None
        return schema

    def _fit(
        self,
        condition: Condition,
        window: Window | None,
        options: Options | None,
        schemas: tuple[pa.Schema | None, pa.Schema | None],
    ) -> None:
        before = len(self.problems)
        for number, (side, schema) in enumerate(zip(SIDES, schemas, strict=True)):
            if schema is None:
                continue
            wanted: dict[str, Path] = {
                c.name: ("join", "on") for c in condition_columns(condition.expression) if c.side == side
            }
            if window is not None and window.on is not None:
                wanted[window.on[number]] = ("window", "on")
            there = {name.casefold() for name in schema.names}
            for name, path in wanted.items():
                if name.casefold() not in there:
                    self.note(path, f"the {side} side has no column {name!r}; {choices(name, schema.names)}")
        left, right = schemas
        if len(self.problems) > before or left is None or right is None or window is None or options is None:
            return
        tries: list[tuple[Path, Callable[[], object]]] = [
            (("join", "on"), lambda: condition.bind(left, right)),
            (("window", "on"), lambda: window.bind(left, right)),
            (("join",), lambda: specify(condition, window, left, right, replace(options, emit="rows", aggregates=()))),
            (("join", "emit"), lambda: specify(condition, window, left, right, options)),
        ]
        for path, attempt in tries:
            try:
                attempt()
            except PanJoinError as error:
                self.note(path, error)
                return

    def _watermarks(self, window: Window | None, sources: dict[str, Source | None]) -> None:
        for side, source in sources.items():
            if source is None or window is None or not source.streaming:
                continue
            if window.timed and source.watermark is None:
                self.note(
                    (side, "watermark"),
                    "is missing; a stream in a time window needs it, or its tuples would be kept for ever: "
                    "say how late a tuple may come, such as watermark = '1 minute'",
                )
            if not window.timed and source.watermark is not None:
                self.note((side, "watermark"), "is about event time, which a count window has none of; leave it out")


class _Named(Table):
    name: model.Name


class _Knobs(Join):
    on: str = ""


_WHAT = {
    "name": "name = 'my-join' names the query",
    "left": "[left] says where one side comes from",
    "right": "[right] says where the other side comes from",
    "join": "[join] has the condition, on = '...'",
    "window": "[window] says which tuples can still meet",
    "sink": "[sink] says where the rows go",
}
_OWN_KEY = {"path": "write path = '...' above", "checkpointlocation": "write checkpoint = '...' in [run]"}
