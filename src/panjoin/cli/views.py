"""How a running query is told: a bar, a live picture, plain lines, or JSON; one class each, with the same verbs.

    opened(job) ── moment(m), once per micro-batch ── closed(total)

A bar where an end is in sight and there is a terminal, a live picture where there is none in sight, lines elsewhere.
"""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from panjoin.job.moments import Moment
from panjoin.job.totals import Total, size

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 40  #: micro-batches in the picture of rates


class View(Protocol):
    """What every view can do."""

    def __enter__(self) -> View: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def moment(self, moment: Moment) -> None:
        """A micro-batch is done."""


@dataclass
class Lines:
    """For logs and pipes: a line for each micro-batch, at most one a second."""

    console: Console
    every: float = 1.0
    _said: float = field(default=float("-inf"))

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def moment(self, moment: Moment) -> None:
        """A line, unless there was one just now."""
        if time.monotonic() - self._said < self.every:
            return
        self._said = time.monotonic()
        stamp = datetime.fromtimestamp(moment.at, UTC).strftime("%H:%M:%S")
        split = ", ".join(f"{name} {seconds:.2f}" for name, seconds in moment.split.items())
        late = f", {moment.late:,} too late" if moment.late else ""
        self.console.print(
            f"{stamp} micro-batch {moment.batch}: {moment.tuples:,} tuples{late}, {moment.pairs:,} matches, "
            f"{moment.seconds:.2f} s ({split}), {moment.rate:,.0f} tuples/s, state {size(moment.state_bytes)}",
            markup=False,
        )


@dataclass
class Json:
    """For machines: one object on a line for each micro-batch."""

    console: Console

    def __enter__(self) -> Json:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def moment(self, moment: Moment) -> None:
        """As one line."""
        told(self.console, "micro-batch", moment.as_json())


def told(console: Console, event: str, content: dict[str, Any]) -> None:
    """One JSON object on a line of its own."""
    console.out(json.dumps({"event": event, **content}, separators=(",", ":")), highlight=False)


class Bar:
    """For bounded inputs: rows read of all that are there."""

    def __init__(self, console: Console, rows: int | None) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
        self._task = self._progress.add_task("starting", total=rows)
        self._total = Total()

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def moment(self, moment: Moment) -> None:
        """The bar grows."""
        self._total = self._total.plus(moment)
        said = f"{self._total.tuples:,} tuples, {self._total.pairs:,} matches, {moment.rate:,.0f} tuples/s"
        self._progress.update(self._task, completed=self._total.tuples, description=said)


class Picture:
    """For a terminal: rates, matches, windows and times of the micro-batches, as they come.

    `rows` are those to come, where an end is in sight; `before` is what earlier runs have done of them.
    """

    def __init__(self, console: Console, title: str, rows: int | None = None, before: Total | None = None) -> None:
        self._title, self._rows, self._total = title, rows, before or Total()
        self._recent: deque[Moment] = deque(maxlen=_WIDTH)
        self._live = Live(self._drawn(), console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Picture:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def moment(self, moment: Moment) -> None:
        """A new picture."""
        self._recent.append(moment)
        self._total = self._total.plus(moment)
        self._live.update(self._drawn())

    def _drawn(self) -> RenderableType:
        if not self._recent:
            return Text(f"{self._title}: waiting for the first micro-batch")
        now = self._recent[-1]
        table = Table.grid(padding=(0, 2))
        rates = [each.rate for each in self._recent]
        table.add_row("tuples/s", f"{now.rate:,.0f}", spark_line(rates))
        table.add_row("matches", f"{self._total.pairs:,}", spark_line([float(each.pairs) for each in self._recent]))
        table.add_row("tuples", f"{self._total.tuples:,}", f"left {now.left:,}, right {now.right:,} in the last one")
        table.add_row("too late", f"{self._total.late:,}", _lag(now))
        table.add_row("micro-batch", f"{now.seconds:.2f} s", split_line(now))
        for side in ("left", "right"):
            chain = now.chains[side]
            held = sum(each.size for each in chain)
            table.add_row(f"{side} window", f"{held:,}", _chain_line(now, side))
        table.add_row("memory", size(now.resident_bytes), f"in state {size(now.state_bytes)}")
        if self._rows is not None:
            done = min(1.0, self._total.tuples / self._rows)
            table.add_row("done", f"{done:.0%}", ProgressBar(total=1.0, completed=done, width=_WIDTH))
        return Group(Text(f"{self._title}   micro-batch {now.batch}   Ctrl-C stops", style="bold"), table)


def _chain_line(moment: Moment, side: str) -> Text:
    chain = moment.chains[side]
    names = sorted({each.structure for each in chain})
    cells = "".join(_BARS[min(7, int(8 * each.fill))] for each in chain[-_WIDTH:])
    return Text(f"{cells} {len(chain)} subwindows {moment.fill(side):.0%} full {', '.join(names)}")


def _lag(moment: Moment) -> str:
    newest = [each.newest for chain in moment.chains.values() for each in chain if each.newest is not None]
    if moment.watermark is None or not newest:
        return "no watermark yet"
    stamp = datetime.fromtimestamp(moment.watermark / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"watermark {stamp}, {(max(newest) - moment.watermark) / 1e6:,.0f} s behind the newest tuple"


def split_line(moment: Moment) -> Text:
    """Parts of a micro-batch's time as a bar of letters' width."""
    styles = {"spark": "grey50", "probe": "cyan", "insert": "green", "state": "yellow"}
    line = Text()
    for name, seconds in moment.split.items():
        share = seconds / moment.seconds if moment.seconds else 0.0
        line.append("█" * round(20 * share), style=styles.get(name, ""))
        line.append(f"{name} {seconds:.2f} ", style=styles.get(name, ""))
    return line


def spark_line(values: list[float]) -> str:
    """Values as a row of bars, the greatest full."""
    top = max(values, default=0.0)
    return "".join(_BARS[int(7 * value / top)] if top > 0 else _BARS[0] for value in values)


def summary(total: Total) -> dict[str, Any]:
    """For `--json`."""
    return asdict(total) | {"rate": total.rate}
