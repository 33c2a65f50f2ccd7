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


CONTRACT = ["tests/index/test_contract.py", "tests/index/test_scan.py"]
#: What looks at other things than answers, or draws more examples than plain Python can work off.
WHOLE = "not memory_mapped and not two_to_the_31 and not 2_to_the_31"


@pytest.mark.parametrize(("switch", "chosen"), [("NUMBA_DISABLE_JIT", SMALL), ("NUMBA_BOUNDSCHECK", ONE_TYPE)])
def test_the_index_suite_passes_with(switch: str, chosen: str) -> None:
    passes(switch, CONTRACT, chosen)


@pytest.mark.slow
def test_no_kernel_reads_or_writes_past_an_arrays_end_whatever_is_done_to_a_structure() -> None:
    passes(
        "NUMBA_BOUNDSCHECK", ["tests/index", "tests/kernels/test_merge.py", "tests/kernels/test_search_run.py"], WHOLE
    )


@pytest.mark.slow
def test_without_the_compiler_the_state_machines_see_the_same_structures() -> None:
    passes("NUMBA_DISABLE_JIT", ["tests/index/test_machine.py", "tests/index/test_splitters.py"], WHOLE)


def passes(switch: str, suites: list[str], chosen: str) -> None:
    """Run tests in a process that has the switch on."""
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
