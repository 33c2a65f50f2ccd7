"""What every test may use: Hypothesis profiles, the marker of slow tests, and one Spark session.

Profiles: `quick` (the default), `ci`, `nightly`; chosen by PANJOIN_PROFILE=nightly or --hypothesis-profile=nightly.
The seed is printed at the head of a run; repeat a run with --hypothesis-seed=THAT. A failing example prints the blob
that repeats it alone.
"""

import os
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No deadline: the first example of a test pays for compiling a kernel, which takes seconds (for the same reason
# `too_slow` says nothing about the strategy).
_COMMON = {"deadline": None, "print_blob": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=30, stateful_step_count=20, **_COMMON)
settings.register_profile("ci", max_examples=100, stateful_step_count=30, **_COMMON)
settings.register_profile("nightly", max_examples=10_000, stateful_step_count=50, **_COMMON)


@pytest.hookimpl(tryfirst=True)  # before Hypothesis reads its options
def pytest_configure(config: pytest.Config) -> None:
    """Choose the profile and a seed that can be repeated."""
    settings.load_profile(os.environ.get("PANJOIN_PROFILE", "quick"))
    if config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(2**32))


def pytest_report_header(config: pytest.Config) -> str:
    """Say what is needed to repeat this run."""
    profile = config.getoption("--hypothesis-profile") or os.environ.get("PANJOIN_PROFILE", "quick")
    return f"to repeat: --hypothesis-profile={profile} --hypothesis-seed={config.getoption('--hypothesis-seed')}"


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several processes a file stays in one of them, for its fixtures, and all of Spark does, which starts once."""
    for item in items:
        needs_spark = "spark" in getattr(item, "fixturenames", ())
        item.add_marker(pytest.mark.xdist_group("spark" if needs_spark else item.nodeid.partition("::")[0]))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """One small local Spark for the whole run, started by the first test that asks for it."""
    from tests.spark_session import start_spark  # noqa: PLC0415  (pyspark takes a second to import)

    session = start_spark(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
