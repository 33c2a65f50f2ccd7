"""Queries, hit by faults and started again until they have come to their end; then the oracle judges.

    Trial.add(case)    files of a question, faults laid out
    Trial.run()        program.py in a process of its own, as often as it is killed
    Trial.judge()      rows of the sinks beside the nested loop

What a micro-batch was is read from Spark's own logs in the checkpoint (offsets and sources), and so is the watermark: a
driver that dies between the log of a source and that of offsets may cut micro-batches otherwise than the files
suggest, and a count window depends on them.
"""

from __future__ import annotations

import json
import os
import random
import re
import secrets
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from tests import registry
from tests.faults import disks, processes
from tests.faults.points import Fault, arm
from tests.faults.records import Tally
from tests.oracle import nested
from tests.oracle.question import Question, Time
from tests.oracle.question import micro_batches as batches_of
from tests.spark.questions import answer_of, micro_batches, spark_window

OLD = 1_700_000_000  #: seconds since 1970: files are read in the order of their times

_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  #: a JVM of half a minute does not pay for the second compiler

SETTINGS = {
    "spark.driver.extraJavaOptions": _JAVA,
    "spark.executor.extraJavaOptions": _JAVA,
    "spark.sql.codegen.wholeStage": "false",
    "spark.python.daemon.module": "tests.faults.daemon",
    # snapshots of the state are taken often, so that kills meet them as well
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
    "spark.sql.streaming.stateStore.maintenanceInterval": "500ms",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


class Shape(NamedTuple):
    """A join of the registry, and how it runs."""

    predicate: str
    window: str
    how: str
    options: Mapping[str, Any]
    delay: str | None = None


#: Joins that keep state in all of its forms: counts and times, marks, timers, late buffers, one worker and several.
SHAPES = (
    Shape("band", "last_7_and_20", "inner", {"workers": 2, "placement": "arrival"}),
    Shape("equal", "seconds", "full", {"workers": 2, "placement": "key"}, "2 seconds"),
    Shape("equal_and_band", "count_and_time", "inner", {"workers": 2, "placement": "key"}, "20 seconds"),
    Shape("unequal", "last_7_and_20", "inner", {"workers": 2, "index": "wib-tree", "partitions": 2}),
    Shape(
        "equal",
        "seconds",
        "left_anti",
        {"workers": 2, "placement": "key", "index": "rap-table", "partitions": 2},
        "2 seconds",
    ),
    Shape("band", "seconds", "inner", {"workers": 2, "index": "bi-sort"}, "2 seconds"),
    Shape("equal_string", "everything", "left_semi", {"workers": 2, "placement": "key"}),
    Shape("band", "last_7_and_20", "inner", {"workers": 2, "emit": "counts"}),
)


@dataclass(frozen=True)
class Case:
    """One query."""

    seed: int
    faults: Sequence[Fault] = ()
    shape: Shape | None = None  #: None: drawn from the seed
    sink: str = "files"
    chance: float = 0.0
    size: int = 50
    batch: int = 10
    options: Mapping[str, Any] = field(default_factory=dict)
    on_small_disk: bool = False  #: the checkpoint lies on the file system of `disks.mounted`, where there is one

    @property
    def name(self) -> str:
        """Of its directory."""
        return f"q{self.seed:05}"

    @property
    def shaped(self) -> Shape:
        """The join."""
        return self.shape or SHAPES[random.Random(f"shape {self.seed}").randrange(len(SHAPES))]

    @property
    def question(self) -> Question:
        """What is asked."""
        shape = self.shaped
        return registry.question(
            shape.predicate, shape.window, shape.how, size=self.size, seed=self.seed, batch=self.batch
        )


class Trial:
    """Queries in one directory, run one after another by one program."""

    def __init__(
        self, directory: Path, *, master: str = "local[2,4]", settings: Mapping[str, str] | None = None, starts: int = 1
    ) -> None:
        """`starts`: how often the program starts a query itself."""
        directory.mkdir(parents=True, exist_ok=True)
        self.directory, self.cases = directory, list[Case]()
        local = {"spark.local.dir": str(directory / "local"), "spark.sql.warehouse.dir": str(directory / "warehouse")}
        self.job: dict[str, Any] = {
            "master": master,
            "starts": starts,
            "settings": SETTINGS | local | dict(settings or {}),
        }
        self.lives = 0
        self.mark = secrets.token_hex(8)

    def add(self, case: Case) -> Path:
        """Lay out what the query reads; the faults that wait for it."""
        directory = self.directory / case.name
        question, shape = case.question, case.shaped
        for side in ("left", "right", "out"):
            (directory / side).mkdir(parents=True)
        for number, tables in enumerate(micro_batches(question)):
            for side, table in zip(("left", "right"), tables, strict=True):
                path = directory / side / f"{number:04}.parquet"
                pq.write_table(table, path)
                os.utime(path, (OLD + number, OLD + number))
        arm(directory, case.faults)
        asked = {
            "on": question.on,
            "window": repr(spark_window(question)),
            "options": {"how": shape.how, "subwindow": 8, **shape.options, **case.options},
            "delay": shape.delay,
            "sink": case.sink,
            "chance": case.chance,
            "seed": case.seed,
            "checkpoint": str(self.checkpoint(case)),
        }
        (directory / "query.json").write_text(json.dumps(asked))
        self.cases.append(case)
        return directory

    def checkpoint(self, case: Case) -> Path:
        """Where Spark keeps what the query needs to be started again."""
        small = disks.disk(self.directory / case.name) if case.on_small_disk else None
        return self.directory / case.name / "checkpoint" if small is None else small / case.name

    def start(self) -> Any:
        """One life of the program."""
        self.job["queries"] = [case.name for case in self.cases]
        (self.directory / "job.json").write_text(json.dumps(self.job))
        self.lives += 1
        command = [sys.executable, "-m", "tests.faults.program", str(self.directory)]
        return processes.start(self.mark, command, self.directory / "log")

    def run(self, lives: int | None = None) -> None:
        """As many lives as it takes, and no more than there are faults and one."""
        most = 1 + sum(len(case.faults) for case in self.cases) if lives is None else lives
        try:
            for _ in range(most):
                code = _ended(self.start())
                processes.end(self.mark)
                if code == 0:
                    return
        finally:
            processes.end(self.mark)
        raise AssertionError(f"after {most} lives it is not done:\n{self.log()}")

    # ---- kills by the clock ----

    def kill(self, rng: random.Random, kinds: Sequence[str]) -> str | None:
        """Kill a process of a drawn kind, and say which kind; None when there is no such process."""
        wanted = rng.choice(kinds)
        there = [process for process in processes.marked(self.mark) if processes.kind(process) == wanted]
        if there:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(there), signal.SIGKILL)
        return wanted if there else None

    def restart(self, program: Any) -> Any:
        """Another life, when nothing is left of the one before."""
        self.end()
        code = program.wait()
        return program if code == 0 else self.start()

    def finish(self, program: Any) -> None:
        """The last life comes to its end."""
        for _ in range(3):
            if program.wait() == 0:
                return
            self.end()
            program = self.start()
        raise AssertionError(f"it does not come to its end:\n{self.log()}")

    def end(self) -> None:
        """Nothing is left of the trial."""
        processes.end(self.mark)

    # ---- afterwards ----

    def failures(self, case: Case) -> int:
        """Tasks of the query that failed at random."""
        path = self.directory / case.name / "failures"
        return len(path.read_text()) if path.exists() else 0

    def log(self) -> str:
        """The end of what the program said."""
        return (self.directory / "log").read_text(errors="replace")[-6000:]

    def errors(self, case: Case) -> list[str]:
        """Messages with which the query ended."""
        path = self.directory / case.name / "errors.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def expect_error(self, case: Case, said: str, tally: Tally) -> None:
        """The query has ended with an error that says this; if it has not, harm was taken for good."""
        if not any(re.search(said, error) for error in self.errors(case)):
            tally.undetected += 1
            tally.failed.append(f"seed {case.seed}: no error says {said!r}, but {[e[:200] for e in self.errors(case)]}")

    def judge(self, tally: Tally) -> None:
        """All queries; a fault that never fired is no case."""
        for case in self.cases:
            directory = self.directory / case.name
            waiting = sorted(path.name for path in (directory / "armed").iterdir())
            assert not waiting, f"{directory}: nobody came to {waiting}"
            what = ", ".join(f"{each.deed} {each.point} of turn {each.turn}" for each in case.faults)
            expected, found = expected_of(directory, case, self.checkpoint(case)), found_in(directory)
            tally.judge(
                expected, found, case.seed, f"{case.shaped.predicate} {case.shaped.window} {case.shaped.how}; {what}"
            )
            for replay in sorted((directory / "again").glob("*")):
                once = directory / "out" / replay.name.partition("-")[0]
                if _rows(_tables(once)) != _rows(_tables(replay)):
                    tally.failed.append(f"seed {case.seed}: a replay of micro-batch {once.name} gave other rows")


#: Seconds after which a life is taken for one that hangs: fifty queries of a table's class take a few minutes.
_HANGS = 3600.0


def _ended(program: Any) -> int | None:
    """Its exit code; None when it was still there after all."""
    with suppress(subprocess.TimeoutExpired):
        return int(program.wait(_HANGS))
    return None


# ---- what Spark says that it did ----


class Done(NamedTuple):
    """A micro-batch as it was."""

    files: tuple[list[str], list[str]]  #: of both sides
    watermark: int  #: milliseconds, 0: none


def done(checkpoint: Path) -> list[Done]:
    """All micro-batches that were begun, in order."""
    listed = [_source_log(checkpoint / "sources" / side) for side in ("0", "1")]
    answer, before = [], [-1, -1]
    for path in sorted((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name)):
        lines = path.read_text().splitlines()
        watermark = json.loads(lines[1])["batchWatermarkMs"]
        until = [-1 if line == "-" else json.loads(line)["logOffset"] for line in lines[2:]]
        files = [
            [name for at in range(before[side] + 1, until[side] + 1) for name in listed[side].get(at, [])]
            for side in (0, 1)
        ]
        before = [max(*pair) for pair in zip(before, until, strict=True)]
        answer.append(Done((files[0], files[1]), watermark))
    return answer


def _source_log(directory: Path) -> dict[int, list[str]]:
    """Files by the number under which a source has logged them."""
    found: dict[int, dict[str, None]] = {}
    for path in directory.iterdir():
        if path.name[0] != ".":
            for line in path.read_text().splitlines()[1:]:
                entry = json.loads(line)
                found.setdefault(entry["batchId"], {})[Path(unquote(urlsplit(entry["path"]).path)).name] = None
    return {number: sorted(files) for number, files in found.items()}


# ---- what came out, and what should have ----


def found_in(directory: Path) -> Counter:
    """The rows of the sink."""
    return _rows(_tables(directory / "out"))


def _tables(out: Path) -> Iterator[pa.Table]:
    log = out / "_spark_metadata"
    if log.exists():
        logs = [path for path in log.iterdir() if path.name[0] != "."]
        lines = [json.loads(line) for path in logs for line in path.read_text().splitlines()[1:]]
        for name in sorted({Path(unquote(urlsplit(line["path"]).path)).name for line in lines}):
            yield pq.read_table(out / name)
    else:
        for path in sorted(out.rglob("*.parquet")):
            if not any(part[0] == "." for part in path.relative_to(out).parts):
                yield pq.read_table(path)


def _rows(tables: Iterator[pa.Table]) -> Counter:
    rows = [row for table in tables for row in table.to_pylist()]
    if rows and "count" in rows[0]:
        return Counter((row["side"], row["id"], row["count"]) for row in rows)
    return answer_of(rows)


def expected_of(directory: Path, case: Case, checkpoint: Path) -> Counter:
    """What the oracle says of the micro-batches that there were."""
    question = case.question
    batches = done(checkpoint)
    assert [name for each in batches for name in each.files[0]] == sorted(
        path.name for path in (directory / "left").iterdir()
    )
    tables = {
        side: {path.name: pq.read_table(path).num_rows for path in (directory / side).iterdir()}
        for side in ("left", "right")
    }
    sizes = [
        [sum(tables[side][name] for name in each.files[at]) for each in batches]
        for at, side in enumerate(("left", "right"))
    ]
    question = question._replace(batches=batches_of(*sizes))
    marks = [each.watermark * 1000 or None for each in batches for _ in range(2)]
    if case.shaped.options.get("emit") == "counts":
        return Counter({(side, no, count): 1 for (side, no), count in nested.counts(question).items()})
    answer = nested.join(question, marks) if case.shaped.delay else nested.join(question)
    return Counter(
        {pair: count for pair, count in answer.items() if _has_left(question, pair, batches[-1].watermark * 1000)}
    )


def _has_left(question: Question, pair: tuple[int | None, int | None], watermark: int) -> bool:
    """Tuples without a partner come out when they leave, which the last ones have not."""
    if None not in pair or question.how == "left_semi":
        return True
    side, number = ("left", pair[0]) if pair[1] is None else ("right", pair[1])
    rule = question.window.left if side == "left" else question.window.right
    assert isinstance(rule, Time) and number is not None
    times = (question.left if side == "left" else question.right)["ts"].cast(pa.int64())
    time = times[number].as_py()
    return time is None or time + rule.length < watermark
