"""Two streams as a market would make them, for the demo: orders and quotes, written as Parquet files.

    trade ──> ts symbol price, in order of arrival ──cut──> orders/000.parquet  orders/001.parquet ...
                                                            the files of a side arrive one after another

Few symbols have most of the trade, prices wander and like round numbers, tuples arrive out of order, and some so late
that the watermark has passed them. The same seed makes the same files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

Array = npt.NDArray[Any]

SYMBOLS = 500
#: Time between two tuples of a stream, in microseconds: 50 a second.
PACE = 20_000
MINUTE = 60_000_000
#: The opening bell, in microseconds since 1970.
OPENING = int(np.datetime64("2026-01-05T14:30", "us").astype(np.int64))
#: Of the tuples, so many get stuck on their way, for up to so long.
STUCK, LONGEST = 0.002, 20 * MINUTE
#: Spark takes files in the order of their times; these are a second apart.
_FIRST_FILE = 1_767_623_400


@dataclass(frozen=True)
class Ticks:
    """A stream in order of arrival."""

    symbol: Array
    price: Array  #: cents
    ts: Array  #: microseconds since 1970

    def __len__(self) -> int:
        return len(self.ts)

    def table(self, first: int, last: int, number: str) -> pa.Table:
        """A piece of it; `number` is the column of arrival numbers."""
        ts = pa.array(self.ts[first:last], pa.timestamp("us", tz="UTC"))
        columns = {number: np.arange(first, last), "ts": ts, "symbol": self.symbol[first:last]}
        return pa.table({**columns, "price": pa.array(self.price[first:last], pa.int32())})


def make(directory: Path, tuples: int, pieces: int, seed: int) -> None:
    """Write `orders` and `quotes`, `tuples` of each in `pieces` files."""
    random = np.random.default_rng(seed)
    market = listed_prices(random)
    for name, number in (("orders", "order_id"), ("quotes", "quote_id")):
        written(directory / name, trade(random, market, tuples), pieces, number)


def written(directory: Path, stream: Ticks, pieces: int, number: str) -> None:
    """The stream as files of nearly equal length."""
    directory.mkdir()
    bounds = np.linspace(0, len(stream), pieces + 1).astype(int)
    for piece, (first, last) in enumerate(pairwise(bounds)):
        file = directory / f"{piece:03}.parquet"
        pq.write_table(stream.table(int(first), int(last), number), file)
        os.utime(file, (_FIRST_FILE + piece, _FIRST_FILE + piece))


def listed_prices(random: np.random.Generator) -> Array:
    """Opening prices in cents: many cheap symbols, a few dear ones."""
    prices: Array = np.maximum(500, random.lognormal(10.5, 0.8, SYMBOLS)).astype(np.int64)
    return prices


def trade(random: np.random.Generator, market: Array, tuples: int) -> Ticks:
    """A stream: Zipf's share of the trade per symbol, prices that wander, arrivals out of order and sometimes late."""
    share = 1 / np.arange(1, SYMBOLS + 1) ** 0.8
    symbols = random.choice(SYMBOLS, tuples, p=share / share.sum())
    ts = np.arange(tuples, dtype=np.int64) * PACE
    drift = 1 + 0.05 * np.sin(ts / (20 * MINUTE) + symbols)
    prices = np.rint(market[symbols] * drift * random.normal(1, 0.02, tuples)).astype(np.int64)
    round_ones = random.random(tuples) < 0.3
    prices[round_ones] = (prices[round_ones] + 5) // 10 * 10
    delay = random.exponential(2_000_000, tuples)  # two seconds on the way, on average
    stuck = random.random(tuples) < STUCK
    delay[stuck] += random.uniform(0, LONGEST, int(stuck.sum()))
    arrival = np.argsort(ts + delay, kind="stable")
    names = np.array([f"SYM{number:03}" for number in range(SYMBOLS)])
    return Ticks(names[symbols[arrival]], prices[arrival], OPENING + ts[arrival])
