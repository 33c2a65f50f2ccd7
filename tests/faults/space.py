"""Disks become full under the windows' files and under the checkpoint: a named error, and the right rows afterwards."""

from __future__ import annotations

import random
from pathlib import Path

from tests.faults import disks
from tests.faults.catalogue import Class
from tests.faults.kills import TURNS
from tests.faults.points import Fault
from tests.faults.records import Tally
from tests.faults.trial import Case, Trial

#: Attempts of a task of `local[2,4]`: when all of them find no room, the query ends.
ATTEMPTS = 4
#: Where the driver or a worker is when the disk of the checkpoint becomes full.
_WHEN = ("offsets logged", "before put", "state committed", "before commit", "sink written")


def resident_full(directory: Path, seeds: range) -> Tally:
    """Every other case on a real file system without a byte left, where one can be mounted."""
    tally, trial = Tally(), Trial(directory, starts=2)
    with disks.mounted(directory) as real:
        for seed in seeds:
            turn = random.Random(f"space {seed}").randrange(1, TURNS - 1)
            if real and seed % 2:
                small = disks.disk(directory)
                trial.add(Case(seed, [Fault("before insert", turn, "no room", 0)], options={"resident": str(small)}))
            else:
                point = "half of a file" if seed % 4 < 2 else "before manifest"
                trial.add(Case(seed, [Fault(point, turn, "full", 0)] * ATTEMPTS))
        trial.run(lives=1)
        _judge(trial, tally, "is full")
    return tally


def checkpoint_full(directory: Path, seeds: range) -> Tally:
    """Every other case with a limit to the size of files, the others on a file system without a byte left."""
    tally, trial = Tally(), Trial(directory, starts=2)
    with disks.mounted(directory):
        for seed in seeds:
            turn = random.Random(f"space {seed}").randrange(TURNS - 1)
            fault = Fault(_WHEN[seed // 2 % len(_WHEN)], turn, "no room" if seed % 2 else "limit")
            trial.add(Case(seed, [fault], sink="batches", on_small_disk=bool(seed % 2)))
        trial.run(lives=1)
        _judge(trial, tally, "No space left on device|File too large|IO error")
    return tally


def _judge(trial: Trial, tally: Tally, said: str) -> None:
    """Rows, and what the query said when it ended."""
    trial.judge(tally)
    for case in trial.cases:
        trial.expect_error(case, said, tally)


CLASSES = (
    Class(
        "space",
        "no room in the resident directory",
        "The disk of the windows' files is full: a tmpfs without a byte left where this user may mount one, else and in every "
        "other case ENOSPC at the write call, in the middle of a file or before the manifest, at all attempts of a task. The "
        "query ends with a SpaceError, and goes on from its checkpoint when there is room.",
        resident_full,
        8,
    ),
    Class(
        "space",
        "no room for the checkpoint",
        "While the driver or a worker is at one of its points, the disk of the checkpoint becomes full (a tmpfs without a byte "
        "left where this user may mount one), or the JVM may write no file of more than 512 bytes (ulimit -f). The query ends "
        "with the system's error, and goes on when there is room.",
        checkpoint_full,
        10,
    ),
)
