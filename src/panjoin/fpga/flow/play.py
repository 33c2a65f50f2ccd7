"""Plays words into the input streams of a design and gathers what its output streams give, for millions of clocks.

    u0_a: 3 5 5 9 end ──> ┌────────┐
                          │ design │ ──> u0_o: 1 3 4 5 5 8 9 end, after 14 clocks
    u0_b: 1 4 8 end ────> └────────┘

A stream is three ports, NAME__payload, NAME__valid and NAME__ready. With `pause` each input pauses and each output
stalls in that share of the clocks, by a seed; without, all run at full speed. Everything else that a design has as
input stays 0.

Invariant checked in every clock: a word that is offered stays, unchanged, until it is taken.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from panjoin.errors import PanJoinError, ParameterError
from panjoin.fpga.flow.cxxrtl import Simulation, mangled
from panjoin.fpga.flow.netlist import Netlist

Words = np.ndarray[Any, np.dtype[np.uint32]]  #: a row per word, 32 bits per column, the lowest first

_DRIVER = """
#include <cstring>
struct Stream { uint32_t *payload, *valid, *ready; unsigned wide; };
static uint64_t drawn(uint64_t &s) { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s; }
extern "C" unsigned long long play(Bench *bench, const uint32_t *const *given, const uint64_t *givens,
                                   uint32_t *const *taken, const uint64_t *wanted, uint64_t seed, uint32_t pause,
                                   unsigned long long limit, uint64_t *got) {
    Stream in[] = { %(inputs)s };
    Stream out[] = { %(outputs)s };
    const unsigned ins = sizeof in / sizeof *in, outs = sizeof out / sizeof *out;
    uint64_t at[ins + 1] = {}, state = seed * 2 + 1;
    uint32_t held[outs + 1][%(widest)d] = {};
    bool offered[outs + 1] = {};
    unsigned long long clocks = 0;
    for (int n = 0; n < 64; n++) drawn(state);
    for (unsigned s = 0; s < outs; s++) got[s] = 0;
    for (;;) {
        bool done = true;
        for (unsigned s = 0; s < outs; s++) done = done && got[s] == wanted[s];
        if (done) return clocks;
        if (clocks == limit) return ~0ull;
        for (unsigned s = 0; s < ins; s++) {  // an offer stays until it is taken
            if (*in[s].valid == 0 && at[s] < givens[s] && (drawn(state) & 0xffff) >= pause) {
                *in[s].valid = 1;
                memcpy(in[s].payload, given[s] + at[s] * in[s].wide, 4 * in[s].wide);
            }
        }
        for (unsigned s = 0; s < outs; s++) *out[s].ready = (drawn(state) & 0xffff) >= pause;
        settle(bench);
        bool moves[ins + 1];
        for (unsigned s = 0; s < ins; s++) moves[s] = *in[s].valid && *in[s].ready;
        for (unsigned s = 0; s < outs; s++) {
            bool valid = *out[s].valid;
            if (offered[s] && (!valid || memcmp(held[s], out[s].payload, 4 * out[s].wide))) return ~1ull - s;
            memcpy(held[s], out[s].payload, 4 * out[s].wide);
            offered[s] = valid && !*out[s].ready;
            if (valid && *out[s].ready) {
                if (got[s] == wanted[s]) return ~1001ull - s;
                memcpy(taken[s] + got[s]++ * out[s].wide, out[s].payload, 4 * out[s].wide);
            }
        }
        cycle(bench);
        clocks++;
        for (unsigned s = 0; s < ins; s++) if (moves[s]) { at[s]++; *in[s].valid = 0; }
    }
}
"""


class StreamError(PanJoinError, RuntimeError):
    """A design broke the contract of its streams, or did not come to an end."""


@dataclass(frozen=True)
class Played:
    """What came out."""

    words: Mapping[str, Words]
    clocks: int


def streams(design: Netlist) -> tuple[list[str], list[str]]:
    """Names of the input and of the output streams."""
    ways = {each.name: each.direction for each in design.ports}
    names = [name.removesuffix("__valid") for name in ways if name.endswith("__valid")]
    return tuple([name for name in names if ways[f"{name}__valid"] == way] for way in ("input", "output"))  # type: ignore[return-value]


def play(
    design: Netlist,
    given: Mapping[str, Words],
    wanted: Mapping[str, int],
    *,
    pause: float = 0.0,
    seed: int = 1,
    limit: int = 1 << 40,
    simulation: Simulation | None = None,
) -> Played:
    """Run the design until every output has given as many words as `wanted`."""
    inputs, outputs = streams(design)
    widths = {each.name.removesuffix("__payload"): (each.width + 31) // 32 for each in design.ports}
    if set(given) != set(inputs) or set(wanted) != set(outputs):
        raise ParameterError(f"the design has the inputs {inputs} and the outputs {outputs}")
    if not 0 <= pause < 1:
        raise ParameterError(f"pause is a share of the clocks from 0 to below 1, not {pause}")
    sent = [np.ascontiguousarray(given[name], dtype=np.uint32) for name in inputs]
    for name, words in zip(inputs, sent, strict=True):
        if words.ndim != 2 or words.shape[1] != widths[name]:
            raise ParameterError(f"{name} takes rows of {widths[name]} columns, not an array of shape {words.shape}")
    taken = [np.zeros((wanted[name], widths[name]), dtype=np.uint32) for name in outputs]
    got = (ctypes.c_uint64 * max(1, len(outputs)))()
    bench = Simulation(design, driver(design)) if simulation is None else simulation
    try:
        run = bench.library.play
        run.restype = ctypes.c_ulonglong
        clocks = run(
            bench.handle,
            (ctypes.c_void_p * len(sent))(*(each.ctypes.data for each in sent)),
            (ctypes.c_uint64 * len(sent))(*(len(each) for each in sent)),
            (ctypes.c_void_p * len(taken))(*(each.ctypes.data for each in taken)),
            (ctypes.c_uint64 * len(taken))(*(wanted[name] for name in outputs)),
            ctypes.c_uint64(seed),
            ctypes.c_uint32(int(pause * 65536)),
            ctypes.c_ulonglong(limit),
            got,
        )
    finally:
        if simulation is None:
            bench.close()
    _refuse(clocks, outputs, got, wanted, limit)
    return Played(dict(zip(outputs, taken, strict=True)), clocks)


def driver(design: Netlist) -> str:
    """The C++ that plays this design's streams."""
    inputs, outputs = streams(design)
    widths = {each.name: (each.width + 31) // 32 for each in design.ports}
    listed = {
        way: ", ".join(
            "{" + ", ".join(f"port_{mangled(f'{name}__{part}')}(bench)" for part in ("payload", "valid", "ready"))
            + f", {widths[f'{name}__payload']}}}"
            for name in names
        )
        for way, names in (("inputs", inputs), ("outputs", outputs))
    }  # fmt: skip
    widest = max(widths.values())
    return re.sub(r"%\((\w+)\)[sd]", lambda one: {**listed, "widest": str(widest)}[one[1]], _DRIVER)


def _refuse(clocks: int, outputs: list[str], got: Any, wanted: Mapping[str, int], limit: int) -> None:
    back = (1 << 64) - 1 - clocks
    if back == 0:
        told = ", ".join(f"{name} {got[at]} of {wanted[name]}" for at, name in enumerate(outputs))
        raise StreamError(f"no end after {limit} clocks; words that came: {told}")
    if 1 <= back <= 1000:
        raise StreamError(f"{outputs[back - 1]} changed a word that it had offered before it was taken")
    if 1001 <= back <= 2001:
        raise StreamError(f"{outputs[back - 1001]} gave more words than the {wanted[outputs[back - 1001]]} wanted")
