"""A worker with its memory, for simulation: the model stands where the board's controller would be.

    host ──> words of memory (one per clock), commands          worker <──> memory model

The host's lines are what the network or the host computer does to the board's memory between commands.
"""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.memory import MemoryModel
from panjoin.fpga.params import Params
from panjoin.fpga.worker import Worker, command_layout


class Board(wiring.Component):
    """`host_write` puts a word; `host_word` is the word at `host_at`. Use them between commands."""

    def __init__(self, params: Params) -> None:
        self._params = params
        address = params.address_bits
        super().__init__(
            {
                "commands": In(stream.Signature(command_layout(params))),
                "refused": Out(1),
                "main_size": Out(address),
                "buffer_size": Out(address),
                "main_side": Out(1),
                "buffer_side": Out(1),
                "version": Out(32),
                "moved": Out(48),
                "host_write": In(1),
                "host_at": In(address),
                "host_data": In(params.word_bits),
                "host_word": Out(params.word_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Worker, model, host."""
        del platform
        m = Module()
        m.submodules.worker = worker = Worker(self._params)
        m.submodules.model = model = MemoryModel(self._params)
        wiring.connect(m, worker.memory, model.port)
        wiring.connect(m, wiring.flipped(self.commands), worker.commands)
        write, read = model.words.write_port(), model.words.read_port(domain="comb")
        m.d.comb += [
            self.refused.eq(worker.refused),
            self.main_size.eq(worker.main_size),
            self.buffer_size.eq(worker.buffer_size),
            self.main_side.eq(worker.main_side),
            self.buffer_side.eq(worker.buffer_side),
            self.version.eq(worker.version),
            self.moved.eq(model.moved),
            write.addr.eq(self.host_at),
            write.data.eq(self.host_data),
            write.en.eq(self.host_write),
            read.addr.eq(self.host_at),
            self.host_word.eq(read.data),
        ]
        return m
