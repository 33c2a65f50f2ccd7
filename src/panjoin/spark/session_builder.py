"""A session that suits the join: RocksDB with changelog checkpoints, on a Java that was found or installed by pip.

Settings that there are stay: ours are added where nothing is set, neither here nor by spark-submit, spark-defaults.conf
or whoever started the session.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

from panjoin.errors import ParameterError
from panjoin.spark.door import PROVIDER_KEY, ROCKSDB
from panjoin.spark.java import use_java

#: Changelog checkpoints write what a micro-batch changed instead of a whole snapshot. Queries read these settings when
#: they start, so a session that runs already can be given them.
SUITABLE = {
    PROVIDER_KEY: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def session(
    name: str = "panjoin", *, master: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The Spark session that there is, or a new one, with what the join needs where nothing else is set.

    That is RocksDB as the state store, with changelog checkpoints. `settings` are added by name; one that only a new
    session can have is refused when another value runs. `master` is for a new one; without it spark-submit,
    spark-defaults.conf or SPARK_REMOTE say where it runs. A Java is looked for: JAVA_HOME, PATH, then the extra `java`.
    """
    chosen = dict(settings or {})
    spark = SparkSession.getActiveSession()
    if spark is None:
        spark = _started(name, master, chosen)
    else:
        for key, value in chosen.items():
            _add(spark, key, value)
    known = spark.conf.getAll
    for key, value in SUITABLE.items():
        if key not in known:
            spark.conf.set(key, value)
    return spark


def _started(name: str, master: str | None, settings: Mapping[str, str]) -> SparkSession:
    if "SPARK_REMOTE" not in os.environ:
        use_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _add(spark: SparkSession, key: str, value: str) -> None:
    """A setting asked for by name, to a session that runs."""
    if spark.conf.get(key, None) == value:
        return
    if not spark.conf.isModifiable(key):
        raise ParameterError(
            f"{key} is {spark.conf.get(key, None)!r} in the session that runs, and can only be set when one starts; "
            f"stop that session first, or leave the setting out"
        )
    spark.conf.set(key, value)
