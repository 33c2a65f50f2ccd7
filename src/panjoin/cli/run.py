"""`panjoin run JOB`: a pipeline without code, from the file's checks to the last row.

read, check ──> all problems, exit 2
     │ --dry-run ──> plan, exit 0
     └─> Spark ──> query ──> bar | picture | lines | JSON, page ──> total, report, exit 0, 1, 130 or 143
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from panjoin.cli.codes import DONE, FAILED, INTERRUPTED, REFUSED, TOLD
from panjoin.cli.page_options import LOOPBACK, PageOptions, Report, Ui, UiHost, UiPort
from panjoin.errors import ParameterError

if TYPE_CHECKING:
    from panjoin.cli.views import View
    from panjoin.job.check import Job
    from panjoin.page.board import Board


def run(
    job: Annotated[Path, typer.Argument(help="The job file: TOML or YAML.")],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check it, print the plan, and start nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per micro-batch instead of a view.")] = False,
    ui: Ui = False,
    ui_host: UiHost = LOOPBACK,
    ui_port: UiPort = 0,
    report: Report = None,
    master: Annotated[str | None, typer.Option(help="Spark's master, such as spark://host:7077.")] = None,
    packages: Annotated[list[str] | None, typer.Option(help="Connectors for Spark, as Maven coordinates.")] = None,
    conf: Annotated[list[str] | None, typer.Option(help="A Spark setting, KEY=VALUE; wins over the file's.")] = None,
    allow_path: Annotated[list[str] | None, typer.Option(help="A place outside the job's directory.")] = None,
    allow_conf: Annotated[bool, typer.Option("--allow-conf", help="Let the file give any Spark setting.")] = False,
) -> None:
    """Run the pipeline that a job file describes."""
    from panjoin.job.check import load  # noqa: PLC0415
    from panjoin.job.plan_text import plan  # noqa: PLC0415

    settings = _settings(conf or [])
    checked = load(job, allow_paths=allow_path or [], allow_conf=allow_conf)
    console = Console(highlight=False, soft_wrap=True)
    if dry_run:
        console.print(plan(checked), markup=False)
        return
    page = PageOptions(ui, ui_host, ui_port, report)
    session: dict[str, Any] = {"master": master, "settings": settings, "packages": packages or []}
    if checked.streaming:
        raise typer.Exit(_streamed(console, checked, session, page, as_json=as_json))
    if page.wanted:
        raise ParameterError(
            f"{job} joins two tables at once, so there is nothing to watch; leave --ui and --report out"
        )
    with started(checked, **session) as spark:
        code = _batch(console, spark, checked, as_json)
    raise typer.Exit(code)


run.__doc__ = f"{run.__doc__}\n\n    {TOLD}"


def _settings(pairs: list[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise ParameterError(f"--conf {pair!r} is no KEY=VALUE, such as spark.driver.memory=4g")
    return dict(pair.split("=", 1) for pair in pairs)


@contextmanager
def started(job: Job, log: Path | None = None, **session: Any) -> Iterator[Any]:
    """A Spark session for the job, stopped at the end unless it was there before; failures are told in a line."""
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    from panjoin.cli.watching import QueryFailedError, quiet_java, reason  # noqa: PLC0415
    from panjoin.job.pipeline import open_session  # noqa: PLC0415

    running = SparkSession.getActiveSession() is not None
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    began = time.perf_counter()
    try:
        if running:
            spark = open_session(job, **session)
        else:
            with quiet_java(log) as written:
                spark = open_session(job, **session)
            errors.print(f"Spark is up after {time.perf_counter() - began:.1f} s; its log is {written}", style="dim")
        yield spark
    except QueryFailedError as error:
        errors.print(f"error: {error}", markup=False)
        raise typer.Exit(FAILED) from error
    except PySparkException as error:
        errors.print(f"error: {reason(str(error))}", markup=False)
        raise typer.Exit(FAILED) from error
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    finally:
        if not running and (active := SparkSession.getActiveSession()) is not None:
            active.stop()


def view_of(console: Console, job: Job, *, as_json: bool) -> View:
    """The view that fits the job and where it is told."""
    from panjoin.cli.views import Bar, Json, Lines, Picture  # noqa: PLC0415

    if as_json:
        return Json(console)
    if not console.is_terminal or job.sink.format == "console":  # Spark prints between the lines
        return Lines(console)
    return Bar(console, _rows(job)) if job.bounded else Picture(console, job.name)


def _rows(job: Job) -> int | None:
    """How many rows a bounded job is going to read; None when that is not cheap to know, or part of it is done."""
    from panjoin.job.files import rows_in  # noqa: PLC0415

    if Path(str(job.run.checkpoint), "offsets").exists():
        return None
    rows = 0
    for source in job.sources:
        path = getattr(source, "path", None)
        header = source.options.get("header", "false").lower() == "true"
        known = None if path is None or "://" in path else rows_in(path, source.format, header=header)
        if known is None:
            return None
        rows += known if source.streaming else 0
    return rows


def _streamed(console: Console, job: Job, session: dict[str, Any], page: PageOptions, *, as_json: bool) -> int:
    from panjoin.cli.showing import shown  # noqa: PLC0415
    from panjoin.job.plan_text import facts, plan  # noqa: PLC0415
    from panjoin.page.board import Board  # noqa: PLC0415

    board = Board(job.name, facts(job), plan(job))
    beside = Console(stderr=True, highlight=False, soft_wrap=True) if as_json else console
    with shown(board, page, beside), started(job, **session) as spark:
        return _query(console, spark, job, board, as_json=as_json)


def _query(console: Console, spark: Any, job: Job, board: Board, *, as_json: bool) -> int:
    from panjoin.cli.showing import watched  # noqa: PLC0415
    from panjoin.cli.views import summary, told  # noqa: PLC0415
    from panjoin.job.pipeline import shown, start  # noqa: PLC0415

    end = watched(start(spark, job), view_of(console, job, as_json=as_json), board)
    board.say("done" if end.code == DONE else "stopped", end.total.said())
    rows = shown(spark, job)
    if as_json:
        told(console, "end", {"code": end.code, **summary(end.total)})
        return end.code
    if rows is not None:
        rows.show(truncate=False)
    word = "done" if end.code == DONE else "stopped; the same command goes on from there"
    console.print(f"{word}: {end.total.said()}", markup=False)
    place = getattr(job.sink, "path", None)
    console.print(f"output     {place or job.sink.format}\ncheckpoint {job.run.checkpoint}", markup=False)
    return end.code


def _batch(console: Console, spark: Any, job: Job, as_json: bool) -> int:
    from panjoin.cli.views import told  # noqa: PLC0415
    from panjoin.job.pipeline import write  # noqa: PLC0415

    rows = write(spark, job)
    if as_json:
        told(console, "end", {"code": DONE, "rows": rows})
    else:
        console.print(f"done: {rows:,} rows")
    return DONE


__all__ = ["REFUSED", "run", "started", "view_of"]
