"""A design as a chip: a handful of pins, and registers between them and the design's ports.

    data in ──> [ ][ ][ ][ ]...   one register per input bit, a shift register      ──> design
    design ──> [ ][ ][ ][ ]...    one register per output bit ──> xor, 4 at a time  ──> data out

A unit has far more ports (8 mergers: over 1,600 bits) than the chip has pins. So every input comes from a register,
every output ends in one, none of it can be optimised away, and the clock that placement finds is that of paths from
register to register. The registers are counted in what placement reports; what synthesis counts is the design alone.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Pins(wiring.Component):
    """See the head of this file."""

    def __init__(self, design: wiring.Component) -> None:
        self.design = design
        super().__init__({"serial_in": In(1), "serial_out": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        """Registers around the design."""
        del platform
        m = Module()
        m.submodules.design = self.design
        inputs: list[Value] = []
        outputs: list[Value] = []
        for _, member, port in self.design.signature.flatten(self.design):
            (inputs if member.flow is In else outputs).append(Value.cast(port))
        given = Signal(len(Cat(inputs)), reset_less=True)
        taken = Signal(len(Cat(outputs)), reset_less=True)
        m.d.sync += [given.eq(Cat(self.serial_in, given)), taken.eq(Cat(outputs))]
        m.d.comb += Cat(inputs).eq(given)
        while len(taken) > 1:
            fewer = Signal((len(taken) + 3) // 4, reset_less=True)
            m.d.sync += fewer.eq(Cat(taken[at : at + 4].xor() for at in range(0, len(taken), 4)))
            taken = fewer
        m.d.comb += self.serial_out.eq(taken)
        return m
