"""First use: only the first process compiles, also when many start cold at once and use every structure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.index.structures import STRUCTURES

#: A whole life of each structure; says what it found, and how many kernels came from the cache and how many did not.
LIVES = """
import json, sys
import numpy as np
from numba.core.dispatcher import Dispatcher
from panjoin.index import create

found = {}
for name in sys.argv[1:]:
    index = create(name, capacity=3000, partitions=20)
    for size in (1000, 3, 500):
        index.insert(np.arange(size, dtype=np.int32), np.arange(size))
    low = np.arange(0, 1000, 5, dtype=np.int32)
    answers = [index.probe(low, low + np.int32(width), negate=negate) for width in (0, 3) for negate in (False, True)]
    index.seal()
    answers.append(create(name, like=index).probe(low, low))
    found[name] = [[answer.total, len(answer.pairs()[1])] for answer in [*answers, index.probe(low, low)]]
kernels = {
    id(value): value
    for module in list(sys.modules.values())
    if getattr(module, "__name__", "").startswith("panjoin.")
    for value in vars(module).values()
    if isinstance(value, Dispatcher)
}
stats = [kernel.stats for kernel in kernels.values()]
print(json.dumps({
    "found": found,
    "loaded": sum(sum(each.cache_hits.values()) for each in stats),
    "compiled": sum(sum(each.cache_misses.values()) for each in stats),
}))
"""


def start(*names: str, cache: Path | None = None) -> subprocess.Popen[str]:
    place = {} if cache is None else {"PANJOIN_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", LIVES, *names]
    return subprocess.Popen(command, env=os.environ | place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def result(process: subprocess.Popen[str]) -> Any:
    out, err = process.communicate()
    assert process.returncode == 0, err
    return json.loads(out)


def test_a_later_process_compiles_nothing() -> None:
    first = result(start(*STRUCTURES))
    later = result(start(*STRUCTURES))
    assert later["compiled"] == 0
    assert later["loaded"] == first["loaded"] + first["compiled"] > 20
    assert later["found"] == first["found"]
    assert len({json.dumps(answers) for answers in later["found"].values()}) == 1, "all structures find the same"


@pytest.mark.slow
def test_many_processes_that_start_cold_at_once_on_every_structure_are_right(tmp_path: Path) -> None:
    cache = tmp_path / "panjoin"
    cold = [start(name, cache=cache) for name in STRUCTURES for _ in range(4)]
    answers = [result(process)["found"] for process in cold]
    assert len({json.dumps(each) for answer in answers for each in answer.values()}) == 1
    later = result(start(*STRUCTURES, cache=cache))
    assert later["compiled"] == 0
    assert {json.dumps(each) for each in later["found"].values()} == {json.dumps(answers[0][STRUCTURES[0]])}
