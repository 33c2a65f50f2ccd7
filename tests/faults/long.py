"""The soak as a class of the table: as many micro-batches as there are seeds; half an hour of it is `python -m tests.soak`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.faults.catalogue import Class
from tests.faults.processes import ROOT
from tests.faults.records import Tally
from tests.soak.verdict import HOW, NAME, judged


def short(directory: Path, seeds: range) -> Tally:
    """In a process of its own, because it has a Spark of its own."""
    few = len(seeds) < 200
    command = [sys.executable, "-m", "tests.soak", "--dry", "--minutes", "0", "--batches", str(len(seeds))]
    command += ["--directory", str(directory), *(["--peak", "6", "--rows", "300"] if few else [])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (directory / "seen.json").exists(), done.stdout[-2000:] + done.stderr[-6000:]
    return judged(directory, json.loads((directory / "seen.json").read_text()))[0]


CLASSES = (Class("load", NAME, HOW, short, 1000),)
