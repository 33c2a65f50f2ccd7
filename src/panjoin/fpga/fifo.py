"""A queue between two units, built for the clock: a memory, its two registers, and two registers at the exit.

    i ──> memory ──> [latch] ──> [data] ──> [spare] [head] ──> o       `depth` words in memory, four on the way out
           level                             2-register exit

No signal runs through: `i.ready` and `o.valid` come from registers, and what moves inside depends on registers alone,
so two queues and the unit between them are three separate paths for the clock. The memory never reads a place in the
cycle in which it is written, because a word counts as there from the next cycle on.

Invariants: words come out as they went in, in order; at most `depth` are in the memory; o.valid falls only after a
move.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Shape, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.ram import Ram


class Fifo(wiring.Component):
    """See the head of this file. `depth` is a power of two; `left` is 1 in the cycle after one in which a word left."""

    def __init__(self, shape: Any, depth: int) -> None:
        self.shape, self.depth = shape, depth
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape)), "left": Out(1)})

    def elaborate(self, platform: object) -> Module:
        """The queue."""
        del platform
        m = Module()
        width, depth = Shape.cast(self.shape).width, self.depth
        m.submodules.ram = ram = Ram(width, depth)
        level = Signal(range(depth + 1))
        some, full = Signal(), Signal()
        latch_valid, data_valid, spare_valid, head_valid = Signal(), Signal(), Signal(), Signal()
        spare, head = Signal(width), Signal(width)
        put, move, pop = Signal(), Signal(), Signal()

        m.d.comb += [
            self.i.ready.eq(~full),
            put.eq(self.i.valid & ~full),
            ram.write.eq(put),
            ram.write_data.eq(self.i.payload),
            move.eq(data_valid & ~spare_valid),
            ram.take.eq(latch_valid & (~data_valid | ~spare_valid)),
            ram.read.eq(some & (~latch_valid | ~data_valid | ~spare_valid)),
            pop.eq(head_valid & self.o.ready),
            self.o.valid.eq(head_valid),
            self.o.payload.eq(head),
        ]
        m.d.sync += self.left.eq(pop)
        # `some` and `full` by comparison with the old level: behind the adder they cost 190 instead of 240 MHz
        with m.If(put & ~ram.read):
            m.d.sync += [level.eq(level + 1), some.eq(1), full.eq(level == depth - 1)]
        with m.Elif(~put & ram.read):
            m.d.sync += [level.eq(level - 1), some.eq(level != 1), full.eq(0)]
        with m.If(put):
            m.d.sync += ram.write_at.eq(ram.write_at + 1)
        with m.If(ram.read):
            m.d.sync += ram.read_at.eq(ram.read_at + 1)
        m.d.sync += [
            latch_valid.eq(ram.read | (latch_valid & ~ram.take)),
            data_valid.eq(ram.take | (data_valid & ~move)),
        ]
        # the exit: `spare` catches the word that was on its way when the head did not leave
        with m.If(pop | ~head_valid):
            m.d.sync += [
                head.eq(Mux(spare_valid, spare, ram.data)),
                head_valid.eq(spare_valid | data_valid),
                spare_valid.eq(0),
            ]
        with m.Elif(move):
            m.d.sync += spare_valid.eq(1)
        with m.If(~spare_valid):
            m.d.sync += spare.eq(ram.data)
        return m
