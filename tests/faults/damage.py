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
from pathlib import Path
from typing import Any

from panjoin.errors import DamageError
from tests.faults.catalogue import Class
from tests.faults.records import Tally
from tests.faults.simulated import Simulated
from tests.faults.trial import SHAPES

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


CLASSES = (
    Class(
        "damage",
        "damaged state",
        "A header, a chunk or the marks of a subwindow come back from the state with a flipped bit, shorter, or not at all: a "
        "DamageError, nothing computed, and the right rows once the bytes are back.",
        state_harmed,
        480,
    ),
    Class(
        "damage",
        "damaged resident files",
        "A sealed subwindow, a run or a manifest has a flipped bit, is shorter or gone, with its old time of change: windows "
        "are made again from the state, and rows are right.",
        resident_harmed,
        480,
    ),
)
