"""A session that suits the join: RocksDB with changelog checkpoints, on a Java that was found or installed by pip.

Settings given by the user stay: ours are added where nothing is set.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark import SparkConf
from pyspark.sql import SparkSession

from panjoin.spark.door import PROVIDER_KEY, ROCKSDB
from panjoin.spark.java import use_java

#: Changelog checkpoints write what a micro-batch changed instead of a whole snapshot.
SUITABLE = {
    PROVIDER_KEY: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def session(
    name: str = "panjoin", *, master: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The session that there is, or a new one with `settings`, what spark-defaults and spark-submit say, and SUITABLE.

    A session that runs already keeps its settings, also those that do not suit: `stream_join` says which.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    use_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    chosen = dict(settings or {})
    known = SparkConf()
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    for key, value in (SUITABLE | chosen).items():
        if key in chosen or not known.contains(key):
            builder = builder.config(key, value)
    return builder.getOrCreate()
