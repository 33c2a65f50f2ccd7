"""Bursts: a job of many tuples as memory commands, none of which crosses a multiple of the burst's length.

    job 13..38, burst 16       13 14 15 | 16 ... 31 | 32 ... 37        three commands: 3, 16 and 6 tuples

Reader and writer plan alike, one command in four clocks: how far to the edge, count, measure, offer.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.fifo import Fifo
from panjoin.fpga.finder import job_layout
from panjoin.fpga.params import Params
from panjoin.fpga.words import word_layout


def command_layout(params: Params) -> data.StructLayout:
    """One burst. `write`: from the port to memory; `b`: read for stream b, else for stream a."""
    return data.StructLayout({"address": params.address_bits, "count": range(params.burst + 1), "write": 1, "b": 1})


class Reader(wiring.Component):
    """Jobs in, words out, closed by an end word when the job `end` came and all words are here.

    Words are asked for only when the queue behind has room for them, so what memory sends is never refused.
    `left`: a word has left that queue.
    """

    def __init__(self, params: Params, *, b: bool) -> None:
        self._params, self._b = params, b
        self._word = word_layout(params.key_bits, params.payload_bits)
        super().__init__(
            {
                "jobs": In(stream.Signature(job_layout(params))),
                "base": In(params.address_bits),
                "commands": Out(stream.Signature(command_layout(params))),
                "arrived": In(1),
                "word": In(params.word_bits),
                "o": Out(stream.Signature(self._word)),
                "left": In(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """`owed` words are asked for and have not left the queue, `flying` ones have not arrived."""
        del platform
        m = Module()
        p = self._params
        at, remaining = Signal(p.address_bits), Signal(p.address_bits)
        count, asked = Signal(range(p.burst + 1)), Signal(range(p.burst + 1))
        owed, flying = Signal(range(p.fifo_depth + 1)), Signal(range(p.fifo_depth + 1))
        room, landed, closing, work, long = Signal(), Signal(), Signal(), Signal(), Signal()
        to_edge = Signal(range(p.burst + 1))
        issue = Signal()
        command = self.commands.payload
        m.d.comb += [command.address.eq(at), command.count.eq(count), command.b.eq(int(self._b)), command.write.eq(0)]
        m.d.comb += issue.eq(self.commands.valid & self.commands.ready)
        m.d.sync += [
            asked.eq(Mux(issue, count, 0)),
            owed.eq(owed + asked + (closing & self.o.ready) - self.left),
            flying.eq(flying + asked - self.arrived),
            room.eq(owed <= p.fifo_depth - 2 * p.burst),
            landed.eq((flying == 0) & ~self.arrived),
        ]
        word, valid = Signal(p.word_bits), Signal()
        m.d.sync += [valid.eq(self.arrived), word.eq(self.word)]
        with m.FSM():
            with m.State("job"):
                m.d.comb += [self.jobs.ready.eq(1), self.idle.eq(~self.jobs.valid)]
                m.d.sync += [at.eq(self.base + self.jobs.payload.start), remaining.eq(self.jobs.payload.count)]
                with m.If(self.jobs.valid):
                    with m.If(self.jobs.payload.end):
                        m.next = "land"
                    with m.Else():
                        m.next = "edge"
            with m.State("edge"):
                m.d.sync += [
                    to_edge.eq(p.burst - at[: log2(p.burst)]),
                    work.eq(remaining != 0),
                    long.eq(remaining[log2(p.burst) :] != 0),
                ]
                m.next = "count"
            with m.State("count"):  # until `owed` has the last command's words
                m.next = "measure"
            with m.State("measure"):
                m.d.sync += count.eq(
                    Mux(long | (remaining[: log2(p.burst)] > to_edge), to_edge, remaining[: log2(p.burst)])
                )
                with m.If(~work):
                    m.next = "job"
                with m.Elif(room):
                    m.next = "offer"
            with m.State("offer"):
                m.d.comb += self.commands.valid.eq(1)
                with m.If(self.commands.ready):
                    m.d.sync += [at.eq(at + count), remaining.eq(remaining - count)]
                    m.next = "edge"
            with m.State("land"), m.If(landed):
                m.d.sync += word.eq(0)
                m.next = "close"
            with m.State("close"):
                m.d.comb += closing.eq(1)
                m.d.sync += word.eq(0)
                with m.If(self.o.ready):
                    m.next = "job"
        m.d.comb += [
            self.o.valid.eq(valid | closing),
            self.o.payload.key.eq(word[: p.key_bits]),
            self.o.payload.payload.eq(word[p.key_bits :]),
            self.o.payload.end.eq(closing),
        ]
        return m


class Writer(wiring.Component):
    """Words of one slice in, bursts out; a command is given when all its words are in the queue.

    `begin` with `at` starts a slice; `idle` when it has ended and memory has acknowledged every burst.
    """

    def __init__(self, params: Params, bits: int) -> None:
        self._params, self._bits = params, bits
        self._word = data.StructLayout({"bits": bits, "end": 1})
        super().__init__(
            {
                "begin": In(1),
                "at": In(params.address_bits),
                "i": In(stream.Signature(self._word)),
                "commands": Out(stream.Signature(command_layout(params))),
                "o": Out(stream.Signature(bits)),
                "acknowledged": In(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """`stored` words wait without a command, `open_bursts` commands without an acknowledgement."""
        del platform
        m = Module()
        p = self._params
        m.submodules.fifo = fifo = Fifo(self._bits, p.out_depth)
        wiring.connect(m, fifo.o, wiring.flipped(self.o))
        at, stored = Signal(p.address_bits), Signal(range(p.out_depth + p.burst))
        open_bursts, busy, closing = Signal(8), Signal(), Signal()
        count, to_edge, taken = (Signal(range(p.burst + 1)) for _ in range(3))
        put, issue = Signal(), Signal()
        command = self.commands.payload
        m.d.comb += [
            fifo.i.payload.eq(self.i.payload.bits),
            fifo.i.valid.eq(self.i.valid & ~self.i.payload.end),
            self.i.ready.eq(fifo.i.ready),
            put.eq(fifo.i.valid & fifo.i.ready),
            issue.eq(self.commands.valid & self.commands.ready),
            command.address.eq(at),
            command.count.eq(count),
            command.write.eq(1),
        ]
        m.d.sync += [
            taken.eq(Mux(issue, count, 0)),
            stored.eq(stored + put - taken),
            open_bursts.eq(open_bursts + issue - self.acknowledged),
            self.idle.eq(~busy & (open_bursts == 0)),
        ]
        with m.If(self.i.valid & self.i.ready & self.i.payload.end):
            m.d.sync += closing.eq(1)
        with m.FSM():
            with m.State("start"):
                m.d.sync += at.eq(self.at)
                with m.If(self.begin):
                    m.d.sync += [busy.eq(1), self.idle.eq(0)]
                    m.next = "edge"
            with m.State("edge"):
                m.d.sync += to_edge.eq(p.burst - at[: log2(p.burst)])
                m.next = "count"
            with m.State("count"):  # until `stored` is without the last command's words
                m.next = "measure"
            with m.State("measure"):
                m.d.sync += count.eq(Mux(stored >= to_edge, to_edge, stored))
                with m.If(stored >= to_edge):
                    m.next = "offer"
                with m.Elif(closing & ~put):
                    m.next = "rest"
            with m.State("rest"):
                with m.If(count != 0):
                    m.next = "offer"
                with m.Else():
                    m.d.sync += [busy.eq(0), closing.eq(0)]
                    m.next = "start"
            with m.State("offer"):
                m.d.comb += self.commands.valid.eq(1)
                with m.If(self.commands.ready):
                    m.d.sync += at.eq(at + count)
                    m.next = "edge"
        return m


def log2(number: int) -> int:
    """Of a power of two."""
    return number.bit_length() - 1
