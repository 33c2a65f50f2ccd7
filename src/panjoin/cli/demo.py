"""`panjoin demo`: the main job on Spark: orders meet quotes of the same symbol and nearly the same price, at most ten
minutes apart.

    orders ts symbol price ──┐ files, one of each per micro-batch
                             ├──> stream_join on Spark ──> matches/ ──┐
    quotes ts symbol price ──┘                                        ├── the same rows, or it fails
       └── the same files ──────> batch join by Spark ────────────────┘
                                  late tuples: the same number in every micro-batch, or it fails

Both streams are made up on the spot (`market.py`). The run lies in one directory (`demo_place.py`): a second one goes
on where the first was stopped. The answer is compared by Spark itself (`demo_check.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from panjoin.cli.codes import DONE, FAILED, INTERRUPTED, TOLD
from panjoin.cli.page_options import LOOPBACK, PageOptions, Ui, UiHost, UiPort

if TYPE_CHECKING:
    from panjoin.cli.demo_check import Verdict
    from panjoin.cli.demo_place import Place
    from panjoin.cli.views import View
    from panjoin.job.history import History
    from panjoin.job.moments import Moment
    from panjoin.job.totals import Total
    from panjoin.page.board import Board


def demo(
    directory: Annotated[Path, typer.Option(help="Where everything lies that it makes.")] = Path("panjoin-demo"),
    *,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over instead of going on from an earlier run.")] = False,
    tuples: Annotated[int, typer.Option(min=100, max=10_000_000, help="Tuples per side.")] = 200_000,
    batches: Annotated[int, typer.Option(min=1, max=999, help="Micro-batches.")] = 20,
    index: Annotated[str, typer.Option(help="Structure: auto, bi-sort, rap-table, wib-tree, scan.")] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of the data.")] = 1,
    ui: Ui = False,
    ui_host: UiHost = LOOPBACK,
    ui_port: UiPort = 0,
) -> None:
    """Join two made-up streams of orders and quotes on Spark, live, and compare the answer with Spark's batch join."""
    from panjoin import index as structures  # noqa: PLC0415
    from panjoin.cli.demo_place import Settings, taken  # noqa: PLC0415
    from panjoin.options import Options  # noqa: PLC0415

    Options.of({"index": index}).check_index(structures.names())
    console = Console(highlight=False, soft_wrap=True)
    try:
        with taken(directory, Settings(tuples, batches, seed, index), fresh=fresh) as place:
            code = _joined(console, place, PageOptions(ui, ui_host, ui_port, place.root / "report.html"))
    except KeyboardInterrupt:
        console.print(_STOPPED)
        raise typer.Exit(INTERRUPTED) from None
    raise typer.Exit(code)


demo.__doc__ = f"{demo.__doc__}\n\n    {TOLD}"

_EQUAL = "the two answers are equal, row by row, and every late tuple is accounted for"
_STOPPED = "stopped; the same command goes on from there, --fresh starts over"


def _joined(console: Console, place: Place, page: PageOptions) -> int:
    from panjoin.cli.run import started  # noqa: PLC0415
    from panjoin.cli.showing import shown  # noqa: PLC0415
    from panjoin.job.history import History  # noqa: PLC0415
    from panjoin.job.plan_text import facts, plan  # noqa: PLC0415
    from panjoin.page.board import Board  # noqa: PLC0415

    _announce(console, place, made=place.prepare())
    job, history = place.job(), History(place.root / "history.jsonl")
    board = Board("panjoin demo", facts(job), plan(job), history)
    with shown(board, page, console), started(job, log=place.root / "spark.log") as spark:
        return _checked(console, spark, place, history, board)


def _checked(console: Console, spark: Any, place: Place, history: History, board: Board) -> int:
    """Both joins; the exit code says whether their answers are equal."""
    from panjoin.cli.showing import watched  # noqa: PLC0415
    from panjoin.job.pipeline import start  # noqa: PLC0415

    end = watched(start(spark, place.job()), _view(console, place, history), board)
    if end.code != DONE:
        board.say("stopped", _STOPPED)
        console.print(_STOPPED)
        return end.code
    if end.total.batches == 0:
        console.print("an earlier run has joined all of it; --fresh starts over")
    check = "joining the same files again, as a batch, by Spark"
    board.say("running", check)
    with console.status(check):
        from panjoin.cli.demo_check import verdict  # noqa: PLC0415

        found = verdict(spark, place)
    return _told(console, place, board, history, found)


def _announce(console: Console, place: Place, *, made: bool) -> None:
    from panjoin.cli.demo_place import CONDITION, LATENESS, WINDOW  # noqa: PLC0415

    settings = place.settings
    origin = "made up now" if made else "made up by an earlier run"
    console.print(f"{settings.tuples:,} orders and {settings.tuples:,} quotes, {origin}, in {place.root}", markup=False)
    console.print(f"condition  {CONDITION}", markup=False)
    console.print(
        f"window     {WINDOW} minutes of event time; the watermark is {LATENESS} minute behind the newest tuples"
    )


def _view(console: Console, place: Place, history: History) -> View:
    from panjoin.cli.views import Lines, Picture  # noqa: PLC0415
    from panjoin.job.totals import total_of  # noqa: PLC0415

    if not console.is_terminal:
        return Lines(console)
    return Picture(console, "panjoin demo", rows=2 * place.settings.tuples, before=total_of(history.since()))


def _told(console: Console, place: Place, board: Board, history: History, found: Verdict) -> int:
    """The summary; the exit code says whether all is as it should be."""
    from panjoin.job.totals import size, total_of  # noqa: PLC0415

    moments = history.since()
    total = total_of(moments)
    orders, quotes = (sum(pair[side] for pair in found.late.values()) for side in (0, 1))
    unheard = sorted(set(found.late) - {each.batch for each in moments})
    wrong = list(_wrong(moments, found))
    lines = {
        "pairs": f"{found.found:,}; Spark's batch join of the same rows has {found.expected:,} ({found.seconds:.0f} s)",
        "late": f"{orders:,} orders and {quotes:,} quotes came behind Spark's watermark: dropped, counted, and left "
        "out of the batch join as well",
        "unheard": f"micro-batches {unheard}: committed while an earlier run was stopped, before they could tell",
        "speed": f"{total.rate:,.0f} tuples/s in {total.batches:,} micro-batches of {_mean(total):.2f} s",
        "state": f"{size(total.state_bytes)} in Spark's state store",
        "output": str(place.root / "matches"),
        "checkpoint": str(place.root / "checkpoint"),
        "job": f"{place.job_file}, for panjoin run",
    }
    if not unheard:
        del lines["unheard"]
    for name, text in lines.items():
        console.print(f"{name:10} {text}", markup=False)
        board.note(name, text)
    if wrong:
        for line in wrong:
            console.print(f"wrong      {line}", style="bold red", markup=False)
        board.say("failed", f"the answer is wrong: {'; '.join(wrong)}")
        console.print("the answer is wrong: this is a bug in panjoin, please report it with the lines above")
        return FAILED
    console.print(_EQUAL)
    board.say("done", _EQUAL)
    return DONE


def _wrong(moments: list[Moment], found: Verdict) -> Iterator[str]:
    if found.different:
        yield f"{found.different:,} rows are in one of the two answers only"
    for each in moments:
        late = sum(found.late.get(each.batch, ()))
        if each.late != late:
            yield f"micro-batch {each.batch} dropped {each.late:,} late tuples, but {late:,} came late"


def _mean(total: Total) -> float:
    return total.busy / total.batches if total.batches else 0.0
