"""Compiled simulation: built once per design, driven by name or by C++."""

import ctypes
import sys
from pathlib import Path

import pytest

from panjoin.errors import ParameterError
from panjoin.fpga.flow import cxxrtl, tools
from panjoin.fpga.flow.netlist import Netlist, Port, netlist
from tests.fpga.tiny import RunningSum

DRIVER = """
extern "C" unsigned long long sum_of_first(Bench *bench, unsigned count) {
    bench->top.p_sums____ready.data[0] = 1;
    bench->top.p_numbers____valid.data[0] = 1;
    for (unsigned i = 1; i <= count; i++) { bench->top.p_numbers____payload.data[0] = i; cycle(bench); }
    return bench->top.p_sums____payload.curr.data[0];
}
"""


@pytest.fixture(scope="module")
def sums() -> Netlist:
    return netlist(RunningSum())


def test_the_ports_of_a_design_are_those_of_its_signature_with_clock_and_reset(sums: Netlist) -> None:
    assert set(sums.ports) == {
        Port("clk", 1, "input"), Port("rst", 1, "input"),
        Port("numbers__payload", 16, "input"), Port("numbers__valid", 1, "input"), Port("numbers__ready", 1, "output"),
        Port("sums__payload", 16, "output"), Port("sums__valid", 1, "output"), Port("sums__ready", 1, "input"),
        Port("full", 1, "output"),
    }  # fmt: skip


def test_equal_designs_have_equal_text_and_others_do_not(sums: Netlist) -> None:
    assert netlist(RunningSum()).hash == sums.hash
    assert netlist(RunningSum(17)).hash != sums.hash
    assert "/" not in "".join(line for line in sums.text.splitlines() if "src" in line)


def test_a_simulation_is_driven_port_by_port(sums: Netlist) -> None:
    with cxxrtl.Simulation(sums) as bench:
        bench["numbers__valid"] = 1
        bench["numbers__payload"] = 40_000
        bench.settle()
        assert (bench["numbers__ready"], bench["sums__valid"], bench.clocks) == (1, 0, 0)
        bench.step()
        assert (bench["numbers__ready"], bench["sums__valid"], bench["sums__payload"]) == (0, 1, 40_000)
        bench.step(5)  # nobody takes the sum, so nothing moves
        assert (bench["sums__payload"], bench.clocks) == (40_000, 6)
        bench["sums__ready"] = 1
        bench.step()
        assert bench["sums__payload"] == 80_000 - 65_536


def test_a_driver_in_c_runs_many_clocks_in_one_call(sums: Netlist) -> None:
    with cxxrtl.Simulation(sums, DRIVER) as bench:
        bench.library.sum_of_first.restype = ctypes.c_ulonglong
        assert bench.library.sum_of_first(bench.handle, 100_000) == (100_000 * 100_001 // 2) % 65_536
        assert bench.clocks == 100_000


def test_a_design_is_built_once(sums: Netlist, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = cxxrtl.build(sums)
    monkeypatch.setattr(tools, "yosys", lambda *_: pytest.fail("built again"))
    assert cxxrtl.build(sums) == first
    assert sorted(each.name for each in first.parent.iterdir()) == ["bench.cc", "inputs.json", "simulation.so"]


def test_what_does_not_fit_a_port_is_refused(sums: Netlist) -> None:
    with cxxrtl.Simulation(sums) as bench:
        with pytest.raises(ParameterError, match="numbers__payload has 16 bits, and 65536 does not fit"):
            bench["numbers__payload"] = 65_536
        with pytest.raises(ParameterError, match="numbers__payload has 16 bits, and -1 does not fit"):
            bench["numbers__payload"] = -1
        with pytest.raises(ParameterError, match=r"sums__valid is no input to set; the inputs are .*numbers__payload"):
            bench["sums__valid"] = 1
        with pytest.raises(ParameterError, match="clk is no input to set"):
            bench["clk"] = 1
        with pytest.raises(ParameterError, match=r"the design has no port 'nummers'; it has .*numbers__valid"):
            bench["nummers"]


def test_only_components_are_designs() -> None:
    with pytest.raises(ParameterError, match=r"a design is an amaranth\.lib\.wiring\.Component, not int"):
        netlist(3)


def test_a_missing_compiler_is_named_with_its_remedy(
    sums: Netlist, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r"g\+\+ is not on the PATH; install it .*, or pip install ziglang"):
        cxxrtl.build(sums)


def test_without_a_compiler_of_the_system_that_of_a_wheel_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "find_spec", lambda name: name == "ziglang")
    assert tools.compiler() == [sys.executable, "-m", "ziglang", "c++"]
