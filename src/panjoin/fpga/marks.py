"""Behind the last tuple of each partition, a mark: the limit as its key, and the last tuple's position.

    tuples   2  3  5' |  11 13'              limits  7, 17
    out      2  3  5  7 |  11 13 17          7 and 17 are marks; a bound of 6 is answered by the first

A mark is as large as any bound that lies in the partition, so those are answered without the next partition's tuples,
which may not be asked for before (the finder waits for room behind them). Its position is that of the tuple before it,
so taking it changes nothing.
"""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.params import Params
from panjoin.fpga.words import word_layout


class Marks(wiring.Component):
    """`tail` comes with the last word of a partition."""

    def __init__(self, params: Params) -> None:
        self._params = params
        self._tuple = data.StructLayout({"word": word_layout(params.key_bits, params.payload_bits), "tail": 1})
        self._out = word_layout(params.key_bits + 1, params.payload_bits)
        super().__init__(
            {
                "i": In(stream.Signature(self._tuple)),
                "limits": In(stream.Signature(params.key_bits + 1)),
                "o": Out(stream.Signature(self._out)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """One register; a mark takes a turn of its own."""
        del platform
        m = Module()
        word, valid, owed, go = Signal(self._out), Signal(), Signal(), Signal()
        m.d.comb += [
            go.eq(~valid | self.o.ready),
            self.o.payload.eq(word),
            self.o.valid.eq(valid),
            self.i.ready.eq(go & ~owed),
            self.limits.ready.eq(go & owed),
        ]
        with m.If(go):
            with m.If(owed):
                m.d.sync += [valid.eq(self.limits.valid), owed.eq(~self.limits.valid), word.key.eq(self.limits.payload)]
            with m.Else():
                m.d.sync += [
                    valid.eq(self.i.valid),
                    word.key.eq(self.i.payload.word.key),
                    word.payload.eq(self.i.payload.word.payload),
                    word.end.eq(self.i.payload.word.end),
                    owed.eq(self.i.valid & self.i.payload.tail),
                ]
        return m
