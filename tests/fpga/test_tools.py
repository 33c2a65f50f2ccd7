"""Tools are started, listened to and ended by us; a tool that is missing or fails is told in one sentence."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from panjoin.errors import ParameterError
from panjoin.fpga.flow import placement, synthesis, tools
from panjoin.fpga.flow.netlist import netlist
from panjoin.fpga.flow.pins import Pins
from tests.fpga.tiny import RunningSum


def test_the_last_lines_of_a_tool_that_fails_are_told(tmp_path: Path) -> None:
    script = "print('first'); print('what went wrong'); raise SystemExit(3)"
    with pytest.raises(tools.ToolError, match=r"ended with code 3; it said last:\nfirst\nwhat went wrong"):
        tools.run([sys.executable, "-c", script], tmp_path)


def test_each_line_is_handed_on_while_the_tool_runs(tmp_path: Path) -> None:
    heard: list[str] = []
    assert tools.run([sys.executable, "-c", "print('a\\nb')"], tmp_path, heard.append) == "a\nb\n"
    assert heard == ["a", "b"]


def test_a_tool_ends_with_the_call_that_started_it(tmp_path: Path) -> None:
    script = "import os, subprocess; print(os.getpid(), flush=True); subprocess.run(['sleep', '1000'])"
    heard: list[str] = []

    def interrupt(line: str) -> None:
        heard.append(line)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tools.run([sys.executable, "-c", script], tmp_path, interrupt)
    group = int(heard[0])
    while _alive(group):  # the child of the tool is in its group; the kernel needs a moment to bury it
        time.sleep(0.01)


def _alive(group: int) -> bool:
    try:
        os.killpg(group, signal.SIGCONT)
    except ProcessLookupError:
        return False
    states = [
        path.read_text().rpartition(")")[2].split()[0]
        for path in Path("/proc").glob("[0-9]*/stat")
        if path.exists() and path.read_text().rpartition(")")[2].split()[2] == str(group)
    ]
    return any(state != "Z" for state in states)


def test_a_missing_wheel_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tools.WHEELS, "yosys", ("yowasp-nothing", "nothing", "run"))
    with pytest.raises(
        ParameterError, match=r"the package yowasp-nothing is not installed; pip install 'panjoin\[fpga\]'"
    ):
        tools.yosys("help", Path())


def test_a_script_that_yosys_does_not_understand_is_told_by_yosys(tmp_path: Path) -> None:
    with pytest.raises(tools.ToolError, match=r"(?s)yosys: .*No such command: nonsense"):
        tools.yosys("nonsense", tmp_path)


def test_a_small_design_becomes_cells() -> None:
    found = synthesis.synthesise(netlist(RunningSum()))
    assert found.cells.ff == 16 + 16 + 1 - 16  # total and sums are one register: they change together
    assert found.cells.lut > 0
    assert (found.cells.block_ram, found.cells.dsp) == (0, 0)


@pytest.mark.slow
def test_a_small_design_is_placed_and_placing_it_again_gives_the_same_clock() -> None:
    design = netlist(Pins(RunningSum()))
    lines: list[str] = []
    first = placement.place(design, 1, told=lines.append, again=True)
    assert any("Program finished normally" in line for line in lines)
    again = placement.place(design, 1, told=lambda line: pytest.fail(f"it is kept, and yet nextpnr ran: {line}"))
    assert again == first
    assert placement.place(design, 1, again=True) == first
    assert first.mhz > 200
    assert first.used["FF"] >= 17 + 18 + 19
    assert placement.place(design, 2).mhz != first.mhz


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"device": "99k"}, "device must be 12k, 25k, 45k or 85k, not '99k'"),
        ({"speed": 9}, r"speed \(the chip's grade\) must be 6, 7 or 8, not 9"),
        ({"mhz": 0}, "mhz, the clock to work towards, must be between 1 and 1000, not 0"),
    ],
)
def test_a_chip_that_there_is_not_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        placement.Chip(**wrong)  # type: ignore[arg-type]


def test_a_seed_below_one_is_refused() -> None:
    with pytest.raises(ParameterError, match="a seed must be between 1 and 2147483647, not 0"):
        placement.place(netlist(RunningSum()), 0)
