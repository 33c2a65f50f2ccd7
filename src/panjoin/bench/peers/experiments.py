"""The peers as experiments: who joins how fast, with how much memory, and how many cores it takes to beat one of ours.

Every contestant runs on one core and on two. `cores to beat` is the COST of the literature: how many cores a contestant
would need to be as fast as PanJoin on a single one: measured where it gets there with the cores that we have, predicted
where not, as if its speed grew in proportion to its cores from the most that were measured (which is kind to it).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from panjoin.bench.experiment import CannotMeasure, Cell, Experiment, Point, Skip, View
from panjoin.bench.machine import cores as available
from panjoin.bench.machine import memory
from panjoin.bench.peers import one_shot as alone
from panjoin.bench.peers.cores import PeerFailed, watched
from panjoin.bench.peers.streams import Streams
from panjoin.errors import StateError

K, M = 1 << 10, 1 << 20
SEED = 1
REACH = 5
ONE_SHOT = ("panjoin", "numpy", "duckdb", "polars")
SPARKS_OWN = {"equi": "spark", "band": "spark, buckets"}
FOREACH = ("foreachBatch duckdb", "foreachBatch polars")
#: Peers with an environment of their own: who has one names its interpreter; else ours is tried.
PYTHONS = {"flink": ("PANJOIN_FLINK_PYTHON", "pyflink"), "pathway": ("PANJOIN_PATHWAY_PYTHON", "pathway")}
#: Seconds below which a run of theirs, less the fixed part, is noise.
SHORTEST = 0.1
#: Pairs of one batch that one-shot joins hold at once.
MOST_PAIRS = 8 * M


@dataclass(frozen=True)
class Size:
    """How large a scale is."""

    points: Sequence[tuple[int, str, int]]  #: one-shot: W, condition, S
    batch: int
    seconds: float
    turns: int
    streams: Sequence[tuple[int, str, int]]  #: streaming: W, condition, S
    stream_batch: int
    stream_batches: int
    cores: Sequence[int]  #: of the streaming engines
    patience: float  #: seconds that one process may take


SIZES = {
    "toy": Size(((K, "equi", 1), (K, "band", 1)), 64, 0.01, 2, ((256, "equi", 1), (256, "band", 1)), 128, 2, (1,), 300),
    "small": Size(
        (
            (64 * K, "band", 1),
            (M, "band", 1),
            (8 * M, "band", 1),
            (M, "band", 64),
            (M, "band", 4 * K),
            (M, "equi", 1),
            (8 * M, "equi", 1),
        ),
        32 * K,
        0.4,
        3,
        ((64 * K, "equi", 1), (M, "equi", 1), (M, "band", 1)),
        256 * K,
        2,
        (1, 2),
        100,
    ),
    "paper": Size(
        (
            *((window, kind, 1) for window in (64 * K, M, 8 * M) for kind in ("band", "equi")),
            *((M, "band", matches) for matches in (4, 16, 64, 256, K, 4 * K)),
        ),
        32 * K,
        5,
        5,
        (
            *((window, kind, 1) for window in (64 * K, M, 8 * M) for kind in ("band", "equi")),
            *((64 * K, "band", matches) for matches in (64, K, 4 * K)),
        ),
        M,
        8,
        (1, 2),
        3600,
    ),
}


# ---- one-shot ----


def one_shot(scale: str) -> list[Cell]:
    """One cell per point: all contestants side by side, on one core and on two."""
    return [
        Cell({"W": window, "condition": kind, "S": matches}, partial(_one_shot, SIZES[scale], window, kind, matches))
        for window, kind, matches in SIZES[scale].points
    ]


def _one_shot(size: Size, window: int, kind: str, matches: int) -> Iterator[Point | Skip]:
    needed = 2 * window * 120
    if needed > memory():
        raise CannotMeasure(f"needs {needed / 2**30:.1f} GB of memory, {memory() / 2**30:.1f} GB are free")
    able = [name for name in ONE_SHOT if name in {"panjoin", "numpy"} or find_spec(name) is not None]
    for name in set(ONE_SHOT) - set(able):
        yield Skip(
            "throughput", f"the package {name} is not installed; pip install 'panjoin[bench]'", {"contestant": name}
        )
    reach = REACH if kind == "band" else 0
    request = {
        "window": window,
        "reach": reach,
        "values": max(1, window * (2 * reach + 1) // matches),
        "batch": max(16, min(size.batch, MOST_PAIRS // matches)),
        "batches": 8,
        "seconds": size.seconds,
        "turns": size.turns,
        "seed": SEED,
        "contestants": able,
    }
    rates: dict[str, dict[int, list[float]]] = {}
    for count in _cores((1, 2)):
        command = [sys.executable, "-m", "panjoin.bench.peers.one_shot"]
        told = watched(command, request, cores=count, seconds=1800, environment={})
        noted = {"batch": request["batch"], "pairs_per_tuple": told["pairs_per_tuple"]}
        for name, seen in told["rates"].items():
            rates.setdefault(name, {})[count] = seen
            which = {"contestant": name, "cores": count}
            yield Point("throughput", "tuples/s", seen, which, noted)
            yield Point("memory", "bytes/tuple", [told["bytes"][name] / (2 * window)], which)
    yield from cost(rates)


def cost(rates: dict[str, dict[int, list[float]]]) -> Iterator[Point]:
    """How many cores each would need to be as fast as PanJoin on one."""
    if 1 not in rates.get("panjoin", {}):
        return
    goal = median(rates["panjoin"][1])
    for name, seen in rates.items():
        if name != "panjoin":
            enough = [count for count, values in seen.items() if median(values) >= goal]
            most = max(seen)
            needed = float(min(enough)) if enough else goal / median(seen[most]) * most
            how = "measured" if enough else "predicted"
            yield Point("cores to beat", "cores", [needed], {"contestant": name, "how": how})


def _cores(wanted: Sequence[int]) -> list[int]:
    return [count for count in wanted if count <= available()]


# ---- streaming ----


def streaming(scale: str) -> list[Cell]:
    """One cell per point: the same files for all."""
    return [
        Cell({"W": window, "condition": kind, "S": matches}, partial(_streaming, SIZES[scale], window, kind, matches))
        for window, kind, matches in SIZES[scale].streams
    ]


def _streaming(size: Size, window: int, kind: str, matches: int) -> Iterator[Point | Skip]:
    reach = REACH if kind == "band" else 0
    streams = Streams(window, min(size.stream_batch, 4 * window), size.stream_batches, reach, matches, SEED)
    contestants: list[str] = ["panjoin", SPARKS_OWN[kind], *(FOREACH if kind == "band" else ()), *PYTHONS]
    answers: dict[str, list[int]] = {}
    rates: dict[str, dict[int, list[float]]] = {}
    with TemporaryDirectory(prefix="panjoin-peers-") as place:
        streams.write(Path(place))
        for name in contestants:
            for count in _cores(size.cores):
                which = {"contestant": name, "cores": count}
                try:
                    answer = _run(name, streams, Path(place), count, size.patience)
                except (PeerFailed, CannotMeasure) as reason:
                    yield Skip("throughput", str(reason), {"contestant": name})
                    break
                agree(answers, name, answer["found"])
                rates.setdefault(name, {})[count] = answer["rates"]
                noted = {"batch": streams.batch, "pairs": answer["found"][0], "started_s": answer.get("started", 0)}
                noted |= {"version": answer["version"]} if "version" in answer else {}
                yield Point("throughput", "tuples/s", answer["rates"], which, noted)
                yield Point("memory", "MB", [answer["peak_bytes"] / 1e6], which)
    yield from cost(rates)


def agree(answers: dict[str, list[int]], name: str, found: list[int]) -> None:
    """Refuse an answer that differs from that of the first contestant."""
    for other, expected in answers.items():
        if expected != found:
            raise StateError(f"{name} finds {found} (pairs, sums of their numbers), where {other} finds {expected}")
    answers.setdefault(name, found)


def _run(name: str, streams: Streams, place: Path, count: int, patience: float) -> dict[str, Any]:
    """One contestant on so many cores, in a process of its own; `rates` are tuples of both sides per second."""
    free = max(1, min(8, int(memory() / 2**30) - 2))
    request: dict[str, Any] = {"window": streams.window, "reach": streams.reach, "memory": f"{free}g"}
    if name not in PYTHONS:
        with TemporaryDirectory(prefix="panjoin-peer-") as work:
            for side in ("left", "right"):
                (Path(work) / side).symlink_to(place / side)
            asked = request | {"directory": work, "contestant": name}
            module = [sys.executable, "-m", "panjoin.bench.peers.spark_engine"]
            return watched(module, asked, cores=count, seconds=patience, environment={"POLARS_MAX_THREADS": str(count)})
    if streams.reach:
        raise CannotMeasure(f"{name}'s interval join needs an equality beside the bounds on time")
    python, engine = _python(name), str(Path(__file__).with_name(f"{name}_engine.py"))
    request |= {"directory": str(place)}
    run = partial(watched, [python, engine], cores=count, seconds=patience, environment={})
    if name == "flink":
        answer = run(request)
    else:
        few = run(request | {"part": "headed-few"})
        answer = run(request | {"part": "headed"})
        answer["seconds"] = [answer["seconds"][0] - few["seconds"][0]]
    spent = answer["seconds"][0]
    if spent < SHORTEST:
        raise CannotMeasure(f"{2 * streams.tuples:,} tuples take no longer than a few: {spent:.2f} s more")
    return answer | {"rates": [2 * streams.tuples / spent]}


def _python(name: str) -> str:
    """The interpreter that has the peer."""
    variable, module = PYTHONS[name]
    named = os.environ.get(variable)
    if named:
        return named
    if find_spec(module) is None:
        raise CannotMeasure(
            f"{module} is not installed here, and {variable} names no Python that has it (an environment of its own is "
            f"best: its pins differ from ours)"
        )
    return sys.executable


def _experiment(
    name: str,
    shows: str,
    timed: str,
    excluded: str,
    cells: Callable[[str], list[Cell]],
    unit: str,
    setup: Mapping[str, str],
    *,
    spark: bool,
) -> Experiment:
    lines = ("contestant", "condition", "S", "cores")
    return Experiment(
        f"peers.{name}",
        shows,
        timed,
        excluded,
        cells,
        (
            View("Tuples per second over the window, S = 1", "throughput", lines, "W", {"S": 1}),
            View(
                "Tuples per second over S, band", "throughput", ("contestant", "W", "cores"), "S", {"condition": "band"}
            ),
            View(f"Memory ({unit})", "memory", lines, "W", plot=False),
            View(
                "Cores to be as fast as PanJoin on one",
                "cores to beat",
                ("contestant", "condition", "S", "how"),
                "W",
                plot=False,
            ),
        ),
        SEED,
        spark=spark,
        setup=setup,
    )


#: How each streaming engine is set up; beside the code of each stands more.
SETUP = {
    "panjoin": "stream_join over the user's row DataFrames, BI-Sort, a worker per core",
    "spark": "its stream-stream join with both bounds on time in the condition; RocksDB with changelog checkpoints, a "
    "shuffle partition per core",
    "spark, buckets": "the same for a band: keys in buckets of four times the reach, the right side in each bucket "
    "that its band touches, the band as a filter behind the equality of buckets",
    "foreachBatch duckdb, foreachBatch polars": "each micro-batch comes to the driver as Arrow and is joined there as "
    "in peers.one_shot; the window is cut by time; no state, no recovery",
    "flink": "SQL interval join in streaming mode, parallelism as many as cores, state on the heap, mini-batches, "
    "object reuse, CSV files by the file connector",
    "pathway": "interval_join over CSV files in static mode, PATHWAY_THREADS as many as cores",
}

EXPERIMENTS = (
    _experiment(
        "one_shot",
        "a window in memory, joined anew with every micro-batch: numpy, DuckDB and Polars beside PanJoin, on one core "
        "and on two",
        "a micro-batch of 32K tuples (fewer where S is large) until all pairs of arrival numbers are there as arrays, "
        "and the batch is stored; contestants take turns",
        "filling the windows, drawing the data, the first batch of each side, comparing the answers",
        one_shot,
        "held by both windows, and at the peak of a push",
        alone.SETUP,
        spark=False,
    ),
    _experiment(
        "streaming",
        "streaming engines on the same files, with the same pairs found: PanJoin in Spark, Spark's stream-stream join "
        "(a band through buckets), DuckDB and Polars inside foreachBatch, Flink SQL's and Pathway's interval joins",
        "Spark: a whole micro-batch as Spark reports it, source to checkpoint; Flink and Pathway: the whole stream, "
        "the first window included, less the same run on 64 rows",
        "starting the session, the first micro-batch, which fills the windows",
        streaming,
        "all processes together, at their peak",
        SETUP,
        spark=True,
    ),
)
