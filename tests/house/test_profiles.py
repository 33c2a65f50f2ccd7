"""How many examples a property is tried with, and how a run is repeated."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[2]


def collect(*arguments: str, profile: str = "quick") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", *arguments, __file__],
        cwd=ROOT, env=os.environ | {"PANJOIN_PROFILE": profile}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(("profile", "examples"), [("quick", 30), ("ci", 100), ("nightly", 10_000)])
def test_a_profile_sets_the_number_of_examples_and_no_time_limit(profile: str, examples: int) -> None:
    chosen = settings.get_profile(profile)
    assert (chosen.max_examples, chosen.deadline, chosen.print_blob) == (examples, None, True)


def test_a_run_says_how_to_repeat_it() -> None:
    answer = collect("--hypothesis-seed=7", profile="nightly")
    assert "to repeat: --hypothesis-profile=nightly --hypothesis-seed=7" in answer.stdout
    answer = collect("--hypothesis-profile=ci", profile="nightly")
    assert "to repeat: --hypothesis-profile=ci --hypothesis-seed=" in answer.stdout


@pytest.mark.slow
def test_slow_tests_are_left_out_unless_asked_for() -> None:
    name = "test_slow_tests_are_left_out_unless_asked_for"
    assert name not in collect().stdout
    assert name in collect("-m", "slow or not slow").stdout


_COUNTED = """
from hypothesis import given, strategies as st

count = 0

@given(st.integers(0, 2**60))
def test_property(number):
    global count
    count += 1

def test_how_often():
    print("tried", count)
"""


@pytest.mark.slow
def test_the_nightly_profile_really_tries_ten_thousand_examples(tmp_path: Path) -> None:
    (tmp_path / "test_counted.py").write_text(_COUNTED)
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", "-p", "tests.conftest", tmp_path],
        cwd=ROOT, env=os.environ | {"PANJOIN_PROFILE": "nightly"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stdout
    (tried,) = re.findall(r"tried (\d+)", answer.stdout)
    assert int(tried) >= 10_000
