"""The gate level: units between their queues as the cells that synthesis made of them, beside the circuit as written.

Same words in the same clocks, with random pauses and stalls. The control: one look-up table inverted, and the words or
the clocks are others, or there is no end.
"""

from __future__ import annotations

from typing import Any

import pytest

from panjoin.errors import ParameterError
from panjoin.fpga.block import Ecp5
from panjoin.fpga.designs import design
from panjoin.fpga.flow.gates import gates
from panjoin.fpga.flow.netlist import Netlist, netlist
from panjoin.fpga.flow.play import StreamError, play
from panjoin.fpga.flow.steady import slices
from panjoin.fpga.params import preset

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
