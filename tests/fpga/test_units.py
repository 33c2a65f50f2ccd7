"""Fifo, merger and prober against a line of Python each, with random pauses and stalls on every stream."""

from __future__ import annotations

import random
from bisect import bisect_left
from typing import Any

import pytest

from panjoin.fpga.fifo import Fifo
from panjoin.fpga.merger import Merger
from panjoin.fpga.params import preset
from panjoin.fpga.prober import Prober
from panjoin.fpga.words import word_layout
from tests.fpga.bench import closed, run, slices_of

SMALL = preset("small")
TOP = 2**32 - 1


def some_keys(rng: random.Random, most: int = 30) -> list[int]:
    """Ascending keys of any number from none: few or many different ones, extremes among them."""
    highest = rng.choice([0, 3, 50, TOP])
    return sorted(rng.choice([rng.randint(0, highest), 0, TOP, highest]) for _ in range(rng.choice([0, 1, 2, 7, most])))


@pytest.mark.parametrize("depth", [2, 16, 64])
@pytest.mark.parametrize("pause", [0, 0.1, 0.6])
def test_a_queue_gives_what_it_was_given_in_order(depth: int, pause: float) -> None:
    rng = random.Random(f"queue {depth} {pause}")
    words = [(rng.randint(0, 255), number, rng.randint(0, 1)) for number in range(200)]
    got, _ = run(Fifo(word_layout(8, 8), depth), {"i": words}, {"o": len(words)}, rng, pause)
    assert got["o"] == words


@pytest.mark.parametrize("pause", [0, 0.1, 0.6])
@pytest.mark.parametrize("seed", range(6))
def test_a_merger_merges_slice_after_slice_stably(seed: int, pause: float) -> None:
    rng = random.Random(f"merge {seed} {pause}")
    older = [[(key, number) for number, key in enumerate(some_keys(rng))] for _ in range(4)]
    newer = [[(key, 1000 + number) for number, key in enumerate(some_keys(rng))] for _ in range(4)]
    expected = [sorted(a + b, key=lambda each: each[0]) for a, b in zip(older, newer, strict=True)]
    inputs = {"a": closed(*older), "b": closed(*newer)}
    got, _ = run(Merger(SMALL), inputs, {"o": len(closed(*expected))}, rng, pause)
    assert slices_of(got["o"]) == expected


def test_a_slice_that_does_not_ascend_comes_out_complete() -> None:
    rng = random.Random(5)
    a, b = ([(rng.randint(0, 9), side + number) for number in range(40)] for side in (0, 100))
    got, _ = run(Merger(SMALL), {"a": closed(a), "b": closed(b)}, {"o": 81}, rng)
    assert sorted(slices_of(got["o"])[0]) == sorted(a + b)


@pytest.mark.parametrize("pause", [0, 0.1, 0.6])
@pytest.mark.parametrize("seed", range(6))
def test_a_prober_gives_every_bound_its_lower_bound(seed: int, pause: float) -> None:
    rng = random.Random(f"probe {seed} {pause}")
    tuples, bounds, expected = [], [], []
    for _ in range(4):
        keys = some_keys(rng)
        asked = sorted([*some_keys(rng), *rng.choice([[], [TOP, TOP + 1]])])
        tuples.append([(key, position) for position, key in enumerate(keys)])
        bounds.append([(bound, number) for number, bound in enumerate(asked)])
        expected.append([(bisect_left(keys, bound), number) for number, bound in enumerate(asked)])
    inputs = {"tuples": closed(*tuples), "bounds": closed(*bounds)}
    got, _ = run(Prober(SMALL), inputs, {"o": len(closed(*expected))}, rng, pause)
    assert slices_of(got["o"]) == expected


def test_a_prober_needs_only_the_partitions_that_bounds_lie_in() -> None:
    keys = [2, 3, 5, 7, 8, 8, 11, 13, 17, 19]
    sent = [(keys[at], at) for at in (0, 1, 6, 7)]  # partitions of two; 4 lies behind 3, 12 between 11 and 13
    inputs = {"tuples": closed(sent), "bounds": closed([(3, 0), (4, 1), (12, 2)])}
    got, _ = run(Prober(SMALL), inputs, {"o": 4}, random.Random(1))
    assert slices_of(got["o"]) == [[(1, 0), (2, 1), (7, 2)]]


@pytest.mark.parametrize("unit", [Merger, Prober])
def test_a_unit_takes_one_word_per_clock(unit: Any) -> None:
    rng = random.Random(3)
    names = ("a", "b") if unit is Merger else ("bounds", "tuples")
    slices = [
        [(key, number) for number, key in enumerate(sorted(rng.randint(0, TOP) for _ in range(400)))] for _ in "ab"
    ]
    words = 801 if unit is Merger else 401
    _, cycles = run(
        unit(SMALL), {name: closed(one) for name, one in zip(names, slices, strict=True)}, {"o": words}, rng, 0
    )
    assert cycles <= 800 + 10
