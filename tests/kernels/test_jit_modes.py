"""The same answers without the compiler, and no index past an array's end: the index suite under two switches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Plain Python needs minutes for these.
SMALL = "not large_window and not two_to_the_31 and not borders and not at_the_same_time"
#: Every kernel for one type: bounds checks are code of their own, compiled apart, for most of this test's time.
ONE_TYPE = "large_window and int32"


@pytest.mark.parametrize(("switch", "chosen"), [("NUMBA_DISABLE_JIT", SMALL), ("NUMBA_BOUNDSCHECK", ONE_TYPE)])
def test_the_index_suite_passes_with(switch: str, chosen: str) -> None:
    suites = ["tests/index/test_contract.py", "tests/index/test_scan.py"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *suites, "-k", chosen],
        cwd=ROOT,
        env=os.environ | {switch: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout
