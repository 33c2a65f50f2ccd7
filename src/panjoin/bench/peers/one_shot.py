"""Peers without streams: the window lies in memory, and every micro-batch is joined with it from scratch.

    panjoin     StreamJoin, pairs read; a worker per core
    numpy       the window is kept in key order: a batch is merged in, expired tuples are masked out, and
                np.searchsorted finds both ends of every range; one core, for numpy has no more
    duckdb      one SQL join of two Arrow tables without copies; `threads` as many as cores
    polars      one lazy join; POLARS_MAX_THREADS as many as cores

DuckDB and Polars are asked for a band as for equality: each tuple of the batch, which is the small side, becomes the
2 * reach + 1 whole numbers that it matches. It is their best: at W = 1M, batches of 32K and S = 1 DuckDB took 25 ms of
processor time instead of 143 with BETWEEN, and Polars 12 instead of 62 with the better of two ways to say `join_where`.
(Buckets with the band as a filter took DuckDB 20, but lose where S is large.) It is our band that allows it, being
narrow and of integers; who has another one pays more.

Everybody answers a batch with all pairs of arrival numbers, in arrays of its own; number and sums of them are compared
before anything is timed, and number and sums again for each timed batch. Both windows hold W tuples of int32 keys and
int64 arrival numbers; batches come from both sides in turns. Time grows with W for those who start from scratch.

This file runs as a process of its own, bound to its cores (`cores.py`): request in, one line of JSON out.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Pairs = tuple[Array, Array]  #: arrival numbers: of the batch's tuples, and of what they match

REACH = 5
SIDES = ("left", "right")
OTHER = {"left": "right", "right": "left"}


class Ring:
    """A side's window: the last W keys and their arrival numbers, in no order."""

    def __init__(self, window: int) -> None:
        self.keys, self.ids = np.zeros(window, np.int32), np.zeros(window, np.int64)
        self.arrived = 0

    def store(self, keys: Array) -> None:
        """Overwrite the oldest ones."""
        places = (self.arrived + np.arange(len(keys))) % len(self.keys)
        self.keys[places], self.ids[places] = keys, self.arrived + np.arange(len(keys))
        self.arrived += len(keys)


class Peer:
    """One contestant; `reach` is 0 for equality."""

    def __init__(self, window: int, reach: int, cores: int) -> None:
        self.reach, self.cores = reach, cores
        self.rings = {side: Ring(window) for side in SIDES}

    @property
    def held_bytes(self) -> int:
        """Of both windows."""
        return sum(ring.keys.nbytes + ring.ids.nbytes for ring in self.rings.values())

    def fill(self, side: str, keys: Array) -> None:
        """Store without an answer."""
        self.rings[side].store(keys)

    def push(self, side: str, keys: Array) -> Pairs:
        """All pairs of the batch with the opposite window; then it is stored."""
        first = self.rings[side].arrived
        batch, other = self.join(keys, self.rings[OTHER[side]])
        self.rings[side].store(keys)
        return batch + first, other

    def join(self, keys: Array, window: Ring) -> Pairs:
        """Positions in the batch, and arrival numbers of what they match."""
        raise NotImplementedError


class Duckdb(Peer):
    """See the head of this file."""

    def __init__(self, window: int, reach: int, cores: int) -> None:
        import duckdb  # noqa: PLC0415  (an extra of the benchmarks)

        super().__init__(window, reach, cores)
        self._database = duckdb.connect(":memory:", config={"threads": cores})
        wanted = f"CAST(unnest(range(k - {reach}, k + {reach + 1})) AS INTEGER)" if reach else "k"
        batch = f"(SELECT p, {wanted} AS k FROM batch)"  # noqa: S608  # nosec B608
        self._query = f"SELECT b.p AS p, w.id AS id FROM {batch} b JOIN stored w ON b.k = w.k"  # noqa: S608  # nosec B608

    def join(self, keys: Array, window: Ring) -> Pairs:
        """One query."""
        import pyarrow as pa  # noqa: PLC0415

        self._database.register("batch", pa.table({"k": keys, "p": np.arange(len(keys))}))
        self._database.register("stored", pa.table({"k": window.keys, "id": window.ids}))
        found = self._database.execute(self._query).fetchnumpy()
        return np.asarray(found["p"]), np.asarray(found["id"])


class Polars(Peer):
    """See the head of this file."""

    def join(self, keys: Array, window: Ring) -> Pairs:
        """One lazy join."""
        import polars as pl  # noqa: PLC0415  (an extra of the benchmarks)

        batch = pl.LazyFrame({"k": keys, "p": np.arange(len(keys))})
        stored = pl.LazyFrame({"k": window.keys, "id": window.ids})
        if self.reach:
            values = pl.int_ranges(pl.col("k") - self.reach, pl.col("k") + self.reach + 1, dtype=pl.Int32)
            batch = batch.with_columns(values.alias("k")).explode("k")
        joined = batch.join(stored, on="k")
        found = joined.select("p", "id").collect()
        return found["p"].to_numpy(), found["id"].to_numpy()


class Numpy(Peer):
    """See the head of this file; keeps its own windows, in key order."""

    def __init__(self, window: int, reach: int, cores: int) -> None:
        super().__init__(1, reach, cores)
        self._window = window
        self._keys = {side: np.empty(0, np.int32) for side in SIDES}
        self._ids = {side: np.empty(0, np.int64) for side in SIDES}
        self._arrived = {"left": 0, "right": 0}

    @property
    def held_bytes(self) -> int:
        """Of both windows."""
        return sum(self._keys[side].nbytes + self._ids[side].nbytes for side in SIDES)

    def fill(self, side: str, keys: Array) -> None:
        """Sorted at once."""
        order = np.argsort(keys, kind="stable")
        self._store(side, keys[order], order + self._arrived[side], len(keys))

    def push(self, side: str, keys: Array) -> Pairs:
        """Two binary searches, and the ranges between them written out."""
        order = np.argsort(keys, kind="stable")
        asked, numbers = keys[order], order + self._arrived[side]
        held = self._keys[OTHER[side]]
        first = np.searchsorted(held, asked - self.reach)
        counts = np.searchsorted(held, asked + self.reach, side="right") - first
        starts = np.repeat(first - np.cumsum(counts) + counts, counts)
        found = self._ids[OTHER[side]][starts + np.arange(len(starts))]
        self._store(side, asked, numbers, len(keys))
        return np.repeat(numbers, counts), found

    def _store(self, side: str, keys: Array, ids: Array, count: int) -> None:
        self._arrived[side] += count
        alive = self._ids[side] >= self._arrived[side] - self._window
        held, numbers = self._keys[side][alive], self._ids[side][alive]
        places = np.searchsorted(held, keys, side="right")
        self._keys[side], self._ids[side] = np.insert(held, places, keys), np.insert(numbers, places, ids)


class Panjoin(Peer):
    """See the head of this file."""

    def __init__(self, window: int, reach: int, cores: int) -> None:
        import panjoin as pj  # noqa: PLC0415  (the peers are measured without it)

        super().__init__(1, reach, cores)
        on = f"left.k BETWEEN right.k - {reach} AND right.k + {reach}" if reach else "left.k = right.k"
        self._join = pj.StreamJoin(on=on, window=pj.CountWindow(window), workers=cores, index="bi-sort")

    @property
    def held_bytes(self) -> int:
        """Of both windows."""
        return int(self._join.stats()["memory_bytes"])

    def fill(self, side: str, keys: Array) -> None:
        """A push whose answer is not read."""
        self._join.push(side, {"k": keys})  # type: ignore[arg-type]

    def push(self, side: str, keys: Array) -> Pairs:
        """A push, and its pairs."""
        left, right = self._join.push(side, {"k": keys}).pairs()  # type: ignore[arg-type]
        return (left, right) if side == "left" else (right, left)


SETUP = {
    "panjoin": "StreamJoin with BI-Sort, a worker per core, pairs read",
    "numpy": "windows kept in key order, a batch merged in; np.searchsorted for both ends of each range; one core",
    "duckdb": "one SQL join per batch of Arrow tables that are not copied, a thread per core; a band as equality with "
    "each of its whole numbers, which took a sixth of the time of BETWEEN",
    "polars": "one lazy join per batch, a thread per core; a band as equality with each of its whole numbers, which "
    "took a fifth of the time of join_where",
}

PEERS: dict[str, Callable[[int, int, int], Peer]] = {
    "panjoin": Panjoin,
    "numpy": Numpy,
    "duckdb": Duckdb,
    "polars": Polars,
}


def compared(request: dict[str, Any]) -> dict[str, Any]:
    """Rates of all contestants, in turns; `{"window", "reach", "values", "batch", "seconds", "turns", "cores"}`."""
    window, cores = request["window"], request["cores"]
    rng = np.random.default_rng(request["seed"])

    def draw(count: int) -> Array:
        drawn: Array = rng.integers(0, request["values"], count, dtype=np.int32)
        return drawn

    filling = {side: draw(window) for side in SIDES}
    batches = [(side, draw(request["batch"])) for _ in range(request["batches"]) for side in SIDES]
    answers: dict[int, tuple[int, int, int]] = {}
    peers, grown = {}, {}
    for name in request["contestants"]:
        if name == "numpy" and cores > 1:
            continue
        peer = PEERS[name](window, request["reach"], cores)
        for side in SIDES:
            peer.fill(side, filling[side])
        for number, (side, keys) in enumerate(batches[:2]):  # compiles, and is compared
            before = _resident()
            _mark_peak()
            _compare(name, answers, number, peer.push(side, keys))
            grown[name] = peer.held_bytes + _peak() - before
        peers[name] = (peer, [2])
    rates: dict[str, list[float]] = {name: [] for name in peers}
    for _ in range(request["turns"]):
        for name, (peer, at) in peers.items():
            spent, tuples = 0.0, 0
            while spent < request["seconds"] or not tuples:
                side, keys = batches[at[0] % len(batches)]
                start = time.perf_counter()
                pairs = peer.push(side, keys)
                spent += time.perf_counter() - start
                tuples += len(keys)
                _compare(name, answers, at[0], pairs)
                at[0] += 1
            rates[name].append(tuples / spent)
    return {"rates": rates, "bytes": grown, "pairs_per_tuple": answers[0][0] / request["batch"]}


def _compare(name: str, answers: dict[int, tuple[int, int, int]], number: int, pairs: Pairs) -> None:
    found = (len(pairs[0]), int(pairs[0].sum()), int(pairs[1].sum()))
    expected = answers.setdefault(number, found)
    if expected != found:
        raise ValueError(f"{name} finds {found} in batch {number}, where another contestant finds {expected}")


def _resident() -> int:
    return _status("VmRSS:")


def _peak() -> int:
    return _status("VmHWM:")


def _mark_peak() -> None:
    """From now on the peak is that of what follows."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as control:  # noqa: PTH123
        control.write("5")


def _status(what: str) -> int:
    with open("/proc/self/status", encoding="ascii") as table:  # noqa: PTH123
        return next(int(line.split()[1]) * 1024 for line in table if line.startswith(what))


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    os.environ["POLARS_MAX_THREADS"] = str(asked["cores"])
    sys.stdout.write(json.dumps(compared(asked)) + "\n")
