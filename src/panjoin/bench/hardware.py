"""BI-Sort in hardware as experiments: what it costs on the chip, how many clocks it takes, and how fast that makes it.

    fpga.resources       cells and clock of each design, seed by seed                    real tools (yosys, nextpnr)
    fpga.units           clocks per tuple of mergers and probers at full speed           counted in simulation
    fpga.fpga_insert     the paper's figure: insertion, beside three structures here     simulation with a memory model;
    fpga.fpga_probe      the paper's figure: probing, beside the same                    the structures are measured
    fpga.second_opinion  clocks of the same runs in CXXRTL and in Verilator              counted in both

`panjoin fpga report` runs them and writes docs/hardware.md from their records. What stands in the way (a package, a C++
compiler, a second simulator) is a reason in the record, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from panjoin.bench import structure
from panjoin.bench.experiment import CannotMeasure, Cell, Experiment, Point, Skip, View
from panjoin.errors import ParameterError

K, M = 1 << 10, 1 << 20
HARDWARE = "bi-sort in hardware"
CONTESTANTS = (HARDWARE, "bi-sort", "rap-table", "wib-tree")
DESIGNS = ("merger-1", "merger-8", "prober-1", "prober-8", "worker")
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Size:
    """How large a scale is."""

    preset: str
    placed: Sequence[tuple[str, int]]  #: designs and seeds
    units: Sequence[str]
    tuples: int  #: through each unit
    capacity: int
    partitions: int
    batches: Sequence[int]
    probes: Sequence[int]
    seconds: float
    repeats: int


_ALL = tuple((name, seed) for name in DESIGNS for seed in SEEDS)
_SMALL = Size(
    "ecp5-85", _ALL, DESIGNS[:4], M, 8 * M, 32 * K, (32 * K, 256 * K, M, 8 * M), (32 * K, 256 * K, M, 8 * M), 0.3, 3
)
SIZES = {
    "toy": Size(
        "index-int32", (("merger-1", 1),), ("merger-1", "prober-1"), 4 * K, 4 * K, 256, (64, K), (64, K), 0.01, 1
    ),
    "small": _SMALL,
    "paper": _SMALL,
}


def _refused(work: Callable[[], Iterator[Point | Skip]]) -> Iterator[Point | Skip]:
    """What cannot be done here for want of a package or a program is a result, and says so."""
    try:
        yield from work()
    except ParameterError as reason:
        raise CannotMeasure(str(reason)) from None
    except ModuleNotFoundError as missing:
        raise CannotMeasure(f"the package {missing.name} is not installed; pip install 'panjoin[fpga]'") from None


def _cell(parameters: dict[str, Any], work: Callable[..., Iterator[Point | Skip]], *given: Any) -> Cell:
    return Cell(parameters, partial(_refused, partial(work, *given)))


# ---- on the chip ----


def resource_cells(scale: str) -> list[Cell]:
    """One cell per design and seed: a placement takes minutes."""
    size = SIZES[scale]
    return [_cell({"design": name, "seed": seed}, _placed, name, size.preset, seed) for name, seed in size.placed]


def _placed(name: str, preset: str, seed: int) -> Iterator[Point]:
    from panjoin.fpga.flow.placement import Chip  # noqa: PLC0415
    from panjoin.fpga.flow.resources import resources  # noqa: PLC0415
    from panjoin.fpga.flow.tools import versions  # noqa: PLC0415

    chip = Chip()
    found = resources(name, preset, (seed,), chip)
    placed = found.placements[seed]
    path = [{"kind": step.kind, "ns": round(step.nanoseconds, 3), "at": step.name} for step in placed.path]
    noted = {
        "chip": f"ECP5-{chip.device[:-1]}, {chip.package}, speed grade {chip.speed}",
        "tools": versions(),
        "wires in the slowest path": round(placed.routing_share, 3),
        "slowest path": path,
    }
    yield Point("clock", "MHz", [placed.mhz], noted=noted)
    alone = {"LUT": found.cells.lut, "FF": found.cells.ff, "block RAM": found.cells.block_ram, "DSP": found.cells.dsp}
    for resource, count in alone.items():
        yield Point(f"{resource}, the design alone", "cells", [count])
    for resource, count in placed.used.items():
        yield Point(f"{resource}, placed", "cells", [count], noted={"available": placed.available[resource]})
        yield Point(f"{resource}, share", "share", [count / placed.available[resource]])


# ---- clocks ----


def unit_cells(scale: str) -> list[Cell]:
    """One cell per bank of units."""
    size = SIZES[scale]
    return [
        _cell({"design": name, "tuples": size.tuples}, _steady, name, size.preset, size.tuples) for name in size.units
    ]


def _steady(name: str, preset: str, tuples: int) -> Iterator[Point]:
    from panjoin.fpga.flow.steady import steady  # noqa: PLC0415

    found = steady(name, preset, tuples)
    yield Point("clocks per tuple", "clocks/tuple", [found.clocks_per_tuple], noted={"clocks": found.clocks})


def insert_cells(scale: str) -> list[Cell]:
    """All batches of the hardware are one cell, for they share a subwindow; the structures follow, batch by batch."""
    size = SIZES[scale]
    cells = [_cell({"contestant": HARDWARE}, _worked, "insertions", size, size.batches)]
    return cells + [
        Cell({"contestant": name, "batch": batch}, partial(_inserted, name, size, batch))
        for name in CONTESTANTS[1:]
        for batch in size.batches
    ]


def probe_cells(scale: str) -> list[Cell]:
    """The same for probing."""
    size = SIZES[scale]
    cells = [_cell({"contestant": HARDWARE}, _worked, "probings", size, size.probes)]
    return cells + [Cell({"contestant": name}, partial(_probed, name, size)) for name in CONTESTANTS[1:]]


def _worked(operation: str, size: Size, batches: Sequence[int]) -> Iterator[Point]:
    from panjoin.fpga.flow import work  # noqa: PLC0415

    for each in getattr(work, operation)(size.preset, size.capacity, batches):
        about = {"batch": each.batch, "capacity": each.capacity, "partitions": each.partitions}
        memory = each.params.memory
        noted = {
            "before": each.before,
            "clocks": each.clocks,
            "moved bytes": each.moved,
            "clock, Hz": each.params.clock_hz,
            "mergers": each.params.mergers,
            "probers": each.params.probers,
            "memory, bytes per second": memory.channels * memory.bytes_per_second,
            "memory, clocks of latency": memory.latency_cycles,
        }
        yield Point("throughput", "tuples/s", [each.rate], about, noted)
        yield Point("clocks per tuple", "clocks/tuple", [each.clocks_per_tuple], about)
        yield Point("share of the modelled bandwidth", "share", [each.share], about)


def _inserted(name: str, size: Size, batch: int) -> Iterator[Point]:
    knobs = {"middle": 0} if name == "bi-sort" else {}  # the paper's structure, as in the hardware
    found = structure.insert(
        name, size.capacity, size.partitions, batch, seconds=size.seconds, repeats=size.repeats, **knobs
    )
    rates = [tuples / spent for tuples, spent in zip(found["inserted"], found["seconds"], strict=True)]
    yield Point("throughput", "tuples/s", rates, {"capacity": size.capacity, "partitions": size.partitions})


def _probed(name: str, size: Size) -> Iterator[Point]:
    for each in structure.probe_1(name, size.capacity, size.partitions, size.probes, repeats=size.repeats):
        if each["form"] == "counts":
            about = {"batch": each["batch"], "capacity": size.capacity, "partitions": size.partitions}
            yield Point("throughput", "tuples/s", [each["batch"] / spent for spent in each["seconds"]], about)


# ---- two simulators ----


def opinion_cells(scale: str) -> list[Cell]:
    """The same units in both simulators; the whole worker as well, at a size that both are soon through with."""
    del scale  # it is the agreement that counts
    return [_cell({"design": name}, _both, name) for name in ("merger-1", "prober-1", "worker")]


def _both(name: str) -> Iterator[Point]:
    from panjoin.fpga.flow import opinion, verilator  # noqa: PLC0415

    if not verilator.here():
        raise CannotMeasure(f"Verilator is not installed here; {verilator.REMEDY}")
    for simulator, clocks in opinion.clocks(name).items():
        yield Point("clocks", "clocks", [clocks], {"simulator": simulator})


_SIMULATED = (
    "the hardware: clocks counted in a compiled simulation (CXXRTL) of the whole worker with 8 mergers and 8 probers "
    "and the model of its memory (two channels DDR3-1066 as in the paper, 17.06 GB/s), at 200 MHz; the structures: one "
    "thread on this machine"
)
_PAPER = (
    "from batches of 64K on faster than RaP-Table and WiB+-Tree, {} of BI-Sort on its CPU, at a fraction of the power."
)

EXPERIMENTS = (
    Experiment(
        "fpga.resources",
        "cells and clock of BI-Sort in hardware on an ECP5-85, three placements each",
        "nothing: cells are counted by yosys and nextpnr, the clock is that of nextpnr's timing analysis",
        "",
        resource_cells,
        (
            View("Clock", "clock", ("design",), "seed", plot=False),
            *(
                View(f"{name}, as placed", f"{name}, placed", ("design",), "seed", plot=False)
                for name in ("COMB", "FF", "block RAM")
            ),
        ),
        circuits=True,
    ),
    Experiment(
        "fpga.units",
        "clocks per tuple of mergers and probers when nothing outside holds them up",
        "clocks from the first word offered to the last one taken, counted in a compiled simulation; the slowest unit",
        "",
        unit_cells,
        (View("Clocks per tuple of a unit", "clocks per tuple", ("design",), "tuples", plot=False),),
        circuits=True,
    ),
    Experiment(
        "fpga.fpga_insert",
        "the paper's fpga_insert: insertion over the batch, hardware beside three structures on one core here",
        _SIMULATED,
        "sorting; moving a batch from the host into the board's memory",
        insert_cells,
        (
            View("Inserted tuples per second", "throughput", ("contestant",), "batch"),
            View("Clocks per inserted tuple", "clocks per tuple", ("contestant",), "batch", plot=False),
            View(
                "Share of the modelled bandwidth",
                "share of the modelled bandwidth",
                ("contestant",),
                "batch",
                plot=False,
            ),
        ),
        paper=_PAPER.format("0.4 to 0.6 times the throughput"),
        circuits=True,
    ),
    Experiment(
        "fpga.fpga_probe",
        "the paper's fpga_probe: equality with S = 1 over the batch, hardware beside three structures on one core here",
        _SIMULATED,
        "sorting; moving a batch into the board's memory and positions out of it",
        probe_cells,
        (
            View("Probing tuples per second", "throughput", ("contestant",), "batch"),
            View("Clocks per probing tuple", "clocks per tuple", ("contestant",), "batch", plot=False),
            View(
                "Share of the modelled bandwidth",
                "share of the modelled bandwidth",
                ("contestant",),
                "batch",
                plot=False,
            ),
        ),
        paper=_PAPER.format("a smaller part"),
        circuits=True,
    ),
    Experiment(
        "fpga.second_opinion",
        "clocks of the same runs in CXXRTL and in Verilator; they must be equal",
        "nothing: clocks are counted",
        "",
        opinion_cells,
        (View("Clocks", "clocks", ("design",), "simulator", plot=False),),
        circuits=True,
    ),
)
