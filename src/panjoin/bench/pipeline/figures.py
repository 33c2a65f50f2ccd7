"""Experiments on the join inside Spark: how fast, beside doing nothing, beside Spark's own, and what moves.

    sys_storm_1, sys_storm_2    the paper's: the pipeline beside the same one with empty subwindows
    spark.throughput            from files that are read as rows, and from packed ones
    spark.window                a micro-batch in a large window over the same one in a small window
    spark.own                   beside Spark's stream-stream join, and bucket-and-explode for a band
    spark.small                 micro-batches of 1K rows beside stateful queries that do nothing
    spark.placement             bytes through the shuffle, and who holds how much, at several numbers of workers

All of it on two cores, exactly once, state in RocksDB with changelog checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from panjoin.bench.experiment import Cell, Experiment, Point, View
from panjoin.bench.pipeline.asking import ask

K, M = 1 << 10, 1 << 20
SEED = 1
WORKERS = 2
STRUCTURES = ("bi-sort", "rap-table", "wib-tree")
PLACEMENTS = ("arrival", "key")
EMPTY = "empty subwindows"
Seen = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Size:
    """How large a scale is. Batches are tuples per side and micro-batch, and divide windows."""

    window: int
    batch: int
    turns: int
    storm: tuple[int, Sequence[int], int]  #: window, batches, N_sub
    windows: tuple[int, int, int]  #: the small one, the large one, batch
    own: tuple[int, int, int]  #: window, batch, turns
    small: tuple[int, int, int]  #: window, batch, turns
    placement: tuple[int, int, Sequence[int]]  #: window, batch, workers


SIZES = {
    "toy": Size(4 * K, 2 * K, 1, (2 * K, (K,), K), (K, 4 * K, K), (K, K, 1), (2 * K, 512, 2), (2 * K, 2 * K, (2, 3))),
    "small": Size(
        8 * M,
        4 * M,
        3,
        (8 * M, (M, 4 * M), M),
        (64 * K, 8 * M, M),
        (M, M, 2),
        (M, 512, 15),
        (M, 512 * K, (2, 8, 32)),
    ),
    "paper": Size(
        8 * M,
        4 * M,
        9,
        (8 * M, (64 * K, 256 * K, M, 4 * M, 8 * M), M),
        (64 * K, 8 * M, 4 * M),
        (M, M, 5),
        (8 * M, 512, 50),
        (8 * M, 4 * M, (2, 4, 8, 16, 32)),
    ),
}


def asked(
    contestants: Sequence[Mapping[str, Any]], batch: int, turns: int, *, unmeasured: int = 1, **others: Any
) -> dict[str, Seen]:
    """What was seen of each contestant; `others` are about the feed."""
    widest = max(each["window"] for each in contestants)
    known = [{"workers": WORKERS, "source": "rows", **each} for each in contestants]
    request = {"contestants": known, "window": widest, "batch": batch, "batches": turns, "unmeasured": unmeasured}
    return dict(ask({**request, "fill": max(batch, widest // 2), "seed": SEED, **others}))


def rates(seen: Seen) -> list[float]:
    """Tuples of both sides per second."""
    return [each["rows"] / each["seconds"] for each in seen]


def beside(one: Seen, other: Seen) -> list[float]:
    """Seconds of the second over those of the first, turn by turn: how many times as fast the first one is."""
    return [second["seconds"] / first["seconds"] for first, second in zip(one, other, strict=True)]


def steps(seen: Seen, where: Mapping[str, Any]) -> Iterator[Point]:
    """Milliseconds of a micro-batch: the workers' steps, of the slowest one, and all that Spark does around them."""
    for step in seen[0]["steps"]:
        if step != "total":
            yield Point("step", "ms", [1e3 * each["steps"][step] for each in seen], {**where, "step": step})
    outside = [1e3 * (each["seconds"] - each["steps"]["total"]) for each in seen]
    yield Point("step", "ms", outside, {**where, "step": "outside of the workers"})


def moved(seen: Seen, where: Mapping[str, Any]) -> Point:
    """Bytes through the shuffle, by Spark's own count."""
    return Point("through the shuffle", "bytes/tuple", [each["shuffled"] / each["rows"] for each in seen], where)


# ---- throughput ----


def throughput(scale: str) -> list[Cell]:
    """One cell per kind of source."""
    return [
        Cell({"W": SIZES[scale].window, "source": source}, partial(_throughput, scale, source)) for source in SOURCES
    ]


SOURCES = ("rows", "packed")


def _throughput(scale: str, source: str) -> Iterator[Point]:
    """Subwindows of half a window: a tuple asks two or three instead of nine, and workers take half the time."""
    size = SIZES[scale]
    same = {"query": "join", "window": size.window, "subwindow": size.window // 2, "source": source}
    contestants = [{"name": placement, "placement": placement, **same} for placement in PLACEMENTS]
    seen = asked(contestants, size.batch, size.turns)
    for placement in PLACEMENTS:
        where = {"placement": placement}
        noted = {"batch": size.batch, "pairs": seen[placement][0]["found"]}
        yield Point("throughput", "tuples/s", rates(seen[placement]), where, noted)
        yield moved(seen[placement], where)
        yield from steps(seen[placement], where)


# ---- the paper's Storm test ----


def storm(scale: str) -> list[Cell]:
    """One cell per batch: all structures and the empty pipeline take turns."""
    window, batches, _ = SIZES[scale].storm
    return [Cell({"W": window, "batch": batch}, partial(_storm, scale, batch)) for batch in batches]


@cache
def _stormed(scale: str, batch: int) -> dict[str, Seen]:
    window, _, capacity = SIZES[scale].storm
    same = {"window": window, "subwindow": capacity, "source": SOURCES[-1]}
    contestants = [{"name": EMPTY, "query": "empty", **same}]
    contestants += [{"name": name, "query": "join", "index": name, **same} for name in STRUCTURES]
    return asked(contestants, batch, max(SIZES[scale].turns, 1))


def _storm(scale: str, batch: int) -> Iterator[Point]:
    seen = _stormed(scale, batch)
    for name in (EMPTY, *STRUCTURES):
        yield Point("throughput", "tuples/s", rates(seen[name]), {"structure": name})


def storm_ratio(scale: str) -> list[Cell]:
    """The same cells, read once more."""
    return [Cell(cell.parameters, partial(_ratio, scale, cell.parameters["batch"])) for cell in storm(scale)]


def _ratio(scale: str, batch: int) -> Iterator[Point]:
    seen = _stormed(scale, batch)
    for name in STRUCTURES:
        yield Point("over the empty pipeline", "ratio", beside(seen[name], seen[EMPTY]), {"structure": name})


# ---- large windows ----


def window(scale: str) -> list[Cell]:
    """One cell: both windows take turns."""
    small, large, batch = SIZES[scale].windows
    return [Cell({"batch": batch}, partial(_window, scale, small, large, batch))]


def _window(scale: str, small: int, large: int, batch: int) -> Iterator[Point]:
    names = {"small": small, "large": large}
    contestants = [{"name": name, "query": "join", "window": wide} for name, wide in names.items()]
    seen = asked(contestants, batch, 2 * SIZES[scale].turns)
    for name, wide in names.items():
        yield Point("micro-batch", "ms", [1e3 * each["seconds"] for each in seen[name]], {"W": wide})
        yield from steps(seen[name], {"W": wide})
    yield Point("large window over small one", "ratio", beside(seen["small"], seen["large"]))


# ---- Spark's own ----


def own(scale: str) -> list[Cell]:
    """One cell per condition."""
    wide, batch, _ = SIZES[scale].own
    return [Cell({"W": wide, "batch": batch, "condition": kind}, partial(_own, scale, kind)) for kind in SPARKS]


SPARKS = {"equi": "Spark", "band": "Spark, buckets"}


def _own(scale: str, kind: str) -> Iterator[Point]:
    wide, batch, turns = SIZES[scale].own
    names = {"PanJoin": "timed", SPARKS[kind]: "sparks"}
    contestants = [{"name": name, "query": query, "window": wide, "kind": kind} for name, query in names.items()]
    seen = asked(contestants, batch, turns, unmeasured=0, fill=wide, timed=True, kind=kind)
    for name in names:
        where = {"contestant": name}
        yield Point("throughput", "tuples/s", rates(seen[name]), where, {"pairs": seen[name][0]["found"]})
        yield moved(seen[name], where)
    yield Point("PanJoin over Spark", "ratio", beside(seen["PanJoin"], seen[SPARKS[kind]]))


# ---- small micro-batches ----


def small(scale: str) -> list[Cell]:
    """One cell: the join and the queries that do nothing take turns."""
    wide, batch, _ = SIZES[scale].small
    return [Cell({"W": wide, "rows": 2 * batch}, partial(_small, scale))]


NOTHING = {"transformWithState that does nothing": "idle", "Spark's streaming count": "count"}


def _small(scale: str) -> Iterator[Point]:
    wide, batch, turns = SIZES[scale].small
    names = {"PanJoin": "join", **NOTHING}
    contestants = [{"name": name, "query": query, "window": wide} for name, query in names.items()]
    seen = asked(contestants, batch, turns, unmeasured=2)
    spent = {name: [1e3 * each["seconds"] for each in seen[name]] for name in names}
    for name in names:
        yield Point("micro-batch", "ms", spent[name], {"query": name})
    for name in NOTHING:
        more = [max(one - other, 0.01) for one, other in zip(spent["PanJoin"], spent[name], strict=True)]
        yield Point("overhead", "ms", more, {"query": name})
    yield from steps(seen["PanJoin"], {})


# ---- placement ----


def placement(scale: str) -> list[Cell]:
    """One cell per number of workers and distribution of keys: both placements take turns."""
    wide, _, workers = SIZES[scale].placement
    return [
        Cell({"W": wide, "workers": count, "keys": keys}, partial(_placement, scale, count, keys))
        for keys in ("uniform", "zipf")
        for count in workers
    ]


def _placement(scale: str, workers: int, keys: str) -> Iterator[Point]:
    wide, batch, _ = SIZES[scale].placement
    same = {"query": "join", "window": wide, "workers": workers, "subwindow": max(1, wide // workers)}
    contestants = [{"name": name, "placement": name, **same} for name in PLACEMENTS]
    seen = asked(contestants, batch, 1, keys=keys, unmeasured=0)
    for name in PLACEMENTS:
        where = {"placement": name}
        yield moved(seen[name], where)
        received = [each["received"] / each["rows"] for each in seen[name]]
        yield Point("copies of a tuple", "ratio", received, where)
        held = seen[name][-1]["held"]
        yield Point("fullest worker over the mean one", "ratio", [max(held) * workers / sum(held)], where)


# ---- all of them ----

_TIMED = (
    "micro-batches as Spark times them (triggerExecution): looking for files, planning, reading, joining, state, "
    "checkpoint, commit; contestants are queries of one session that take turns at the same files"
)
_EXCLUDED = "filling the windows, and the first micro-batch after that; making the files"


def _experiment(
    name: str, shows: str, cells: Callable[[str], list[Cell]], views: Sequence[View], paper: str = ""
) -> Experiment:
    return Experiment(name, shows, _TIMED, _EXCLUDED, cells, tuple(views), SEED, paper, spark=True)


_BAND = "a band with S = 1 over int32 keys, matches counted, two cores"

EXPERIMENTS = (
    _experiment(
        "spark.throughput",
        f"the join in Spark from Parquet files; {_BAND}",
        throughput,
        (
            View("Tuples per second", "throughput", ("source", "W"), "placement"),
            View(
                "Bytes through the shuffle per tuple", "through the shuffle", ("source", "W"), "placement", plot=False
            ),
            View("Milliseconds of a micro-batch by step", "step", ("source", "placement"), "step", plot=False),
        ),
    ),
    _experiment(
        "spark.window",
        f"the same micro-batches in a small window and in a large one; {_BAND}",
        window,
        (
            View("Milliseconds of a micro-batch", "micro-batch", ("batch",), "W", plot=False),
            View("Large window over small one", "large window over small one", ("batch",), "", plot=False),
            View("Milliseconds by step", "step", ("W",), "step", plot=False),
        ),
    ),
    _experiment(
        "spark.own",
        "beside Spark's stream-stream join with both time bounds, and for a band its workaround: keys in buckets, one "
        "side exploded to the buckets that its range touches; pairs of numbers are handed out and counted, two cores",
        own,
        (
            View("Tuples per second", "throughput", ("contestant", "W"), "condition"),
            View("PanJoin over Spark", "PanJoin over Spark", ("W",), "condition", plot=False),
            View("Bytes through the shuffle", "through the shuffle", ("contestant", "W"), "condition", plot=False),
        ),
    ),
    _experiment(
        "spark.small",
        "micro-batches of a few rows beside stateful queries that do nothing with the same rows",
        small,
        (
            View("Milliseconds of a micro-batch", "micro-batch", ("query",), "W", plot=False),
            View("Milliseconds that PanJoin takes more", "overhead", ("query",), "W", plot=False),
            View("Milliseconds of PanJoin's by step", "step", ("W",), "step", plot=False),
        ),
    ),
    _experiment(
        "spark.placement",
        "what goes through Spark's shuffle, and how tuples are spread over workers, for both placements: by arrival is "
        "the paper's, by key is ours; keys uniform, and Zipf with exponent 1.2",
        placement,
        (
            View("Bytes through the shuffle per tuple", "through the shuffle", ("placement", "keys"), "workers"),
            View("Workers that a tuple is sent to", "copies of a tuple", ("placement", "keys"), "workers"),
            View(
                "Tuples of the fullest worker over the mean one",
                "fullest worker over the mean one",
                ("placement", "keys"),
                "workers",
                plot=False,
            ),
        ),
    ),
    _experiment(
        "systems.sys_storm_1",
        "the paper's sys_storm_1, in Spark in place of Storm: N_sub = 1M, beside a pipeline whose workers receive "
        f"their tuples and discard them; {_BAND}",
        storm,
        (View("Tuples per second", "throughput", ("structure", "W"), "batch"),),
        "the throughput of PanJoin in Storm stays close to that of a system where every subwindow is empty.",
    ),
    _experiment(
        "systems.sys_storm_2",
        "the paper's sys_storm_2: the same micro-batches, each over that of the empty pipeline before it",
        storm_ratio,
        (View("Throughput over the empty pipeline's", "over the empty pipeline", ("structure", "W"), "batch"),),
        "the ratio is always approximately 90 percent.",
    ),
)
