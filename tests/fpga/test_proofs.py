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
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from panjoin.fpga.boundary import Boundary
from panjoin.fpga.fifo import Fifo
from panjoin.fpga.flow import tools
from panjoin.fpga.flow.netlist import netlist
from panjoin.fpga.marks import Marks
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


def waits_as_it_was(m: Module, stream: Any, word: Any) -> None:
    """The contract of whoever offers: a word stays as it is until it is taken."""
    waits, waited = Signal(), Signal(len(word))
    m.d.sync += [waits.eq(stream.valid & ~stream.ready), waited.eq(word)]
    with m.If(waits):
        m.d.comb += Assume(stream.valid & (word == waited))


def stays_as_it_is(m: Module, stream: Any, taken: Any) -> None:
    """The same, proven of an output."""
    waits, waited, word = Signal(), Signal(len(Cat(stream.payload))), Cat(stream.payload)
    m.d.sync += [waits.eq(stream.valid & ~taken), waited.eq(word)]
    with m.If(waits):
        m.d.comb += [Assert(stream.valid), Assert(word == waited)]


class BoundarySpec(wiring.Component):
    """Free keys with numbers; the bounds come in order, and each is its key moved by the offset, within the type."""

    def __init__(self, *, leaky: bool) -> None:
        self._leaky = leaky
        super().__init__({"offer": In(1), "key": In(3), "end": In(1), "offset": In(signed(8)), "accept": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.boundary = boundary = Boundary(TINY)
        given, taken, started, offset = Signal(NUMBERS), Signal(NUMBERS), Signal(), Signal(signed(8))
        m.d.sync += [started.eq(1), offset.eq(self.offset)]
        with m.If(started):
            m.d.comb += Assume(offset == self.offset)
        i, o = boundary.i, boundary.o
        m.d.comb += [
            boundary.offset.eq(self.offset),
            i.valid.eq(self.offer),
            i.payload.key.eq(Mux(self.end, 0, self.key << 3)),
            i.payload.end.eq(self.end),
            i.payload.payload.eq(Cat(given, self.key)),
            o.ready.eq(1 if self._leaky else self.accept),
        ]
        waits_as_it_was(m, i, Cat(self.key, self.end))
        stays_as_it_is(m, o, self.accept)
        with m.If(i.valid & i.ready):
            m.d.sync += given.eq(given + 1)
        moved = Signal(signed(12))
        m.d.comb += moved.eq((o.payload.payload[NUMBERS:] << 3) + self.offset)
        with m.If(o.valid):
            m.d.comb += Assert(o.payload.payload[:NUMBERS] == taken)
            with m.If(o.payload.end):
                m.d.comb += Assert(o.payload.key == 0)
            with m.Elif(moved < 0):
                m.d.comb += Assert(o.payload.key == 0)
            with m.Elif(moved > 64):
                m.d.comb += Assert(o.payload.key == 64)
            with m.Else():
                m.d.comb += Assert(o.payload.key == moved)
            with m.If(self.accept):
                m.d.sync += taken.eq(taken + 1)
        return m


class MarksSpec(wiring.Component):
    """Numbered tuples, some of them the last of a partition, and numbered limits; a limit has the highest bit set."""

    def __init__(self, *, leaky: bool) -> None:
        self._leaky = leaky
        super().__init__({name: In(1) for name in ("offer", "tail", "end", "offer_limit", "accept")})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.marks = marks = Marks(TINY)
        given, taken, limits, marked = (Signal(NUMBERS, name=name) for name in ("given", "taken", "limits", "marked"))
        owed, last = Signal(), Signal(NUMBERS)
        i, o = marks.i, marks.o
        m.d.comb += [
            Assume(~(self.tail & self.end)),
            i.valid.eq(self.offer),
            i.payload.tail.eq(self.tail),
            i.payload.word.end.eq(self.end),
            i.payload.word.key.eq(Cat(given, given[:2])),
            i.payload.word.payload.eq(Cat(given, self.tail)),
            marks.limits.valid.eq(self.offer_limit),
            marks.limits.payload.eq(Cat(limits, limits[:2], 1)),
            o.ready.eq(1 if self._leaky else self.accept),
        ]
        waits_as_it_was(m, i, Cat(self.tail, self.end))
        waits_as_it_was(m, marks.limits, limits)
        stays_as_it_is(m, o, self.accept)
        with m.If(i.valid & i.ready):
            m.d.sync += given.eq(given + 1)
        with m.If(marks.limits.valid & marks.limits.ready):
            m.d.sync += limits.eq(limits + 1)
        is_mark, number = o.payload.key[-1], o.payload.payload[:NUMBERS]
        with m.If(o.valid):
            m.d.comb += Assert(is_mark == owed)
            with m.If(is_mark):
                m.d.comb += [Assert(o.payload.key[:NUMBERS] == marked), Assert(number == last)]
            with m.Else():
                m.d.comb += Assert(number == taken)
            with m.If(self.accept & is_mark):
                m.d.sync += [marked.eq(marked + 1), owed.eq(0)]
            with m.If(self.accept & ~is_mark):
                m.d.sync += [taken.eq(taken + 1), last.eq(number), owed.eq(o.payload.payload[NUMBERS])]
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
    assert holds(QueueSpec(depth, leaky=False), "-seq 20", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [MergerSpec, ProberSpec])
def test_merger_and_prober_keep_their_words_in_every_run_from_the_start(spec: Any, tmp_path: Path) -> None:
    assert holds(spec(leaky=False), "-seq 15", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [BoundarySpec, MarksSpec])
def test_boundary_generator_and_marks_keep_their_words_and_say_what_they_should(spec: Any, tmp_path: Path) -> None:
    assert holds(spec(leaky=False), "-seq 20", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        lambda: QueueSpec(2, leaky=True),
        *(lambda each=each: each(leaky=True) for each in (MergerSpec, ProberSpec, BoundarySpec, MarksSpec)),
    ],
)
def test_a_proof_with_a_consumer_that_lies_is_refuted(spec: Any, tmp_path: Path) -> None:
    assert not holds(spec(), "-seq 16", tmp_path)
