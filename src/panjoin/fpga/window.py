"""The heart of merger and prober: two ascending streams become one decision per clock, at the clock of a bare adder.

    a.. ──> a2 a1 a0 ──┐
                       ├──> the smaller head; a where they are equal
    b.. ──> b2 b1 b0 ──┘

The decision "a0 <= b0" needs a comparison of 33 bits, and the next decision depends on this one. A comparison inside
that loop costs the clock (84 MHz in a trial). Here every comparison is made two steps ahead, for all three pairs that
can meet by then, and rests in a register before anybody chooses:

    step n     the comparators look at (a2, b0), (a1, b1), (a0, b2), whatever happens at step n
    step n+1   registers two_a, one_each, two_b hold the answers; `last` is what step n chose
               after a:  the pairs one choice away from now are (a1,b0) = two_a, (a0,b1) = one_each
               after b:                                         (a1,b0) = one_each, (a0,b1) = two_b
    step n+2   `choice` is one of these, by the choice of step n+1: a function of five registers

A comparison is the borrow of a subtraction: x <= y when y - x does not borrow.

Nobody waits for an input: when a side was chosen and has no word yet, its newest word is doubled as a blank, which
leaves in its turn and is no word of the answer. Its key is that of the word before it, so it is in its place whatever
comes. A slice starts with blanks of the smallest key (6 steps). End words stay at the inputs until both slices have
ended; then both leave together (`clear`).

Invariants: `choice` is 1 exactly when {end, key} of a0 <= {end, key} of b0; each window ascends when its slice does;
behind an end word there are only end words.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out


class Window(wiring.Component):
    """Choose between two streams. In cycles with `step`, `word` leaves, from a if `choice`, else from b.

    `real` is 0 for blank words. `stall` from outside stops everything. `a_key` and `b_key` bits are compared from 0 up
    with the end bit above; both layouts have `key`, `payload`, `end`, and the wider key decides.
    """

    def __init__(self, a: data.StructLayout, b: data.StructLayout) -> None:
        self._a, self._b = a, b
        super().__init__(
            {
                "a": In(stream.Signature(a)),
                "b": In(stream.Signature(b)),
                "stall": In(1),
                "step": Out(1),
                "choice": Out(1),
                "from_a": Out(a),
                "from_b": Out(b),
                "real": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """The windows, the comparators and the choice."""
        del platform
        m = Module()
        bits = max(self._a["key"].width, self._b["key"].width)
        windows: dict[str, list[Any]] = {}
        reals: dict[str, list[Signal]] = {}
        for name, layout in (("a", self._a), ("b", self._b)):
            windows[name] = [Signal(layout, name=f"{name}{at}") for at in range(3)]
            reals[name] = [Signal(name=f"{name}{at}_real") for at in range(3)]
        a, b = windows["a"], windows["b"]

        two_a, one_each, two_b, last = (Signal(init=1) for _ in range(4))
        choice = Signal(init=1)
        clear, step = Signal(), Signal()
        m.d.comb += [
            step.eq(~self.stall & ~clear),
            self.step.eq(step),
            self.choice.eq(choice),
            self.from_a.eq(a[0]),
            self.from_b.eq(b[0]),
            self.real.eq(Mux(choice, reals["a"][0], reals["b"][0])),
            self.a.ready.eq(clear | (step & choice & ~self.a.payload.end)),
            self.b.ready.eq(clear | (step & ~choice & ~self.b.payload.end)),
        ]
        with m.If(step):
            m.d.sync += [
                two_a.eq(_at_most(a[2], b[0], bits)),
                one_each.eq(_at_most(a[1], b[1], bits)),
                two_b.eq(_at_most(a[0], b[2], bits)),
                last.eq(choice),
                choice.eq(
                    Mux(choice, Mux(last, two_a, one_each), Mux(last, one_each, two_b)),
                ),
            ]
        for name, source, chosen in (("a", self.a, choice), ("b", self.b, ~choice)):
            first, second, third = (Value.cast(word) for word in windows[name])
            with m.If(step & chosen):
                m.d.sync += [
                    first.eq(second),
                    second.eq(third),
                    Cat(*reals[name]).eq(Cat(*reals[name][1:], source.valid)),
                ]
                with m.If(source.valid):
                    m.d.sync += third.eq(source.payload)
        # Both heads are end words: the slice is over. All six words are end words with key 0, so taking the end bits
        # away makes them blank.
        m.d.sync += clear.eq(step & choice & a[0].end)
        with m.If(clear):
            m.d.sync += [flag.eq(0) for name in "ab" for flag in (*reals[name], *(word.end for word in windows[name]))]
            m.d.sync += [flag.eq(1) for flag in (two_a, one_each, two_b, last, choice)]
        return m


def _at_most(x: Any, y: Any, bits: int) -> Value:
    """{end, key} of x <= that of y, as the borrow of a subtraction."""
    difference = _ranked(y, bits) - _ranked(x, bits)
    return ~difference[bits + 1]


def _ranked(word: Any, bits: int) -> Value:
    zeros = bits - len(word.key)
    return Cat(word.key, *([0] * zeros), word.end)
