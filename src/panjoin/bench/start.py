"""How long a process takes until a structure has answered: everything that Python, packages and kernels need.

    imports      from the start of the interpreter until `panjoin.index` can be used
    first use    creating, filling, sealing and probing a small index for the first time in the process; its kernels
                 were compiled by a process before it, and come from the cache

Each repeat is a process of its own, which says what it took.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial

from panjoin.bench.experiment import Cell, Experiment, Point, View

STRUCTURES = ("bi-sort", "rap-table", "wib-tree", "scan")
REPEATS = {"toy": 1, "small": 5, "paper": 9}

_LIFE = """
import json, sys, time
begin = time.perf_counter()
import numpy as np
from panjoin.index import create
imported = time.perf_counter()
index = create(sys.argv[1], capacity=1000)
for size in (700, 100):
    index.insert(np.arange(size, dtype=np.int32), np.arange(size))
index.seal()
low = np.arange(200, dtype=np.int32)
found = len(index.probe(low, low).pairs()[0])
print(json.dumps({"imports": imported - begin, "first use": time.perf_counter() - imported, "found": found}))
"""


def started(structure: str) -> dict[str, float]:
    """Seconds of the parts of one process, and of the whole."""
    begin = time.perf_counter()
    run = subprocess.run([sys.executable, "-c", _LIFE, structure], capture_output=True, text=True, check=True)
    told: dict[str, float] = json.loads(run.stdout)
    return told | {"whole process": time.perf_counter() - begin}


def cells(scale: str) -> list[Cell]:
    """One cell per structure."""
    return [Cell({"structure": name}, partial(_cell, name, REPEATS[scale])) for name in STRUCTURES]


def _cell(structure: str, repeats: int) -> Iterator[Point]:
    started(structure)  # compiles, if nobody has
    seen = [started(structure) for _ in range(repeats)]
    for part in ("imports", "first use", "whole process"):
        yield Point(part, "ms", [each[part] * 1e3 for each in seen], noted={"found": seen[0]["found"]})


EXPERIMENTS = (
    Experiment(
        "index.start",
        "a later process: from nothing to the first answer of a small index",
        "a process of its own: imports, and the first life of a structure, whose kernels come from the cache",
        "the process before it that compiled them",
        cells,
        tuple(
            View(title, metric, ("structure",), "", plot=False)
            for title, metric in (
                ("Imports", "imports"),
                ("First use", "first use"),
                ("Whole process", "whole process"),
            )
        ),
    ),
)
