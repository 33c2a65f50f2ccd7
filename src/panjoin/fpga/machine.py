"""A simulated board with hands: words into memory and out of it, commands, and the cycles they took.

    machine = Machine(preset("index-int32"))
    machine.put(region(params, BATCH), keys, payloads)
    machine.command(op=Op.INSERT, count=len(keys))        -> cycles

The board is simulated by CXXRTL, compiled once per design into the cache directory; it needs a C++ compiler. Keys are
int32 or int64 here and unsigned there: the sign bit is flipped on the way, which keeps the order.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
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
static inline void clock_with_memory(Bench *bench, uint32_t *memory) {
    cycle(bench);
    STORAGE
}
extern "C" long long play(Bench *bench, uint32_t *memory, unsigned long long limit, int *refused) {
    unsigned long long begun = bench->clocks;
    port_commands____valid(bench)[0] = 1;
    clock_with_memory(bench, memory);
    port_commands____valid(bench)[0] = 0;
    for (*refused = 0; !port_commands____ready(bench)[0]; clock_with_memory(bench, memory)) {
        *refused |= port_refused(bench)[0];
        if (bench->clocks - begun > limit) return -1;
    }
    return bench->clocks - begun;
}
"""
_STORAGE = """\
    if (port_write{u}(bench)[0]) for (int i = 0; i < {parts}; i++)
        memory[(uint64_t) port_write__at{u}(bench)[0] * {parts} + i] = port_write__data{u}(bench)[i];
    for (int i = 0; i < {parts}; i++)
        port_read__data{u}(bench)[i] = memory[(uint64_t) port_read__at{u}(bench)[0] * {parts} + i];
"""

_netlists: dict[Params, Netlist] = {}


def region(params: Params, number: int) -> int:
    """Address of the first word of a region."""
    return number << (params.address_bits - 3)


def room(params: Params) -> int:
    """Tuples of a region."""
    return 1 << (params.address_bits - 3)


class Machine:
    """See the head of this file. Not for several threads at once. `made` is another simulator's `build`."""

    def __init__(self, params: Params, made: Callable[[Netlist, str], Path] | None = None) -> None:
        try:
            from panjoin.fpga.designs import design  # noqa: PLC0415  (an extra)
            from panjoin.fpga.worker import command_layout  # noqa: PLC0415
        except ModuleNotFoundError:
            raise ParameterError(f"the package amaranth is not installed; {REMEDY}") from None
        if params.word_bits % 32 or params.payload_bits != 32:
            raise ParameterError(f"key_bits must be 32 or 64 and payload_bits 32 for a machine, not those of {params}")
        if params not in _netlists:
            _netlists[params] = netlist(design("board", params))
        self.params = params
        self._layout = command_layout(params)
        parts = params.word_bits // 32
        storage = "".join(_STORAGE.format(u=u, parts=parts) for u in range(params.ports + 1))
        self._simulation = Simulation(_netlists[params], _DRIVER.replace("STORAGE", storage), made)
        library = self._simulation.library
        library.play.restype = ctypes.c_longlong
        library.play.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulonglong, ctypes.c_void_p]
        self.key_type: np.dtype[Any] = np.dtype(np.int32 if params.key_bits == 32 else np.int64)
        self._sign = self.key_type.type(-(1 << (params.key_bits - 1)))
        word = np.dtype([("key", self.key_type), ("payload", np.uint32)])
        self.memory = np.zeros(1 << params.address_bits, word)  #: the board's; pages that nobody touches take no room

    def command(self, **fields: Any) -> int:
        """Play one command to its end; the cycles it took."""
        whole = dict.fromkeys(self._layout.members, 0) | fields
        self._simulation["commands__payload"] = self._layout.const(whole).as_bits()
        refused = ctypes.c_int()
        simulation = self._simulation
        limit = _PATIENCE + 100 * room(self.params)
        cycles = int(simulation.library.play(simulation.handle, self.memory.ctypes.data, limit, ctypes.byref(refused)))
        if cycles < 0:
            raise PanJoinError(f"the simulated worker is stuck: {fields} is not done after {limit} cycles")
        if refused.value:
            raise ParameterError(f"the simulated worker refuses {fields}: it does not fit {self.params}")
        return cycles

    def put(self, at: int, keys: Array, payloads: Array) -> None:
        """Write tuples to memory."""
        words = self.memory[at : at + len(keys)]
        words["key"], words["payload"] = keys ^ self._sign, payloads

    def get(self, at: int, count: int) -> tuple[Array, Array]:
        """Read tuples from memory."""
        words = self.memory[at : at + count]
        return words["key"] ^ self._sign, words["payload"].astype(np.int32)

    def positions(self, at: int, count: int) -> Array:
        """Read a list of positions from memory."""
        return self.memory[at : at + count]["key"].astype(np.int32)

    def state(self, name: str) -> int:
        """An output of the board: main_size, buffer_size, main_side, buffer_side, version, moved."""
        return self._simulation[name]

    @property
    def clocks(self) -> int:
        """Clocks since the board was made."""
        return self._simulation.clocks

    def close(self) -> None:
        """Free the simulation."""
        self._simulation.close()
