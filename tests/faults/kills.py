"""Processes are killed: Python workers, the daemon above them, executors, the driver; at named points or by the clock."""

from __future__ import annotations

import random
import time
from pathlib import Path

from tests.faults.catalogue import Class
from tests.faults.cluster import standalone
from tests.faults.points import IN_DRIVER, IN_WORKER, Fault
from tests.faults.records import Tally
from tests.faults.trial import Case, Trial

#: Micro-batches of a case; faults wait in any but the first and the last of them.
TURNS = 5


def drawn(seed: int, points: tuple[str, ...], deeds: tuple[str, ...], most: int = 2) -> list[Fault]:
    """One fault or more: where, when and what, by the seed. Points are taken in turn, so that none is left out."""
    rng = random.Random(f"faults {seed}")
    first = Fault(points[seed % len(points)], rng.randrange(TURNS - 1), rng.choice(deeds))
    more = rng.randrange(most)
    return [first, *(Fault(rng.choice(points), rng.randrange(TURNS - 1), rng.choice(deeds)) for _ in range(more))]


def worker_killed(directory: Path, seeds: range) -> Tally:
    """Python workers, at all of their points; tasks are tried again."""
    trial, tally = Trial(directory), Tally()
    for seed in seeds:
        trial.add(Case(seed, drawn(seed, IN_WORKER, ("worker", "worker", "daemon"))))
    trial.run(lives=1)
    trial.judge(tally)
    return tally


def driver_killed(directory: Path, seeds: range) -> Tally:
    """The driver and its JVM at once, at its points and at those of its workers; restarted from the checkpoint."""
    trial, tally = Trial(directory, master="local[2]"), Tally()
    for seed in seeds:
        points = IN_DRIVER if seed % 2 else IN_WORKER
        trial.add(Case(seed, drawn(seed // 2, points, ("driver",), most=1), sink="batches"))
    trial.run()
    trial.judge(tally)
    return tally


def executor_killed(directory: Path, seeds: range) -> Tally:
    """Executors of a cluster in processes of this machine; their tasks are tried elsewhere."""
    trial, tally = Trial(directory, master="local-cluster[2,1,1024]"), Tally()
    for seed in seeds:
        points = IN_DRIVER if seed % 2 else IN_WORKER
        trial.add(Case(seed, drawn(seed // 2, points, ("executor",)), sink="batches"))
    trial.run(lives=1)
    trial.judge(tally)
    return tally


def killed_in_a_standalone_cluster(directory: Path, seeds: range) -> Tally:
    """A master and two workers of Spark's own; executors, Python workers, and drivers are killed."""
    tally = Tally()
    with standalone(directory / "cluster") as master:
        trial = Trial(directory / "trial", master=master)
        for seed in seeds:
            trial.add(Case(seed, drawn(seed, IN_WORKER, ("executor", "worker", "driver")), sink="batches"))
        trial.run()
    trial.judge(tally)
    return tally


def failing_at_random(directory: Path, seeds: range) -> Tally:
    """One call in ten fails, before anything is done."""
    trial, tally = Trial(directory, master="local[2,8]"), Tally()
    for seed in seeds:
        trial.add(Case(seed, chance=0.1, size=100, batch=5))
    trial.run(lives=1)
    trial.judge(tally)
    for case in trial.cases:
        assert trial.failures(case) > 0, f"{trial.directory}: no task of {case.name} has failed"
    return tally


#: Seconds between two kills by the clock.
EVERY = 3.0
#: Who is hit, as often as it stands here.
_HIT = ("worker",) * 6 + ("daemon",) * 2 + ("jvm", "driver")


def killed_by_the_clock(directory: Path, seeds: range) -> Tally:
    """Every few seconds somebody is killed, whatever it is doing; one case is one kill."""
    rng, tally = random.Random(f"clock {seeds.start}"), Tally()
    trial = Trial(directory, master="local[2,50]")
    trial.add(Case(seeds.start, sink="batches", size=max(60, 20 * len(seeds)), batch=5))
    kills = 0
    try:
        program = trial.start()
        while kills < len(seeds) and program.poll() is None:
            time.sleep(EVERY)
            killed = trial.kill(rng, _HIT)
            kills += killed is not None
            if killed in ("jvm", "driver") or program.poll() is not None:
                program = trial.restart(program)
        trial.finish(program)
    finally:
        trial.end()
    trial.judge(tally)
    for kill in range(1, kills):
        tally.case(seeds.start + kill)
    return tally


CLASSES = (
    Class(
        "kills",
        "SIGKILL of a Python worker",
        "A Python worker, or the daemon above all of them, is killed before an insert, during a probe, between rows of the "
        "result, before and after a chunk is put, in the middle of a resident file, and between the last put and the "
        "commit; Spark tries the task again.",
        worker_killed,
        27,
    ),
    Class(
        "kills",
        "SIGKILL of the driver",
        "The driver and its JVM are killed together after the log of offsets, after the commit of the state, after the sink "
        "has written and before the commit log, and while a worker is at any of its points; the query is started again from "
        "its checkpoint, and micro-batches that are replayed must give the same rows.",
        driver_killed,
        20,
    ),
    Class(
        "kills",
        "SIGKILL of an executor",
        "On a cluster of two executor processes, the executor of a worker that is at one of its points is killed, and one of "
        "the two while the driver is behind the log of offsets, behind the commit of the state, or behind the write of the "
        "sink and before the commit log; tasks run again in another one, which has none of its files.",
        executor_killed,
        12,
    ),
    Class(
        "kills",
        "kills in a standalone cluster",
        "With a standalone master and two of its workers, executors, Python workers and whole drivers are killed at points "
        "of the worker.",
        killed_in_a_standalone_cluster,
        4,
    ),
    Class(
        "kills",
        "10% of task calls fail",
        "One call of a worker in ten raises an error before it has done anything; Spark tries the task again, and another "
        "process takes over.",
        failing_at_random,
        4,
    ),
    Class(
        "kills",
        "a kill every 3 seconds",
        "Every 3 seconds a Python worker, the daemon, the JVM or the driver is killed, whatever it is doing, and what has "
        "ended is started again; a case is a kill.",
        killed_by_the_clock,
        40,
    ),
)
