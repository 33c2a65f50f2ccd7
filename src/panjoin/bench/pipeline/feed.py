"""What queries are fed: a Parquet file per side and micro-batch, the same for all of them, and the pairs to be found.

    keys uniform in [0, 11 W / S)                         a band of 11 values: S matches in a full window of W
    keys Zipf with exponent 1.2 over the same values      few of them carry most of the tuples

The window counts tuples, and is a whole number of micro-batches: so what a batch must find does not depend on the order
of its tuples. All left ones meet the last W right ones before them, all right ones the last W left ones, this batch's
among them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from panjoin.index.contract import Array

SIDES = ("left", "right")
REACH = 5
ZIPF = 1.2
#: Micro-batches are dated one second apart, for Spark reads the oldest file first.
BEGIN = 1_700_000_000


@dataclass
class Feed:
    """Draws micro-batches and knows the answers."""

    directory: Path
    values: int  #: keys are below
    keys: str = "uniform"
    seed: int = 1
    timed: bool = False  #: tuples have a number and an event time, one millisecond after the one before
    number: int = 0  #: of the next micro-batch
    drawn: int = 0  #: tuples per side
    _held: dict[str, list[Array]] = field(default_factory=lambda: {"left": [], "right": []})

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self.directory.mkdir(parents=True)

    def draw(self, count: int, keep: int) -> dict[str, Path]:
        """Files of the next micro-batch, `count` tuples per side; `keep` tuples are remembered for the answers."""
        files, first = {}, self.drawn
        self.drawn += count
        for side in SIDES:
            keys = self._draw(count)
            files[side] = self.directory / f"{self.number:04}.{side}.parquet"
            columns: dict[str, Array | pa.Array] = {"k": keys}
            if self.timed:
                numbers = np.arange(first, first + count)
                columns |= {"id": numbers, "ts": pa.array(BEGIN * 10**6 + numbers * 1000, pa.timestamp("us", tz="UTC"))}
            pq.write_table(pa.table(columns), files[side], row_group_size=count)
            os.utime(files[side], (BEGIN + self.number,) * 2)
            held = self._held[side]
            held.append(keys)
            while sum(map(len, held[1:])) >= keep:
                held.pop(0)
        self.number += 1
        return files

    def pairs(self, window: int) -> int:
        """How many the last micro-batch must find."""
        newest = {side: np.sort(self._held[side][-1]) for side in SIDES}
        before = np.concatenate([np.empty(0, np.int32), *self._held["right"][:-1]])[-window:]
        return _near(newest["left"], before) + _near(newest["right"], np.concatenate(self._held["left"])[-window:])

    def _draw(self, count: int) -> Array:
        if self.keys == "zipf":
            drawn = self._rng.zipf(ZIPF, count) - 1
            return (drawn * 0x9E3779B1 % self.values).astype(np.int32)  # heavy values lie anywhere
        return self._rng.integers(0, self.values, count, dtype=np.int32)


def _near(keys: Array, others: Array) -> int:
    """Pairs that are at most REACH apart; `keys` ascend."""
    others = np.sort(others)
    above = np.searchsorted(others, keys.astype(np.int64) + REACH, "right")
    return int((above - np.searchsorted(others, keys.astype(np.int64) - REACH, "left")).sum())
