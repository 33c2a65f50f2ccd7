"""The worker node: BI-Sort's commands on memory, by the ports' mergers and probers.

    create  capacity, partition size, buffer B          sizes to 0
    insert  n tuples, sorted, at BATCH                  into the buffer, or with what waits there into the main array
    probe   n tuples at BATCH, two offsets              four lists of positions: main and buffer, low and high ends
    seal                                                what waits in the buffer goes into the main array
    expire                                              sizes to 0, capacity to 0

Memory is eight regions of equal size. Main array and buffer have two each and change sides with every merge: one is
read while the other is written (the paper's double buffering), so a merge that is under way harms nobody.

    0 main   1 main'   2 buffer   3 buffer'   4 batch   5 low ends   6 high ends        (of main; of the buffer in the
                                                                                         upper half of 5 and 6)
One merge: the cutter finds where port k+1 begins while ports up to k are already merging. One probe pass: each port
gets an equal piece of the batch. A command that does not fit (more tuples than capacity or region, an index array too
small for the capacity) is refused: `refused` for one clock, and nothing has changed.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.arbiter import Arbiter
from panjoin.fpga.bursts import log2
from panjoin.fpga.cutter import Cutter
from panjoin.fpga.memory import memory_signature
from panjoin.fpga.params import Params
from panjoin.fpga.partitioner import Partitioner
from panjoin.fpga.port import Port, order_layout

MAIN, BUFFER, BATCH, LOW, HIGH = 0, 2, 4, 5, 6


class Op(IntEnum):
    """What a worker can be told."""

    CREATE = 0
    INSERT = 1
    PROBE = 2
    EXPIRE = 3
    SEAL = 4


def command_layout(params: Params) -> data.StructLayout:
    """A command of the manager; `own_high`: high ends are of other tuples, which lie in the batch's upper half."""
    offset = signed(params.key_bits + 2)
    return data.StructLayout(
        {
            "op": Op,
            "count": params.address_bits,
            "buffer": params.address_bits,
            "partition_bits": 5,
            "low": offset,
            "high": offset,
            "own_high": 1,
        }
    )


class Worker(wiring.Component):
    """See the head of this file. A command is taken when the last one is done: `commands.ready` means idle."""

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
                "memory": Out(memory_signature(params)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Ports around the shared parts, and the state machine of the commands."""
        del platform
        m = Module()
        p = self._params
        ports = [Port(p, merges=u < p.mergers, probes=u < p.probers) for u in range(p.ports)]
        m.submodules.partitioner = partitioner = Partitioner(p)
        m.submodules.cutter = cutter = Cutter(p)
        m.submodules.arbiter = arbiter = Arbiter(p)
        order, begin, idle = Signal(order_layout(p)), Signal(p.ports), Signal(p.ports)
        wiring.connect(m, cutter.commands, arbiter.commands[p.ports])
        m.d.comb += [
            arbiter.full.eq(self.memory.full),
            self.memory.command.eq(arbiter.command),
            self.memory.command_valid.eq(arbiter.command_valid),
            partitioner.slot.eq(arbiter.slot),
        ]
        m.d.sync += [cutter.arrived.eq(self.memory.arrived[p.ports]), cutter.word.eq(self.memory.words[p.ports])]
        samples, keys, entries = [], [], []
        for u, port in enumerate(ports):
            m.submodules[f"port{u}"] = port
            wiring.connect(m, port.commands, arbiter.commands[u])
            m.d.comb += [
                port.order.eq(order),
                port.begin.eq(begin[u]),
                idle[u].eq(port.idle),
                port.arrived.eq(self.memory.arrived[u]),
                port.arrived_b.eq(self.memory.arrived_b[u]),
                port.word.eq(self.memory.words[u]),
                port.acknowledged.eq(self.memory.acknowledged[u]),
                self.memory.written[u].eq(port.written.payload),
                self.memory.written_valid[u].eq(port.written.valid),
                port.written.ready.eq(self.memory.written_ready[u]),
                partitioner.ask[u].eq(port.ask),
                partitioner.fresh[u].eq(port.fresh),
                partitioner.bounds[u].eq(port.bound),
                port.answered.eq(partitioner.answered[u]),
                port.start.eq(partitioner.start),
                port.count.eq(partitioner.count),
                port.limit.eq(partitioner.limit),
                port.sample_taken.eq(port.sample & arbiter.ring[u]),
            ]
            samples.append(port.sample_taken)
            keys.append(Mux(port.sample_taken, port.sample_key, 0))
            entries.append(Mux(port.sample_taken, port.sample_entry, 0))
        # the indexer: a sample of the port whose slot it is
        m.d.sync += [
            partitioner.write.eq(Cat(samples).any()),
            partitioner.write_at.eq(_or(entries)),
            partitioner.write_data.eq(_or(keys)),
        ]
        self._control(m, partitioner, cutter, order, begin, idle)
        return m

    def _control(
        self, m: Module, partitioner: Partitioner, cutter: Cutter, order: Signal, begin: Signal, idle: Signal
    ) -> None:
        p = self._params
        address = p.address_bits
        region = 1 << (address - 3)
        half = region // 2
        command, mask = Signal(command_layout(p)), Signal(address)
        capacity, buffer, bits, shift = Signal(address), Signal(address), Signal(5), Signal(5)
        misfit, small = Signal(), Signal()
        all_idle, settle = Signal(), Signal(4)
        m.d.sync += all_idle.eq(idle.all())
        main, waiting = Signal(address), Signal(address)
        m.d.comb += [
            main.eq(Cat(Mux(self.main_side, region, 0))),
            waiting.eq(Mux(self.buffer_side, (BUFFER + 1) * region, BUFFER * region)),
        ]
        size, total = Signal(address + 1), Signal(address + 1)
        # one merge: a and b to `out`
        a_size, b_size, out = Signal(address), Signal(address), Signal(address)
        piece, edge, next_edge, cut, next_cut = (Signal(address) for _ in range(5))
        b_cut, b_next, rounded = Signal(address), Signal(address), Signal(address + 1)
        unit = Signal(range(p.ports + 1))
        flush, trivial = Signal(), Signal()  # a flush: the buffer's merge is followed by main's
        # one pass of a probe
        pass_high, pass_buffer = Signal(), Signal()
        n = Signal(address)
        m.d.comb += [
            cutter.a_base.eq(order.a_base),
            cutter.b_base.eq(order.b_base),
            cutter.a_size.eq(a_size),
            cutter.b_size.eq(b_size),
            cutter.at.eq(next_edge),
            order.mask.eq(mask),
        ]
        m.d.sync += begin.eq(0)
        # `rounded` in partitions, two clocks later
        coarse, shifted = Signal(address + 1), Signal(address + 1)
        m.d.sync += [
            coarse.eq(rounded >> Cat(Const(0, 3), shift[3:])),
            shifted.eq(coarse >> shift[:3]),
        ]
        with m.FSM():
            with m.State("idle"):
                m.d.comb += self.commands.ready.eq(1)
                m.d.sync += [command.eq(self.commands.payload), flush.eq(0)]
                with m.If(self.commands.valid):
                    m.next = "sum"
            with m.State("sum"):
                m.d.sync += [
                    size.eq(self.buffer_size + command.count),
                    total.eq(self.main_size + self.buffer_size),
                    mask.eq(Mux(command.op == Op.CREATE, (1 << command.partition_bits) - 1, mask)),
                ]
                m.next = "sum all"
            with m.State("sum all"):
                m.d.sync += [
                    total.eq(total + command.count),
                    rounded.eq(command.count + mask),
                    shift.eq(Mux(command.op == Op.CREATE, command.partition_bits, bits)),
                ]
                m.next = "compare"
            with m.State("compare"):
                most = Mux(command.op == Op.CREATE, region, half)
                m.d.sync += [
                    misfit.eq(Mux(command.op == Op.INSERT, total > capacity, command.count > most)),
                    small.eq((command.count <= buffer) & (size < buffer)),
                ]
                m.next = "shift"
            with m.State("shift"):
                m.next = "check"
            with m.State("check"), m.Switch(command.op):
                with m.Case(Op.CREATE):
                    m.next = "create"
                with m.Case(Op.INSERT):
                    m.next = "insert"
                with m.Case(Op.PROBE):
                    m.next = "probe"
                with m.Case(Op.EXPIRE):
                    m.d.sync += [self.main_size.eq(0), self.buffer_size.eq(0), capacity.eq(0)]
                    m.next = "idle"
                with m.Case(Op.SEAL):
                    m.d.sync += [
                        order.probing.eq(0),
                        order.b_base.eq(waiting),
                        b_size.eq(self.buffer_size),
                        self.buffer_size.eq(0),
                    ]
                    m.next = "to main"
                    with m.If(self.buffer_size == 0):
                        m.next = "idle"
            with m.State("create"):
                with m.If(
                    misfit
                    | (shifted > p.partitions)
                    | (command.partition_bits < log2(p.smallest_partition))
                    | (command.partition_bits >= address)
                ):
                    m.d.comb += self.refused.eq(1)
                with m.Else():
                    m.d.sync += [
                        capacity.eq(command.count),
                        buffer.eq(command.buffer),
                        bits.eq(command.partition_bits),
                        self.main_size.eq(0),
                        self.buffer_size.eq(0),
                        self.version.eq(0),
                    ]
                m.next = "idle"
            # ---- insertion ----
            with m.State("insert"):
                m.d.sync += [
                    order.probing.eq(0),
                    order.b_base.eq(BATCH * region),
                    b_size.eq(command.count),
                    piece.eq(0),
                ]
                with m.If(misfit):
                    m.d.comb += self.refused.eq(1)
                    m.next = "idle"
                with m.Elif(command.count == 0):
                    m.next = "idle"
                with m.Elif(small):
                    m.next = "to buffer"
                with m.Elif(self.buffer_size != 0):
                    m.d.sync += flush.eq(1)
                    m.next = "to buffer"
                with m.Else():
                    m.next = "to main"
            with m.State("to buffer"):
                m.d.sync += [
                    order.a_base.eq(waiting),
                    order.indexing.eq(0),
                    a_size.eq(self.buffer_size),
                    out.eq(Mux(self.buffer_side, BUFFER * region, (BUFFER + 1) * region)),
                    self.buffer_side.eq(~self.buffer_side),
                    self.buffer_size.eq(size),
                ]
                m.next = "size"
            with m.State("to main"):
                m.d.sync += [
                    order.a_base.eq(main),
                    order.indexing.eq(1),
                    a_size.eq(self.main_size),
                    out.eq(Mux(self.main_side, MAIN * region, (MAIN + 1) * region)),
                    self.main_side.eq(~self.main_side),
                    self.version.eq(self.version + 1),
                ]
                m.next = "size"
            with m.State("size"):
                m.d.sync += [
                    total.eq(a_size + b_size),
                    edge.eq(0),
                    cut.eq(0),
                    b_cut.eq(0),
                    unit.eq(0),
                ]
                with m.If(order.indexing):
                    m.d.sync += self.main_size.eq(a_size + b_size)
                m.next = "round"
            with m.State("round"):
                m.d.sync += rounded.eq(total + (p.mergers * p.burst - 1))
                m.next = "piece"
            with m.State("piece"):
                m.d.sync += piece.eq(rounded[log2(p.mergers * p.burst) :] << log2(p.burst))
                m.next = "edge"
            with m.State("edge"):
                m.d.sync += next_edge.eq(edge + piece)
                m.next = "last"
            with m.State("last"):
                m.d.sync += trivial.eq(next_edge >= total)
                m.next = "cut"
            with m.State("cut"):
                with m.If(trivial):
                    m.d.sync += [next_edge.eq(total), next_cut.eq(a_size)]
                    m.next = "b"
                with m.Else():
                    m.d.comb += cutter.ask.eq(1)
                    m.next = "wait for cut"
            with m.State("wait for cut"):
                m.d.sync += next_cut.eq(cutter.cut)
                with m.If(cutter.found):
                    m.next = "b"
            with m.State("b"):
                m.d.sync += [
                    b_next.eq(next_edge - next_cut),
                    rounded.eq(edge + mask),
                    order.a_start.eq(cut),
                    order.a_count.eq(next_cut - cut),
                    order.b_start.eq(b_cut),
                    order.out_at.eq(out + edge),
                    order.until.eq((~edge + 1) & mask),
                ]
                m.next = "order"
            with m.State("order"):
                m.d.sync += order.b_count.eq(b_next - b_cut)
                m.next = "shift entry"
            with m.State("shift entry"):
                m.next = "entry"
            with m.State("entry"):
                m.d.sync += order.entry.eq(shifted)
                m.next = "begin"
            with m.State("begin"):
                for u in range(p.ports):
                    m.d.sync += begin[u].eq(unit == u)
                m.d.sync += [edge.eq(next_edge), cut.eq(next_cut), b_cut.eq(b_next), unit.eq(unit + 1), settle.eq(0)]
                m.next = "wait" if p.mergers == 1 else "edge"
                with m.If(trivial):
                    m.next = "wait"
            with m.State("wait"):
                m.d.sync += settle.eq(Mux(settle.all(), settle, settle + 1))
                with m.If(settle.all() & all_idle):
                    with m.If(order.probing):
                        m.next = "next pass"
                    with m.Elif(flush):
                        m.d.sync += [
                            flush.eq(0),
                            order.b_base.eq(waiting),
                            b_size.eq(self.buffer_size),
                            self.buffer_size.eq(0),
                        ]
                        m.next = "to main"
                    with m.Else():
                        m.next = "idle"
            # ---- probing ----
            with m.State("probe"):
                m.d.sync += [order.probing.eq(1), order.indexing.eq(0), pass_high.eq(0), pass_buffer.eq(0)]
                m.d.sync += rounded.eq(command.count + (p.probers * p.burst - 1))
                with m.If(misfit | (capacity == 0)):
                    m.d.comb += self.refused.eq(1)
                    m.next = "idle"
                with m.Elif(command.count == 0):
                    m.next = "idle"
                with m.Elif(self.main_size != 0):
                    m.next = "pass"
                with m.Elif(self.buffer_size != 0):
                    m.d.sync += pass_buffer.eq(1)
                    m.next = "pass"
                with m.Else():
                    m.next = "idle"
            with m.State("pass"):
                m.d.sync += [
                    piece.eq(rounded[log2(p.probers * p.burst) :] << log2(p.burst)),
                    order.offset.eq(Mux(pass_high, command.high, command.low)),
                    order.a_base.eq(Mux(pass_buffer, waiting, main)),
                    order.b_base.eq(BATCH * region + Mux(pass_high & command.own_high, half, 0)),
                    out.eq(Mux(pass_high, HIGH * region, LOW * region) + Mux(pass_buffer, half, 0)),
                    n.eq(Mux(pass_buffer, self.buffer_size, self.main_size)),
                    edge.eq(0),
                    unit.eq(0),
                ]
                m.next = "samples"
            with m.State("samples"):
                m.d.sync += [
                    partitioner.size.eq(n),
                    partitioner.partition_bits.eq(Mux(pass_buffer, address, bits)),
                    partitioner.partition_size.eq(Mux(pass_buffer, 1 << address, mask + 1)),
                    rounded.eq(n + mask),
                ]
                m.next = "shift samples"
            with m.State("shift samples"):
                m.next = "count samples"
            with m.State("count samples"):
                m.next = "shares"
            with m.State("shares"):
                m.d.sync += partitioner.samples.eq(Mux(pass_buffer, 1, shifted))
                m.next = "share"
            with m.State("share"):
                m.d.sync += [next_edge.eq(edge + piece), order.b_start.eq(edge), order.out_at.eq(out + edge)]
                m.next = "share ends"
            with m.State("share ends"):
                m.d.sync += trivial.eq(next_edge >= command.count)
                m.next = "clip share"
            with m.State("clip share"):
                with m.If(trivial):
                    m.d.sync += next_edge.eq(command.count)
                m.next = "count"
            with m.State("count"):
                m.d.sync += order.b_count.eq(next_edge - edge)
                m.next = "begin share"
            with m.State("begin share"):
                for u in range(p.ports):
                    m.d.sync += begin[u].eq(unit == u)
                m.d.sync += [edge.eq(next_edge), unit.eq(unit + 1), settle.eq(0)]
                m.next = "share"
                with m.If(trivial):
                    m.next = "wait"
            with m.State("next pass"):
                m.d.sync += [rounded.eq(command.count + (p.probers * p.burst - 1)), pass_high.eq(~pass_high)]
                with m.If(~pass_high):
                    m.next = "pass"
                with m.Elif(~pass_buffer & (self.buffer_size != 0)):
                    m.d.sync += pass_buffer.eq(1)
                    m.next = "pass"
                with m.Else():
                    m.next = "idle"


def _or(values: list[Any]) -> Any:
    result = values[0]
    for each in values[1:]:
        result |= each
    return result
