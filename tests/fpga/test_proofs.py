"""Proofs of the streams' contract: no word lost, doubled or out of order, whatever the inputs and whoever stalls.

The inputs number their words; what comes out must carry the next number. Words are data that no unit looks into but for
their key, so what holds for numbers holds for all words; numbers repeat only after more words than a unit can hold.
Bounded: all runs of so many clocks from the start, each bound several times what a word needs to pass.
Each proof has a control: the same, with a consumer that says it took what it did not, must be refuted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from panjoin.fpga.fifo import Fifo
from panjoin.fpga.flow import tools
from panjoin.fpga.flow.netlist import netlist
from panjoin.fpga.merger import Merger
from panjoin.fpga.params import Params
from panjoin.fpga.prober import Prober

TINY = Params(
    mergers=1, probers=1, key_bits=6, payload_bits=7, address_bits=6, fifo_depth=4, out_depth=4, burst=2, partitions=2
)
NUMBERS = 4  #: bits of a number: 16 is more than any unit here holds


class QueueSpec(wiring.Component):
    """Numbers in; the same numbers out."""

    def __init__(self, depth: int, *, leaky: bool) -> None:
        self._depth, self._leaky = depth, leaky
        super().__init__({"offer": In(1), "accept": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = Fifo(NUMBERS, self._depth)
        given, taken = Signal(NUMBERS), Signal(NUMBERS)
        held, holding = Signal(NUMBERS), Signal()
        m.d.comb += [
            queue.i.valid.eq(self.offer),
            queue.i.payload.eq(given),
            queue.o.ready.eq(1 if self._leaky else self.accept),
        ]
        with m.If(self.offer & queue.i.ready):
            m.d.sync += given.eq(given + 1)
        m.d.sync += [holding.eq(queue.o.valid & ~self.accept), held.eq(queue.o.payload)]
        with m.If(queue.o.valid):
            m.d.comb += Assert(queue.o.payload == taken)
            with m.If(self.accept):
                m.d.sync += taken.eq(taken + 1)
        with m.If(holding):
            m.d.comb += [Assert(queue.o.valid), Assert(queue.o.payload == held)]
        return m


class MergerSpec(wiring.Component):
    """Two sides of numbered words with free ascending keys, slices ending at any time."""

    def __init__(self, *, leaky: bool) -> None:
        self._leaky = leaky
        super().__init__(
            {f"{name}_{side}": In(width) for side in "ab" for name, width in (("offer", 1), ("key", 2), ("end", 1))}
            | {"accept": In(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.merger = merger = Merger(TINY)
        expected = {}
        for side, stream in (("a", merger.a), ("b", merger.b)):
            offer, key, end = (getattr(self, f"{name}_{side}") for name in ("offer", "key", "end"))
            number, slices, last = Signal(NUMBERS), Signal(2), Signal(2)
            waits, waited_key, waited_end = Signal(), Signal(2), Signal()
            m.d.comb += [
                stream.valid.eq(offer),
                stream.payload.end.eq(end),
                stream.payload.key.eq(Mux(end, 0, key)),
                stream.payload.payload.eq(Mux(end, 0, Cat(number, slices, side == "b"))),
            ]
            m.d.sync += [waits.eq(offer & ~stream.ready), waited_key.eq(key), waited_end.eq(end)]
            with m.If(waits):  # the contract of whoever offers
                m.d.comb += Assume(offer & (key == waited_key) & (end == waited_end))
            with m.If(offer & ~end):
                m.d.comb += Assume(key >= last)
            with m.If(offer & stream.ready):
                m.d.sync += last.eq(Mux(end, 0, key))
                with m.If(end):
                    m.d.sync += slices.eq(slices + 1)
                with m.Else():
                    m.d.sync += number.eq(number + 1)
            expected[side] = Signal(NUMBERS, name=f"expected_{side}")
        o = merger.o
        slices_out, last_key, last_from_b = Signal(2), Signal(2), Signal()
        from_b = o.payload.payload[-1]
        m.d.comb += o.ready.eq(1 if self._leaky else self.accept)
        with m.If(o.valid & ~o.payload.end):
            m.d.comb += [
                Assert(o.payload.payload[:NUMBERS] == Mux(from_b, expected["b"], expected["a"])),
                Assert(o.payload.payload[NUMBERS:-1] == slices_out),
                Assert((o.payload.key > last_key) | ((o.payload.key == last_key) & (from_b | ~last_from_b))),
            ]
            with m.If(self.accept):
                m.d.sync += [last_key.eq(o.payload.key), last_from_b.eq(from_b)]
                for side, mine in (("a", ~from_b), ("b", from_b)):
                    with m.If(mine):
                        m.d.sync += expected[side].eq(expected[side] + 1)
        with m.If(o.valid & o.payload.end & self.accept):
            m.d.sync += [slices_out.eq(slices_out + 1), last_key.eq(0), last_from_b.eq(0)]
        return m


class ProberSpec(wiring.Component):
    """Bounds with free ascending keys and numbers; tuples whose position is their number."""

    def __init__(self, *, leaky: bool) -> None:
        self._leaky = leaky
        super().__init__(
            {
                f"{name}_{side}": In(width)
                for side in ("bounds", "tuples")
                for name, width in (("offer", 1), ("key", 2), ("end", 1))
            }
            | {"accept": In(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.prober = prober = Prober(TINY)
        smaller = [Signal(NUMBERS, name=f"smaller_than_{key}") for key in range(4)]  # tuples given, by key
        for side in ("bounds", "tuples"):
            offer, key, end = (getattr(self, f"{name}_{side}") for name in ("offer", "key", "end"))
            stream = getattr(prober, side)
            number, last, ended = Signal(NUMBERS), Signal(2), Signal()
            waits, waited_key, waited_end = Signal(), Signal(2), Signal()
            m.d.comb += [
                stream.valid.eq(offer),
                stream.payload.end.eq(end),
                stream.payload.key.eq(Mux(end, 0, key)),
                stream.payload.payload.eq(Mux(end, 0, Cat(number, key if side == "bounds" else 0))),
                Assume(~(ended & offer)),  # one slice
            ]
            m.d.sync += [waits.eq(offer & ~stream.ready), waited_key.eq(key), waited_end.eq(end)]
            with m.If(waits):
                m.d.comb += Assume(offer & (key == waited_key) & (end == waited_end))
            with m.If(offer & ~end):
                m.d.comb += Assume((key >= last) & ~number.all())
            with m.If(offer & stream.ready):
                m.d.sync += last.eq(key)
                with m.If(end):
                    m.d.sync += ended.eq(1)
                with m.Else():
                    m.d.sync += number.eq(number + 1)
                    if side == "tuples":
                        for limit, count in enumerate(smaller):
                            with m.If(key < limit):
                                m.d.sync += count.eq(count + 1)
        expected, o = Signal(NUMBERS), prober.o
        m.d.comb += o.ready.eq(1 if self._leaky else self.accept)
        with m.If(o.valid & ~o.payload.end):
            bound = o.payload.payload[NUMBERS : NUMBERS + 2]
            m.d.comb += Assert(o.payload.payload[:NUMBERS] == expected)
            for limit, count in enumerate(smaller):
                with m.If(bound == limit):
                    m.d.comb += Assert(o.payload.key == count)
            with m.If(self.accept):
                m.d.sync += expected.eq(expected + 1)
        return m


def holds(spec: Any, how: str, directory: Path) -> bool:
    """True when yosys proves every assertion; False when it shows a run that breaks one."""
    (directory / "spec.il").write_text(netlist(spec).text, encoding="utf-8")
    said = tools.yosys(
        "read_rtlil spec.il; hierarchy -top top; proc; flatten; opt -full; memory -nomap; memory_map; async2sync; "
        f"chformal -lower; opt -full; clean; sat {how} -set rst 0 -prove-asserts -set-assumes top",
        directory,
    )
    proven = "SAT proof finished - no model found: SUCCESS!" in said or "Induction step proven: SUCCESS!" in said
    refuted = "model found: FAIL!" in said
    assert proven != refuted, said[-2000:]
    return proven


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2, 4])
def test_a_queue_keeps_its_words_in_every_run_from_the_start(depth: int, tmp_path: Path) -> None:
    assert holds(QueueSpec(depth, leaky=False), "-seq 40", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [MergerSpec, ProberSpec])
def test_merger_and_prober_keep_their_words_in_every_run_from_the_start(spec: Any, tmp_path: Path) -> None:
    assert holds(spec(leaky=False), "-seq 22", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec", [lambda: QueueSpec(2, leaky=True), lambda: MergerSpec(leaky=True), lambda: ProberSpec(leaky=True)]
)
def test_a_proof_with_a_consumer_that_lies_is_refuted(spec: Any, tmp_path: Path) -> None:
    assert not holds(spec(), "-seq 16", tmp_path)
