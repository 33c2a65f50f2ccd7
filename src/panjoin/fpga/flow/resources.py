"""What a design costs and how fast it is on the chip: synthesised alone, then placed with pins, once per seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from panjoin.errors import ParameterError
from panjoin.fpga import designs
from panjoin.fpga.block import Ecp5
from panjoin.fpga.flow import placement, synthesis
from panjoin.fpga.flow.netlist import netlist
from panjoin.fpga.flow.pins import Pins
from panjoin.fpga.flow.reports import Cells, Placed
from panjoin.fpga.params import Params


@dataclass(frozen=True)
class Resources:
    """One design on one chip."""

    name: str
    cells: Cells  #: of the design alone
    placements: Mapping[int, Placed]  #: by seed, pins included

    @property
    def mhz(self) -> list[float]:
        """The clock that each seed reached."""
        return [each.mhz for each in self.placements.values()]

    @property
    def worst_mhz(self) -> float:
        """The clock that all seeds reached: what is counted with."""
        return min(self.mhz)

    def share(self, resource: str) -> float:
        """How much of the chip it takes."""
        return max(each.used[resource] / each.available[resource] for each in self.placements.values())

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "design": self.name,
            "cells": {
                "LUT": self.cells.lut,
                "FF": self.cells.ff,
                "block RAM": self.cells.block_ram,
                "DSP": self.cells.dsp,
            },
            "placements": [
                {
                    "seed": seed,
                    "mhz": round(each.mhz, 2),
                    "used": dict(each.used),
                    "available": dict(each.available),
                    "routing share of the slowest path": round(each.routing_share, 3),
                    "slowest path": [
                        {"kind": step.kind, "ns": round(step.nanoseconds, 3), "at": step.name} for step in each.path
                    ],
                }
                for seed, each in self.placements.items()
            ],
        }


def cells(name: str, params: Params | str, told: Callable[[str], None] | None = None, *, again: bool = False) -> Cells:
    """Cells of the design alone."""
    return synthesis.synthesise(netlist(designs.design(name, params), Ecp5()), told, again=again).cells


def resources(
    name: str,
    params: Params | str,
    seeds: Sequence[int] = placement.SEEDS,
    chip: placement.Chip | None = None,
    told: Callable[[int, str], None] | None = None,
    *,
    again: bool = False,
) -> Resources:
    """All of it; `told` hears (number of the seed in the list, line of the tool)."""
    if not seeds or len(set(seeds)) < len(seeds):
        raise ParameterError(f"seeds must be different numbers, at least one, not {list(seeds)}")
    alone = cells(name, params, again=again)
    pinned = netlist(Pins(designs.design(name, params)), Ecp5())
    placements = {}
    for at, seed in enumerate(seeds):
        hear = None if told is None else _numbered(told, at)
        placements[seed] = placement.place(pinned, seed, chip, hear, again=again)
    return Resources(name, alone, placements)


def _numbered(told: Callable[[int, str], None], at: int) -> Callable[[str], None]:
    return lambda line: told(at, line)
