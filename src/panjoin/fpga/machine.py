"""A simulated board with hands: words into memory and out of it, commands, and the cycles they took.

    machine = Machine(preset("index-int32"))
    machine.put(region(params, BATCH), keys, payloads)
    machine.command(op=Op.INSERT, count=len(keys))        -> cycles

The board is simulated by CXXRTL, compiled once per design into the cache directory; it needs a C++ compiler. Keys are
int32 or int64 here and unsigned there: the sign bit is flipped on the way, which keeps the order.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from panjoin.errors import PanJoinError, ParameterError
from panjoin.fpga.flow.cxxrtl import Simulation
from panjoin.fpga.flow.netlist import Netlist, netlist
from panjoin.fpga.flow.tools import REMEDY
from panjoin.fpga.params import Params

Array = npt.NDArray[Any]

#: Cycles after which a command counts as stuck, beside those that its tuples may take.
_PATIENCE = 1_000_000

_DRIVER = """
extern "C" long long play(Bench *bench, unsigned long long limit, int *refused) {
    unsigned long long begun = bench->clocks;
    bits(bench->top.p_commands____valid)[0] = 1;
    cycle(bench);
    bits(bench->top.p_commands____valid)[0] = 0;
    for (*refused = 0; !bits(bench->top.p_commands____ready)[0]; cycle(bench)) {
        *refused |= bits(bench->top.p_refused)[0];
        if (bench->clocks - begun > limit) return -1;
    }
    return bench->clocks - begun;
}
extern "C" void put(Bench *bench, unsigned at, unsigned count, const uint32_t *words, unsigned width) {
    bits(bench->top.p_host____write)[0] = 1;
    for (unsigned i = 0; i < count; i++) {
        bits(bench->top.p_host____at)[0] = at + i;
        for (unsigned part = 0; part < width; part++) bits(bench->top.p_host____data)[part] = words[i * width + part];
        cycle(bench);
    }
    bits(bench->top.p_host____write)[0] = 0;
}
extern "C" void get(Bench *bench, unsigned at, unsigned count, uint32_t *words, unsigned width) {
    for (unsigned i = 0; i < count; i++) {
        bits(bench->top.p_host____at)[0] = at + i;
        settle(bench);
        for (unsigned part = 0; part < width; part++) words[i * width + part] = bits(bench->top.p_host____word)[part];
    }
}
""".replace("p_host____", "p_host__")

_netlists: dict[Params, Netlist] = {}


def region(params: Params, number: int) -> int:
    """Address of the first word of a region."""
    return number << (params.address_bits - 3)


def room(params: Params) -> int:
    """Tuples of a region."""
    return 1 << (params.address_bits - 3)


class Machine:
    """See the head of this file. Not for several threads at once."""

    def __init__(self, params: Params) -> None:
        try:
            from panjoin.fpga.designs import design  # noqa: PLC0415  (an extra)
            from panjoin.fpga.worker import command_layout  # noqa: PLC0415
        except ModuleNotFoundError:
            raise ParameterError(f"the package amaranth is not installed; {REMEDY}") from None
        if params not in _netlists:
            _netlists[params] = netlist(design("board", params))
        self.params = params
        self._layout = command_layout(params)
        self._simulation = Simulation(_netlists[params], _DRIVER)
        library = self._simulation.library
        library.play.restype = ctypes.c_longlong
        library.play.argtypes = [ctypes.c_void_p, ctypes.c_ulonglong, ctypes.c_void_p]
        library.put.argtypes = library.get.argtypes = [
            ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p, ctypes.c_uint,
        ]  # fmt: skip
        self.key_type: np.dtype[Any] = np.dtype(np.int32 if params.key_bits == 32 else np.int64)
        self._sign = self.key_type.type(-(1 << (params.key_bits - 1)))
        self._word = np.dtype([("key", self.key_type), ("payload", np.uint32)])

    def command(self, **fields: Any) -> int:
        """Play one command to its end; the cycles it took."""
        whole = dict.fromkeys(self._layout.members, 0) | fields
        self._simulation["commands__payload"] = self._layout.const(whole).as_bits()
        refused = ctypes.c_int()
        simulation = self._simulation
        limit = _PATIENCE + 100 * room(self.params)
        cycles = int(simulation.library.play(simulation.handle, limit, ctypes.byref(refused)))
        if cycles < 0:
            raise PanJoinError(f"the simulated worker is stuck: {fields} is not done after {limit} cycles")
        if refused.value:
            raise ParameterError(f"the simulated worker refuses {fields}: it does not fit {self.params}")
        return cycles

    def put(self, at: int, keys: Array, payloads: Array) -> None:
        """Write tuples to memory."""
        words = np.empty(len(keys), self._word)
        words["key"], words["payload"] = keys ^ self._sign, payloads
        self._move(self._simulation.library.put, at, words)

    def get(self, at: int, count: int) -> tuple[Array, Array]:
        """Read tuples from memory."""
        words = self._raw(at, count)
        return words["key"] ^ self._sign, words["payload"].astype(np.int32)

    def positions(self, at: int, count: int) -> Array:
        """Read a list of positions from memory."""
        return self._raw(at, count)["key"].astype(np.int32)

    def state(self, name: str) -> int:
        """An output of the board: main_size, buffer_size, main_side, buffer_side, version, moved."""
        return self._simulation[name]

    @property
    def clocks(self) -> int:
        """Clocks since the board was made, those of the host among them."""
        return self._simulation.clocks

    def close(self) -> None:
        """Free the simulation."""
        self._simulation.close()

    def _raw(self, at: int, count: int) -> Array:
        words = np.empty(count, self._word)
        self._move(self._simulation.library.get, at, words)
        return words

    def _move(self, way: Any, at: int, words: Array) -> None:
        way(self._simulation.handle, at, len(words), words.ctypes.data, self._word.itemsize // 4)
