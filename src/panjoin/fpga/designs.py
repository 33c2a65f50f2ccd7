"""All designs by name, for those who simulate, place or report them.

    merger-N, prober-N      N units alone, each between queues as in the worker: what a unit costs
    worker                  the whole node; what it wants from memory is its ports
    board                   the node with the memory's model: for simulation only

Ports of a design are those of the component that `design` returns; `params` may be a preset's name.
"""

from __future__ import annotations

import re
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from panjoin.errors import ParameterError
from panjoin.fpga.board import Board
from panjoin.fpga.fifo import Fifo
from panjoin.fpga.merger import Merger
from panjoin.fpga.params import Params, preset
from panjoin.fpga.prober import Prober
from panjoin.fpga.worker import Worker

#: Those that reports show.
NAMES = ("merger-1", "merger-8", "prober-1", "prober-8", "worker")


def design(name: str, params: Params | str = "ecp5-85") -> wiring.Component:
    """The design called `name`."""
    chosen = preset(params) if isinstance(params, str) else params
    units = re.fullmatch(r"(merger|prober)-([1-9]\d?)", name)
    if units:
        return Bank({"merger": Merger, "prober": Prober}[units[1]], int(units[2]), chosen)
    if name == "worker":
        return Worker(chosen)
    if name == "board":
        return Board(chosen)
    raise ParameterError(f"no design is called {name!r}; there are {', '.join(map(repr, NAMES))}")


class Bank(wiring.Component):
    """`count` units side by side, each with a queue at every stream. Streams are called u0_a, u0_b, u0_o, u1_a, ..."""

    def __init__(self, unit: type[wiring.Component], count: int, params: Params) -> None:
        self._params = params
        self._units = [unit(params) for _ in range(count)]
        members: dict[str, Any] = {}
        for at, each in enumerate(self._units):
            for name, member in each.signature.members.items():
                flow = In if member.flow is In else Out
                members[f"u{at}_{name}"] = flow(stream.Signature(member.signature.members["payload"].shape))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        """Queues around each unit."""
        del platform
        m = Module()
        for at, unit in enumerate(self._units):
            m.submodules[f"u{at}"] = unit
            for name, member in unit.signature.members.items():
                fifo = Fifo(member.signature.members["payload"].shape, self._params.fifo_depth)
                m.submodules[f"u{at}_{name}_fifo"] = fifo
                outside, inside = wiring.flipped(getattr(self, f"u{at}_{name}")), getattr(unit, name)
                if member.flow is In:
                    wiring.connect(m, outside, fifo.i)
                    wiring.connect(m, fifo.o, inside)
                else:
                    wiring.connect(m, inside, fifo.i)
                    wiring.connect(m, fifo.o, outside)
        return m
