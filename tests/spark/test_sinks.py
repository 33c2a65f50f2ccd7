"""The packed sink without Spark: whatever dies, a micro-batch is there once and whole, or not at all."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from panjoin.errors import StateError
from panjoin.spark import sinks
from panjoin.spark.pack import payloads
from panjoin.spark.sinks import PackedSink, PackedWriter

ARROW = pa.schema([("x", pa.int32()), ("s", pa.string())])
ROWS = from_arrow_schema(ARROW)


class Context:
    """Of a task."""

    query, batch, task = "q", 0, 0

    def getLocalProperty(self, key: str) -> str:
        return {"sql.streaming.queryId": self.query, "streaming.sql.batchId": str(self.batch)}[key]

    def partitionId(self) -> int:
        return self.task


@pytest.fixture
def context(monkeypatch):
    made = Context()
    monkeypatch.setattr(sinks.TaskContext, "get", classmethod(lambda _: made))
    return made


def writer(directory: Path, form: str = "parquet") -> PackedWriter:
    options = {"path": str(directory), "form": form, "rows": ROWS.json()}
    return PackedSink(options).streamWriter(StructType(), False)


def payload(*values: int) -> list[pa.RecordBatch]:
    rows = pa.record_batch([pa.array(values, pa.int32()), [str(value) for value in values]], names=["a", "b"])
    packed = [each.to_pybytes() for _, each in payloads([rows], rows.schema)]
    return [pa.record_batch({"payload": pa.array([*packed, None], pa.binary())})]


def seen(directory: Path, form: str = "parquet") -> list[int]:
    """What a reader sees that knows nothing of us."""
    found = ds.dataset(directory, format="ipc" if form == "arrow" else form, partitioning="hive").to_table()
    return sorted(found["x"].to_pylist()) if found.num_rows else []


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_micro_batch_appears_at_once_under_the_names_of_the_result(tmp_path, context, form):
    sink = writer(tmp_path, form)
    written, context.batch = [], 7
    for task, values in enumerate([(1, 2), (), (3,)]):
        context.task = task
        written.append(sink.write(iter(payload(*values))))
        assert not [each for each in tmp_path.iterdir() if not each.name.startswith("_")]
    sink.commit(written, 7)
    assert sorted(path.name for path in (tmp_path / "batch=7").iterdir()) == [f"task-0000{n}.{form}" for n in (0, 2)]
    table = ds.dataset(tmp_path / "batch=7", format="ipc" if form == "arrow" else form).to_table()
    assert table.schema.equals(ARROW)
    assert table.sort_by("x").to_pylist() == [{"x": n, "s": str(n)} for n in (1, 2, 3)]
    assert [each.rows for each in written] == [2, 0, 1]
    assert list((tmp_path / "_pending").iterdir()) == []


def test_another_query_is_refused_and_nothing_is_lost(tmp_path, context):
    sink = writer(tmp_path)
    sink.commit([sink.write(iter(payload(1)))], 0)
    context.query = "another"
    with pytest.raises(StateError, match=r"is the packed sink of the query q, and this is another: .*empty directory"):
        sink.commit([sink.write(iter(payload(2)))], 0)
    assert seen(tmp_path) == [1]


def test_a_micro_batch_without_rows_leaves_nothing(tmp_path, context):
    sink = writer(tmp_path)
    sink.commit([sink.write(iter([])), sink.write(iter(payload())), None], 0)
    assert json.loads((tmp_path / "_query.json").read_text()) == {"query": "q"}
    assert not (tmp_path / "batch=0").exists()


class DeathError(Exception):
    """The driver died here."""


@given(st.lists(st.lists(st.sampled_from(["abort", "task", *range(12)]), max_size=3), min_size=1, max_size=5))
def test_deaths_at_every_step_of_a_commit_lose_and_double_nothing(tmp_path_factory, deaths):
    directory = tmp_path_factory.mktemp("sink")
    context = Context()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sinks.TaskContext, "get", classmethod(lambda _: context))
        patch.setattr(sinks.os, "fsync", lambda _: None)  # nobody pulls the plug here
        for batch, accidents in enumerate(deaths):
            context.batch = batch
            for accident in [*accidents, "done", "again"]:
                _attempt(directory, context, batch, accident)
                committed = range(batch + (accident in ("done", "again") or (directory / f"batch={batch}").exists()))
                assert seen(directory) == sorted(10 * each + task for each in committed for task in range(3))
    assert list((directory / "_pending").iterdir()) == []


def _attempt(directory: Path, context: Context, batch: int, accident: str | int) -> None:
    """All tasks, task 1 twice as speculation does, then the commit, which dies at its nth change of the disk."""
    sink, written = writer(directory), []
    for task in (0, 1, 1, 2):
        context.task = task
        if accident == "task" and task == 2:
            return
        written.append(sink.write(iter(payload(10 * batch + task))))
    messages = [written[0], written[2], written[3]]
    if accident == "abort":
        sink.abort([messages[0], None, messages[2]], batch)
        return
    with pytest.MonkeyPatch.context() as patch:
        left = [accident if isinstance(accident, int) else 1000]

        def dying(real):
            def act(*args, **options):
                left[0] -= 1
                if left[0] < 0:
                    raise DeathError
                return real(*args, **options)

            return act

        patch.setattr(Path, "rename", dying(Path.rename))
        patch.setattr(Path, "mkdir", dying(Path.mkdir))
        patch.setattr(sinks.os, "link", dying(sinks.os.link))
        patch.setattr(sinks.shutil, "rmtree", dying(sinks.shutil.rmtree))
        try:
            sink.commit(messages, batch)
        except DeathError:
            return
