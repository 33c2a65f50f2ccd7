"""The boundary generator: a probing tuple becomes the bound whose lower bound in the array is asked for.

    a BETWEEN b - 5 AND b + 10, seen from b = 7:      low end   first a >= 2           bound = 7 + (-5)
                                                      high end  first a >  17          bound = 7 + 10 + 1
    a = b                                             low end 7, high end 8
    a <= b  (one-sided)                               low end 0: an offset of -2^key_bits, which saturates
    a != b                                            as a = b; the label *not* stands beside the answer

One pass makes low ends, another high ends; the pass's `offset` is all that differs. Sums saturate at 0 and at
2^key_bits, the bound behind the largest key, so that a band may reach past the type's ends.
"""

from __future__ import annotations

from amaranth.hdl import Module, Signal, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.params import Params
from panjoin.fpga.words import word_layout


class Boundary(wiring.Component):
    """Two registers deep; end words pass through."""

    def __init__(self, params: Params) -> None:
        self._bits = params.key_bits
        self._tuple = word_layout(params.key_bits, params.payload_bits)
        self._bound = word_layout(params.key_bits + 1, params.payload_bits)
        super().__init__(
            {
                "i": In(stream.Signature(self._tuple)),
                "o": Out(stream.Signature(self._bound)),
                "offset": In(signed(params.key_bits + 2)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Add, then saturate."""
        del platform
        m = Module()
        total, word, word_valid = Signal(signed(self._bits + 3)), Signal(self._tuple), Signal()
        bound, bound_valid = Signal(self._bound), Signal()
        go = Signal()
        m.d.comb += [
            go.eq(~bound_valid | self.o.ready),
            self.i.ready.eq(go),
            self.o.valid.eq(bound_valid),
            self.o.payload.eq(bound),
        ]
        with m.If(go):
            m.d.sync += [
                total.eq(self.i.payload.key + self.offset),
                word.eq(self.i.payload),
                word_valid.eq(self.i.valid),
                bound_valid.eq(word_valid),
                bound.payload.eq(word.payload),
                bound.end.eq(word.end),
                bound.key.eq(total),
            ]
            with m.If(word.end | (total < 0)):
                m.d.sync += bound.key.eq(0)
            with m.Elif(total > 1 << self._bits):
                m.d.sync += bound.key.eq(1 << self._bits)
        return m
