"""Boundary generator, partitioner with finder, marks and cutter against a line of Python each."""

from __future__ import annotations

import random
from bisect import bisect_left
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from panjoin.fpga.boundary import Boundary
from panjoin.fpga.cutter import Cutter
from panjoin.fpga.finder import Finder, found_layout
from panjoin.fpga.marks import Marks
from panjoin.fpga.params import Params, preset
from panjoin.fpga.partitioner import Partitioner
from panjoin.fpga.words import word_layout
from tests.fpga.bench import END, closed, run

SMALL = preset("small").with_(key_bits=16)
TOP = 2**16 - 1


@pytest.mark.parametrize("offset", [0, 1, -5, 11, -(2**16), 2**16, TOP, -TOP])
def test_a_bound_is_the_key_moved_by_the_offset_and_stays_between_the_types_ends(offset: int) -> None:
    rng = random.Random(offset)
    keys = sorted([0, 1, 4, 5, 6, TOP - 11, TOP - 1, TOP, *(rng.randint(0, TOP) for _ in range(10))])
    got, _ = run(_Offset(SMALL, offset), {"i": closed(list(enumerate_pairs(keys)))}, {"o": len(keys) + 1}, rng)
    assert got["o"] == [(min(max(key + offset, 0), TOP + 1), number, 0) for number, key in enumerate(keys)] + [END]


def enumerate_pairs(keys: list[int]) -> list[tuple[int, int]]:
    return [(key, number) for number, key in enumerate(keys)]


class _Offset(wiring.Component):
    def __init__(self, params: Params, offset: int) -> None:
        self._unit, self._offset = Boundary(params), offset
        super().__init__({name: member for name, member in self._unit.signature.members.items() if name in ("i", "o")})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = self._unit
        wiring.connect(m, wiring.flipped(self.i), unit.i)
        wiring.connect(m, unit.o, wiring.flipped(self.o))
        m.d.comb += unit.offset.eq(self._offset)
        return m


class _Search(wiring.Component):
    """Two finders at one partitioner, over an index array that the test writes."""

    def __init__(self, params: Params) -> None:
        self.params = params
        bound = stream.Signature(word_layout(params.key_bits + 1, params.payload_bits))
        jobs = stream.Signature(found_layout(params))
        super().__init__(
            {f"{name}{u}": way(shape) for u in range(2) for name, way, shape in
             (("i", In, bound), ("o", Out, bound), ("jobs", Out, jobs))}
        )  # fmt: skip
        self.partitioner = Partitioner(params)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.partitioner = shared = self.partitioner
        turn = self.params.turn
        m.d.sync += shared.slot.eq(shared.slot + 1)
        with m.If(shared.slot == turn - 1):
            m.d.sync += shared.slot.eq(0)
        for u in range(2):
            m.submodules[f"finder{u}"] = finder = Finder(self.params)
            for name in ("o", "jobs"):
                wiring.connect(m, getattr(finder, name), wiring.flipped(getattr(self, f"{name}{u}")))
            wiring.connect(m, wiring.flipped(getattr(self, f"i{u}")), finder.i)
            m.d.comb += [
                shared.ask[u].eq(finder.ask),
                shared.fresh[u].eq(finder.fresh),
                shared.bounds[u].eq(finder.bound),
                finder.answered.eq(shared.answered[u]),
                finder.start.eq(shared.start),
                finder.count.eq(shared.count),
                finder.limit.eq(shared.limit),
            ]
        return m


@pytest.mark.parametrize("seed", range(6))
def test_each_port_gets_each_partition_that_its_bounds_lie_in_once(seed: int) -> None:
    rng = random.Random(seed)
    bits = 3
    size = rng.choice([1, 8, 9, 63, 64, 300, 8 * 64])
    highest = rng.choice([3, 200, TOP])
    keys = sorted(rng.randint(0, highest) for _ in range(size))
    samples = keys[:: 1 << bits]
    bounds = [
        sorted(rng.choice([0, TOP + 1, rng.randint(0, highest)]) for _ in range(rng.choice([0, 1, 40]))) for _ in "ab"
    ]
    search = _Search(SMALL)
    got: list[list[Any]] = [[], []]
    words: list[list[Any]] = [[], []]

    async def bench(ctx: Any) -> None:
        shared = search.partitioner
        for at, key in enumerate(samples):
            ctx.set(shared.write, 1)
            ctx.set(shared.write_at, at)
            ctx.set(shared.write_data, key)
            await ctx.tick()
        ctx.set(shared.write, 0)
        ctx.set(shared.size, size)
        ctx.set(shared.samples, len(samples))
        ctx.set(shared.partition_bits, bits)
        ctx.set(shared.partition_size, 1 << bits)
        left = [list(reversed(closed([(bound, number) for number, bound in enumerate(each)]))) for each in bounds]
        for _ in range(20_000):
            for u in range(2):
                source, sink, jobs = (getattr(search, f"{name}{u}") for name in ("i", "o", "jobs"))
                ctx.set(source.valid, bool(left[u]))
                if left[u]:
                    ctx.set(source.payload, dict(zip(("key", "payload", "end"), left[u][-1], strict=True)))
                ctx.set(sink.ready, rng.random() < 0.7)
                ctx.set(jobs.ready, rng.random() < 0.7)
            for u in range(2):
                source, sink, jobs = (getattr(search, f"{name}{u}") for name in ("i", "o", "jobs"))
                if left[u] and ctx.get(source.ready):
                    left[u].pop()
                if ctx.get(sink.valid) and ctx.get(sink.ready):
                    words[u].append((ctx.get(sink.payload.key), len(got[u])))
                if ctx.get(jobs.valid) and ctx.get(jobs.ready):
                    job = ctx.get(jobs.payload)
                    got[u].append((job.job.end, job.job.start, job.job.count, job.limit))
            await ctx.tick()
            if all(each and each[-1][0] for each in got) and all(
                len(w) == len(b) + 1 for w, b in zip(words, bounds, strict=True)
            ):
                return
        raise AssertionError(f"stuck: {got} {words}")

    simulator = Simulator(search)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    for u in range(2):
        parts = [max(bisect_left(samples, bound) - 1, 0) for bound in bounds[u]]
        expected = [
            (0, p << bits, min(1 << bits, size - (p << bits)), (*samples, TOP + 1)[p + 1]) for p in sorted(set(parts))
        ]
        assert [job for job in got[u] if not job[0]] == expected
        order = sorted(set(parts))
        for (bound, sent), part in zip(words[u], parts, strict=False):  # its partition was sent before the bound
            assert sent > order.index(part), (bound, part)


def test_a_mark_follows_the_last_tuple_of_each_partition() -> None:
    marks = Marks(SMALL)
    sent = [(2, 0, 0, 0), (3, 1, 0, 1), (11, 6, 0, 0), (13, 7, 0, 1), (0, 0, 1, 0)]
    got: list[tuple[int, int, int]] = []

    async def bench(ctx: Any) -> None:
        rng = random.Random(2)
        words, limits = list(reversed(sent)), [TOP + 1, 7]
        for _ in range(200):
            ctx.set(marks.i.valid, bool(words) and rng.random() < 0.6)
            if words:
                key, payload, end, tail = words[-1]
                ctx.set(marks.i.payload, {"word": {"key": key, "payload": payload, "end": end}, "tail": tail})
            ctx.set(marks.limits.valid, bool(limits))
            if limits:
                ctx.set(marks.limits.payload, limits[-1])
            ctx.set(marks.o.ready, rng.random() < 0.6)
            if ctx.get(marks.i.valid) and ctx.get(marks.i.ready):
                words.pop()
            if limits and ctx.get(marks.limits.ready):
                limits.pop()
            if ctx.get(marks.o.valid) and ctx.get(marks.o.ready):
                word = ctx.get(marks.o.payload)
                got.append((word.key, word.payload, word.end))
            await ctx.tick()

    simulator = Simulator(marks)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert got == [(2, 0, 0), (3, 1, 0), (7, 1, 0), (11, 6, 0), (13, 7, 0), (TOP + 1, 7, 0), END]


@pytest.mark.parametrize("seed", range(5))
def test_the_cutter_cuts_where_the_stable_merge_cuts(seed: int) -> None:
    rng = random.Random(seed)
    highest = rng.choice([0, 3, TOP])
    a, b = (sorted(rng.randint(0, highest) for _ in range(rng.choice([0, 1, 20, 60]))) for _ in "ab")
    merged = sorted([(key, 0) for key in a] + [(key, 1) for key in b])  # equal keys: a's first
    memory = {100 + at: key for at, key in enumerate(a)} | {1000 + at: key for at, key in enumerate(b)}
    cutter = Cutter(SMALL)

    async def bench(ctx: Any) -> None:
        for port, value in (
            (cutter.a_base, 100),
            (cutter.b_base, 1000),
            (cutter.a_size, len(a)),
            (cutter.b_size, len(b)),
        ):
            ctx.set(port, value)
        for at in {0, 1, len(merged) // 3, len(merged) // 2, len(merged)} & set(range(len(merged) + 1)):
            ctx.set(cutter.at, at)
            ctx.set(cutter.ask, 1)
            await ctx.tick()
            ctx.set(cutter.ask, 0)
            asked: list[int] = []
            for _ in range(500):
                if ctx.get(cutter.found):
                    break
                ctx.set(cutter.commands.ready, rng.random() < 0.3)
                if ctx.get(cutter.commands.valid) and ctx.get(cutter.commands.ready):
                    asked.append(ctx.get(cutter.commands.payload.address))
                    assert ctx.get(cutter.commands.payload.count) == 1
                    send = False
                else:
                    send = bool(asked) and rng.random() < 0.3
                ctx.set(cutter.arrived, send)
                if send:
                    ctx.set(cutter.word, memory[asked.pop(0)])
                await ctx.tick()
            assert ctx.get(cutter.found), "stuck"
            assert ctx.get(cutter.cut) == sum(1 for _, side in merged[:at] if side == 0)
            await ctx.tick()

    simulator = Simulator(cutter)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
