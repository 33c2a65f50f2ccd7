"""A few cases of each class of faults; `python -m tests.faults` tries all of them."""

import pytest

from tests.faults.catalogue import classes

#: Seeds of classes that need no JVM.
QUICK = {
    "simulated-networks-and-crashes": range(2),
    "damaged-state": range(16),
    "damaged-resident-files": range(16),
    "damaged-records-of-benchmarks": range(30),
    "damaged-job-files": range(60),
    "damaged-cache-of-kernels": range(3),
    "golden-states-of-each-format": range(8),
}
#: Seeds of those that start Spark in a process of its own.
SLOW = {
    "sigkill-of-a-python-worker": range(3),
    "sigkill-of-the-driver": range(2),
    "sigkill-of-an-executor": range(2),
    "no-room-in-the-resident-directory": range(2),
    "no-room-for-the-checkpoint": range(2),
    "two-drivers-on-one-checkpoint": range(1),
    "a-query-is-started-twice-in-a-session": range(1),
    "stop-in-the-middle-of-state-calls": range(3),
    "out-of-memory-under-spark-executor-pyspark-memory": range(1),
    "golden-checkpoints-of-each-format": range(1),
}


def clean(name, seeds, directory):
    tally = classes()[name].run(directory, seeds)
    assert tally.failed == []
    assert tally.cases >= len(seeds)


@pytest.mark.parametrize("name", QUICK)
def test_without_spark_nothing_is_lost_or_wrong_after(name, tmp_path):
    clean(name, QUICK[name], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_with_spark_nothing_is_lost_or_wrong_after(name, tmp_path):
    clean(name, SLOW[name], tmp_path)
