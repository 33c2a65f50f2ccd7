"""A memory with one write port and one read port whose answer passes two registers, as block RAM has them.

    at ──> [array] ──(read)──> [latch] ──(take)──> [data]      two cycles; both registers have an enable

The second register is inside the block RAM of the ECP5 (its output register), without which the data leaves the block
too late for 200 MHz; yosys does not infer it, so for that chip the blocks are instantiated (`block.py`). Whoever reads
keeps away from the place that is written in the same cycle; then no collision logic is needed (`no_rw_check`).
"""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.block import Ecp5, blocks

#: From this many words on, block RAM instead of distributed RAM.
_BLOCK_FROM = 64


class Ram(wiring.Component):
    """See the head of this file."""

    def __init__(self, width: int, depth: int) -> None:
        self.width, self.depth = width, depth
        super().__init__(
            {
                "write": In(1),
                "write_at": In(range(depth)),
                "write_data": In(width),
                "read": In(1),
                "read_at": In(range(depth)),
                "take": In(1),
                "data": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """An array that yosys maps to block or distributed RAM, or the chip's blocks themselves."""
        m = Module()
        if isinstance(platform, Ecp5) and self.depth >= _BLOCK_FROM:
            blocks(m, self)
            return m
        style = "block" if self.depth >= _BLOCK_FROM else "distributed"
        m.submodules.array = array = memory.Memory(
            shape=self.width, depth=self.depth, init=[], attrs={"no_rw_check": 1, "ram_style": style}
        )
        write, read = array.write_port(), array.read_port(domain="comb")
        latch = Signal(self.width)
        m.d.comb += [
            write.en.eq(self.write),
            write.addr.eq(self.write_at),
            write.data.eq(self.write_data),
            read.addr.eq(self.read_at),
        ]
        with m.If(self.read):
            m.d.sync += latch.eq(read.data)
        with m.If(self.take):
            m.d.sync += self.data.eq(latch)
        return m
