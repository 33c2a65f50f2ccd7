"""Two simulators, one design: the clocks that the same work takes in CXXRTL and in Verilator, outputs held equal.

A unit is played with pauses and stalls, the worker runs a few commands. Both simulators get the same netlist and the
same driver, and share nothing else: what one of them takes wrongly, the other one does not take in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from panjoin.fpga import designs
from panjoin.fpga.flow import cxxrtl, verilator
from panjoin.fpga.flow.cxxrtl import Simulation
from panjoin.fpga.flow.netlist import Netlist, netlist
from panjoin.fpga.flow.play import driver, play
from panjoin.fpga.flow.steady import slices
from panjoin.fpga.machine import Machine, region
from panjoin.fpga.params import preset
from panjoin.fpga.worker import BATCH, HIGH, LOW, Op

SIMULATORS: Mapping[str, Callable[[Netlist, str], Path]] = {"CXXRTL": cxxrtl.build, "Verilator": verilator.build}
PRESET = "index-int32"  # its worker is compiled for the tests as well
TUPLES = 2_000  #: of each input
PAUSE = 0.2  #: share of clocks in which inputs pause, and outputs stall


def clocks(name: str) -> dict[str, int]:
    """Simulator -> clocks; `name` is merger-N, prober-N or worker."""
    run = _worker if name == "worker" else _unit
    found = {simulator: run(name, made) for simulator, made in SIMULATORS.items()}
    (one, other) = (words for _, words in found.values())
    assert np.array_equal(one, other), f"the simulators give different words for {name}"
    return {simulator: count for simulator, (count, _) in found.items()}


def _unit(name: str, made: Callable[[Netlist, str], Path]) -> tuple[int, Any]:
    design = netlist(designs.design(name, PRESET))
    given, wanted = slices(name, TUPLES)
    simulation = Simulation(design, driver(design), made)
    try:
        played = play(design, given, wanted, pause=PAUSE, simulation=simulation)
    finally:
        simulation.close()
    return played.clocks, np.concatenate(list(played.words.values()))


def _worker(name: str, made: Callable[[Netlist, str], Path]) -> tuple[int, Any]:
    del name
    params, rng = preset(PRESET), np.random.default_rng(1)
    machine = Machine(params, made)
    try:
        machine.command(op=Op.CREATE, count=4 * TUPLES, buffer=100, partition_bits=4)
        spent, seen = 0, []
        for size in (TUPLES, 60, 700, TUPLES):
            machine.put(region(params, BATCH), np.sort(rng.integers(-999, 999, size).astype(np.int32)), np.arange(size))
            spent += machine.command(op=Op.INSERT, count=size)
            spent += machine.command(op=Op.PROBE, count=size, low=-1, high=2)
            seen += [machine.positions(region(params, place), size) for place in (LOW, HIGH)]
    finally:
        machine.close()
    return spent, np.concatenate(seen)
