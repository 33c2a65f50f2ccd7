"""Which settings of Spark a job file may give: those that size and tune, not those that load, write or listen.

`spark.jars`, `spark.driver.extraJavaOptions`, `spark.plugins` and their like run code of whoever wrote the job file;
`spark.sql.warehouse.dir` and `spark.eventLog.dir` write where it likes. So there is a list, and what is not on it
needs `--allow-conf` on the command line.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from panjoin.job.problems import Problem

_SIZES = (
    "spark.driver.memory", "spark.driver.cores", "spark.driver.maxResultSize",
    "spark.executor.memory", "spark.executor.memoryOverhead", "spark.executor.pyspark.memory",
    "spark.executor.cores", "spark.executor.instances", "spark.cores.max", "spark.task.cpus",
    "spark.default.parallelism", "spark.sql.shuffle.partitions",
)  # fmt: skip
_MEANING = ("spark.sql.session.timeZone", "spark.sql.caseSensitive", "spark.sql.ansi.enabled")
_STREAMING = (
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
    "spark.sql.streaming.stateStore.rocksdb.compactOnCommit",
    "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage",
    "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB",
    "spark.sql.streaming.stateStore.maintenanceInterval",
    "spark.sql.streaming.minBatchesToRetain",
    "spark.sql.streaming.noDataMicroBatches.enabled",
    "spark.sql.streaming.multipleWatermarkPolicy",
    "spark.sql.streaming.numRecentProgressUpdates",
    "spark.sql.streaming.metricsEnabled",
    "spark.sql.execution.arrow.maxRecordsPerBatch",
    "spark.sql.files.maxPartitionBytes",
)
ALLOWED = (*_SIZES, *_MEANING, *_STREAMING)


def settings_of(table: Any, *, allow_all: bool) -> tuple[dict[str, str], list[Problem]]:
    """The settings as Spark takes them, and what is wrong with the table."""
    found: dict[str, str] = {}
    if not isinstance(table, dict):
        return found, [Problem(("spark",), f"must be a table of settings, not {table!r}")]
    problems = []
    for name, value in _flat(table, ("spark",)):
        key = ".".join(name[1:]) if name[1].startswith("spark.") else ".".join(name)
        if not isinstance(value, (str, int, float, bool)):
            problems.append(Problem(name, f"must be a text, a number or a boolean, not {value!r}"))
        elif key not in ALLOWED and not allow_all:
            close = get_close_matches(key, ALLOWED, n=1, cutoff=0.9)
            near = f"; did you mean {close[0]!r}?" if close else ""
            problems.append(
                Problem(name, f"a job file may not give this setting unless the command line says --allow-conf{near}")
            )
        else:
            found[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return found, problems


def _flat(table: dict[str, Any], path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    """Settings by name: `[spark.sql] x = 1`, `[spark] "sql.x" = 1` and `"spark.sql.x" = 1` are one."""
    found: list[tuple[tuple[str, ...], Any]] = []
    for key, value in table.items():
        inner = (*path, key)
        found += _flat(value, inner) if isinstance(value, dict) else [(inner, value)]
    return found
