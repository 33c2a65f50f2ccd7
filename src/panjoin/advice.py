"""Sizing a join before it runs: from rates, window, batches and keys to structure, subwindow, workers and memory.

    Situation ──> window in tuples ──> subwindow, partitions ──> structure (the advisor's own rules) ──> memory
                                                        └──> cost of a tuple ──> throughput, workers, load

The cost of one tuple, in batches of b, against n subwindows of the other side on w workers, with S pairs in each:

    everything but the index (b)  +  insertion (b)  +  n * (probing (b) + S * a pair) / w

All numbers are the calibration's; payload columns and Spark's own work are not among them. Only batches that are worth
a thread are probed by several workers at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panjoin.advisor import decide
from panjoin.calibration import Calibration
from panjoin.errors import ParameterError
from panjoin.observation import Seen
from panjoin.sizing import LARGEST, PIECES, TUPLES_WORTH_A_THREAD, partitions_of, subwindow_of

SIDES = ("left", "right")
#: Load up to which a join keeps up with bursts: half of what it can take.
HEADROOM = 2.0
#: Batches to choose from when nobody says: prompt ones first.
BATCHES = tuple(1 << exponent for exponent in range(4, 24))
USUAL_BATCH = 32768


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What is known of a join; tuples per second and windows are per side."""

    windows: Mapping[str, int]  #: in tuples
    rates: Mapping[str, float] | None = None
    batch: int | None = None
    matches: float = 1.0  #: pairs per tuple, over the whole opposite window
    drift: float | None = None  #: of the keys, from one subwindow to the next; None: unknown
    pairs: bool = True  #: whether they are wanted, or their counts, ranges or aggregates
    sorted_only: bool = False  #: range records or aggregates
    payload: int = 0  #: bytes of other columns per tuple
    timed: bool = False
    cores: int = 1

    def __post_init__(self) -> None:
        for side in SIDES:
            if self.windows[side] < 1:
                raise ParameterError(f"the {side} window must hold at least 1 tuple, not {self.windows[side]}")
            if self.rates is not None and not self.rates[side] > 0:
                raise ParameterError(f"the {side} rate must be above 0 tuples/s, not {self.rates[side]}")
        for name, least in (("batch", 1), ("matches", 0), ("payload", 0), ("cores", 1)):
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise ParameterError(f"{name} must be at least {least}, not {value}")


@dataclass(frozen=True)
class SideAdvice:
    """For one stream."""

    structure: str
    why: str
    window: int
    subwindow: int
    subwindows: int
    partitions: int
    memory_bytes: int


@dataclass(frozen=True)
class Advice:
    """For a join."""

    sides: Mapping[str, SideAdvice]
    batch: int
    why_batch: str
    workers: int
    why_workers: str
    memory_bytes: int
    throughput: float  #: tuples of both sides per second, with that many workers
    throughput_one: float
    load: float | None  #: share of that which the rates need
    batch_seconds: float  #: from a full batch to its answer
    source: str


def advise(situation: Situation, calibration: Calibration) -> Advice:
    """What we would choose."""
    batch, why_batch = _batch(situation, calibration)
    sides = {side: _side(situation, side, batch, calibration) for side in SIDES}
    needed = None if situation.rates is None else sum(situation.rates.values())
    able = {w: _throughput(situation, sides, batch, w, calibration) for w in range(1, situation.cores + 1)}
    workers, why_workers = _workers(able, needed)
    throughput = able[workers]
    return Advice(
        sides,
        batch,
        why_batch,
        workers,
        why_workers,
        sum(each.memory_bytes for each in sides.values()),
        throughput,
        able[1],
        None if needed is None else needed / throughput,
        batch / throughput,
        calibration.source,
    )


def _batch(situation: Situation, calibration: Calibration) -> tuple[int, str]:
    if situation.batch is not None:
        return situation.batch, "given"
    if situation.rates is None:
        return USUAL_BATCH, "large enough to be fast; give rates to hear of the smallest that carries them"
    needed = sum(situation.rates.values())
    for batch in BATCHES:
        sides = {side: _side(situation, side, batch, calibration) for side in SIDES}
        if _throughput(situation, sides, batch, situation.cores, calibration) >= HEADROOM * needed:
            return batch, f"the smallest power of two that carries {HEADROOM:g} times the rates"
    return BATCHES[-1], f"the largest: none carries {HEADROOM:g} times the rates here"


def _side(situation: Situation, side: str, batch: int, calibration: Calibration) -> SideAdvice:
    window = situation.windows[side]
    subwindow = min(subwindow_of(window), LARGEST)
    per_subwindow = situation.matches / PIECES if situation.pairs else 0.0
    if situation.sorted_only:
        structure, why = "bi-sort", "range records and aggregates come from sorted tuples"
    else:
        structure, why = decide(Seen(batch, per_subwindow, situation.drift), subwindow, calibration)
    subwindows = -(-window // subwindow) + 1  # one is expiring while another fills
    beside = situation.payload + (8 if situation.timed else 0)
    memory = subwindows * subwindow * (calibration.bytes[structure] + beside)
    return SideAdvice(structure, why, window, subwindow, subwindows, partitions_of(subwindow), round(memory))


def _workers(able: Mapping[int, float], needed: float | None) -> tuple[int, str]:
    most = max(able)
    if needed is None:
        return most, "one per core"
    for workers, throughput in able.items():
        if throughput >= HEADROOM * needed:
            return workers, f"enough for {HEADROOM:g} times the rates"
    if able[most] >= needed:
        return most, f"all cores: the rates are carried, but not {HEADROOM:g} times as much; bursts will wait"
    return most, (
        f"all cores, which is not enough: {needed:,.0f} tuples/s come and {able[most]:,.0f} can be taken; "
        f"use larger batches, a smaller window, or more machines"
    )


def _throughput(
    situation: Situation, sides: Mapping[str, SideAdvice], batch: int, workers: int, calibration: Calibration
) -> float:
    """Tuples of both sides per second; with rates, in their proportion."""
    spent, tuples = 0.0, 0.0
    for side, other in (SIDES, SIDES[::-1]):
        share = 1.0 if situation.rates is None else situation.rates[side]
        spent += share * _tuple_ns(situation, sides[side], sides[other], batch, workers, calibration)
        tuples += share
    return tuples / spent * 1e9


def _tuple_ns(
    situation: Situation, own: SideAdvice, other: SideAdvice, batch: int, workers: int, calibration: Calibration
) -> float:
    matches = situation.matches / other.subwindows * calibration.match_ns[other.structure] if situation.pairs else 0.0
    probe = other.subwindows * (calibration.probe_ns(other.structure, other.subwindow, batch) + matches)
    together = min(workers, other.subwindows) if batch >= TUPLES_WORTH_A_THREAD else 1
    insert = calibration.insert_ns(own.structure, own.subwindow, batch)
    return calibration.other_ns(batch) + insert + probe / together


def as_json(advice: Advice) -> dict[str, Any]:
    """For programs."""
    whole = {name: getattr(advice, name) for name in Advice.__dataclass_fields__ if name != "sides"}
    return whole | {
        side: {name: getattr(each, name) for name in SideAdvice.__dataclass_fields__}
        for side, each in advice.sides.items()
    }
