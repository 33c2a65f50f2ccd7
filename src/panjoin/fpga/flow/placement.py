"""Placement and routing: cells get places and wires on the chip (nextpnr), once per design, chip, seed and options.

The clock that comes out differs by 10% and more between seeds, so one seed is an anecdote: ask for three, and tell all.
nextpnr's timing is a model of the chip, made by measuring; it is no vendor's sign-off.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from panjoin.errors import ParameterError
from panjoin.fpga.flow import reports, store, synthesis, tools
from panjoin.fpga.flow.netlist import Netlist

REPORT, LOG = "report.json", "nextpnr.log"
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Chip:
    """Where a design is placed, and the clock that the placer works towards."""

    device: str = "85k"
    package: str = "CABGA756"
    speed: int = 8
    mhz: int = 220

    def __post_init__(self) -> None:
        if self.device not in {"12k", "25k", "45k", "85k"}:
            raise ParameterError(f"device must be 12k, 25k, 45k or 85k, not {self.device!r}")
        if self.speed not in {6, 7, 8}:
            raise ParameterError(f"speed (the chip's grade) must be 6, 7 or 8, not {self.speed}")
        if not 1 <= self.mhz <= 1000:
            raise ParameterError(f"mhz, the clock to work towards, must be between 1 and 1000, not {self.mhz}")

    @property
    def arguments(self) -> tuple[str, ...]:
        """For nextpnr."""
        return (f"--{self.device}", "--package", self.package, "--speed", str(self.speed), "--freq", str(self.mhz))


#: Pins may lie anywhere, and a clock that is not reached is a result and no failure.
OPTIONS = ("--lpf-allow-unconstrained", "--timing-allow-fail", "--no-print-critical-path-source")


def place(
    design: Netlist,
    seed: int,
    chip: Chip | None = None,
    told: Callable[[str], None] | None = None,
    *,
    options: tuple[str, ...] = OPTIONS,
    cells: tuple[str, ...] = synthesis.OPTIONS,
    again: bool = False,
) -> reports.Placed:
    """One placement of a design (with its pins), from the cache or made now; `told` hears the tool's lines."""
    if not 1 <= seed < 1 << 31:
        raise ParameterError(f"a seed must be between 1 and {(1 << 31) - 1}, not {seed}")
    chip = Chip() if chip is None else chip

    def make(directory: Path) -> None:
        made = synthesis.synthesise(design, told, options=cells)
        source = directory / synthesis.NETLIST
        shutil.copyfile(made.directory / synthesis.NETLIST, source)
        arguments = ["--json", source.name, "--report", REPORT, "--seed", str(seed), *chip.arguments, *options]
        log = tools.nextpnr(arguments, directory, told)
        (directory / LOG).write_text(log, encoding="utf-8")
        source.unlink()

    inputs = {"design": design.hash, "cells": cells, "chip": asdict(chip), "seed": seed, "options": options}
    directory = store.kept("placement", inputs | {"versions": tools.versions()}, make, again=again)
    return reports.placed((directory / REPORT).read_text(encoding="utf-8"))
