"""The directory of the demo: what it made, and how far it came, so that the next run goes on from there.

    panjoin-demo/   orders/ quotes/         the two streams, as files that arrive one after another
                    settings.json           what they were made of; written when they are whole
                    job.toml                the job, for `panjoin run`
                    matches/ checkpoint/    output, and Spark's memory of how far it came
                    history.jsonl           what each micro-batch told
                    report.html spark.log lock

Invariant: one process at a time works here, and nothing is ever removed but the names above.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from panjoin.cli.market import make
from panjoin.errors import ParameterError
from panjoin.job.check import Job, checked
from panjoin.job.document import parsed
from panjoin.job.places import Places

#: An order and a quote match when their prices (in cents) differ by at most this ...
BAND = 5
#: ... and their times by at most this; the watermark stays so far behind the newest tuples. Both in minutes.
WINDOW, LATENESS = 10, 1
CONDITION = f"left.symbol = right.symbol AND left.price BETWEEN right.price - {BAND} AND right.price + {BAND}"

_MADE = ("settings.json", "orders", "quotes", "job.toml", "matches", "checkpoint", "history.jsonl", "report.html")
_ALL = (*_MADE, "spark.log", "lock")

_JOB = """\
# The job of `panjoin demo`: orders meet quotes of the same symbol and nearly the same price (in cents).
# Change it and run it: panjoin run {name}. Another condition needs another checkpoint, and its output another path.

name = "demo"

[left]
format = "parquet"
path = "orders"
watermark = "{late}"       # how late a tuple may come; what comes later is dropped and counted
files_per_batch = 1

[right]
format = "parquet"
path = "quotes"
watermark = "{late}"
files_per_batch = 1

[join]
on = "{condition}"
index = "{index}"

[window]
time = "{window}"
on = "ts"

[sink]
format = "parquet"
path = "matches"

[run]
trigger = "available now"    # all that is there, then it ends
checkpoint = "checkpoint"
master = "local[{cores}]"
"""


@dataclass(frozen=True)
class Settings:
    """What the streams are made of, and how they are joined."""

    tuples: int  #: per side
    batches: int
    seed: int
    index: str


@dataclass(frozen=True)
class Place:
    """The directory, while this process has it."""

    root: Path
    settings: Settings

    @property
    def job_file(self) -> Path:
        """For `panjoin run`."""
        return self.root / "job.toml"

    @property
    def text(self) -> str:
        """Of the job file, as the demo runs it."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return _JOB.format(
            name=self.job_file.name, late=f"{LATENESS} minute", condition=CONDITION, index=self.settings.index,
            window=f"{WINDOW} minutes", cores=min(4, cores),
        )  # fmt: skip

    def job(self) -> Job:
        """That job, whatever somebody has made of the file since."""
        return checked(parsed(str(self.job_file), self.text, yaml_text=False), Places.of(self.job_file))

    def prepare(self) -> bool:
        """Make the streams; False when they were there."""
        if (self.root / "settings.json").exists():
            return False
        _remove(self.root)
        make(self.root, self.settings.tuples, self.settings.batches, self.settings.seed)
        self.job_file.write_text(self.text)
        (self.root / "settings.json").write_text(json.dumps(asdict(self.settings)))
        return True


@contextmanager
def taken(root: Path, settings: Settings, *, fresh: bool = False) -> Iterator[Place]:
    """The directory is this process's until the end; raises when it holds something else."""
    root = root.absolute()
    _refuse_others(root)
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = (root / "lock").open("w")
    except OSError as error:
        raise ParameterError(f"cannot write in {root}: {error.strerror}; name another place with --directory") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ParameterError(
                f"another demo works in {root}; wait for it, or name another place with --directory"
            ) from None
        if fresh:
            _remove(root)
        _refuse_other_settings(root, settings)
        yield Place(root, settings)


def _refuse_others(root: Path) -> None:
    others = sorted(path.name for path in root.iterdir() if path.name not in _ALL) if root.is_dir() else []
    if others and not (root / "settings.json").exists():
        raise ParameterError(
            f"{root} holds {others[0]!r}, which is not the demo's; name an empty or new place with --directory"
        )


def _refuse_other_settings(root: Path, settings: Settings) -> None:
    file = root / "settings.json"
    if not file.exists():
        return
    there = json.loads(file.read_text())
    for name, value in asdict(settings).items():
        if there.get(name) != value:
            raise ParameterError(
                f"the demo in {root} was begun with --{name} {there.get(name)}, not {value}; go on with that, start "
                f"over with --fresh, or name another place with --directory"
            )


def _remove(root: Path) -> None:
    for name in _MADE:
        path = root / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
