"""Processes are killed: Python workers, the daemon above them, executors, the driver; at named points or by the clock."""

from __future__ import annotations

import random
from pathlib import Path

from tests.faults.catalogue import Class
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
        trial.add(Case(seed, drawn(seed // 2, points, ("driver",)), sink="batches"))
    trial.run()
    trial.judge(tally)
    return tally


CLASSES = (
    Class(
        "kills",
        "SIGKILL of a Python worker",
        "A Python worker, or the daemon above all of them, is killed before an insert, during a probe, between rows of the "
        "result, before and after a chunk is put, in the middle of a resident file, and between the last put and the "
        "commit; Spark tries the task again.",
        worker_killed,
        36,
    ),
    Class(
        "kills",
        "SIGKILL of the driver",
        "The driver and its JVM are killed together after the log of offsets, after the commit of the state, after the sink "
        "has written and before the commit log, and while a worker is at any of its points; the query is started again from "
        "its checkpoint, and micro-batches that are replayed must give the same rows.",
        driver_killed,
        36,
    ),
)
