"""A worker with its memory, for simulation: the model stands where the board's controller would be.

manager ──> commands ──> worker <──> memory model <──> storage (of whoever simulates)
"""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.memory import MemoryModel, storage_signature
from panjoin.fpga.params import Params
from panjoin.fpga.worker import Worker, command_layout

STATE = ("refused", "main_size", "buffer_size", "main_side", "buffer_side", "version")


class Board(wiring.Component):
    """Commands in, the worker's state out; words lie behind the lines of `storage_signature`."""

    def __init__(self, params: Params) -> None:
        self._params = params
        self._worker, self._model = Worker(params), MemoryModel(params)
        super().__init__(
            {
                "commands": In(stream.Signature(command_layout(params))),
                **{name: Out(getattr(self._worker, name).shape()) for name in STATE},
                "moved": Out(48),
                **storage_signature(params),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Worker and model."""
        del platform
        m = Module()
        m.submodules.worker, m.submodules.model = worker, model = self._worker, self._model
        wiring.connect(m, worker.memory, model.port)
        wiring.connect(m, wiring.flipped(self.commands), worker.commands)
        m.d.comb += [getattr(self, name).eq(getattr(worker, name)) for name in STATE]
        m.d.comb += self.moved.eq(model.moved)
        for name, member in storage_signature(self._params).items():
            mine, its = getattr(self, name), getattr(model, name)
            m.d.comb += its.eq(mine) if member.flow is In else mine.eq(its)
        return m
