"""A design that every tool is through with in a second: a stream of numbers in, the stream of their running sums out."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class RunningSum(wiring.Component):
    """One register between input and output; a sum waits there until it is taken."""

    def __init__(self, width: int = 16) -> None:
        self.width = width
        super().__init__({"numbers": In(stream.Signature(width)), "sums": Out(stream.Signature(width)), "full": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        total = Signal(self.width)
        m.d.comb += [self.numbers.ready.eq(~self.sums.valid | self.sums.ready), self.full.eq(total.all())]
        with m.If(self.sums.ready):
            m.d.sync += self.sums.valid.eq(0)
        with m.If(self.numbers.valid & self.numbers.ready):
            m.d.sync += [
                total.eq(total + self.numbers.payload),
                self.sums.payload.eq(total + self.numbers.payload),
                self.sums.valid.eq(1),
            ]
        return m
