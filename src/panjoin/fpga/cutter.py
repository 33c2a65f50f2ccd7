"""The merge partitioner: cuts one merge of two sorted arrays into pieces of equal output, which merge on their own.

    main   2  3  5 | 7 11 13            output positions  0 1 2 3 | 4 5 6 7      cut at 4:
    batch  4 | 5  6  9                                    2 3 4 5 | 5 6 7 9      3 of main, 1 of the batch

The cut for output position d is the number i of tuples of a among the first d; equal keys: a's come first, as in the
merger. It is the only i with a[i-1] <= b[d-i] and b[d-i-1] < a[i], found by bisection ("merge path"): two words of
memory per step. As i lies within the batch's size of d, a batch of n costs about log2(n) steps, however large a is.
Pieces read disjoint ranges and write disjoint ranges, so their outputs stand one behind the other as they are.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.bursts import command_layout
from panjoin.fpga.params import Params


class Cutter(wiring.Component):
    """`ask` for the cut at `at`; `found` for one clock with `cut`. Sizes and bases must not change meanwhile."""

    def __init__(self, params: Params) -> None:
        self._params = params
        address = params.address_bits
        super().__init__(
            {
                "ask": In(1),
                "at": In(address),
                "a_base": In(address),
                "b_base": In(address),
                "a_size": In(address),
                "b_size": In(address),
                "found": Out(1),
                "cut": Out(address),
                "commands": Out(stream.Signature(command_layout(params))),
                "arrived": In(1),
                "word": In(params.word_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Bisection, one comparison per turn through memory."""
        del platform
        m = Module()
        p = self._params
        lo, hi, middle, address, other = (Signal(p.address_bits) for _ in range(5))
        equal, b_first = Signal(), Signal()
        key_a, key_b = Signal(p.key_bits), Signal(p.key_bits)
        difference = Signal(p.key_bits + 1)
        m.d.comb += [
            self.cut.eq(lo),
            self.commands.payload.address.eq(address),
            self.commands.payload.count.eq(1),
            difference.eq(key_b - key_a),
        ]
        came = Signal(2)  # a's word comes first; it may come while b's is still asked for
        with m.If(self.arrived):
            m.d.sync += came.eq(came + 1)
            with m.If(came[0]):
                m.d.sync += key_b.eq(self.word)
            with m.Else():
                m.d.sync += key_a.eq(self.word)
        with m.FSM():
            with m.State("idle"):
                m.d.sync += [
                    lo.eq(Mux(self.at > self.b_size, self.at - self.b_size, 0)),
                    hi.eq(Mux(self.at > self.a_size, self.a_size, self.at)),
                ]
                with m.If(self.ask):
                    m.next = "middle"
            with m.State("middle"):
                m.d.sync += [middle.eq(Cat(lo + hi)[1:]), equal.eq(lo == hi)]
                m.next = "addresses"
            with m.State("addresses"):
                m.d.sync += [address.eq(self.a_base + middle), other.eq(self.at - middle)]
                with m.If(equal):
                    m.d.comb += self.found.eq(1)
                    m.next = "idle"
                with m.Else():
                    m.next = "ask a"
            with m.State("ask a"):
                m.d.comb += self.commands.valid.eq(1)
                with m.If(self.commands.ready):
                    m.d.sync += address.eq(self.b_base + other)
                    m.next = "behind b"
            with m.State("behind b"):
                m.d.sync += address.eq(address - 1)
                m.next = "ask b"
            with m.State("ask b"):
                m.d.comb += self.commands.valid.eq(1)
                with m.If(self.commands.ready):
                    m.next = "wait"
            with m.State("wait"), m.If(came[1]):
                m.d.sync += came.eq(0)
                m.next = "compare"
            with m.State("compare"):
                m.d.sync += b_first.eq(difference[-1])
                m.next = "choose"
            with m.State("choose"):
                with m.If(b_first):
                    m.d.sync += hi.eq(middle)
                with m.Else():
                    m.d.sync += lo.eq(middle + 1)
                m.next = "middle"
        return m
