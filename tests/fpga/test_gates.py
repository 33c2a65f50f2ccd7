"""The gate level: units, and the whole worker, as the cells that synthesis made of them, beside the circuit as written.

Same words in the same clocks, with random pauses and stalls. The control: one look-up table inverted, and the words or
the clocks are others, or there is no end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from panjoin.errors import ParameterError
from panjoin.fpga.block import Ecp5
from panjoin.fpga.designs import design
from panjoin.fpga.flow.cxxrtl import OPTIONS, build
from panjoin.fpga.flow.gates import gates
from panjoin.fpga.flow.netlist import Netlist, netlist
from panjoin.fpga.flow.play import StreamError, play
from panjoin.fpga.flow.steady import slices
from panjoin.fpga.machine import Machine, region
from panjoin.fpga.params import preset
from panjoin.fpga.worker import BATCH, HIGH, LOW, Op

pytestmark = pytest.mark.slow  # each circuit is synthesised and compiled once

UNIT = preset("small").with_(fifo_depth=64)  # from 64 words on, queues are block RAM
WORDS = 400
LIMIT = 20_000


def played(circuit: Netlist, name: str, pause: float) -> tuple[int, Any]:
    given, wanted = slices(name, WORDS)
    result = play(circuit, given, wanted, pause=pause, seed=7, limit=LIMIT)
    return result.clocks, result.words["u0_o"].tolist()


@pytest.mark.parametrize("name", ["merger-1", "prober-1"])
def test_a_unit_of_cells_gives_the_same_words_in_the_same_clocks(name: str) -> None:
    written, cells = netlist(design(name, UNIT)), gates(netlist(design(name, UNIT), Ecp5()))
    assert {port.name for port in cells.ports} == {port.name for port in written.ports}
    for pause in (0.0, 0.3):
        assert played(cells, name, pause) == played(written, name, pause)


@pytest.mark.parametrize("name", ["merger-1", "prober-1"])
def test_a_unit_with_an_inverted_look_up_table_is_noticed(name: str) -> None:
    written, circuit = netlist(design(name, UNIT)), netlist(design(name, UNIT), Ecp5())
    right = played(written, name, 0.3)
    try:
        wrong = played(gates(circuit, flipped=0), name, 0.3)
    except StreamError:
        return  # it is stuck, or breaks the contract of its streams
    assert wrong != right


def test_a_look_up_table_that_there_is_not_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"flipped must be between 0 and \d+, the look-up tables here, not 100000"):
        gates(netlist(design("merger-1", UNIT), Ecp5()), flipped=100_000)


def worked(machine: Machine) -> list[Any]:
    """Clocks of every command, and what lies in memory at the end."""
    rng = np.random.default_rng(3)
    seen: list[Any] = [machine.command(op=Op.CREATE, count=900, buffer=20, partition_bits=4)]
    for size in (300, 7, 5, 64, 200):
        machine.put(region(UNIT, BATCH), np.sort(rng.integers(-99, 99, size).astype(np.int32)), np.arange(size))
        seen.append(machine.command(op=Op.INSERT, count=size))
        seen.append(machine.command(op=Op.PROBE, count=size, low=-2, high=3))
        seen += [machine.positions(region(UNIT, place), size).tolist() for place in (LOW, HIGH)]
    seen += [machine.command(op=Op.SEAL), machine.command(op=Op.EXPIRE)]
    return [*seen, machine.memory.tolist()]


def test_a_worker_of_cells_does_every_command_in_the_same_clocks() -> None:
    board = netlist(design("board", UNIT), Ecp5())
    plain = [each for each in OPTIONS if not each.startswith("-O")]  # 60,000 lines for a few thousand clocks
    written = Machine(UNIT)
    cells = Machine(UNIT, lambda _, driver: build(gates(board, module="top.worker"), driver, plain))
    try:
        assert worked(cells) == worked(written)
    finally:
        written.close()
        cells.close()
