"""A small local Spark: two cores, 1 GB, no page, everything it writes under one directory."""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from panjoin.spark.java import use_java

_ROOT = Path(__file__).resolve().parent.parent


def start_spark(directory: Path, master: str = "local[2]", **options: str) -> SparkSession:
    """Start (or get) the session. `options` are Spark's, with `__` for a dot: `spark__sql__ansi__enabled="true"`."""
    use_java()
    # Python workers are children of the JVM: they need this interpreter, and to import panjoin and the tests.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(_ROOT / "src"), str(_ROOT)])
    builder = SparkSession.builder.master(master).appName("panjoin-tests")
    chosen = {key.replace("__", "."): value for key, value in options.items()}
    for name, value in (_settings(directory) | chosen).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _settings(directory: Path) -> dict[str, str]:
    return {
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.local.dir": str(directory / "local"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home='{directory / 'derby'}'",
    }
