"""`panjoin demo`: orders meet quotes of nearly the same price, a band join that Spark refuses on streams.

    orders   |<------- window ------->|      each side's window is one index; a batch of one side
    quotes   |<------- window ------->|      probes the other side's window, then joins its own

The pairs are compared with those of a nested loop that knows nothing of indexes.
"""

from __future__ import annotations

import time
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

import panjoin as pj
from panjoin.index.contract import Array

#: An order and a quote match when their prices (in cents) differ by at most this.
BAND = 5


def demo(
    *,
    tuples: Annotated[int, typer.Option(min=1, max=1_000_000, help="Tuples per side.")] = 30_000,
    batch: Annotated[int, typer.Option(min=1, help="Tuples per batch.")] = 4_096,
    index: Annotated[str, typer.Option(help="Index structure.")] = "bi-sort",
    seed: Annotated[int, typer.Option(help="Seed of the data.")] = 1,
) -> None:
    """Join two made-up streams on a price band, and compare the answer with a nested loop's."""
    console = Console(highlight=False, soft_wrap=True)
    random = np.random.default_rng(seed)
    orders, quotes = (random.integers(0, 10_000_000, tuples).astype(np.int32) for _ in range(2))
    console.print(f"joining {tuples:,} orders with {tuples:,} quotes, prices within {BAND} cents, index {index}")
    join(orders, quotes, batch, index)  # once before the clock runs: it compiles the kernels, those of merging too
    began = time.perf_counter()
    found = join(orders, quotes, batch, index)
    joined = time.perf_counter()
    expected = nested_loop(orders, quotes)
    looped = time.perf_counter()
    console.print(f"panjoin:     {len(found):,} pairs in {joined - began:.3f} s")
    console.print(f"nested loop: {len(expected):,} pairs in {looped - joined:.3f} s")
    if not np.array_equal(found, expected):
        console.print("the two answers differ: this is a bug in panjoin, please report it with the lines above")
        raise typer.Exit(1)
    console.print("the two answers are equal, pair by pair")


def join(orders: Array, quotes: Array, batch: int, index: str) -> Array:
    """All matching (order, quote) numbers, ascending; both sides arrive in turns, a batch at a time."""
    windows = [pj.index.create(index, capacity=len(orders)) for _ in range(2)]
    pieces = []
    for start in range(0, len(orders), batch):
        for side, stream in enumerate((orders, quotes)):
            arrived = stream[start : start + batch]
            order = np.argsort(arrived, kind="stable")
            keys, ids = arrived[order], (order + start).astype(np.int32)
            probe_no, matches = windows[1 - side].probe(keys - BAND, keys + BAND).pairs()
            pair = (ids[probe_no], matches)
            pieces.append(np.stack(pair if side == 0 else pair[::-1], axis=1))
            windows[side].insert(keys, ids)
    return _ascending(np.concatenate(pieces))


def nested_loop(orders: Array, quotes: Array) -> Array:
    """The same by comparing every order with every quote."""
    pieces = []
    for number, price in enumerate(orders):
        matches = np.flatnonzero((quotes >= price - BAND) & (quotes <= price + BAND))
        pieces.append(np.stack([np.full(len(matches), number), matches], axis=1))
    return _ascending(np.concatenate(pieces))


def _ascending(pairs: Array) -> Array:
    ordered: Array = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    return ordered
