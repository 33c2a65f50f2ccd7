"""Synthesis: a netlist becomes cells of ECP5 (yosys), once per design and options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from panjoin.fpga.flow import reports, store, tools
from panjoin.fpga.flow.netlist import TOP, Netlist

NETLIST, CELLS = "netlist.json", "cells.json"

#: None: with clock enables (`-nodffe` would leave them out) a merger takes 716 instead of 1793 COMB and reaches 240
#: instead of 213 MHz, and nextpnr's first router ends with eight of them, too.
OPTIONS: tuple[str, ...] = ()


@dataclass(frozen=True)
class Synthesised:
    """Where the cells lie, and how many there are."""

    directory: Path
    cells: reports.Cells


def synthesise(
    design: Netlist,
    told: Callable[[str], None] | None = None,
    *,
    options: tuple[str, ...] = OPTIONS,
    again: bool = False,
) -> Synthesised:
    """The cells of a design, from the cache or made now."""

    def make(directory: Path) -> None:
        (directory / "design.il").write_text(design.text, encoding="utf-8")
        script = f"synth_ecp5 -top {TOP} {' '.join(options)} -json {NETLIST}; tee -q -o {CELLS} stat -json"
        tools.yosys(f"read_rtlil design.il; {script}", directory, told)
        (directory / "design.il").unlink()

    inputs = {"design": design.hash, "options": options, "versions": tools.versions()}
    directory = store.kept("synthesis", inputs, make, again=again)
    return Synthesised(directory, reports.cells((directory / CELLS).read_text(encoding="utf-8")))
