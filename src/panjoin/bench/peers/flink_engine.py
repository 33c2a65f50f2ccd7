"""Flink SQL's interval join, in an environment that has the package apache-flink; needs nothing of ours.

Configuration: streaming mode, parallelism as many as cores, state on the heap, mini-batches in the aggregation that
adds the pairs up, object reuse. Both streams are read from CSV files by the file connector, and watermarks follow by a
whole window, for parallel readers of one file do not move together (state is larger, nothing is lost).

The whole job is timed, from submission to the last number, less the same job on a few rows right before it: Flink has
no micro-batches to leave the filling of the windows out of. So its rate is that of the whole stream.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment

SOURCE = """CREATE TABLE {name} (id BIGINT, k INT, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3),
  WATERMARK FOR ts AS ts - INTERVAL '{span}' DAY TO SECOND(3))
  WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"""
JOIN = """SELECT COUNT(*), SUM(l.id), SUM(r.id) FROM {left} AS l, {right} AS r WHERE l.k = r.k
  AND l.ts BETWEEN r.ts - INTERVAL '{span}' DAY TO SECOND(3) AND r.ts + INTERVAL '{span}' DAY TO SECOND(3)"""


def joined(tables: Any, directory: str, prefix: str, span: str) -> tuple[list[int], float]:
    """Number and sums of the pairs, and seconds."""
    for side in ("left", "right"):
        path = (Path(directory) / prefix / (side + ".csv")).resolve().as_uri()
        tables.execute_sql(SOURCE.format(name=prefix + side, span=span, path=path))
    begin = time.perf_counter()
    last = [0, 0, 0]
    text = JOIN.format(left=prefix + "left", right=prefix + "right", span=span)
    with tables.execute_sql(text).collect() as rows:
        for row in rows:
            last = list(row)
    return [part or 0 for part in last], time.perf_counter() - begin


def main() -> None:
    """Request in, one line of JSON out."""
    request = json.load(sys.stdin)
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {
        "parallelism.default": str(request["cores"]),
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.allow-latency": "1 s",
        "table.exec.mini-batch.size": "100000",
        "pipeline.object-reuse": "true",
        "taskmanager.memory.process.size": request["memory"],
        "rest.bind-address": "127.0.0.1",
    }.items():
        tables.get_config().set(key, value)
    minutes, ms = divmod(request["window"], 60_000)
    span = "0 {:02}:{:02}:{:06.3f}".format(*divmod(minutes, 60), ms / 1000)
    joined(tables, request["directory"], "warm", span)  # the first job starts the machinery
    _, empty = joined(tables, request["directory"], "few", span)
    found, whole = joined(tables, request["directory"], "all", span)
    answer = {"found": found, "seconds": [whole - empty], "version": version("apache-flink")}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
