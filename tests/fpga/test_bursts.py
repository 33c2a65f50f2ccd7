"""Reader, writer and arbiter with a memory that answers when it likes, against what they should have moved."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest
from amaranth.sim import Simulator

from panjoin.fpga.arbiter import Arbiter
from panjoin.fpga.bursts import Reader, Writer
from panjoin.fpga.params import preset

SMALL = preset("small")
BURST = SMALL.burst
BASE = 1000


def simulated(component: Any, bench: Any) -> None:
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("seed", range(6))
def test_a_reader_fetches_its_jobs_in_bursts_within_their_edges_and_never_more_than_the_queue_holds(seed: int) -> None:
    rng = random.Random(f"reader {seed}")
    jobs = [(rng.randint(0, 40), rng.choice([0, 1, 2, BURST, 3 * BURST + 1, 30])) for _ in range(4)]
    expected = [BASE + start + at for start, count in jobs for at in range(count)]
    reader = Reader(SMALL, b=True)
    got: list[int] = []
    most = 0

    async def bench(ctx: Any) -> None:
        nonlocal most
        waiting = deque([*((start, count, 0) for start, count in jobs), (0, 0, 1)])
        asked: deque[int] = deque()  # words that memory owes
        queue, leaving = 0, False  # words behind the reader, as its queue would hold them
        ctx.set(reader.base, BASE)
        for _ in range(20_000):
            offers = bool(waiting) and rng.random() < 0.6
            ctx.set(reader.jobs.valid, offers)
            if offers:
                ctx.set(reader.jobs.payload, dict(zip(("start", "count", "end"), waiting[0], strict=True)))
            ctx.set(reader.commands.ready, rng.random() < 0.4)
            arrives = bool(asked) and rng.random() < 0.5
            ctx.set(reader.arrived, arrives)
            ctx.set(reader.word, asked.popleft() if arrives else 0)
            ctx.set(reader.o.ready, 1)  # what arrives is never refused, which is the reader's promise
            ctx.set(reader.left, leaving)
            queue -= leaving
            if offers and ctx.get(reader.jobs.ready):
                waiting.popleft()
            if ctx.get(reader.commands.valid) and ctx.get(reader.commands.ready):
                command = ctx.get(reader.commands.payload)
                assert (command.write, command.b) == (0, 1)
                assert 1 <= command.count <= BURST
                assert command.address // BURST == (command.address + command.count - 1) // BURST
                asked.extend(range(command.address, command.address + command.count))
            if ctx.get(reader.o.valid):
                queue += 1
                if ctx.get(reader.o.payload.end):
                    assert not asked, "the end came before the last word"
                    return
                got.append(ctx.get(reader.o.payload.key))
            most = max(most, queue + len(asked))
            assert most <= SMALL.fifo_depth, f"{queue} words wait and {len(asked)} are on their way"
            leaving = queue > 0 and rng.random() < 0.3
            await ctx.tick()
        raise AssertionError(f"stuck with {len(got)} of {len(expected)} words")

    simulated(reader, bench)
    assert got == expected


@pytest.mark.parametrize("seed", range(6))
def test_a_writer_commands_only_what_it_holds_and_is_idle_when_all_of_it_is_acknowledged(seed: int) -> None:
    rng = random.Random(f"writer {seed}")
    slices = [(rng.randint(0, 50), rng.choice([0, 1, BURST - 1, BURST, 2 * BURST + 3, 30])) for _ in range(3)]
    writer = Writer(SMALL, 32)
    memory: dict[int, int] = {}

    async def bench(ctx: Any) -> None:
        for number, (start, size) in enumerate(slices):
            words = deque([*((100 * number + at, 0) for at in range(size)), (0, 1)])
            ctx.set(writer.begin, 1)
            ctx.set(writer.at, start)
            await ctx.tick()
            ctx.set(writer.begin, 0)
            open_bursts: deque[list[int]] = deque()  # addresses that memory takes words for
            held, offered = 0, False
            for _ in range(20_000):
                offered = bool(words) and (offered or rng.random() < 0.5)
                ctx.set(writer.i.valid, offered)
                if offered:
                    ctx.set(writer.i.payload, dict(zip(("bits", "end"), words[0], strict=True)))
                ctx.set(writer.commands.ready, rng.random() < 0.3)
                takes = bool(open_bursts) and rng.random() < 0.5
                ctx.set(writer.o.ready, takes)
                if offered and ctx.get(writer.i.ready):
                    held += 1 - words.popleft()[1]
                    offered = False
                if ctx.get(writer.commands.valid) and ctx.get(writer.commands.ready):
                    command = ctx.get(writer.commands.payload)
                    assert (command.write, 1 <= command.count <= BURST) == (1, True)
                    assert command.address // BURST == (command.address + command.count - 1) // BURST
                    held -= command.count
                    assert held >= 0, "words were commanded that had not come"
                    open_bursts.append(list(range(command.address, command.address + command.count)))
                done = False
                if takes and ctx.get(writer.o.valid):
                    memory[open_bursts[0].pop(0)] = ctx.get(writer.o.payload)
                    done = not open_bursts[0]
                    if done:
                        open_bursts.popleft()
                ctx.set(writer.acknowledged, done)
                await ctx.tick()
                ctx.set(writer.acknowledged, 0)
                if ctx.get(writer.idle):
                    break
            assert ctx.get(writer.idle), "stuck"
            assert not words and not open_bursts
            assert [memory.pop(start + at) for at in range(size)] == [100 * number + at for at in range(size)]
            assert not memory

    simulated(writer, bench)


@pytest.mark.parametrize("seed", range(3))
def test_the_arbiter_passes_every_command_once_in_its_ports_order_and_none_to_a_full_channel(seed: int) -> None:
    rng = random.Random(f"arbiter {seed}")
    arbiter = Arbiter(SMALL)
    ports = SMALL.ports + 1
    sent = [[(rng.randrange(1 << 13), 1 + at % BURST) for at in range(30)] for _ in range(ports)]
    got: list[list[tuple[int, int]]] = [[] for _ in range(ports)]

    async def bench(ctx: Any) -> None:
        waiting = [deque(each) for each in sent]
        full_before = [0, 0]  # `full` is heard one clock before the grant, and the line is a register
        for _ in range(5_000):
            full = rng.choice([0, 0, 1, 2, 3])
            ctx.set(arbiter.full, full)
            for u, each in enumerate(waiting):
                ctx.set(arbiter.commands[u].valid, bool(each))
                if each:
                    address, count = each[0]
                    ctx.set(arbiter.commands[u].payload, {"address": address, "count": count, "write": 0, "b": 0})
            taken = [bool(each) and ctx.get(arbiter.commands[u].ready) for u, each in enumerate(waiting)]
            assert sum(taken) <= 1, "two ports in one slot"
            if ctx.get(arbiter.command_valid):
                line = ctx.get(arbiter.command)
                got[line.port].append((line.command.address, line.command.count))
                assert not full_before[0] >> (line.command.address // BURST % 2) & 1, (
                    "a full channel was sent a command"
                )
            full_before = [full_before[1], full]
            for u, each in enumerate(waiting):
                if taken[u]:
                    each.popleft()
            await ctx.tick()
            if sum(map(len, got)) == 30 * ports:
                return
        raise AssertionError(f"stuck with {[len(each) for each in got]}")

    simulated(arbiter, bench)
    assert got == sent
