"""How many examples a property is tried with, and how a run is repeated."""

import os
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
