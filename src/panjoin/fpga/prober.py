"""The paper's prober: tuples of a partition and ascending bounds come in, positions come out.

    tuples  key       2  3  5  7 |  11 13 |end          bounds    5       8            12    |end
            position  0  1  2  3 |  6  7                answers   2       4            7     |end

For each bound: the position of the first tuple with key >= bound, which is one more than that of the last smaller
tuple taken. A tuple smaller than the bound at hand is taken; otherwise the bound is answered and leaves. So a bound
that all tuples are smaller than is answered, too: the end word, +infinity, exceeds it (the paper's text leaves that
out).

The tuples' payload is their position, so that only the partitions that a bound lies in need to be sent: before a bound
comes the partition that it lies in, and nothing is sent of those between. Behind each partition comes a mark with the
limit up to which bounds lie in it, so that all of them are answered before anything is known about the next. Bounds
have one bit more than keys: the bound behind the largest key is 2^key_bits, and "key <= v" is "key < v + 1" for every
v.

The answer keeps the bound's payload, its number in the batch: key = position, payload = number.
"""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.params import Params
from panjoin.fpga.window import Window
from panjoin.fpga.words import word_layout


class Prober(wiring.Component):
    """See the head of this file."""

    def __init__(self, params: Params) -> None:
        self._params = params
        self._tuple = word_layout(params.key_bits + 1, params.payload_bits)
        self._bound = word_layout(params.key_bits + 1, params.payload_bits)
        self._answer = word_layout(params.payload_bits, params.payload_bits)
        super().__init__(
            {
                "tuples": In(stream.Signature(self._tuple)),
                "bounds": In(stream.Signature(self._bound)),
                "o": Out(stream.Signature(self._answer)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """The merger's window, of which only the bounds go out, with the position reached."""
        del platform
        m = Module()
        m.submodules.window = window = Window(self._bound, self._tuple)
        wiring.connect(m, wiring.flipped(self.bounds), window.a)
        wiring.connect(m, wiring.flipped(self.tuples), window.b)
        held, valid, reached = Signal(self._answer), Signal(), Signal(self._params.payload_bits)
        m.d.comb += [window.stall.eq(valid & ~self.o.ready), self.o.payload.eq(held), self.o.valid.eq(valid)]
        with m.If(window.step & ~window.choice & window.real & ~window.from_b.end):
            m.d.sync += reached.eq(window.from_b.payload + 1)
        with m.If(window.step):
            m.d.sync += [
                held.key.eq(reached),
                held.payload.eq(window.from_a.payload),
                held.end.eq(window.from_a.end),
            ]
            with m.If(window.choice & window.from_a.end):
                m.d.sync += [held.key.eq(0), reached.eq(0)]
        with m.If(window.step | self.o.ready):
            m.d.sync += valid.eq(window.step & window.real & window.choice)
        return m
