"""Bytes of ours are flipped, cut off, taken away: an error that names them, or the same rows from elsewhere.

state      header, chunks, marks: as they come back from Spark's state store      DamageError
resident   sealed subwindows, runs, manifests                                     made again from the state
records    of benchmarks                                                          DamageError, or a torn end dropped
jobs       files that describe a pipeline                                         JobError, or a job that says what
                                                                                  the file now says
"""

from __future__ import annotations

import os
import random
import tomllib
from pathlib import Path
from typing import Any
from unittest.mock import patch

from numba import njit

from panjoin.bench.experiment import Cell, Experiment, Point
from panjoin.bench.records import Records, record
from panjoin.directories import private_directory
from panjoin.errors import DamageError
from panjoin.job.check import checked
from panjoin.job.document import read
from panjoin.job.places import Places
from panjoin.job.problems import JobError
from panjoin.kernels import code_cache
from tests.faults.catalogue import Class
from tests.faults.records import Tally
from tests.faults.simulated import Simulated
from tests.faults.trial import SHAPES
from tests.job import files as jobs

HARMS = ("flip", "cut", "remove")


def harmed(blob: bytes, harm: str, rng: random.Random) -> bytes | None:
    """One bit flipped, the end cut off, or all of it gone."""
    if harm == "remove":
        return None
    if harm == "cut":
        return blob[: rng.randrange(len(blob))]
    changed = bytearray(blob)
    changed[rng.randrange(len(blob))] ^= 1 << rng.randrange(8)
    return bytes(changed)


# ---- state ----


def state_harmed(directory: Path, seeds: range) -> Tally:
    """A blob of the state, before a process that has no files must read it; then put back, as from a copy."""
    tally = Tally()
    for seed in seeds:
        rng = random.Random(f"state {seed}")
        query = Simulated(SHAPES[seed % len(SHAPES)], seed)
        query.feed(query.half)
        handle = rng.choice(query.spark.handles)
        place, key, blob = rng.choice(_blobs(handle))
        before = list(query.rows)
        _put(handle, place, key, harmed(blob, HARMS[seed // len(SHAPES) % len(HARMS)], rng))
        query.spark.other_process(files=False)
        handles = list(query.spark.handles)
        try:
            query.feed(query.half + 1)
            noticed = False
        except DamageError:
            noticed = True
        if noticed:
            query.spark.handles[:], query.rows = handles, before
            query.spark._labelled.clear()
            _put(handle, place, key, blob)
        query.feed()
        tally.judge(query.expected, query.found, seed, f"{place} {key}")
        if not noticed:
            tally.undetected += 1
            tally.failed.append(f"seed {seed}: nobody noticed harm to {place} {key}")
    return tally


def _blobs(handle: Any) -> list[tuple[str, Any, bytes]]:
    """All that is ever read again; the mark that a worker was born is looked for, not read."""
    values = [("header", None, handle.values["header"][0])]
    return values + [("chunks", key, value[0]) for key, value in sorted(handle.maps["chunks"].items()) if key[0]]


def _put(handle: Any, place: str, key: Any, blob: bytes | None) -> None:
    into, at = (handle.values, place) if key is None else (handle.maps[place], key)
    if blob is None:
        del into[at]
    else:
        into[at] = (blob,)


# ---- resident files ----


def resident_harmed(directory: Path, seeds: range) -> Tally:
    """A file of a window, read by a process that sees it for the first time; its time of change stays as it was."""
    tally = Tally()
    for seed in seeds:
        rng = random.Random(f"resident {seed}")
        query = Simulated(SHAPES[seed % len(SHAPES)], seed)
        query.feed(query.half)
        files = [path for path in sorted(query.spark.directory.rglob("*")) if path.is_file() and path.name != "lock"]
        path = rng.choice(files)
        status = path.stat()
        blob = harmed(path.read_bytes(), HARMS[seed // len(SHAPES) % len(HARMS)], rng)
        if blob is None:
            path.unlink()
        else:
            path.write_bytes(blob)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        query.spark.other_process()
        query.feed()
        tally.judge(query.expected, query.found, seed, path.name)
    return tally


# ---- records of benchmarks ----

_LINES = 8


def records_harmed(directory: Path, seeds: range) -> Tally:
    """A file of records; what is read must be what was written, or less of it: that is measured again."""
    tally = Tally()
    for seed in seeds:
        rng = random.Random(f"records {seed}")
        place = directory / f"records{seed}"
        written = Records(place)
        for number in range(_LINES):
            point = Point("throughput", "tuples/s", [rng.random() * 1e6, rng.random()], {"batch": number}, {"found": 5})
            written.append([record(_EXPERIMENT, "toy", Cell({"cell": number}, list), point)])
        path = place / f"{_EXPERIMENT.name}.jsonl"
        blob = harmed(path.read_bytes(), HARMS[seed % len(HARMS)], rng)
        path.unlink() if blob is None else path.write_bytes(blob)
        try:
            found = list(Records(place))
        except DamageError as error:
            tally.case(seed, str(error), undetected=int(str(path) not in str(error)))
            continue
        known = {each.key: each for each in written}
        tally.case(seed, f"{found}", wrong=sum(known.get(each.key) != each for each in found))
    return tally


_EXPERIMENT = Experiment("harmed", "what it shows", "all", "nothing", lambda scale: [], (), seed=7)


# ---- job files ----


def jobs_harmed(directory: Path, seeds: range) -> Tally:
    """A job file, as text that anybody may write: what is understood is what it says now, or a JobError."""
    tally, right = Tally(), jobs.job(jobs.RIGHT)
    for seed in seeds:
        rng = random.Random(f"job {seed}")
        path = directory / "job.toml"
        blob = harmed(jobs.RIGHT.encode(), HARMS[seed % len(HARMS)], rng)
        path.unlink(missing_ok=True)
        if blob is not None:
            path.write_bytes(blob)
        try:
            document = read(path)
            found = checked(document, Places(jobs.HOME, ()))
        except JobError as error:
            tally.case(seed, str(error), undetected=int(str(path) not in str(error)))
            continue
        assert blob is not None
        said = tomllib.loads(blob.decode())
        same = tomllib.loads(blob.decode().lower()) == tomllib.loads(jobs.RIGHT.lower())  # BETWeEN is BETWEEN
        tally.case(seed, str(blob), wrong=int(document.tree != said), undetected=int(not same and found == right))
    return tally


# ---- compiled kernels ----


def kernels_harmed(directory: Path, seeds: range) -> Tally:
    """A file of the cache of code: it is compiled again, gives what it gave, and the file is right again."""
    tally = Tally()
    private_directory(directory / "kernels")
    with patch.object(code_cache, "directory", lambda: directory / "kernels"):
        for seed in seeds:
            rng = random.Random(f"kernel {seed}")
            for path in (directory / "kernels").iterdir():
                path.unlink()
            answer = 2 * seed + 3
            assert (_called(seed), len(list((directory / "kernels").iterdir()))) == ((answer, 0), 1)
            (path,) = (directory / "kernels").iterdir()
            blob = harmed(path.read_bytes(), HARMS[seed % len(HARMS)], rng)
            path.unlink() if blob is None else path.write_bytes(blob)
            found, loaded = _called(seed)
            again, mended = _called(seed)
            tally.case(
                seed, path.name, wrong=(found, again) != (answer, answer), undetected=int(loaded != 0 or mended != 1)
            )
    return tally


def _called(seed: int) -> tuple[int, int]:
    """The answer of a kernel, compiled by a dispatcher of its own, and how often code was loaded for it."""

    def kernel(x: int) -> int:
        return 2 * x + 3

    dispatcher = njit(kernel)
    dispatcher._cache = code_cache.CodeCache(kernel)
    return dispatcher(seed), sum(dispatcher.stats.cache_hits.values())


CLASSES = (
    Class(
        "damage",
        "damaged state",
        "A header, a chunk or the marks of a subwindow come back from the state with a flipped bit, shorter, or not at all: a "
        "DamageError, nothing computed, and the right rows once the bytes are back.",
        state_harmed,
        240,
    ),
    Class(
        "damage",
        "damaged resident files",
        "A sealed subwindow, a run or a manifest has a flipped bit, is shorter or gone, with its old time of change: windows "
        "are made again from the state, and rows are right.",
        resident_harmed,
        240,
    ),
    Class(
        "damage",
        "damaged records of benchmarks",
        "A file of records has a flipped bit, is shorter or gone: a DamageError that names the file and the line, or what is "
        "missing counts as not measured; no record is read that was not written.",
        records_harmed,
        240,
    ),
    Class(
        "damage",
        "damaged job files",
        "A job file has a flipped bit, is shorter or gone: a JobError that names it, or, as anybody may write what he likes, a "
        "job that is no longer the one before, read as Python's own parser reads it.",
        jobs_harmed,
        480,
    ),
    Class(
        "damage",
        "damaged cache of kernels",
        "A file of compiled code has a flipped bit, is shorter or gone: it is not loaded, the kernel is compiled again, gives "
        "the same, and the file is right again.",
        kernels_harmed,
        45,
    ),
)
