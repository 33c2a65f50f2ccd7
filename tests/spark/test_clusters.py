"""Real executors: Spark Connect, a cluster in one machine's processes, a standalone master; one executor is killed.

Each runs `program.py` in a process of its own, which ends with the test.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq
import pyspark
import pytest

from panjoin.spark.java import use_java
from panjoin.window import CountWindow
from tests import registry
from tests.oracle import nested
from tests.oracle.question import EVERYTHING, at_once
from tests.spark.questions import answer_of
from tests.spark.test_stream_join import Pipeline

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "spark" / "program.py"
SPARK_HOME = Path(pyspark.__file__).parent

QUESTION = registry.question("band", "last_7_and_20", size=50, batch=10)
JOB = {"on": QUESTION.on, "window": {"tuples": {"left": 7, "right": 20}}, "options": {"workers": 2, "subwindow": 8}}

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}
CLUSTER_SETTINGS = SETTINGS | {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
}


def environment() -> dict[str, str]:
    """Of processes that start Spark: this interpreter, this tree."""
    use_java()
    return os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


@contextmanager
def running(*command: str, log: Path) -> Iterator[subprocess.Popen]:
    """A process whose children end with it."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env=environment(), start_new_session=True, cwd=log.parent
        )
    try:
        yield process
    finally:
        for end in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, end)
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)


def run(directory: Path, *starter: str, **job) -> dict:
    """The program on the question's files; what it says that it has seen."""
    pipeline = Pipeline(None, directory, QUESTION)
    pipeline.write()
    job = JOB | {"directory": str(directory), "settings": CLUSTER_SETTINGS} | job
    (directory / "job.json").write_text(json.dumps(job))
    log = directory / "log"
    with running(*(starter or (sys.executable,)), str(PROGRAM), str(directory / "job.json"), log=log) as process:
        code = process.wait()
    assert code == 0, log.read_text()[-10_000:]
    rows = [row for file in _committed(directory / "out") for row in pq.read_table(file).to_pylist()]
    assert answer_of(rows) == nested.join(QUESTION)
    seen = json.loads((directory / "seen.json").read_text())
    once = QUESTION._replace(batches=at_once(QUESTION.left, QUESTION.right), window=EVERYTHING)
    assert seen["static"] == sum(nested.join(once).values())
    assert sum(worker["pairs"] for each in seen["progress"] for worker in each["workers"]) == sum(
        nested.join(QUESTION).values()
    )
    return seen


def _committed(sink: Path) -> set[Path]:
    """Files of a sink that count: others are what is left of tasks that were killed."""
    logs = [log for log in (sink / "_spark_metadata").iterdir() if log.name[0] != "."]
    entries = [json.loads(line) for log in logs for line in log.read_text().splitlines()[1:]]
    return {Path(unquote(urlsplit(entry["path"]).path)) for entry in entries}


@pytest.mark.slow
def test_through_spark_connect(tmp_path):
    seen = run(tmp_path, remote="local[2]", settings=SETTINGS, packed=["left"])
    assert seen["spark"].startswith("pyspark.sql.connect")


@pytest.mark.slow
@pytest.mark.parametrize("poisoned", [False, True])
def test_on_two_executors_of_one_machine_also_when_one_is_killed(tmp_path, poisoned):
    poison = tmp_path / "poison"
    job = {"poison": str(poison)} if poisoned else {}
    if poisoned:
        poison.touch()
    run(tmp_path, master="local-cluster[2,1,2048]", packed=["left", "right"] if poisoned else [], **job)
    assert not poison.exists()


@pytest.mark.slow
def test_submitted_to_a_standalone_master_with_two_workers_of_which_one_loses_its_executor(tmp_path):
    poison = tmp_path / "poison"
    poison.touch()
    start = [str(SPARK_HOME / "bin" / "spark-class"), "org.apache.spark.deploy"]
    with running(start[0], f"{start[1]}.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0", log=tmp_path / "master"):  # fmt: skip
        url = _said(tmp_path / "master", r"Starting Spark master at (spark://\S+)")
        worker = [start[0], f"{start[1]}.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "2g"]  # fmt: skip
        with (
            running(*worker, "--work-dir", str(tmp_path / "one"), url, log=tmp_path / "first"),
            running(*worker, "--work-dir", str(tmp_path / "two"), url, log=tmp_path / "second"),
        ):
            for log in ("first", "second"):
                _said(tmp_path / log, "(Successfully registered) with master")
            submit = str(SPARK_HOME / "bin" / "spark-submit")
            run(tmp_path, submit, "--master", url, "--driver-memory", "1g", poison=str(poison), packed=["right"])
    assert not poison.exists()


def _said(log: Path, pattern: str) -> str:
    """What a process has said; waits for it."""
    for _ in range(600):
        found = re.search(pattern, log.read_text() if log.exists() else "")
        if found:
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"{log} says nothing like {pattern!r}:\n{log.read_text()[-5000:]}")


def test_the_window_of_the_job_is_that_of_the_question():
    assert JOB["window"]["tuples"] == {"left": QUESTION.window.left.size, "right": QUESTION.window.right.size}
    assert CountWindow(**JOB["window"]["tuples"]).left == 7
