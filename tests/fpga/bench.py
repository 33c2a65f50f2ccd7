"""A test bench for streams: words go in with random pauses, words come out with random stalls, all by a seed.

A slice is written as a list of (key, payload); END closes it. `run` plays lists of words into the inputs of a
component, gathers what its outputs give, and watches the contract of every output: a word that was offered stays until
it is taken.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.sim import Simulator

Word = tuple[int, int, int]
END: Word = (0, 0, 1)


def closed(*slices: Sequence[tuple[int, int]]) -> list[Word]:
    """Slices as words, each with its end."""
    return [word for each in slices for word in [*((key, payload, 0) for key, payload in each), END]]


def slices_of(words: Sequence[Word]) -> list[list[tuple[int, int]]]:
    """Words as slices; the last one must be closed."""
    found: list[list[tuple[int, int]]] = [[]]
    for key, payload, end in words:
        if end:
            found.append([])
        else:
            found[-1].append((key, payload))
    assert found.pop() == [], "the last slice has no end"
    return found


def run(
    component: Any,
    inputs: Mapping[str, Sequence[Word]],
    expected: Mapping[str, int],
    rng: random.Random,
    pause: float = 0.3,
    limit: int = 100_000,
) -> tuple[dict[str, list[Word]], int]:
    """What the outputs give until each has given as many words as `expected`, and the cycles that it took."""
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    got: dict[str, list[Word]] = {name: [] for name in expected}
    cycles = 0

    async def bench(ctx: Any) -> None:
        nonlocal cycles
        waiting = {name: list(reversed(words)) for name, words in inputs.items()}
        offered: dict[str, Word | None] = dict.fromkeys(inputs)
        held: dict[str, Any] = dict.fromkeys(expected)
        while any(len(got[name]) < count for name, count in expected.items()):
            ready = {name: rng.random() >= pause for name in expected}
            for name, words in waiting.items():
                if offered[name] is None and words and rng.random() >= pause:
                    offered[name] = words.pop()
                    key, payload, end = offered[name]  # type: ignore[misc]
                    ctx.set(getattr(component, name).payload, {"key": key, "payload": payload, "end": end})
                ctx.set(getattr(component, name).valid, int(offered[name] is not None))
            for name in expected:
                ctx.set(getattr(component, name).ready, int(ready[name]))
            taken = {name: ctx.get(getattr(component, name).ready) for name in inputs}
            for name in expected:
                stream = getattr(component, name)
                word = None
                if ctx.get(stream.valid):
                    payload = ctx.get(stream.payload)
                    word = payload.key, payload.payload, payload.end
                assert held[name] in (None, word), f"{name} offered {held[name]}, then {word}"
                held[name] = None if ready[name] else word
                if word and ready[name]:
                    got[name].append(word)
            for name, moved in taken.items():
                if moved:
                    offered[name] = None
            await ctx.tick()
            cycles += 1
            assert cycles < limit, f"stuck after {limit} cycles with {got}"

    simulator.add_testbench(bench)
    simulator.run()
    return got, cycles
