"""The board's memory, as a model: channels that each move one beat after another, commands that wait their turn.

    commands ─> channel 0: queue ─> pays beats x beat_bytes at bytes_per_second ─> latency ─┐
                channel 1: queue ─> ...                                                     ├─> port u: words in order
                                                                                            └─> port v: ...

A command costs its channel the whole beats that it touches; a burst goes to channel (address / burst) mod channels.
After the latency its words come (or are taken) one per clock at its port, reads in the order in which the port asked,
writes likewise. What a real controller adds to this (refresh, opening rows, turning from reading to writing, widening
64 bits to a beat) is not in the model: it reaches what the channels' peak allows, and the report says so.

Where the words themselves are is left to whoever stands behind `storage`: in the cycle in which it is shown an
address it gives the word; in a simulation that is an array of the driver's, as large as the board's memory.

Not hardware of ours: it stands outside of the worker in simulations and is left out of synthesis.
"""

from __future__ import annotations

from math import gcd

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.bursts import command_layout, log2
from panjoin.fpga.fifo import Fifo
from panjoin.fpga.params import Params


def memory_signature(params: Params) -> wiring.Signature:
    """A worker's side of the memory: one command line, and words of each port (the last one is the cutter's)."""
    ports = params.ports + 1
    return wiring.Signature(
        {
            "command": Out(data.StructLayout({"command": command_layout(params), "port": range(ports)})),
            "command_valid": Out(1),
            "full": In(params.memory.channels),  # a channel may still be sent four commands
            "arrived": In(ports),
            "arrived_b": In(ports),
            "words": In(data.ArrayLayout(params.word_bits, ports)),
            "written": Out(data.ArrayLayout(params.word_bits, ports)),
            "written_valid": Out(ports),
            "written_ready": In(ports),
            "acknowledged": In(ports),
        }
    )


def storage_signature(params: Params) -> dict[str, Out]:
    """Reads and writes of each port, one word per clock."""
    members: dict[str, Out] = {}
    for u in range(params.ports + 1):
        members |= {
            f"read_at{u}": Out(params.address_bits),
            f"read_data{u}": In(params.word_bits),
            f"write{u}": Out(1),
            f"write_at{u}": Out(params.address_bits),
            f"write_data{u}": Out(params.word_bits),
        }
    return members


class MemoryModel(wiring.Component):
    """See the head of this file. `moved` counts the beats of all channels."""

    def __init__(self, params: Params) -> None:
        self._params = params
        super().__init__({"port": In(memory_signature(params)), "moved": Out(48), **storage_signature(params)})

    def elaborate(self, platform: object) -> Module:
        """Channels first, then ports."""
        del platform
        m = Module()
        p, mem = self._params, self._params.memory
        ports = p.ports + 1
        routed = self.port.command
        command = routed.command
        beat = max(1, mem.beat_bytes * 8 // p.word_bits)  # tuples of a beat
        scale = gcd(mem.bytes_per_second, mem.beat_bytes * p.clock_hz)
        rate, price = mem.bytes_per_second // scale, mem.beat_bytes * p.clock_hz // scale  # per clock, per beat
        channel_of = command.address[log2(p.burst) : log2(p.burst) + log2(mem.channels)] if mem.channels > 1 else 0
        paid = [
            [Signal(name=f"paid_{c}_{u}_{way}") for u in range(ports) for way in ("read", "write")]
            for c in range(mem.channels)
        ]
        ticket = data.StructLayout({"port": range(ports), "write": 1, "beats": range(p.burst + 2)})
        beats_now = []
        for c in range(mem.channels):
            m.submodules[f"channel{c}"] = queue = Fifo(ticket, 2 * mem.queue)
            debt = Signal(range(-rate, price * (p.burst + 2) + rate + 1), name=f"debt{c}")
            waiting = Signal(range(2 * mem.queue + 8), name=f"waiting{c}")
            first, last = command.address // beat, (command.address + command.count - 1) // beat
            mine = Signal(name=f"mine{c}")
            m.d.comb += [
                mine.eq(self.port.command_valid & (channel_of == c)),
                queue.i.valid.eq(mine),
                queue.i.payload.port.eq(routed.port),
                queue.i.payload.write.eq(command.write),
                queue.i.payload.beats.eq(last - first + 1),
                queue.o.ready.eq(debt <= 0),
            ]
            served = queue.o.valid & queue.o.ready
            m.d.sync += [
                waiting.eq(waiting + mine - served),
                self.port.full[c].eq(waiting >= mem.queue),
                debt.eq(
                    Mux(debt > 0, debt, Mux(served, debt, 0))
                    + Mux(served, queue.o.payload.beats * price, 0)
                    - Mux((debt > 0) | served, rate, 0)
                ),
            ]
            beats_now.append(Mux(served, queue.o.payload.beats, 0))
            line = [queue.o.payload.port, queue.o.payload.write, served]
            for step in range(mem.latency_cycles):
                later = [
                    Signal.like(each, name=f"line{c}_{step}_{n}")
                    if isinstance(each, Signal)
                    else Signal(len(each), name=f"line{c}_{step}_{n}")
                    for n, each in enumerate(line)
                ]
                m.d.sync += [new.eq(old) for new, old in zip(later, line, strict=True)]
                line = later
            for u in range(ports):
                m.d.comb += [
                    paid[c][2 * u].eq(line[2] & (line[0] == u) & ~line[1]),
                    paid[c][2 * u + 1].eq(line[2] & (line[0] == u) & line[1]),
                ]
        m.d.sync += self.moved.eq(self.moved + sum(beats_now))
        for u in range(ports):
            for way in ("read", "write"):
                self._serve(m, u, way, [paid[c][2 * u + (way == "write")] for c in range(mem.channels)], channel_of)
        return m

    def _serve(self, m: Module, u: int, way: str, paid: list[Signal], channel_of: object) -> None:
        """Commands of one port and direction in order, each when its channel has been paid; one word per clock."""
        p = self._params
        routed = self.port.command
        layout = data.StructLayout({"address": p.address_bits, "count": range(p.burst + 1), "b": 1, "channel": 8})
        m.submodules[f"order_{way}{u}"] = order = Fifo(layout, 8 * p.memory.queue)
        credit_of = [Signal(16, name=f"{way}{u}_credit{c}") for c in range(len(paid))]
        at, left, b = (
            Signal(p.address_bits, name=f"{way}{u}_at"),
            Signal(range(p.burst + 1), name=f"{way}{u}_left"),
            Signal(name=f"{way}{u}_b"),
        )
        start, move, free = (
            Signal(name=f"{way}{u}_start"),
            Signal(name=f"{way}{u}_move"),
            Signal(name=f"{way}{u}_free"),
        )
        head = order.o.payload
        m.d.comb += [
            order.i.valid.eq(self.port.command_valid & (routed.port == u) & (routed.command.write == (way == "write"))),
            order.i.payload.address.eq(routed.command.address),
            order.i.payload.count.eq(routed.command.count),
            order.i.payload.b.eq(routed.command.b),
            order.i.payload.channel.eq(channel_of),
            free.eq((left == 0) | ((left == 1) & move)),
            start.eq(order.o.valid & free & (Array(credit_of)[head.channel] != 0)),
            order.o.ready.eq(start),
        ]
        for c, credit in enumerate(credit_of):
            m.d.sync += credit.eq(credit + paid[c] - (start & (head.channel == c)))
        with m.If(start):
            m.d.sync += [at.eq(head.address), left.eq(head.count), b.eq(head.b)]
        with m.Elif(move):
            m.d.sync += [at.eq(at + 1), left.eq(left - 1)]
        if way == "read":
            m.d.comb += [
                move.eq(left != 0),
                getattr(self, f"read_at{u}").eq(at),
                self.port.arrived[u].eq(move),
                self.port.arrived_b[u].eq(b),
                self.port.words[u].eq(getattr(self, f"read_data{u}")),
            ]
        else:
            m.d.comb += [
                self.port.written_ready[u].eq(left != 0),
                move.eq(self.port.written_valid[u] & (left != 0)),
                getattr(self, f"write{u}").eq(move),
                getattr(self, f"write_at{u}").eq(at),
                getattr(self, f"write_data{u}").eq(self.port.written[u]),
                self.port.acknowledged[u].eq(move & (left == 1)),
            ]
