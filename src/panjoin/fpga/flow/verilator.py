"""The second opinion: a design as C++ by Verilator, from the same netlist, driven by the same C++ as with CXXRTL.

    RTLIL ──> yosys: Verilog ──> verilator ──> C++ ──> shared object        Simulation(design, driver, build)

Verilator comes from no index of Python packages (Debian: apt install verilator), so whoever asks for a second opinion
asks `here` first, and says so where there is none.

Ports are renamed p0, p1, ... on the way, because Verilator has its own idea of names with two underscores. A driver
sees them as with CXXRTL: `port_NAME(bench)` are its words, which are handed to the model before it is evaluated.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from panjoin.fpga.flow import store, tools
from panjoin.fpga.flow.cxxrtl import OBJECT, mangled
from panjoin.fpga.flow.netlist import CLOCK, TOP, Netlist

PROGRAM = "verilator"
REMEDY = "install it (Debian: apt install verilator)"
MODEL = ("--cc", "--prefix", "Model", "--Mdir", ".", "-O3", "--x-assign", "0", "--x-initial", "0", "-Wno-fatal")
OPTIONS = ("-std=c++17", "-O2", "-shared", "-fPIC", "-w", "-pthread")

_FRAME = """\
#include "Model.h"
#include <cstdint>
#include <cstring>
double sc_time_stamp() { return 0; }
struct Bench {
    VerilatedContext context;
    Model model{&context};
    unsigned long long clocks = 0;
    PORTS
};
static inline void settle(Bench *bench) { GIVE bench->model.eval(); TAKE }
static inline void cycle(Bench *bench) {
    GIVE
    bench->model.CLOCK = 0; bench->model.eval();
    bench->model.CLOCK = 1; bench->model.eval();
    bench->model.CLOCK = 0; bench->model.eval();
    TAKE
    bench->clocks += 1;
}
extern "C" {
Bench *bench_new() { return new Bench(); }
void bench_delete(Bench *bench) { delete bench; }
void bench_settle(Bench *bench) { settle(bench); }
unsigned long long bench_clocks(Bench *bench) { return bench->clocks; }
void bench_cycles(Bench *bench, unsigned long long count) { while (count--) cycle(bench); }
"""


def here() -> bool:
    """Is there a Verilator on this machine?"""
    return shutil.which(PROGRAM) is not None


def build(design: Netlist, driver: str = "") -> Path:
    """The shared object of a design (and its driver), from the cache or made now."""
    verilator = tools.found(PROGRAM, REMEDY)
    frame = _frame(design)
    inputs: dict[str, Any] = {"design": design.hash, "driver": driver, "frame": frame, "options": [*MODEL, *OPTIONS]}
    inputs |= {"versions": tools.versions(), "verilator": tools.run([verilator, "--version"], Path("/")).strip()}

    def make(directory: Path) -> None:
        (directory / "design.il").write_text(design.text, encoding="utf-8")
        renamed = "; ".join(f"rename {port.name} p{at}" for at, port in enumerate(design.ports))
        tools.yosys(
            f"read_rtlil design.il; flatten; cd {TOP}; {renamed}; cd ..; write_verilog -noattr design.v", directory
        )
        tools.run([verilator, *MODEL, "--top-module", TOP, "design.v"], directory)
        (directory / "bench.cc").write_text(frame + driver, encoding="utf-8")
        runtime = Path(tools.run([verilator, "--getenv", "VERILATOR_ROOT"], directory).strip()) / "include"
        sources = [*map(str, sorted(directory.glob("Model*.cpp"))), "bench.cc"]
        sources += [str(runtime / name) for name in ("verilated.cpp", "verilated_threads.cpp")]
        include = [f"-I{runtime}", f"-I{runtime / 'vltstd'}", "-I."]
        tools.cxx([*OPTIONS, *include, *sources, "-o", OBJECT], directory)
        for path in directory.iterdir():
            if path.name != OBJECT:
                path.unlink()

    return store.kept("verilator", inputs, make) / OBJECT


def _frame(design: Netlist) -> str:
    ports = list(enumerate(design.ports))
    words = " ".join(f"uint32_t words{at}[{(port.width + 31) // 32}] = {{}};" for at, port in ports)
    give, take = (
        " ".join(_copy(at, way) for at, port in ports if port.direction == way and port.name != CLOCK)
        for way in ("input", "output")
    )
    (clock,) = (f"p{at}" for at, port in ports if port.name == CLOCK)
    frame = _FRAME.replace("PORTS", words).replace("GIVE", give).replace("TAKE", take).replace("CLOCK", clock)
    pointers = [
        f"uint32_t *port_{mangled(port.name)}(Bench *bench) {{ return bench->words{at}; }}" for at, port in ports
    ]
    return "\n".join((frame, *pointers, "}\n"))


def _copy(at: int, way: str) -> str:
    words, port = f"bench->words{at}", f"bench->model.p{at}"  # a port has 1, 2, 4 or 8 bytes, or whole words
    to, source = (port, words) if way == "input" else (words, port)
    return f"memcpy(&{to}, &{source}, sizeof {port} < sizeof {words} ? sizeof {port} : sizeof {words});"
