"""`--ui` and `--report`: the page beside the terminal, from before Spark starts until the last word is said.

    with shown(board, options, console):     the page is served, its address printed
        watched(query, view, board)          micro-batches come
        board.say("done", "...")             how it ended
                                             the report is saved, the server closed

Invariant: whatever ends the run, the page and the report say that it has ended, and how.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import typer
from rich.console import Console

from panjoin.cli.codes import FAILED, INTERRUPTED, TERMINATED
from panjoin.cli.page_options import PageOptions
from panjoin.cli.views import View
from panjoin.cli.watching import End, QueryFailedError, watch
from panjoin.errors import ParameterError
from panjoin.page.board import Board
from panjoin.page.report import check_place, save
from panjoin.page.serve import Pages, loopback

_EARLY = "it ended before it said how"


@contextmanager
def shown(board: Board, options: PageOptions, console: Console) -> Iterator[None]:
    """Serve and save the board, as far as that was asked for."""
    if options.report is not None:
        check_place(options.report)
    with ExitStack() as stack:
        if options.ui:
            pages = Pages(board, host=options.host, port=options.port)
            stack.callback(pages.close)
            console.print(f"page       {pages.address}", markup=False)
            if not loopback(options.host):
                console.print("           open to the network, not encrypted: whoever has this address can look")
        if options.report is not None:
            stack.callback(_save, board, options, console)
        try:
            yield
        except (KeyboardInterrupt, typer.Exit) as end:
            stopped = getattr(end, "exit_code", INTERRUPTED) in (INTERRUPTED, TERMINATED)
            _ended(board, stopped=stopped)
            raise
        except BaseException:
            _ended(board, stopped=False)
            raise


def watched(query: Any, view: View, board: Board) -> End:
    """As `watch`, and the board hears all of it."""
    try:
        return watch(query, view, board.moment)
    except QueryFailedError as error:
        board.say("failed", str(error))
        raise


def _ended(board: Board, *, stopped: bool) -> None:
    if board.state == "running":
        board.say("stopped" if stopped else "failed", _EARLY)


def _save(board: Board, options: PageOptions, console: Console) -> None:
    assert options.report is not None
    try:
        save(board, options.report)
    except (OSError, ParameterError) as error:
        console.print(f"error: the report cannot be saved: {error}", markup=False)
        raise typer.Exit(FAILED) from None
    console.print(f"report     {options.report}: the run in charts, for a browser", markup=False)
