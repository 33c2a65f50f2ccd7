"""Joins inside Spark, one per process: PanJoin's, Spark's own, and one-shot joins in `foreachBatch`.

    panjoin             stream_join over Arrow batches; a worker per core
    spark               Spark's stream-stream join with both time bounds in its condition; RocksDB with changelog
                        checkpoints (in memory it holds no window of millions), a shuffle partition per core
    spark, buckets      the same for a band: keys in buckets of four times the reach, the right side exploded to the one
                        or two buckets that its range touches, the band as a filter behind the equality of buckets
    foreachBatch duckdb, foreachBatch polars
                        both streams in one query; each micro-batch comes to the driver as Arrow and is joined with the
                        windows there, which are cut by time; no state, and no recovery

Data: one Parquet file per side and micro-batch, the first one a whole window. A tuple is one millisecond after the
tuple before, so a window of W milliseconds holds W tuples. A micro-batch is timed as Spark reports it
(`triggerExecution`), everything in it: planning, reading, joining, state, checkpoint, and adding up number and sums of
the pairs. The first micro-batch fills the windows and is not counted.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import panjoin as pj
from panjoin.bench.peers.one_shot import Duckdb, Peer, Polars, Ring
from panjoin.spark import session, stream_join

SCHEMA = "id long, k int, ts timestamp"
SIDES = ("left", "right")
ONE_SHOT = {"foreachBatch duckdb": Duckdb, "foreachBatch polars": Polars}


class Total:
    """Number of pairs and sums of their arrival numbers, over all micro-batches."""

    def __init__(self) -> None:
        self.found = [0, 0, 0]

    def add(self, joined: DataFrame, _: int) -> None:
        """What a micro-batch found."""
        row = joined.agg(sf.count("*"), sf.sum("id_left"), sf.sum("id_right")).collect()[0]
        self.found = [total + (part or 0) for total, part in zip(self.found, row, strict=True)]


class Windows:
    """Both windows in the driver, joined with a one-shot peer."""

    def __init__(self, peer: Peer, window: int) -> None:
        self._peer, self._window = peer, window
        self._held: dict[str, pa.Table] = {}
        self.found = [0, 0, 0]

    def add(self, rows: DataFrame, _: int) -> None:
        """New left tuples meet the right window and the new right ones; new right tuples meet the left window."""
        table = rows.toArrow()
        new = {side: table.filter(pc.equal(table["side"], side)).drop(["side"]) for side in SIDES}
        held = {side: self._held.get(side, new[side].slice(0, 0)) for side in SIDES}
        both_right = pa.concat_tables([held["right"], new["right"]])
        self._join(new["left"], both_right, left_first=True)
        self._join(new["right"], held["left"], left_first=False)
        for side in SIDES:
            whole = pa.concat_tables([held[side], new[side]]).combine_chunks()
            newest = max((_newest(each) for each in new.values() if len(each)), default=0)
            self._held[side] = whole.filter(pc.greater_equal(whole["ms"], newest - self._window))

    def _join(self, batch: pa.Table, window: pa.Table, *, left_first: bool) -> None:
        if not len(batch) or not len(window):
            return
        ring = Ring(0)
        ring.keys, ring.ids = window["k"].to_numpy(), window["id"].to_numpy()
        positions, others = self._peer.join(batch["k"].to_numpy(), ring)
        numbers = batch["id"].to_numpy()[positions]
        apart = abs(numbers - others) <= self._window  # one millisecond per tuple: the numbers are the times
        own, other = int(numbers[apart].sum()), int(others[apart].sum())
        found = [int(apart.sum()), *((own, other) if left_first else (other, own))]
        self.found = [total + part for total, part in zip(self.found, found, strict=True)]


def _newest(table: pa.Table) -> int:
    return int(pc.max(table["ms"]).as_py())


def query(spark: SparkSession, request: dict[str, Any]) -> tuple[DataFrame, Total | Windows]:
    """What the contestant computes, and where its answers are added up."""
    name, reach, window = request["contestant"], request["reach"], request["window"]
    left, right = (
        spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(f"{request['directory']}/{side}")
        for side in SIDES
    )
    if name in ONE_SHOT:
        sides = [each.withColumn("side", sf.lit(side)) for each, side in zip((left, right), SIDES, strict=True)]
        rows = sides[0].unionAll(sides[1]).withColumn("ms", sf.unix_millis("ts"))
        peer = ONE_SHOT[name](1, reach, request["cores"])
        return rows.select("id", "k", "ms", "side"), Windows(peer, window)
    left, right = left.withWatermark("ts", "0 seconds"), right.withWatermark("ts", "0 seconds")
    if name == "panjoin":
        on = f"left.k BETWEEN right.k - {reach} AND right.k + {reach}" if reach else "left.k = right.k"
        within = pj.TimeWindow(f"{window} milliseconds", on="ts")
        joined = stream_join(left, right, on=on, window=within, workers=request["cores"], index="bi-sort")
        return joined.select("id_left", "id_right"), Total()
    return sparks_own(left, right, reach, window), Total()


def sparks_own(left: DataFrame, right: DataFrame, reach: int, window: int) -> DataFrame:
    """Spark's stream-stream join; a band goes through buckets."""
    left = left.select(*(sf.col(name).alias(f"{name}_left") for name in left.columns))
    right = right.select(*(sf.col(name).alias(f"{name}_right") for name in right.columns))
    if reach:
        width = 4 * reach
        left = left.withColumn("bucket_left", sf.expr(f"floor(k_left / {width})"))
        buckets = f"explode(sequence(floor((k_right - {reach}) / {width}), floor((k_right + {reach}) / {width})))"
        right = right.withColumn("bucket_right", sf.expr(buckets))
        same = f"bucket_left = bucket_right AND k_left BETWEEN k_right - {reach} AND k_right + {reach}"
    else:
        same = "k_left = k_right"
    span = f"INTERVAL '{window / 1000:.3f}' SECOND"
    within = f"ts_left >= ts_right - {span} AND ts_left <= ts_right + {span}"
    return left.join(right, sf.expr(f"{same} AND {within}")).select("id_left", "id_right")


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Rate of each counted micro-batch, and what was found in all."""
    place = Path(request["directory"]) / request["contestant"].replace(" ", "-").replace(",", "")
    begin = time.perf_counter()
    cores = request["cores"]
    spark = session(
        "peers",
        master=f"local[{cores}]",
        settings={
            "spark.sql.shuffle.partitions": str(cores),
            "spark.driver.memory": request["memory"],
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.streaming.numRecentProgressUpdates": "1000",
            "spark.local.dir": str(place / "local"),
            "spark.sql.warehouse.dir": str(place / "warehouse"),
        },
    )
    spark.sparkContext.setLogLevel("ERROR")
    started = time.perf_counter() - begin
    joined, total = query(spark, request)
    writer = joined.writeStream.foreachBatch(total.add).option("checkpointLocation", str(place / "checkpoint"))
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    rates, seconds = [], []
    for progress in running.recentProgress:
        spent = progress.durationMs["triggerExecution"] / 1e3
        rows = progress.numInputRows
        if progress.batchId > 0 and rows:
            rates.append(rows / spent)
            seconds.append(spent)
    spark.stop()
    return {"rates": rates, "seconds": seconds, "found": total.found, "started": started}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(json.load(sys.stdin))) + "\n")
