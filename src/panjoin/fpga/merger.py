"""The paper's merger: two input streams, a comparator, one output stream; one tuple per clock, stable.

    a   2  5  9 |end          o   2  4  5  5' 9 |end           equal keys: a's come first, and a is the older side
    b   4  5' |end

Per slice there are 8 further cycles: six blank words leave the windows first, then the end word, then one to clear.
A slice that does not ascend comes out in some order, but complete (the windows never drop or double a word).
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.params import Params
from panjoin.fpga.window import Window
from panjoin.fpga.words import word_layout


class Merger(wiring.Component):
    """See the head of this file."""

    def __init__(self, params: Params) -> None:
        self._word = word_layout(params.key_bits, params.payload_bits)
        words = stream.Signature(self._word)
        super().__init__({"a": In(words), "b": In(words), "o": Out(words)})

    def elaborate(self, platform: object) -> Module:
        """A window, and a register at the exit."""
        del platform
        m = Module()
        m.submodules.window = window = Window(self._word, self._word)
        wiring.connect(m, wiring.flipped(self.a), window.a)
        wiring.connect(m, wiring.flipped(self.b), window.b)
        held, valid = Signal(self._word), Signal()
        m.d.comb += [window.stall.eq(valid & ~self.o.ready), self.o.payload.eq(held), self.o.valid.eq(valid)]
        with m.If(window.step):
            m.d.sync += held.eq(Mux(window.choice, window.from_a, window.from_b))
        with m.If(window.step | self.o.ready):
            m.d.sync += valid.eq(window.step & window.real)
        return m
