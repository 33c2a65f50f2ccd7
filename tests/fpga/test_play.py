"""Streams played inside a compiled simulation: what comes out, what it takes, and designs that break the contract."""

from __future__ import annotations

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from panjoin.errors import ParameterError
from panjoin.fpga.flow.netlist import netlist
from panjoin.fpga.flow.play import StreamError, play, streams
from panjoin.fpga.flow.steady import slices, steady
from panjoin.fpga.flow.work import insertions, probings
from tests.fpga.tiny import RunningSum

WORDS = np.arange(1, 101, dtype=np.uint32).reshape(-1, 1)


class Fickle(wiring.Component):
    """Offers another word in every clock, taken or not."""

    def __init__(self) -> None:
        super().__init__({"o": Out(stream.Signature(8)), "unused": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(8)
        m.d.sync += count.eq(count + 1)
        m.d.comb += [self.o.payload.eq(count), self.o.valid.eq(1)]
        return m


@pytest.mark.parametrize("pause", [0.0, 0.2, 0.7])
def test_words_come_out_as_the_design_says_whatever_pauses(pause: float) -> None:
    played = play(netlist(RunningSum()), {"numbers": WORDS}, {"sums": 100}, pause=pause, seed=3)
    assert played.words["sums"][:, 0].tolist() == np.cumsum(WORDS).tolist()
    assert played.clocks == 101 if pause == 0 else played.clocks > 101 / (1 - pause)


def test_streams_are_found_by_their_names() -> None:
    assert streams(netlist(RunningSum())) == (["numbers"], ["sums"])


def test_a_design_that_stops_or_breaks_the_contract_is_told() -> None:
    with pytest.raises(StreamError, match="no end after 500 clocks; words that came: sums 100 of 101"):
        play(netlist(RunningSum()), {"numbers": WORDS}, {"sums": 101}, limit=500)
    with pytest.raises(StreamError, match="o changed a word that it had offered before it was taken"):
        play(netlist(Fickle()), {}, {"o": 50}, pause=0.5)


def test_what_does_not_fit_the_design_is_refused() -> None:
    design = netlist(RunningSum())
    with pytest.raises(ParameterError, match=r"the design has the inputs \['numbers'\] and the outputs \['sums'\]"):
        play(design, {"other": WORDS}, {"sums": 1})
    with pytest.raises(ParameterError, match="pause is a share of the clocks from 0 to below 1, not 1"):
        play(design, {"numbers": WORDS}, {"sums": 1}, pause=1)
    with pytest.raises(ParameterError, match=r"numbers takes rows of 1 columns, not an array of shape \(100,\)"):
        play(design, {"numbers": WORDS[:, 0]}, {"sums": 1})


@pytest.mark.parametrize("name", ["merger-1", "prober-1"])
def test_units_take_a_tuple_per_clock_but_for_the_begin_and_the_end_of_a_slice(name: str) -> None:
    found = steady(name, "index-int32", 4096)
    assert 4096 < found.clocks <= 4096 + 20


def test_sizes_that_cannot_be_simulated_are_refused() -> None:
    with pytest.raises(ParameterError, match="slices are for merger-N and prober-N, not for 'worker'"):
        slices("worker", 4)
    with pytest.raises(ParameterError, match="tuples must be an even number of at least 2, not 3"):
        steady("merger-1", "index-int32", 3)
    with pytest.raises(ParameterError, match="words are packed for 32-bit keys and payloads, not 64 and 32"):
        steady("merger-1", "index-int64", 4)
    for work in (insertions, probings):
        with pytest.raises(ParameterError, match="capacity must be between 1 and 131072 here, not 0"):
            next(work("index-int32", 0, [1]))
