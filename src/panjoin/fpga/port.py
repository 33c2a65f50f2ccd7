"""A merger and a prober with their common way to memory. A worker runs one command at a time, so they never meet.

               ┌ reader a ─> queue ─┬──────────────────────> merger ─┬─> writer ─> memory
    memory ────┤   (older tuples; the partitions' tuples)       ^    │
               └ reader b ─> queue ─┼────────────────────────────┘   │     samples ─> index array
                   (the batch)      └> boundary ─> finder ─> prober ─┘
                                        generator    │         ^
                                                  jobs of reader a

Merging, the readers fetch one slice each. Probing, reader b fetches this port's piece of the batch, and the finder
tells reader a which partitions to fetch; their tuples get their position in place of their payload as they arrive.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.boundary import Boundary
from panjoin.fpga.bursts import Reader, Writer, command_layout
from panjoin.fpga.fifo import Fifo
from panjoin.fpga.finder import Finder, job_layout
from panjoin.fpga.marks import Marks
from panjoin.fpga.merger import Merger
from panjoin.fpga.params import Params
from panjoin.fpga.prober import Prober
from panjoin.fpga.words import word_layout

#: Partitions that may be asked for ahead, and bounds that may wait for their tuples.
JOBS_AHEAD = 16


def order_layout(params: Params) -> data.StructLayout:
    """What a port is told to do; the same lines go to all ports, each with its own `begin`."""
    address = params.address_bits
    return data.StructLayout(
        {
            "probing": 1,
            "indexing": 1,
            "a_base": address,  # of the region that reader a reads
            "b_base": address,
            "a_start": address,
            "a_count": address,
            "b_start": address,
            "b_count": address,
            "out_at": address,
            "until": address,  # tuples before the first sample
            "entry": range(params.partitions + 1),  # of the first sample
            "mask": address,  # tuples of a partition, less 1
            "offset": signed(params.key_bits + 2),
        }
    )


class Port(wiring.Component):
    """See the head of this file."""

    def __init__(self, params: Params, *, merges: bool = True, probes: bool = True) -> None:
        self._params, self._merges, self._probes = params, merges, probes
        super().__init__(
            {
                "order": In(order_layout(params)),
                "begin": In(1),
                "idle": Out(1),
                "commands": Out(stream.Signature(command_layout(params))),
                "arrived": In(1),
                "arrived_b": In(1),
                "word": In(params.word_bits),
                "written": Out(stream.Signature(params.word_bits)),
                "acknowledged": In(1),
                "ask": Out(1),
                "fresh": Out(1),
                "bound": Out(params.key_bits + 1),
                "answered": In(1),
                "start": In(params.address_bits),
                "count": In(params.address_bits),
                "limit": In(params.key_bits + 1),
                "sample": Out(1),
                "sample_entry": Out(range(params.partitions + 1)),
                "sample_key": Out(params.key_bits),
                "sample_taken": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Readers, queues, units and writer, wired."""
        del platform
        m = Module()
        p = self._params
        word = word_layout(p.key_bits, p.payload_bits)
        m.submodules.reader_a = reader_a = Reader(p, b=False)
        m.submodules.reader_b = reader_b = Reader(p, b=True)
        m.submodules.queue_a = queue_a = Fifo(data.StructLayout({"word": word, "tail": 1}), p.fifo_depth)
        m.submodules.queue_b = queue_b = Fifo(word, p.fifo_depth)
        m.submodules.writer = writer = Writer(p, p.word_bits)
        m.d.comb += [
            queue_a.i.payload.word.eq(reader_a.o.payload),
            queue_a.i.valid.eq(reader_a.o.valid),
            reader_a.o.ready.eq(queue_a.i.ready),
        ]
        wiring.connect(m, reader_b.o, queue_b.i)
        wiring.connect(m, writer.o, wiring.flipped(self.written))

        order, begun = Signal(order_layout(p)), Signal()
        m.d.sync += begun.eq(self.begin)
        with m.If(self.begin):
            m.d.sync += order.eq(self.order)
        here, here_b, word_here = Signal(), Signal(), Signal(p.word_bits)
        m.d.sync += [here.eq(self.arrived), here_b.eq(self.arrived_b), word_here.eq(self.word)]
        m.d.comb += [
            reader_a.left.eq(queue_a.left),
            reader_b.left.eq(queue_b.left),
            reader_a.arrived.eq(here & ~here_b),
            reader_b.arrived.eq(here & here_b),
            reader_a.word.eq(word_here),
            reader_b.word.eq(word_here),
            reader_a.base.eq(order.a_base),
            reader_b.base.eq(order.b_base),
            writer.begin.eq(begun),
            writer.at.eq(order.out_at),
            writer.acknowledged.eq(self.acknowledged),
        ]
        self._single_jobs(m, reader_b, begun, order.b_start, order.b_count, "b")
        merging = Signal()
        m.d.comb += merging.eq(~order.probing)
        if self._merges:
            self._merge(m, merging, queue_a, queue_b, writer)
        if self._probes:
            self._probe(m, order, queue_a, queue_b, writer, reader_a, here & ~here_b, word_here)
        with m.If(merging):
            self._single_jobs(m, reader_a, begun & merging, order.a_start, order.a_count, "a")
        self._commands(m, (writer, reader_a, reader_b))
        self._samples(m, order, begun, writer)
        m.d.sync += self.idle.eq(writer.idle & reader_a.idle & reader_b.idle & ~begun & ~self.begin)
        return m

    def _single_jobs(self, m: Module, reader: Reader, begun: Value, start: Value, count: Value, name: str) -> None:
        """One job, then the end."""
        left = Signal(2, name=f"jobs_{name}")
        m.d.comb += [
            reader.jobs.valid.eq(left != 0),
            reader.jobs.payload.start.eq(start),
            reader.jobs.payload.count.eq(count),
            reader.jobs.payload.end.eq(left == 1),
        ]
        with m.If(begun):
            m.d.sync += left.eq(2)
        with m.Elif(reader.jobs.valid & reader.jobs.ready):
            m.d.sync += left.eq(left - 1)

    def _merge(self, m: Module, merging: Signal, queue_a: Fifo, queue_b: Fifo, writer: Writer) -> None:
        m.submodules.merger = merger = Merger(self._params)
        sides = ((queue_a, queue_a.o.payload.word, merger.a), (queue_b, queue_b.o.payload, merger.b))
        for queue, word, stream_in in sides:
            m.d.comb += [stream_in.payload.eq(word), stream_in.valid.eq(queue.o.valid & merging)]
            with m.If(merging):
                m.d.comb += queue.o.ready.eq(stream_in.ready)
        with m.If(merging):
            m.d.comb += [
                writer.i.valid.eq(merger.o.valid),
                writer.i.payload.bits.eq(Cat(merger.o.payload.key, merger.o.payload.payload)),
                writer.i.payload.end.eq(merger.o.payload.end),
                merger.o.ready.eq(writer.i.ready),
            ]

    def _probe(
        self, m: Module, order: Signal, queue_a: Fifo, queue_b: Fifo, writer: Writer, reader_a: Reader,
        arrived: Value, word: Signal,
    ) -> None:  # fmt: skip
        p = self._params
        job = job_layout(p)
        m.submodules.boundary = boundary = Boundary(p)
        m.submodules.finder = finder = Finder(p)
        m.submodules.bounds = bounds = Fifo(word_layout(p.key_bits + 1, p.payload_bits), JOBS_AHEAD)
        m.submodules.prober = prober = Prober(p)
        m.submodules.jobs = jobs = Fifo(job, JOBS_AHEAD)
        m.submodules.places = places = Fifo(job, 2 * JOBS_AHEAD)
        m.submodules.limits = limits = Fifo(p.key_bits + 1, 2 * JOBS_AHEAD)
        m.submodules.marks = marks = Marks(p)
        wiring.connect(m, limits.o, marks.limits)
        wiring.connect(m, marks.o, prober.tuples)
        wiring.connect(m, boundary.o, finder.i)
        wiring.connect(m, finder.o, bounds.i)
        wiring.connect(m, bounds.o, prober.bounds)
        # every job goes to three queues: reader a fetches its words, `places` numbers them, `limits` marks their end
        found, room, brings = finder.jobs.payload, Signal(), Signal()
        m.d.comb += [
            boundary.offset.eq(order.offset),
            boundary.i.payload.eq(queue_b.o.payload),
            boundary.i.valid.eq(queue_b.o.valid & order.probing),
            marks.i.payload.eq(queue_a.o.payload),
            marks.i.valid.eq(queue_a.o.valid & order.probing),
            room.eq(jobs.i.ready & places.i.ready & limits.i.ready),
            brings.eq(finder.jobs.valid & room & ~found.job.end),
            finder.jobs.ready.eq(room),
            jobs.i.payload.eq(found.job),
            jobs.i.valid.eq(finder.jobs.valid & room),
            places.i.payload.eq(found.job),
            places.i.valid.eq(brings),
            limits.i.payload.eq(found.limit),
            limits.i.valid.eq(brings),
            self.ask.eq(finder.ask),
            self.fresh.eq(finder.fresh),
            self.bound.eq(finder.bound),
            finder.answered.eq(self.answered),
            finder.start.eq(self.start),
            finder.count.eq(self.count),
            finder.limit.eq(self.limit),
        ]
        position, left = Signal(p.address_bits), Signal(p.address_bits)
        some, only, tail, advance = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [advance.eq(~some | (arrived & only)), places.o.ready.eq(advance)]
        with m.If(advance):
            m.d.sync += [
                some.eq(places.o.valid),
                position.eq(places.o.payload.start),
                left.eq(places.o.payload.count),
                only.eq(places.o.payload.count == 1),
            ]
        with m.Elif(arrived):
            m.d.sync += [position.eq(position + 1), left.eq(left - 1), only.eq(left == 2)]
        m.d.sync += tail.eq(arrived & only)
        m.d.comb += queue_a.i.payload.tail.eq(tail & order.probing & ~reader_a.o.payload.end)
        with m.If(order.probing):
            m.d.comb += [
                queue_a.o.ready.eq(marks.i.ready),
                queue_b.o.ready.eq(boundary.i.ready),
                reader_a.jobs.payload.eq(jobs.o.payload),
                reader_a.jobs.valid.eq(jobs.o.valid),
                jobs.o.ready.eq(reader_a.jobs.ready),
                writer.i.valid.eq(prober.o.valid),
                writer.i.payload.bits[: p.key_bits].eq(prober.o.payload.key),
                writer.i.payload.bits[p.key_bits :].eq(prober.o.payload.payload),
                writer.i.payload.end.eq(prober.o.payload.end),
                prober.o.ready.eq(writer.i.ready),
                reader_a.word[: p.key_bits].eq(word[: p.key_bits]),
                reader_a.word[p.key_bits :].eq(position),
            ]

    def _commands(self, m: Module, sources: tuple[Writer | Reader, ...]) -> None:
        """One command waits for this port's slot; sources take turns."""
        held, valid, first = Signal(command_layout(self._params)), Signal(), Signal(range(len(sources)))
        m.d.comb += [self.commands.payload.eq(held), self.commands.valid.eq(valid)]
        with m.If(self.commands.ready):
            m.d.sync += valid.eq(0)
        with m.If(~valid), m.Switch(first):
            for at in range(len(sources)):
                with m.Case(at):
                    chain = m.If
                    for offset in range(len(sources)):
                        chosen = (at + offset) % len(sources)
                        source = sources[chosen]
                        with chain(source.commands.valid):
                            m.d.comb += source.commands.ready.eq(1)
                            m.d.sync += [
                                held.eq(source.commands.payload),
                                valid.eq(1),
                                first.eq((chosen + 1) % len(sources)),
                            ]
                        chain = m.Elif

    def _samples(self, m: Module, order: Signal, begun: Signal, writer: Writer) -> None:
        """The indexer's part of a port: every (mask + 1)-th key of the merged array, as the output streams by."""
        p = self._params
        seen, key = Signal(), Signal(p.key_bits)
        until, entry = Signal(p.address_bits), Signal(range(p.partitions + 1))
        m.d.sync += [
            seen.eq(writer.i.valid & writer.i.ready & ~writer.i.payload.end & order.indexing),
            key.eq(writer.i.payload.bits[: p.key_bits]),
        ]
        with m.If(self.sample_taken):
            m.d.sync += self.sample.eq(0)
        with m.If(begun):
            m.d.sync += [until.eq(order.until), entry.eq(order.entry)]
        with m.Elif(seen):
            m.d.sync += until.eq(Mux(until == 0, order.mask, until - 1))
            with m.If(until == 0):
                m.d.sync += [
                    self.sample.eq(1),
                    self.sample_key.eq(key),
                    self.sample_entry.eq(entry),
                    entry.eq(entry + 1),
                ]
