"""`panjoin explain`: what of a condition is indexed, and how far a window reaches; nothing is started."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panjoin.errors import ParameterError


def explain(
    job: Annotated[Path | None, typer.Argument(help="A job file, instead of the options.")] = None,
    *,
    on: Annotated[str | None, typer.Option(help="The condition: left.k = right.k AND ...")] = None,
    left: Annotated[str | None, typer.Option(help="Columns of the left side: 'x int, ts timestamp'.")] = None,
    right: Annotated[str | None, typer.Option(help="Columns of the right side.")] = None,
    time: Annotated[str | None, typer.Option(help="A time window: '10 minutes'.")] = None,
    event_time: Annotated[str, typer.Option(help="The event-time column.")] = "ts",
    count: Annotated[int | None, typer.Option(help="A count window: the last so many tuples.")] = None,
) -> None:
    """Show the plan of a condition and a window, or of a job file."""
    from panjoin.job.check import load  # noqa: PLC0415
    from panjoin.job.ddl import columns_of  # noqa: PLC0415
    from panjoin.job.plan_text import explain as explained  # noqa: PLC0415
    from panjoin.job.plan_text import plan  # noqa: PLC0415
    from panjoin.predicate import parse  # noqa: PLC0415
    from panjoin.window import CountWindow, TimeWindow  # noqa: PLC0415

    if (job is None) == (on is None):
        raise ParameterError("give a job file, or a condition: panjoin explain --on 'left.x < right.x' --count 1000")
    if job is not None:
        typer.echo(plan(load(job)))
        return
    assert on is not None
    if (time is None) == (count is None):
        raise ParameterError("give a window: --time '10 minutes', or --count 1000")
    window = CountWindow(count) if time is None else TimeWindow(time, on=event_time)
    schemas = [
        None if text is None else columns_of(text, f"--{side}") for side, text in (("left", left), ("right", right))
    ]
    if schemas[0] is not None and schemas[1] is not None:
        window.bind(schemas[0], schemas[1])
    typer.echo("\n".join(explained(parse(on), window, schemas[0], schemas[1])))
