"""The memory arbiter: a ring with one slot per port; in its slot a port's waiting command goes out.

    slot     0    1    2  ...  N-1   N         one turn
    port     0    1    2       N-1   cutter

A command moves up to `burst` tuples and a port needs at most two per clock (one read, one written), so one command
per turn is enough as long as burst >= 2 turns. Nobody waits longer than a turn for others; when a channel's queue is
full, those that want it wait until it is not. A slot is a bit of a ring, so what is chosen is an or of ands.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.bursts import command_layout, log2
from panjoin.fpga.params import Params


class Arbiter(wiring.Component):
    """Commands of all ports become one line; `slot` tells others whose turn it is."""

    def __init__(self, params: Params) -> None:
        self._params = params
        self._ports = params.ports + 1
        super().__init__(
            {
                "commands": In(stream.Signature(command_layout(params))).array(self._ports),
                "full": In(params.memory.channels),
                "command": Out(data.StructLayout({"command": command_layout(params), "port": range(self._ports)})),
                "command_valid": Out(1),
                "slot": Out(range(params.turn)),
                "ring": Out(params.turn),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """A ring; per port a register that says whether its command may go."""
        del platform
        m = Module()
        p = self._params
        ring = Signal(p.turn, init=1)
        m.d.sync += [
            ring.eq(Cat(ring[-1], ring[:-1])),
            self.slot.eq(Mux(ring[-1], 0, self.slot + 1)),
        ]
        m.d.comb += self.ring.eq(ring)
        chosen: Value | None = None
        grants = []
        for u in range(self._ports):
            command = self.commands[u].payload
            channels = p.memory.channels
            channel = command.address[log2(p.burst) : log2(p.burst) + log2(channels)]
            full = self.full.bit_select(channel, 1) if channels > 1 else self.full[0]
            may, grant = Signal(name=f"may{u}"), Signal(name=f"grant{u}")
            m.d.comb += [grant.eq(may & ring[u]), self.commands[u].ready.eq(grant)]
            m.d.sync += may.eq(self.commands[u].valid & ~full & ~grant)
            grants.append(grant)
            line = Mux(grant, Cat(Value.cast(command), Const(u, 8)), 0)
            chosen = line if chosen is None else chosen | line
        m.d.sync += [Value.cast(self.command).eq(chosen), self.command_valid.eq(Cat(grants).any())]
        return m
