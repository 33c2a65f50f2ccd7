"""The report: records in, Markdown and plots out. No number in it is written by hand.

    claims       what the paper's text says, its numbers, ours, holds or not (claims.py)
    goals        sentence, goal, measured, holds or not                     (goals.py)
    experiments  what was timed and what was not, a table per view, a plot  (tables.py, plots.py)
    provenance   machine, commit and versions of the records

The text is a pure function of the records, so a test can tell whether a report is that of its records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from panjoin.bench import claims
from panjoin.bench.catalogue import EXPERIMENTS
from panjoin.bench.experiment import Experiment, View
from panjoin.bench.goals import GOALS, Found, Goal
from panjoin.bench.plots import FORMATS, plot
from panjoin.bench.readme import renew
from panjoin.bench.records import Record, existing, largest_scale
from panjoin.bench.tables import Table, number, shown, table

PLOTS = "plots"


def write(directory: Path, to: Path, *, png: bool = False, readme: Path | None = None) -> list[Path]:
    """Write the report (and the plots beside it, if matplotlib is there) and return what was written.

    Plots are SVG, and PNG as well if asked. In `readme` the numbers between the markers are renewed.
    """
    records = largest_scale(existing(directory))
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(text(records), encoding="utf-8")
    written = [to]
    if readme is not None and renew(readme, Found(records)):
        written.append(readme)
    if find_spec("matplotlib") is not None:
        for experiment, view, laid_out in plotted(records):
            path = to.parent / PLOTS / _plot_name(experiment, view)
            path.parent.mkdir(exist_ok=True)
            formats = FORMATS if png else FORMATS[:1]
            plot(laid_out, f"{experiment.name}: {view.title}", path, formats)
            written += [path.with_name(f"{path.name}.{ending}") for ending in formats]
    return written


def text(records: Iterable[Record]) -> str:
    """The report as Markdown."""
    records = list(records)
    lines = [
        "# Benchmarks",
        "",
        "Made from records by `panjoin bench report`; no number is typed by hand. `panjoin bench list` says what there",
        "is, and this makes all of it anew; it goes on where it was stopped:",
        "",
        "    panjoin bench all --scale small --out docs/records && panjoin bench report docs/records",
        "",
        "Nothing else should run meanwhile. `panjoin bench compare A B` fails when B is slower than A by more than the",
        "noise. Flink and Pathway are measured where PANJOIN_FLINK_PYTHON and PANJOIN_PATHWAY_PYTHON name the Python",
        "of an environment that has them.",
        "",
        "How to read the tables: a cell is the median of the repeats, ± half of the distance between the largest",
        "and the smallest of them, in percent of the median. K and M are 1024 and 1024² in sizes (W, batch, S, P), and",
        "powers of ten in rates. What could not be measured is in the table as *skipped*, with the reason below it.",
        "",
        *_provenance(records),
        "",
        "## The paper's claims",
        "",
        "Each is judged by the medians of the experiments below that measure both of its sides in one run. Where",
        "several points belong to a claim, the smallest and the largest of ours are shown, and all of them must hold.",
        "A claim is also said to hold where more than it says was measured.",
        "",
        *markdown(["of", "claim", "the paper", "here", "verdict"], claims.rows(Found(records))),
        "",
        "## Goals",
        "",
        *_goals(records),
    ]
    for experiment in EXPERIMENTS:
        own = [each for each in records if each.experiment == experiment.name]
        if own:
            lines += ["", *_experiment(experiment, own)]
    return "\n".join(lines) + "\n"


def plotted(records: Sequence[Record]) -> Iterator[tuple[Experiment, View, Table]]:
    """All views that get a plot, with their tables."""
    for experiment in EXPERIMENTS:
        own = [each for each in records if each.experiment == experiment.name]
        for view in experiment.views:
            laid_out = table(view, own) if view.plot else None
            if laid_out is not None and len(laid_out.columns) > 1:
                yield experiment, view, laid_out


def judged(goal: Goal, found: Found) -> tuple[str, str]:
    """What was measured, and whether the goal holds."""
    value = goal.measured(found)
    if value is None:
        return "not measured", "-"
    if goal.holds(value):
        return number(value, goal.unit), "holds"
    because = f": {goal.why}" if goal.why else ""
    return number(value, goal.unit), f"missed, {number(value / goal.threshold)} of the goal{because}"


def _goals(records: Sequence[Record]) -> list[str]:
    found = Found(records)
    rows = [
        [
            goal.room,
            goal.sentence,
            f"{goal.bound} {number(goal.threshold, goal.unit)} {'' if goal.unit == 'ratio' else goal.unit}".rstrip(),
            *judged(goal, found),
        ]
        for goal in GOALS
    ]
    return markdown(["of", "goal", "threshold", "measured", "verdict"], rows)


def _provenance(records: Sequence[Record]) -> list[str]:
    loads: dict[tuple[str, ...], list[float]] = {}
    for each in records:
        source = (
            f"{each.machine['cpu']}, {each.machine['cores']} cores, {each.machine['memory_gb']} GB",
            each.commit or "(no checkout)",
            ", ".join(f"{name} {version}" for name, version in each.versions.items() if version),
            each.scale,
        )
        loads.setdefault(source, []).append(each.load)
    rows = [
        [*source, str(len(seen)), f"{number(median(seen))} ({number(min(seen))} to {number(max(seen))})"]
        for source, seen in sorted(loads.items())
    ]
    head = ["machine", "commit (+: with changes)", "versions", "scale", "records", "load, median (range)"]
    return [
        *markdown(head, rows),
        "",
        "Load is the number of runnable threads on the machine, ours among them: where it is above the cores,",
        "others were at work, and absolute numbers are too low.",
    ]


def _experiment(experiment: Experiment, records: Sequence[Record]) -> list[str]:
    first = records[0]  # what a record says about itself counts, not what the code says today
    lines = [f"## {experiment.name}", "", f"{experiment.shows[0].upper()}{experiment.shows[1:]}.", ""]
    lines += [f"- Timed: {first.timed}."]
    lines += [f"- Not timed: {first.excluded}."] if first.excluded else []
    lines += [f"- Seed {first.seed}, scale {first.scale}."]
    lines += [f"- The paper: {experiment.paper}"] if experiment.paper else []
    lines += [f"- {contestant}: {how}." for contestant, how in experiment.setup.items()]
    versions = {
        each.parameters.get("contestant", ""): each.noted["version"] for each in records if "version" in each.noted
    }
    lines += [f"- Versions: {', '.join(f'{name} {which}' for name, which in versions.items())}."] if versions else []
    placed: set[int] = set()  # skipped records whose reason stands below a table
    for view in experiment.views:
        laid_out = table(view, records)
        if laid_out is None:
            continue
        placed |= {id(cell) for cell in laid_out.cells.values()}
        head = [*laid_out.row_names, *(f"{laid_out.column} {shown(column)}" for column in laid_out.columns)]
        head = head if laid_out.columns != [""] else [*laid_out.row_names, view.metric]
        rows = [
            [*map(shown, row), *(laid_out.text(row, column) for column in laid_out.columns)] for row in laid_out.rows
        ]
        lines += ["", f"### {view.title} ({laid_out.unit})", "", *markdown(head, rows)]
        lines += ["", *(f"[{number}] {reason}  " for number, reason in enumerate(laid_out.reasons, 1))] * bool(
            laid_out.reasons
        )
        if view.plot and len(laid_out.columns) > 1:
            lines += ["", f"![{experiment.name}: {view.title}]({PLOTS}/{_plot_name(experiment, view)}.svg)"]
    lines += _elsewhere([each for each in records if each.skipped and id(each) not in placed])
    return lines


def _elsewhere(skipped: Sequence[Record]) -> list[str]:
    """What has no place in a table, for it is about all of a row or more: one line per reason."""
    about: dict[str, list[str]] = {}
    for each in skipped:
        about.setdefault(each.skipped, []).append(
            ", ".join(f"{name} {shown(value)}" for name, value in each.parameters.items())
        )
    return ["", *(f"- Skipped ({'; '.join(points)}): {reason}" for reason, points in about.items())] if about else []


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table."""
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows)]


def _plot_name(experiment: Experiment, view: View) -> str:
    words = "".join(letter if letter.isalnum() else " " for letter in view.title.lower()).split()
    return "-".join([experiment.name.replace(".", "-"), *words])
