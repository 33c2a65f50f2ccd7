"""Settings of Spark, and calls of the user at a bad moment, that must not change a row."""

from __future__ import annotations

import random
import time
from pathlib import Path

from tests.faults.catalogue import Class
from tests.faults.kills import TURNS
from tests.faults.points import IN_WORKER, Fault
from tests.faults.records import Tally
from tests.faults.trial import Case, Trial


def rivals(directory: Path, seeds: range) -> Tally:
    """Two drivers, each in a process of its own, work on one micro-batch of one checkpoint at the same time."""
    tally = Tally()
    for seed in seeds:
        trial = Trial(directory / f"{seed}", master="local[2]")
        turn = random.Random(f"rivals {seed}").randrange(TURNS - 1)
        case = Case(seed, [Fault("offsets logged", turn, "rival")] * 2, sink="batches")
        place = trial.add(case)
        try:
            first = trial.start()
            while first.poll() is None and not (place / "rivals").exists():
                time.sleep(0.1)
            second = trial.start()
            codes = sorted((first.wait(), second.wait()))
        finally:
            trial.end()
        trial.judge(tally)
        trial.expect_error(case, "CONCURRENT_STREAM_LOG_UPDATE|Concurrent update to the log", tally)
        assert codes == [0, 3], f"{trial.directory}: the drivers ended with {codes}\n{trial.log()}"
    return tally


def started_twice(directory: Path, seeds: range) -> Tally:
    """A second start of a running query in the same session, where Spark is told not to stop the first."""
    tally = Tally()
    settings = {"spark.sql.streaming.stopActiveRunOnRestart": "false"}
    trial = Trial(directory, settings=settings, starts=1)
    for seed in seeds:
        turn = random.Random(f"twice {seed}").randrange(TURNS - 1)
        trial.add(Case(seed, [Fault("before put", turn, "second start")]))
    trial.run(lives=1)
    trial.judge(tally)
    for case in trial.cases:
        trial.expect_error(case, "another query with same id is already active", tally)
    return tally


def stopped(directory: Path, seeds: range) -> Tally:
    """`stop()` while a worker is at one of its points, and another start in the same process."""
    tally, trial = Tally(), Trial(directory, starts=4)
    for seed in seeds:
        point = IN_WORKER[seed % len(IN_WORKER)]
        turn = random.Random(f"stop {seed}").randrange(TURNS - 1)
        trial.add(Case(seed, [Fault(point, turn, "stop")]))
    trial.run(lives=1)
    trial.judge(tally)
    return tally


def reused_or_not(directory: Path, seeds: range) -> Tally:
    """The same queries with workers that are used again, and with a new process for each task."""
    tally = Tally()
    for reuse in ("true", "false"):
        trial = Trial(directory / reuse, settings={"spark.python.worker.reuse": reuse})
        for seed in seeds:
            trial.add(Case(seed))
        trial.run(lives=1)
        trial.judge(tally)
    return tally


#: What two cores share. A Python worker with the join in it takes half of 1.3 GB of addresses.
_MEMORY = "6g"


def out_of_memory(directory: Path, seeds: range) -> Tally:
    """Under `spark.executor.pyspark.memory` a worker asks for more than there is, at all attempts of its task."""
    tally = Tally()
    trial = Trial(directory, settings={"spark.executor.pyspark.memory": _MEMORY}, starts=2)
    for seed in seeds:
        turn = random.Random(f"memory {seed}").randrange(TURNS - 1)
        point = ("before insert", "during probe", "before put")[seed % 3]
        trial.add(Case(seed, [Fault(point, turn, "memory", 0)] * 4))
    trial.run(lives=1)
    trial.judge(tally)
    for case in trial.cases:
        trial.expect_error(case, r"spark\.executor\.pyspark\.memory", tally)
    return tally


CLASSES = (
    Class(
        "settings",
        "two drivers on one checkpoint",
        "Two drivers begin the same micro-batch of one checkpoint together; one of them is refused by Spark's log of offsets or "
        "of commits, by name, and the other one goes on.",
        rivals,
        3,
    ),
    Class(
        "settings",
        "a query is started twice in a session",
        "While a query runs it is started a second time on the same checkpoint, with stopActiveRunOnRestart off: the second "
        "start is refused by name, and the first one goes on.",
        started_twice,
        3,
    ),
    Class(
        "settings",
        "stop() in the middle of state calls",
        "The query is stopped while a worker is before an insert, in a probe, between rows, at a put of state, in the middle of "
        "a file or before its commit, and started again in the same process.",
        stopped,
        9,
    ),
    Class(
        "settings",
        "spark.python.worker.reuse true and false",
        "The same queries with Python workers that are used again and with a new process for each task; both are judged.",
        reused_or_not,
        4,
    ),
    Class(
        "settings",
        "out of memory under spark.executor.pyspark.memory",
        "A worker asks for memory until its limit refuses it, before an insert, a probe or a put of state, at all attempts of "
        "its task: the query ends with an error that names the setting, and goes on from its checkpoint.",
        out_of_memory,
        3,
    ),
)
