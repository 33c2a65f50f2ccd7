"""Two endless streams whose rows are a function of their number: Spark makes them, and numpy makes them again to judge.

    row n of a side     micro-batch n // rows, one second of event time each
    x                   spread over WIDTH values per tuple of a window: a band of +-5 finds about one partner
    ts                  its second; three in ten come up to 2 s out of order, one in a hundred an hour too late
    silence             of the left side, of the right side, of both, in each CYCLE micro-batches

Who is out of order is never behind the watermark (DELAY), who is late always is; so the rows of the result are a function
of the data alone, however the query was restarted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

SECOND = 1_000_000
BASE = 1_750_000_000 * SECOND  #: event time of micro-batch 0, in microseconds since 1970
WINDOW = 30  #: seconds that a tuple stays joinable
DELAY = 5  #: of the watermark, in seconds
BAND = 5
CYCLE = 200
SILENT = {"left": ((60, 90), (180, 185)), "right": ((120, 150), (180, 185))}  #: of each cycle
LATE_FROM = 10  #: micro-batch from which there are late rows: before, there is no watermark to be behind

_MIX = {"left": (2654435761, 2246822519), "right": (3266489917, 2870177449)}  #: odd multipliers: for time, for x
_WORD = 1 << 32


@dataclass(frozen=True)
class Stream:
    """Both sides."""

    rows: int  #: of a side in a micro-batch

    @property
    def width(self) -> int:
        """Values of x."""
        return (2 * BAND + 1) * WINDOW * self.rows

    def frame(self, spark: Any, side: str) -> Any:
        """The side as a streaming DataFrame; each trigger brings one micro-batch."""
        source = (
            spark.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", self.rows)
            .option("numPartitions", 1)
            .option("startTimestamp", 0)
            .option("advanceMillisPerBatch", 1000)
            .load()
        )
        return self.rows_of(source, side).withWatermark("ts", f"{DELAY} seconds")

    def rows_of(self, source: Any, side: str) -> Any:
        """Of a DataFrame that has the numbers as `value`."""
        time, place = _MIX[side]
        late = f"b >= {LATE_FROM} AND m % 101 = 0"
        silent = " OR ".join(f"b % {CYCLE} BETWEEN {first} AND {last - 1}" for first, last in SILENT[side])
        return (
            source.selectExpr("value AS n", f"value div {self.rows} AS b", f"(value * {time}) % {_WORD} AS m")
            .where(f"NOT ({silent})")
            .selectExpr(
                "n",
                f"int(shiftright(((n * {place}) % {_WORD}) * {self.width}, 32)) AS x",
                f"timestamp_micros({BASE} + b * {SECOND} + m % {SECOND}"
                f" - IF(m % 10 < 3, m % 2000003, 0) - IF({late}, {3600 * SECOND}, 0)) AS ts",
            )
        )

    def made(self, side: str, first: int, last: int) -> tuple[Array, Array, Array]:
        """Numbers, x and event times of micro-batches [first, last), without those that are late or silent."""
        time, place = _MIX[side]
        n = np.arange(max(0, first) * self.rows, last * self.rows, dtype=np.int64)
        b, m = n // self.rows, n * time % _WORD
        here = ~((b >= LATE_FROM) & (m % 101 == 0))
        for begin, end in SILENT[side]:
            here &= (b % CYCLE < begin) | (b % CYCLE >= end)
        n, b, m = n[here], b[here], m[here]
        x = (n * place % _WORD * self.width) >> 32
        return n, x, BASE + b * SECOND + m % SECOND - np.where(m % 10 < 3, m % 2000003, 0)

    def late(self, side: str, last: int) -> int:
        """Rows that the join should have dropped in micro-batches [0, last)."""
        n = np.arange(last * self.rows, dtype=np.int64)
        b, m = n // self.rows, n * _MIX[side][0] % _WORD
        here = (b >= LATE_FROM) & (m % 101 == 0)
        for begin, end in SILENT[side]:
            here &= (b % CYCLE < begin) | (b % CYCLE >= end)
        return int(here.sum())

    def pairs(self, first: int, last: int, until: int) -> Array:
        """All pairs (left n, right n) whose left row is of micro-batches [first, last), of `until` that there were."""
        n, x, ts = self.made("left", first, last)
        around = WINDOW + DELAY
        other, y, when = self.made("right", first - around, min(until, last + around))
        order = np.argsort(y, kind="stable")
        ascending = y[order]
        begin = np.searchsorted(ascending, x - BAND, "left")
        count = np.searchsorted(ascending, x + BAND, "right") - begin
        i = np.repeat(np.arange(len(n)), count)
        within = np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count)
        j = order[np.repeat(begin, count) + within]
        seen = np.abs(ts[i] - when[j]) <= WINDOW * SECOND
        return np.stack([n[i[seen]], other[j[seen]]], axis=1)
