"""How many clocks units need per tuple when nothing outside holds them up: counted in a simulation, clock by clock.

merger   two sorted slices of equal size go in; clocks per word that comes out
prober   a sorted slice of tuples and a sorted slice of bounds go in; clocks per word that goes in, because a prober
         takes either a tuple or a bound per clock

The clocks are those of the slowest of the units, from the first word offered to the last one taken: what a slice costs
at its begin and its end is in them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from panjoin.errors import ParameterError
from panjoin.fpga import designs
from panjoin.fpga.flow.netlist import netlist
from panjoin.fpga.flow.play import Words, play
from panjoin.fpga.params import Params, preset


@dataclass(frozen=True)
class Steady:
    """One run."""

    name: str
    tuples: int  #: per unit
    clocks: int

    @property
    def clocks_per_tuple(self) -> float:
        """Of one unit."""
        return self.clocks / self.tuples


def steady(name: str, params: Params | str, tuples: int, seed: int = 1) -> Steady:
    """Let a bank of units work through `tuples` words each, and check what comes out."""
    chosen = preset(params) if isinstance(params, str) else params
    if chosen.key_bits != 32 or chosen.payload_bits != 32:
        raise ParameterError(
            f"words are packed for 32-bit keys and payloads, not {chosen.key_bits} and {chosen.payload_bits}"
        )
    if tuples < 2 or tuples % 2:
        raise ParameterError(f"tuples must be an even number of at least 2, not {tuples}")
    given, wanted = slices(name, tuples // 2, seed)
    played = play(netlist(designs.design(name, chosen)), given, wanted)
    for unit, came in played.words.items():
        inputs = [words[:-1, 0] for stream, words in given.items() if stream.startswith(unit.removesuffix("o"))]
        merges = name.startswith("merger")
        right = np.sort(np.concatenate(inputs)) if merges else np.searchsorted(inputs[0], inputs[1])
        assert np.array_equal(came[:-1, 0], right.astype(np.uint32)), f"{unit} of {name} is wrong (seed {seed})"
    return Steady(name, tuples, played.clocks)


def slices(name: str, half: int, seed: int = 1) -> tuple[dict[str, Words], dict[str, int]]:
    """A closed slice of `half` ascending words for each input of a bank, and how many words its outputs then give."""
    units = re.fullmatch(r"(merger|prober)-(\d+)", name)
    if units is None:
        raise ParameterError(f"slices are for merger-N and prober-N, not for {name!r}")
    merges = units[1] == "merger"
    rng = np.random.default_rng(seed)
    given, wanted = {}, {}
    for at in range(int(units[2])):
        for stream in ("a", "b") if merges else ("tuples", "bounds"):
            keys = np.sort(rng.integers(0, 1 << 32, half, dtype=np.uint64))
            given[f"u{at}_{stream}"] = _slice(keys, wide=not merges)
        wanted[f"u{at}_o"] = 1 + (2 * half if merges else half)
    return given, wanted


def _slice(keys: np.ndarray, *, wide: bool = False) -> Words:
    """Words of {key, number, end}; with `wide` the key has 33 bits, so the number starts one bit later."""
    words = np.zeros((len(keys) + 1, 3), dtype=np.uint32)
    numbers = np.arange(len(keys), dtype=np.uint64)
    words[:-1, 0] = keys
    if wide:
        words[:-1, 1] = (numbers << np.uint64(1)) & np.uint64(0xFFFFFFFF)
        words[:-1, 2] = numbers >> np.uint64(31)
        words[-1] = (0, 0, 2)
    else:
        words[:-1, 1] = numbers
        words[-1] = (0, 0, 1)
    return words
