"""`panjoin demo`: orders meet quotes of the same symbol and nearly the same price, at most ten minutes apart.

    orders   ts symbol price ──push──> ┌────────────┐
                                       │ StreamJoin │ ──> matches, late tuples, tuples per second
    quotes   ts symbol price ──push──> └────────────┘
       └───────── the same batches ──> nested loop ────> the same matches and late tuples, or the demo fails

The streams are made up as a market would make them: few symbols have most of the trade, prices wander, tuples arrive
out of order, some so late that the watermark has passed them. The nested loop knows nothing of indexes, subwindows or
Arrow; it replays the watermark's rule and compares every order with every quote of its symbol.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import panjoin as pj

Array = npt.NDArray[Any]

#: An order and a quote match when their prices (in cents) differ by at most this ...
BAND = 5
#: ... and their times by at most this; the watermark stays so far behind the newest tuples. Both in minutes.
WINDOW, LATENESS = 10, 1
CONDITION = f"left.symbol = right.symbol AND left.price BETWEEN right.price - {BAND} AND right.price + {BAND}"
SYMBOLS = 200
#: Time between two tuples of a stream, in microseconds: the 60,000 tuples of the default are 50 minutes.
PACE = 50_000
MINUTE = 60_000_000
OPENING = np.datetime64("2026-01-05T09:30", "us")
#: Orders that the nested loop compares with all quotes of their symbol at a time: the masks stay small.
BLOCK = 256


@dataclass(frozen=True)
class Ticks:
    """A stream in order of arrival."""

    symbol: Array
    price: Array  #: cents
    ts: Array  #: microseconds since the opening

    def __len__(self) -> int:
        return len(self.ts)

    def columns(self, first: int, last: int) -> dict[str, Array]:
        """A batch of it, as a user would push it."""
        ts = OPENING + self.ts[first:last].astype("timedelta64[us]")
        return {"symbol": self.symbol[first:last], "price": self.price[first:last], "ts": ts}


@dataclass(frozen=True)
class Answer:
    """Pairs of arrival numbers (order, quote), ascending, and how many tuples came too late."""

    pairs: Array
    late: int


def demo(
    *,
    tuples: Annotated[int, typer.Option(min=1, max=1_000_000, help="Tuples per side.")] = 60_000,
    batch: Annotated[int, typer.Option(min=1, help="Tuples per batch.")] = 4_096,
    index: Annotated[str, typer.Option(help="Index structure.")] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of the data.")] = 1,
) -> None:
    """Join two made-up streams of orders and quotes, and compare the answer with a nested loop's."""
    console = Console(highlight=False, soft_wrap=True)
    random = np.random.default_rng(seed)
    market = listed_prices(random)
    orders, quotes = trade(random, market, tuples), trade(random, market, tuples)
    console.print(f"{tuples:,} orders and {tuples:,} quotes, in batches of {batch:,}, {SYMBOLS} symbols")
    console.print(f"on     {CONDITION}")
    console.print(f"window {WINDOW} minutes of event time, at most {LATENESS} late; index {index}")
    with console.status("compiling, once per machine"):  # all of it: a shorter run left merging out
        join(orders, quotes, batch, index, lambda: None)
    found, seconds = joined_with_progress(console, orders, quotes, batch, index)
    began = time.perf_counter()
    expected = nested_loop(orders, quotes, batch)
    looped = time.perf_counter() - began
    for name, answer, took in (("panjoin", found, seconds), ("nested loop", expected, looped)):
        told = f"{len(answer.pairs):,} pairs in {took:.2f} s, {2 * tuples / took:,.0f} tuples/s"
        console.print(f"{name:12} {told}; {answer.late:,} tuples came too late")
    if found.late != expected.late or not np.array_equal(found.pairs, expected.pairs):
        console.print("the two answers differ: this is a bug in panjoin, please report it with the lines above")
        raise typer.Exit(1)
    console.print("the two answers are equal, pair by pair")


def joined_with_progress(
    console: Console, orders: Ticks, quotes: Ticks, batch: int, index: str
) -> tuple[Answer, float]:
    """The join's answer and how long it took; a bar grows meanwhile where there is a terminal."""
    columns = (TextColumn("joining"), BarColumn(), MofNCompleteColumn(), TextColumn("batches"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("joining", total=sum(1 for _ in batches(orders, quotes, batch)))
        began = time.perf_counter()
        answer = join(orders, quotes, batch, index, lambda: progress.advance(task))
        return answer, time.perf_counter() - began


def join(orders: Ticks, quotes: Ticks, batch: int, index: str, step: Callable[[], object]) -> Answer:
    """The main job; `step` is called after each batch."""
    pieces, late = [], 0
    window = pj.TimeWindow(f"{WINDOW} minutes", on="ts", lateness=f"{LATENESS} minutes")
    with pj.StreamJoin(on=CONDITION, window=window, index=index) as stream_join:
        for side, stream, first, last in batches(orders, quotes, batch):
            result = stream_join.push(side, stream.columns(first, last))
            pieces.append(np.stack(result.pairs(), axis=1))
            late += result.late.num_rows
            step()
    return Answer(_ascending(np.concatenate(pieces)), late)


def batches(orders: Ticks, quotes: Ticks, batch: int) -> Iterator[tuple[Any, Ticks, int, int]]:
    """(side, stream, first, last): both streams in turns."""
    for first in range(0, len(orders), batch):
        last = min(first + batch, len(orders))
        yield "left", orders, first, last
        yield "right", quotes, first, last


def nested_loop(orders: Ticks, quotes: Ticks, batch: int) -> Answer:
    """The same from the definition: every order in time is compared with every quote in time of its symbol."""
    in_time = replayed(orders, quotes, batch)
    pieces = [np.empty((0, 2), np.int64)]
    for symbol in np.unique(orders.symbol):
        ours = np.flatnonzero(in_time["left"] & (orders.symbol == symbol))
        theirs = np.flatnonzero(in_time["right"] & (quotes.symbol == symbol))
        for first in range(0, len(ours), BLOCK):
            some = ours[first : first + BLOCK]
            near = np.abs(orders.price[some, None] - quotes.price[theirs]) <= BAND
            near &= np.abs(orders.ts[some, None] - quotes.ts[theirs]) <= WINDOW * MINUTE
            order, quote = np.nonzero(near)
            pieces.append(np.stack([some[order], theirs[quote]], axis=1))
    late = sum(int(np.count_nonzero(~accepted)) for accepted in in_time.values())
    return Answer(_ascending(np.concatenate(pieces)), late)


def replayed(orders: Ticks, quotes: Ticks, batch: int) -> dict[str, Array]:
    """Which tuples were in time: not older than the newest of both sides, less the lateness, when their batch came."""
    in_time: dict[str, Array] = {"left": np.ones(len(orders), bool), "right": np.ones(len(quotes), bool)}
    newest: dict[str, int] = {}
    watermark = None
    for side, stream, first, last in batches(orders, quotes, batch):
        ts = stream.ts[first:last]
        if watermark is not None:
            in_time[side][first:last] = ts >= watermark
        newest[side] = max(newest.get(side, 0), int(ts.max()))
        if len(newest) == 2:
            watermark = max(watermark or 0, min(newest.values()) - LATENESS * MINUTE)
    return in_time


# ---- the market ----


def listed_prices(random: np.random.Generator) -> Array:
    """Opening prices: many cheap symbols, a few dear ones."""
    prices: Array = np.maximum(100, random.lognormal(10, 1, SYMBOLS)).astype(np.int64)
    return prices


def trade(random: np.random.Generator, market: Array, tuples: int) -> Ticks:
    """A stream: Zipf's share of the trade per symbol, prices that wander, arrivals out of order and sometimes late."""
    share = 1 / np.arange(1, SYMBOLS + 1)
    symbols = random.choice(SYMBOLS, tuples, p=share / share.sum())
    ts = np.arange(tuples) * PACE
    drift = 1 + 0.05 * np.sin(ts / (20 * MINUTE) + symbols)
    prices = np.rint(market[symbols] * drift * random.normal(1, 0.02, tuples)).astype(np.int64)
    delay = random.exponential(2_000_000, tuples)  # two seconds on the way, on average
    stuck = random.random(tuples) < 0.002
    delay[stuck] += random.uniform(0, 20 * MINUTE, int(stuck.sum()))
    arrival = np.argsort(ts + delay, kind="stable")
    names = np.array([f"SYM{number:03}" for number in range(SYMBOLS)])
    return Ticks(names[symbols[arrival]], prices[arrival], ts[arrival])


def _ascending(pairs: Array) -> Array:
    ordered: Array = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    return ordered
