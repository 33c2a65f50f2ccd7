"""`panjoin bench`: runs experiments, turns records into the report, compares two sets of records.

list ──> run NAME... ──> DIR/*.jsonl ──> report ──> benchmarks.md, plots/, the numbers in the README
         all                    ├──────> claims                 what the paper claims, and what holds here
                                └──────> compare A B            exit code 1 on a slowdown beyond the spread
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column, Table

from panjoin.errors import ParameterError
from panjoin.suggest import choices

RECORDS = Path("docs/records")
REPORT = Path("docs/benchmarks.md")
README = Path("README.md")

bench = typer.Typer(help="Measure, and report what was measured.", no_args_is_help=True)


@bench.command("list")
def list_experiments() -> None:
    """Say which experiments there are, and what each shows."""
    from panjoin.bench.catalogue import EXPERIMENTS  # noqa: PLC0415
    from panjoin.bench.experiment import SCALES  # noqa: PLC0415

    table = Table(Column("experiment", no_wrap=True), "shows", Column("cells", no_wrap=True, justify="right"))
    for each in EXPERIMENTS:
        table.add_row(each.name, each.shows, "/".join(str(len(each.cells(scale))) for scale in SCALES))
    console = Console()
    console.print(table)
    console.print(f"cells: what is measured one by one, at the scales {', '.join(SCALES)}")


Scale = Annotated[str, typer.Option(help="toy: seconds; small: minutes on two cores; paper: the paper's.")]
Out = Annotated[Path, typer.Option(help="Directory of the records.")]
Again = Annotated[bool, typer.Option(help="Measure also what has been measured.")]


@bench.command()
def run(
    names: Annotated[list[str], typer.Argument(help='Experiments, patterns such as "index.*", or "all".')],
    *,
    scale: Scale = "toy",
    out: Out = RECORDS,
    again: Again = False,
) -> None:
    """Run experiments and write their records as they come; what is done is skipped, Ctrl-C keeps what is done."""
    _measure(names, scale, out, again=again)


@bench.command("all")
def run_all(*, scale: Scale = "toy", out: Out = RECORDS, again: Again = False) -> None:
    """Run every experiment: all figures of the paper, and all peers."""
    _measure(["all"], scale, out, again=again)


@bench.command()
def claims(*, scale: Scale = "toy", out: Out = RECORDS, again: Again = False) -> None:
    """Measure what the paper's text claims (unless it has been measured), and say what holds here."""
    from panjoin.bench.claims import needed, rows  # noqa: PLC0415
    from panjoin.bench.goals import Found  # noqa: PLC0415
    from panjoin.bench.records import Records  # noqa: PLC0415

    _measure(needed(), scale, out, again=again)
    table = Table("of", "claim", "the paper", "here", "verdict")
    for row in rows(Found(each for each in Records(out) if each.scale == scale)):
        table.add_row(*row)
    Console().print(table)


def _measure(names: list[str], scale: str, out: Path, *, again: bool) -> None:
    from panjoin.bench.catalogue import chosen  # noqa: PLC0415
    from panjoin.bench.experiment import SCALES  # noqa: PLC0415
    from panjoin.bench.records import Records  # noqa: PLC0415
    from panjoin.bench.run import plan  # noqa: PLC0415
    from panjoin.bench.run import run as run_tasks  # noqa: PLC0415

    if scale not in SCALES:
        raise ParameterError(f"no scale is called {scale!r}; {choices(scale, SCALES)}")
    console = Console(highlight=False, soft_wrap=True)
    experiments, records = chosen(names), Records(out)
    tasks = plan(experiments, scale, records, again=again)
    waiting = [task for task in tasks if not task.done]
    seeds = ", ".join(sorted({str(each.seed) for each in experiments}))
    console.print(f"{len(tasks)} cells at scale {scale}, {len(tasks) - len(waiting)} of them done before; seed {seeds}")
    began = time.perf_counter()
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    ) as progress:  # fmt: skip
        bar = progress.add_task("", total=len(waiting))
        started, at = 0, ""

        def before(task: Any) -> None:
            nonlocal started, at
            if not task.done:
                if task.experiment.name != at and not console.is_terminal:  # where no bar is seen, lines are
                    at = task.experiment.name
                    console.print(f"{time.perf_counter() - began:6.0f} s, cell {started + 1} of {len(waiting)}: {at}")
                progress.update(bar, completed=started, description=f"{task.experiment.name} {_named(task)}")
                started += 1

        try:
            measured = run_tasks(waiting, scale, records, before)
        except KeyboardInterrupt:
            kept = max(0, started - 1)
            console.print(
                f"stopped: {kept} cells were measured and are kept in {out}; the same command goes on from there"
            )
            raise typer.Exit(130) from None
    console.print(f"{measured} cells measured in {time.perf_counter() - began:.0f} s; {len(records)} records in {out}")


@bench.command()
def report(
    directory: Annotated[Path, typer.Argument(help="Directory of the records.")] = RECORDS,
    *,
    to: Annotated[Path, typer.Option(help="The Markdown file to write; plots go beside it.")] = REPORT,
    png: Annotated[bool, typer.Option(help="Write plots as PNG as well, not as SVG alone.")] = False,
    readme: Annotated[Path, typer.Option(help="The file whose numbers between the markers are renewed.")] = README,
) -> None:
    """Turn records into tables, and into plots where matplotlib is installed (the extra "bench")."""
    from panjoin.bench.report import write  # noqa: PLC0415

    written = write(directory, to, png=png, readme=readme)
    plots = sum(path.suffix in {".svg", ".png"} for path in written)
    typer.echo(f"wrote {to}{f' and {plots} plots' if plots else '; no plots, for matplotlib is not installed'}")
    if readme in written:
        typer.echo(f"renewed the numbers in {readme}")


@bench.command()
def compare(
    before: Annotated[Path, typer.Argument(help="Directory of the records to compare with.")],
    after: Annotated[Path, typer.Argument(help="Directory of the new records.")],
    *,
    tolerance: Annotated[float, typer.Option(min=0.0, help="Differences of medians below this are none.")] = 0.05,
    everything: Annotated[bool, typer.Option("--all", help="Also list what is the same.")] = False,
) -> None:
    """Compare two sets of records; the exit code is 1 when something became slower beyond the spread of its repeats."""
    from panjoin.bench.compare import compare as changes_of  # noqa: PLC0415
    from panjoin.bench.records import existing  # noqa: PLC0415
    from panjoin.bench.tables import number, shown  # noqa: PLC0415

    old, new = existing(before), existing(after)
    changes = list(changes_of(old, new, tolerance))
    if not changes:
        raise ParameterError(f"{before} and {after} have no measurement in common; run the same experiments and scale")
    if {str(each.machine) for each in old} != {str(each.machine) for each in new}:
        typer.echo("note: the records are of different machines")
    table = Table("experiment", "parameters", "metric", "before", "after", "speed", "verdict")
    for change in sorted(changes, key=lambda change: change.ratio):
        if change.verdict != "same" or everything:
            one, two = (number(each.median or 0.0, each.unit) for each in (change.before, change.after))
            parameters = ", ".join(f"{name} {shown(value)}" for name, value in change.after.parameters.items())
            ratio = f"{change.ratio:.2f}x"
            table.add_row(change.after.experiment, parameters, change.after.metric, one, two, ratio, change.verdict)
    if table.row_count:
        Console().print(table)
    counts = {
        verdict: sum(each.verdict == verdict for each in changes) for verdict in ("slower", "faster", "same", "?")
    }
    typer.echo(", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + " (?: a single repeat)")
    raise typer.Exit(1 if counts["slower"] else 0)


def _named(task: Any) -> str:
    from panjoin.bench.tables import shown  # noqa: PLC0415

    return " ".join(f"{name}={shown(value)}" for name, value in task.cell.parameters.items())
