"""What of docs/hardware.md is made of records: tables between markers, and two figures. The words around are written.

    <!-- resources: begin -->
    | design | LUT | ...                 renewed by `panjoin fpga report`, and by nobody else
    <!-- resources: end -->

What has no record stands there as "not measured", and what could not be measured with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from panjoin.bench.goals import GOALS, Found
from panjoin.bench.hardware import DESIGNS, EXPERIMENTS, HARDWARE, SEEDS
from panjoin.bench.plots import plot
from panjoin.bench.records import Record, largest_scale
from panjoin.bench.report import judged, markdown
from panjoin.bench.tables import Table, number, shown, table
from panjoin.errors import DamageError, ParameterError

#: The clock that the memory's model is made for; what is placed slower runs slower, and is counted as such.
SIMULATED_MHZ = 200
FIGURES = {"insert": "fpga-insert.svg", "probe": "fpga-probe.svg"}
_NONE = "not measured"


@dataclass(frozen=True)
class Power:
    """Inputs of the energy model; all four are the paper's, and none of them is measured here."""

    board_watts: float = 7.9  #: of its board, an Arria 10 with two channels DDR3
    cpu_watts: float = 150.0  #: of its CPU with all cores (thermal design power)
    cpu_cores: int = 20  #: of that CPU
    used_cores: int = 1  #: by the structures that we compare with

    def __post_init__(self) -> None:
        for name in ("board_watts", "cpu_watts", "cpu_cores", "used_cores"):
            if not getattr(self, name) > 0:
                raise ParameterError(f"{name} must be above 0, not {getattr(self, name)}")

    @property
    def cpu_share(self) -> float:
        """Watts of the cores in use."""
        return self.cpu_watts * self.used_cores / self.cpu_cores


def renew(page: Path, records: Iterable[Record], power: Power | None = None) -> list[Path]:
    """Write the tables into `page` and the figures beside it; the paths written."""
    records = [each for each in largest_scale(records) if each.experiment.startswith("fpga.")]
    if not page.exists():
        raise ParameterError(f"there is no {page} to write the tables into; it is part of the repository")
    text = page.read_text(encoding="utf-8")
    for name, lines in sections(records, Power() if power is None else power).items():
        text = _between(page, text, name, lines)
    page.write_text(text, encoding="utf-8")
    written = [page]
    if find_spec("matplotlib") is not None:
        for short, file in FIGURES.items():
            laid_out = _figure(records, short)
            if laid_out is not None:
                path = page.parent / "pictures" / file
                plot(
                    laid_out,
                    f"BI-Sort in hardware (simulated) and structures on one core: {short}",
                    path.with_suffix(""),
                )
                written.append(path)
    return written


def sections(records: Sequence[Record], power: Power) -> dict[str, list[str]]:
    """Marker -> lines."""
    found = Found(records)
    return {
        "goals": _goals(found),
        "resources": _resources(found),
        "path": _path(records),
        "units": _view(records, "fpga.units"),
        **{
            short: [*_figure_of(records, short), *_at_the_placed_clock(found, f"fpga.fpga_{short}")]
            for short in FIGURES
        },
        "energy": _energy(found, power),
        "opinion": _view(records, "fpga.second_opinion"),
        "provenance": _provenance(records),
    }


def _between(page: Path, text: str, name: str, lines: Sequence[str]) -> str:
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise DamageError(f"{page} must have the markers {begin} and {end} once each; put them where the table belongs")
    before, _, rest = text.partition(begin)
    return "\n".join([before + begin, *lines, end + rest.partition(end)[2]])


def _goals(found: Found) -> list[str]:
    rows = [
        [goal.sentence, f"{goal.bound} {number(goal.threshold, goal.unit)} {goal.unit}", *judged(goal, found)]
        for goal in GOALS
        if goal.room == "fpga"
    ]
    return markdown(["goal", "threshold", "here", "verdict"], rows)


def placed_mhz(found: Found, design: str = "worker") -> float | None:
    """The clock that all seeds reached; None until all have been placed."""
    seen = found.values("fpga.resources", "clock", design=design)
    return min(seen) if len(seen) >= len(SEEDS) else None


def _resources(found: Found) -> list[str]:
    rows = []
    for design in DESIGNS:
        alone = [_largest(found, f"{name}, the design alone", design) for name in ("LUT", "FF", "block RAM", "DSP")]
        shares = [_largest(found, f"{name}, share", design) for name in ("COMB", "FF", "block RAM")]
        clocks = [found.value("fpga.resources", "clock", design=design, seed=seed) for seed in SEEDS]
        worst = placed_mhz(found, design)
        rows.append(
            [
                design,
                *(_NONE if each is None else f"{each:,.0f}" for each in alone),
                *("-" if each is None else f"{each:.1%}" for each in shares),
                ", ".join(_NONE if each is None else f"{each:.0f}" for each in clocks),
                _NONE if worst is None else f"{worst:.1f}",
            ]
        )
    seeds = ", ".join(map(str, SEEDS))
    head = ["design", "LUT", "FF", "block RAM", "DSP", "logic", "FF, share", "block RAM, share"]
    return markdown([*head, f"MHz, seeds {seeds}", "MHz, all seeds"], rows)


def _path(records: Sequence[Record]) -> list[str]:
    seen = [each for each in records if each.metric == "clock" and each.parameters.get("design") == "worker"]
    if not seen:
        return [_NONE]
    slowest = min(seen, key=lambda each: each.median or 0.0)
    wires = slowest.noted["wires in the slowest path"]
    title = f"Seed {slowest.parameters['seed']}, {number(slowest.median or 0.0)} MHz; {wires:.0%} of the time is wire."
    rows = [
        [f"{step['ns']:.2f}", step["kind"], f"`{step['at']}`"] for step in slowest.noted["slowest path"] if step["ns"]
    ]
    return [title, "", *markdown(["ns", "through", "at"], rows)]


def _largest(found: Found, metric: str, design: str) -> float | None:
    return max(found.values("fpga.resources", metric, design=design), default=None)


def _view(records: Sequence[Record], name: str) -> list[str]:
    (experiment,) = (each for each in EXPERIMENTS if each.name == name)
    own = [each for each in records if each.experiment == name]
    lines: list[str] = []
    for view in experiment.views:
        laid_out = table(view, own)
        if laid_out is not None:
            head = [*laid_out.row_names, *(f"{laid_out.column} {shown(column)}" for column in laid_out.columns)]
            rows = [
                [*map(shown, row), *(laid_out.text(row, column) for column in laid_out.columns)]
                for row in laid_out.rows
            ]
            lines += [f"**{view.title}** ({laid_out.unit})", "", *markdown(head, rows), ""]
    reasons = dict.fromkeys(each.skipped for each in own if each.skipped)
    lines += [f"- Not measured: {reason}" for reason in reasons]
    return lines or [_NONE]


def _figure_of(records: Sequence[Record], short: str) -> list[str]:
    lines = [*_view(records, f"fpga.fpga_{short}"), ""]
    if _figure(records, short) is not None:
        shows = "Tuples per second over the batch: the hardware, simulated, beside three structures on one core"
        lines = [f"![{shows}](pictures/{FIGURES[short]})", "", *lines]
    return lines


def _figure(records: Sequence[Record], short: str) -> Table | None:
    (experiment,) = (each for each in EXPERIMENTS if each.name == f"fpga.fpga_{short}")
    return table(experiment.views[0], [each for each in records if each.experiment == experiment.name])


def _rates(found: Found, experiment: str, contestant: str) -> Mapping[int, float]:
    sizes = found.sizes(experiment, "throughput", "batch", contestant=contestant)
    rates = {size: found.value(experiment, "throughput", batch=size, contestant=contestant) for size in sizes}
    return {size: rate for size, rate in rates.items() if rate is not None}


def _slower(found: Found) -> float | None:
    """What the rates at the simulated clock are multiplied with, so that they hold at the placed one."""
    mhz = placed_mhz(found)
    return None if mhz is None else min(1.0, mhz / SIMULATED_MHZ)


def _at_the_placed_clock(found: Found, experiment: str) -> list[str]:
    rates, slower = _rates(found, experiment, HARDWARE), _slower(found)
    if not rates or slower is None:
        return [f"At the clock that all placements of the worker reached: {_NONE}."]
    mhz = min(SIMULATED_MHZ, placed_mhz(found) or 0.0)
    rows = [[shown(batch), number(rate * slower, "tuples/s")] for batch, rate in rates.items()]
    return [
        f"**At the clock that all placements of the worker reached, {mhz:.1f} MHz at most {SIMULATED_MHZ}** (tuples/s)",
        "",
        *markdown(["batch", "throughput"], rows),
    ]


def _energy(found: Found, power: Power) -> list[str]:
    inputs = [
        ["board with FPGA and memory", f"{power.board_watts:g} W", "the paper's board, not an ECP5's"],
        ["CPU, all cores", f"{power.cpu_watts:g} W", "the paper's CPU (thermal design power), not this machine's"],
        ["cores of that CPU", str(power.cpu_cores), "the paper"],
        ["cores in use", str(power.used_cores), f"of the structures here: {power.cpu_share:g} W"],
    ]
    rows = []
    for experiment, what in (("fpga.fpga_insert", "insertion"), ("fpga.fpga_probe", "probing")):
        ours, theirs = (_rates(found, experiment, name) for name in (HARDWARE, "bi-sort"))
        slower = _slower(found)
        for batch in sorted(set(ours) & set(theirs)):
            if slower is not None:
                hardware, software = ours[batch] * slower / power.board_watts, theirs[batch] / power.cpu_share
                each = (f"{number(rate, 'tuples/s')}" for rate in (hardware, software))
                rows.append([what, shown(batch), *each, number(hardware / software)])
    head = ["operation", "batch", "hardware, tuples per joule", "BI-Sort on a core, tuples per joule", "ratio"]
    told = markdown(head, rows) if rows else [f"Ratios: {_NONE}."]
    return [*markdown(["input", "value", "whose"], inputs), "", *told]


def _provenance(records: Sequence[Record]) -> list[str]:
    rows: dict[tuple[str, ...], int] = {}
    for each in records:
        tools = each.noted.get("tools", {})
        key = (
            each.experiment,
            f"{each.machine['cpu']}, {each.machine['cores']} cores",
            each.commit or "(no checkout)",
            ", ".join(f"{name} {version}" for name, version in tools.items()),
            each.scale,
        )
        known = next((old for old in rows if (*old[:3], old[4]) == (*key[:3], key[4])), key)
        kept = key if key[3] else known
        rows[kept] = rows.pop(known, 0) + 1
    if not rows:
        return [_NONE]
    head = ["experiment", "machine", "commit (+: with changes)", "tools", "scale", "records"]
    return markdown(head, [[*key, str(count)] for key, count in rows.items()])
