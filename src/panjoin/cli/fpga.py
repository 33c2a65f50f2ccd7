"""`panjoin fpga`: BI-Sort in hardware, from its source to tables, by open tools that come as wheels (extra "fpga").

synth NAME...     cells of a design (yosys), seconds
place NAME...     area and clock on the chip (nextpnr), minutes per seed the first time; results are kept by hash
simulate          clock cycles per tuple, counted in compiled simulations
report            everything of docs/hardware.md: measures what is not in the records yet, then writes tables and plots
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from panjoin.errors import ParameterError

fpga = typer.Typer(help="BI-Sort in hardware: synthesise, place, simulate, report.", no_args_is_help=True)

Names = Annotated[list[str], typer.Argument(help='Designs, such as merger-8 or worker; "all" is those of the report.')]
Preset = Annotated[str, typer.Option(help="Parameters of the hardware, by name.")]
Again = Annotated[bool, typer.Option(help="Run the tools also where their result is kept.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
PRESET = "ecp5-85"
RECORDS, PAGE = Path("docs/records"), Path("docs/hardware.md")


@fpga.command()
def synth(names: Names, *, preset: Preset = PRESET, again: Again = False, as_json: AsJson = False) -> None:
    """Turn designs into cells of the chip, and count them."""
    from panjoin.fpga.flow.resources import cells  # noqa: PLC0415

    console = Console(stderr=True, highlight=False, quiet=as_json)
    found = {}
    for name in _known(names, preset):
        with console.status(f"synthesising {name}"):
            found[name] = cells(name, preset, again=again)
    if as_json:
        typer.echo(json.dumps({name: dict(each.by_type) for name, each in found.items()}, indent=2, sort_keys=True))
        return
    table = Table("design", "LUT", "FF", "block RAM", "DSP")
    for name, each in found.items():
        table.add_row(name, *(f"{count:,}" for count in (each.lut, each.ff, each.block_ram, each.dsp)))
    Console().print(table)


@fpga.command()
def place(
    names: Names,
    *,
    preset: Preset = PRESET,
    seeds: Annotated[str, typer.Option(help="Seeds of the placer, with commas; a placement each.")] = "1,2,3",
    device: Annotated[str, typer.Option(help="Size of the chip: 12k, 25k, 45k or 85k.")] = "85k",
    speed: Annotated[int, typer.Option(help="Speed grade of the chip: 6, 7 or 8 (the fastest).")] = 8,
    mhz: Annotated[int, typer.Option(help="The clock that the placer works towards.")] = 220,
    path: Annotated[bool, typer.Option("--path", help="Show the slowest path of the slowest seed.")] = False,
    again: Again = False,
    as_json: AsJson = False,
) -> None:
    """Place and route designs on the chip; area and clock per seed. Ctrl-C keeps the seeds that are done."""
    from panjoin.fpga.flow.placement import Chip  # noqa: PLC0415
    from panjoin.fpga.flow.resources import resources  # noqa: PLC0415
    from panjoin.fpga.flow.stages import Progress as Stage  # noqa: PLC0415

    chosen, chip, known = _seeds(seeds), Chip(device=device, speed=speed, mhz=mhz), _known(names, preset)
    console = Console(stderr=True, highlight=False, quiet=as_json)
    found: list[Any] = []
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=len(known) * len(chosen))
        for name in known:
            stages = [Stage() for _ in chosen]

            def hear(at: int, line: str, name: str = name, stages: list[Stage] = stages) -> None:
                stages[at].hear(line)
                done = len(found) * len(chosen) + at + stages[at].fraction
                progress.update(bar, completed=done, description=f"{name}, seed {chosen[at]}: {stages[at].stage}")

            try:
                found.append(resources(name, preset, chosen, chip, hear, again=again))
            except KeyboardInterrupt:
                console.print("stopped: what was placed is kept; the same command goes on from there")
                raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps([each.as_json() for each in found], indent=2))
        return
    Console().print(_placements(found))
    if path:
        for each in found:
            Console().print(_slowest(each))


@fpga.command()
def simulate(
    names: Annotated[list[str] | None, typer.Argument(help="merger-N, prober-N or worker; without, all five.")] = None,
    *,
    preset: Preset = PRESET,
    tuples: Annotated[int, typer.Option(help="Words through each unit.")] = 1 << 16,
    capacity: Annotated[int, typer.Option(help="Tuples of the worker's subwindow.")] = 1 << 16,
    batches: Annotated[str, typer.Option(help="Batches that the worker gets, with commas.")] = "1024,8192,65536",
    as_json: AsJson = False,
) -> None:
    """Count clocks per tuple, in a simulation that is compiled on first use (minutes for the worker)."""
    from panjoin.fpga.flow.steady import steady  # noqa: PLC0415

    sizes, console = _numbers(batches, "batches"), Console(stderr=True, highlight=False, quiet=as_json)
    chosen = _known(names or ["all"], preset)
    units: list[Any] = []
    work: list[Any] = []
    for name in chosen:
        with console.status(f"simulating {name}"):
            if name == "worker":
                from panjoin.fpga.flow.work import insertions, probings  # noqa: PLC0415

                work += [*insertions(preset, capacity, sizes), *probings(preset, capacity, sizes)]
            else:
                units.append(steady(name, preset, tuples))
    if as_json:
        typer.echo(
            json.dumps({"units": [_unit(each) for each in units], "worker": [_work(each) for each in work]}, indent=2)
        )
        return
    if units:
        table = Table("design", "words", "clocks", "clocks per word")
        for each in units:
            table.add_row(each.name, f"{each.tuples:,}", f"{each.clocks:,}", f"{each.clocks_per_tuple:.4f}")
        Console().print(table)
    if work:
        table = Table("worker", "before", "batch", "clocks", "per tuple", "tuples/s", "of the memory's model")
        for one in work:
            row = (f"{one.before:,}", f"{one.batch:,}", f"{one.clocks:,}", f"{one.clocks_per_tuple:.3f}")
            table.add_row(one.operation, *row, f"{one.rate:,.0f}", f"{one.share:.1%}")
        Console().print(table)


@fpga.command()
def report(
    *,
    records: Annotated[Path, typer.Option(help="Directory of the records.")] = RECORDS,
    to: Annotated[Path, typer.Option(help="The page with the markers; its figures lie in pictures/ beside it.")] = PAGE,
    scale: Annotated[str, typer.Option(help="toy: a minute or two; small: the page's.")] = "small",
    measure: Annotated[bool, typer.Option(help="First measure what has no record yet.")] = True,
    again: Annotated[bool, typer.Option(help="Measure also what has records; placements come from the cache.")] = False,
    board_watts: Annotated[float, typer.Option(help="Energy model: the board with FPGA and memory.")] = 7.9,
    cpu_watts: Annotated[float, typer.Option(help="Energy model: the CPU with all cores.")] = 150.0,
    cpu_cores: Annotated[int, typer.Option(help="Energy model: cores of that CPU.")] = 20,
) -> None:
    """Place and simulate what has no record yet, then write the page's tables; Ctrl-C keeps what is done."""
    from panjoin.bench.hardware_page import Power, renew  # noqa: PLC0415
    from panjoin.bench.records import existing  # noqa: PLC0415
    from panjoin.cli.bench import run  # noqa: PLC0415

    power = Power(board_watts=board_watts, cpu_watts=cpu_watts, cpu_cores=cpu_cores)
    if measure:
        run(["fpga.*"], scale=scale, out=records, again=again)
    written = renew(to, existing(records), power)
    typer.echo(f"renewed {', '.join(map(str, written))}")


def _unit(each: Any) -> dict[str, Any]:
    return {
        "design": each.name,
        "words": each.tuples,
        "clocks": each.clocks,
        "clocks per word": round(each.clocks_per_tuple, 6),
    }


def _work(each: Any) -> dict[str, Any]:
    return {
        "operation": each.operation,
        "before": each.before,
        "batch": each.batch,
        "clocks": each.clocks,
        "bytes moved": each.moved,
        "tuples per second": round(each.rate),
        "share of the modelled bandwidth": round(each.share, 4),
    }


def _placements(found: list[Any]) -> Table:
    from panjoin.fpga.flow.reports import RESOURCES  # noqa: PLC0415

    table = Table("design", *RESOURCES, "MHz, each seed", Column("MHz, all seeds", justify="right"))
    for each in found:
        last = list(each.placements.values())[-1]
        used = [f"{last.used[name]:,} ({each.share(name):.1%})" for name in RESOURCES]
        table.add_row(each.name, *used, ", ".join(f"{one:.0f}" for one in each.mhz), f"{each.worst_mhz:.1f}")
    return table


def _slowest(each: Any) -> Table:
    seed, placed = min(each.placements.items(), key=lambda one: one[1].mhz)
    share = f"{placed.routing_share:.0%} of it wires"
    table = Table("ns", "through", "at", title=f"{each.name}, seed {seed}: the slowest path, {share}")
    for step in placed.path:
        if step.nanoseconds:
            table.add_row(f"{step.nanoseconds:.2f}", step.kind, step.name)
    return table


def _known(names: list[str], preset: str) -> list[str]:
    try:
        from panjoin.fpga.designs import NAMES, design  # noqa: PLC0415
        from panjoin.fpga.flow.netlist import netlist  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        raise ParameterError(f"the package {missing.name} is not installed; pip install 'panjoin[fpga]'") from None
    chosen = list(dict.fromkeys(each for name in names for each in (NAMES if name == "all" else (name,))))
    for name in chosen:
        netlist(design(name, preset))  # refuses what it does not know, before anything takes minutes
    return chosen


def _seeds(text: str) -> list[int]:
    return _numbers(text, "seeds")


def _numbers(text: str, what: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() for part in parts):
        raise ParameterError(f"{what} must be whole numbers with commas between, such as 1,2,3, not {text!r}")
    return [int(part) for part in parts]
