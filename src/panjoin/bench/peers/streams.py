"""Two streams as files, for engines that read their own: Parquet per micro-batch for Spark, CSV for Flink and Pathway.

    left/0000.parquet    a whole window, W tuples            all/left.csv     the same tuples, one file
    left/0001.parquet    a micro-batch of b tuples           few/left.csv     the first ones, to time what is fixed
    ...                                                      warm/left.csv    the same

Tuple i of a side has arrival number i and event time i milliseconds, so a window of W milliseconds holds W tuples.
Keys are uniform over so many values that a tuple matches S of W.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from panjoin.index.contract import Array

SIDES = ("left", "right")
FEW = 64
#: Event time 0; not the epoch, where watermarks begin.
BEGIN_MS = 1_700_000_000_000


@dataclass(frozen=True)
class Streams:
    """What is joined."""

    window: int
    batch: int
    batches: int
    reach: int  #: 0 for equality
    selectivity: int
    seed: int = 1

    @property
    def tuples(self) -> int:
        """Per side."""
        return self.window + self.batch * self.batches

    def keys(self) -> dict[str, Array]:
        """Of both sides."""
        rng = np.random.default_rng(self.seed)
        values = max(1, self.window * (2 * self.reach + 1) // self.selectivity)
        return {side: rng.integers(0, values, self.tuples, dtype=np.int32) for side in SIDES}

    def write(self, directory: Path) -> None:
        """All files."""
        edges = [0, *range(self.window, self.tuples + 1, self.batch)]
        for side, keys in self.keys().items():
            ids = np.arange(self.tuples)
            times = pa.array(BEGIN_MS + ids, pa.timestamp("ms", tz="UTC"))
            rows = pa.table({"id": ids, "k": keys, "ts": times.cast(pa.timestamp("us", tz="UTC"))})
            (directory / side).mkdir(parents=True)
            for number, (first, end) in enumerate(pairwise(edges)):
                path = directory / side / f"{number:04}.parquet"
                pa.parquet.write_table(rows.slice(first, end - first), path)
                os.utime(path, (BEGIN_MS // 1000 + number, BEGIN_MS // 1000 + number))  # Spark reads by age
            plain = pa.table({"id_": ids, "k": keys, "ms": BEGIN_MS + ids})
            for part, count, header in (
                ("all", None, False),
                ("few", FEW, False),
                ("warm", FEW, False),
                ("headed", None, True),
                ("headed-few", FEW, True),
            ):
                (directory / part).mkdir(exist_ok=True)
                options = pa.csv.WriteOptions(include_header=header)
                pa.csv.write_csv(plain.slice(0, count), directory / part / f"{side}.csv", options)
