"""The experiments of the index structures as cells: sizes per scale, and their records read as points.

The measurements themselves are in `index_speed.py`, `structure.py` (what the paper's figures of all three structures
have in common), `rap.py`, `wib.py`, `bis.py` and `comparison.py`. Those return plain dicts; what is a parameter in
them and what was measured is told apart here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from panjoin.bench import bis, comparison, index_speed, rap, structure, wib
from panjoin.bench.experiment import Cell, Experiment, Point, View
from panjoin.bench.machine import cores
from panjoin.bench.paper import PAPER

K, M = 1 << 10, 1 << 20
STRUCTURES = ("bi-sort", "rap-table", "wib-tree", "scan")

#: What tells two points of a figure apart; everything else in a plain record was measured, or is noted.
PARAMETERS = (
    "contestant",
    "form",
    "operation",
    "structure",
    "capacity",
    "window",
    "partitions",
    "batch",
    "selectivity",
    "matches",
    "distribution",
    "spread",
    "modes",
    "generation",
    "threads",
    "variant",
    "buffer",
    "dtype",
)


@dataclass(frozen=True)
class Size:
    """How large a scale is."""

    capacity: int
    partitions: int
    several_partitions: Sequence[int]
    several_capacities: Sequence[int]
    batches: Sequence[int]
    selectivities: Sequence[int]
    probes: int
    repeats: int
    seconds: float
    adjust: tuple[int, Sequence[int], int]  #: of rap_adjust: N_sub, partitions, generations
    buffers: tuple[int, Sequence[int], Sequence[int]]  #: of bis_buffer: N_sub, sizes of the buffer, batches
    threads: int = 1  #: that probe, and that merge into a BI-Sort (the paper has 8)
    most_probed: int = 1 << 30  #: batches of the probe_1 figures
    far_selectivities: Sequence[int] = ()  #: of com_probe, beyond the others


SIZES = {
    "toy": Size(K, 16, (8, 32), (512, K), (1, 64, K), (1, 16), 128, 2, 0.01, (K, (16,), 4), (256, (2, 64), (1, 16))),
    "small": Size(
        8 * M,
        64 * K,
        (K, 64 * K),
        (M, 8 * M),
        (32, K, 32 * K, M, 8 * M),
        (1, 64, 4 * K),
        32 * K,
        3,
        0.3,
        (M, (256, 4 * K, 64 * K), 5),
        (64 * K, (16, 256, K, 4 * K), (1, 16, 256)),
        most_probed=M,
        far_selectivities=(64 * K,),
    ),
    "paper": Size(
        8 * M,
        64 * K,
        (K, 4 * K, 16 * K, 64 * K, 256 * K),
        (M, 2 * M, 4 * M, 8 * M),
        (1, 32, K, 32 * K, M, 8 * M),
        (1, 4, 16, 64, 256, K, 4 * K, 16 * K, 64 * K),
        32 * K,
        5,
        2.0,
        (8 * M, (256, 4 * K, 64 * K), 5),
        (64 * K, (16, 64, 256, K, 4 * K, 16 * K), (1, 4, 16, 64, 256, K, 4 * K)),
        min(8, cores()),
    ),
}

Plain = Mapping[str, Any]


def points(records: Iterable[Plain], **parameters: Any) -> Iterator[Point]:
    """Points of plain records; `parameters` are those of the cell, which its points need not repeat."""
    for plain in records:
        beyond = {
            name: plain[name]
            for name in PARAMETERS
            if plain.get(name) is not None and parameters.get(name) != plain[name]
        }
        for metric, unit, values in _measured(plain):
            noted = {name: plain[name] for name in ("found", "leaves", "memory_bytes", "probed") if name in plain}
            yield Point(metric, unit, values, beyond, noted)


def _measured(plain: Plain) -> Iterator[tuple[str, str, Sequence[float]]]:
    if "mae" in plain:
        yield "imbalance", "imbalance", [plain["mae"]]
        return
    yield "throughput", "tuples/s", _rates(plain)
    if plain.get("contestant") == "scan" and plain.get("form") == "counts":
        compared = plain["probed"] * plain["capacity"]
        yield "comparisons", "comparisons/s", [compared / spent for spent in plain["seconds"]]
    if "memory_bytes" in plain:
        yield "memory", "bytes/tuple", [plain["memory_bytes"] / plain["capacity"]]
    if "b_tree_tuples_per_second" in plain:
        yield "throughput of the B-tree", "tuples/s", [plain["b_tree_tuples_per_second"]]
        yield "speedup over the B-tree", "ratio", [rate / plain["b_tree_tuples_per_second"] for rate in _rates(plain)]
    if "p99_ms" in plain:
        yield "latency p99", "ms", [plain["p99_ms"]]


def _rates(plain: Plain) -> list[float]:
    seconds = plain.get("all_seconds", plain["seconds"])
    counted = plain.get(
        "inserted",
        plain.get("tuples", plain.get("probed", plain["window"] if plain["experiment"] == "merge" else plain["batch"])),
    )
    numbers = counted if isinstance(counted, list) else [counted] * len(seconds)
    return [number / spent for number, spent in zip(numbers, seconds, strict=True)]


# ---- cells ----


def _cell(figure: Callable[..., Iterable[Plain]], parameters: dict[str, Any], *given: Any, **named: Any) -> Cell:
    return Cell(parameters, lambda: points(figure(*given, **named), **parameters))


def probe_cells(scale: str) -> list[Cell]:
    """Band with S = 1, counts, every structure beside numpy."""
    size = SIZES[scale]
    return [
        Cell(
            {"structure": structure, "batch": batch},
            partial(_beside_numpy, structure, size.capacity, batch, (1,), 1 if batch > M else size.repeats),
        )
        for structure in ("bi-sort", "rap-table", "wib-tree")
        for batch in size.batches
    ]


def selectivity_cells(scale: str) -> list[Cell]:
    """BI-Sort over S, beside numpy."""
    size = SIZES[scale]
    wanted = tuple(1 << k for k in (range(0, 9, 4) if scale == "toy" else range(0, 17, 4)))
    return [
        Cell(
            {"structure": "bi-sort", "batch": size.probes},
            partial(_beside_numpy, "bi-sort", size.capacity, size.probes, wanted, size.repeats),
        )
    ]


def _beside_numpy(structure: str, window: int, batch: int, matches: tuple[int, ...], repeats: int) -> Iterator[Point]:
    records = index_speed.probe_records(structure, window, [batch], matches, repeats)
    return points(records, structure=structure, batch=batch)


def merge_cells(scale: str) -> list[Cell]:
    """BI-Sort's merge on one thread and on two."""
    size = SIZES[scale]
    return [
        _cell(index_speed.merge_records, {"batch": batch}, size.capacity, [batch], repeats=size.repeats + 2)
        for batch in size.batches
        if 1 < batch < size.capacity
    ]


def comparison_insert_cells(scale: str) -> list[Cell]:
    """com_insert."""
    size = SIZES[scale]
    return [
        Cell({"contestant": name, "batch": batch}, partial(_comparison_insertion, size, name, batch))
        for batch in size.batches
        if batch > 1
        for name in STRUCTURES
    ]


def _comparison_insertion(size: Size, name: str, batch: int) -> Iterator[Point]:
    keys = structure.uniform(size.capacity, 1)
    comparison.warm_up([name], keys, size.partitions)
    records = comparison.insertion(keys, size.partitions, [name], [batch], size.seconds, size.repeats)
    return points(records, contestant=name, batch=batch)


def comparison_probe_cells(scale: str) -> list[Cell]:
    """com_probe: one cell, for all contestants are filled once."""
    size = SIZES[scale]
    return [Cell({"batch": size.probes}, partial(_comparison_probing, size))]


def _comparison_probing(size: Size) -> Iterator[Point]:
    keys = structure.uniform(size.capacity, 1)
    comparison.warm_up(STRUCTURES, keys, size.partitions)
    records = comparison.probing(
        keys, size.partitions, STRUCTURES, (*size.selectivities, *size.far_selectivities), size.probes, size.repeats, 1
    )
    return points(records, batch=size.probes)


def insert_cells(scale: str, name: str, figure: int) -> list[Cell]:
    """insert_1: over the batch for several P; insert_2: for several N_sub."""
    size = SIZES[scale]
    shapes = [(size.capacity, count) for count in size.several_partitions]
    if figure == 2:
        shapes = [(each, size.partitions) for each in size.several_capacities]
    figure_of = bis.insertion if name == "bi-sort" else partial(_one_insertion, name)
    threads = {"threads": size.threads} if name == "bi-sort" else {}
    return [
        _cell(
            figure_of,
            {"capacity": each, "partitions": count, "batch": batch},
            *(each, count, batch),
            seconds=size.seconds,
            repeats=size.repeats,
            **threads,
        )
        for each, count in shapes
        for batch in size.batches
        if batch <= each and count <= each
    ]


def _one_insertion(name: str, *point: int, **how: Any) -> list[Plain]:
    return [structure.insert(name, *point, **how)]


def paper_probe_cells(scale: str, name: str, figure: int) -> list[Cell]:
    """probe_1: equality over the batch; probe_2 and probe_3: equality and a band over S."""
    size = SIZES[scale]
    how = {"threads": size.threads, "repeats": size.repeats}
    if figure == 1:
        shapes = [(size.capacity, count) for count in size.several_partitions]
        shapes += [(each, size.partitions) for each in size.several_capacities]
        return [
            _cell(
                structure.probe_1,
                {"structure": name, "capacity": each, "partitions": count},
                *(name, each, count, [batch for batch in size.batches if batch <= min(each, size.most_probed)]),
                **how,
            )
            for each, count in dict.fromkeys(shapes)
        ]
    return [
        _cell(
            structure.probe_2 if figure == 2 else structure.probe_3,
            {"structure": name, "capacity": size.capacity, "partitions": count},
            *(name, size.capacity, count, size.selectivities),
            probes=size.probes,
            **how,
        )
        for count in size.several_partitions
    ]


def rap_adjust_cells(scale: str) -> list[Cell]:
    """rap_adjust: imbalance over the generations."""
    capacity, partitions, generations = SIZES[scale].adjust
    cells = [
        _cell(
            rap.adjust,
            {"capacity": capacity, "distribution": shape, "spread": spread, "modes": modes},
            capacity,
            partitions,
            ((shape, spread, modes),),
            generations=generations,
        )
        for shape, spread, modes in (*rap.DISTRIBUTIONS, rap.RANK_SIZE)
    ]
    if rap.views_file() is not None:
        cells.append(_cell(rap.adjust_to_views, {"distribution": "video views"}, partitions, generations=generations))
    return cells


def wib_comp_cells(scale: str) -> list[Cell]:
    """wib_comp: beside a B-tree that others wrote."""
    size = SIZES[scale]
    return [
        _cell(
            wib.comparison,
            {"capacity": size.capacity},
            size.capacity,
            2 * size.partitions,
            (size.probes,),
            size.selectivities,
            repeats=size.repeats,
        )
    ]


def bis_buffer_cells(scale: str) -> list[Cell]:
    """bis_buffer: insertion over the batch, one line per buffer size."""
    size = SIZES[scale]
    capacity, sizes, batches = size.buffers
    partitions = max(1, capacity // 128)
    return [
        _cell(
            bis.buffers,
            {"capacity": capacity, "partitions": partitions, "batch": batch},
            *(capacity, partitions, sizes, batch),
            seconds=size.seconds,
            repeats=size.repeats,
        )
        for batch in batches
    ]


# ---- the experiments ----

_PROBE = "a probe: both bounds of every interval found in a full, sealed subwindow; sorted int32 keys"
_INSERT = (
    "inserting sorted batches of int32 keys and ids into a half full subwindow, until it is full or the time is over"
)
_EXCLUDED = (
    "drawing and sorting the data, filling the subwindow, compiling (one uncounted call of each kind goes first)"
)
_FORMS = (
    "counts: matches per probing tuple; pairs: counts and all pairs written out; partition phase: finding partitions"
)


def _probing(
    name: str, shows: str, cells: Callable[[str], Sequence[Cell]], *views: View, timed: str = _PROBE
) -> Experiment:
    paper = PAPER.get(name.removeprefix("index."), "")
    return Experiment(name, shows, timed, _EXCLUDED, cells, views, paper=paper)


def _of_one_structure(short: str, name: str) -> Iterator[Experiment]:
    """The five figures that the paper shows of each structure."""
    lines = ("capacity", "partitions", *(["variant"] if short == "bis" else []))
    for figure, what in ((1, "over the batch and P"), (2, "over the batch and N_sub")):
        yield Experiment(
            f"index.{short}_insert_{figure}",
            f"the paper's {short}_insert_{figure}: insertion {what}",
            _INSERT,
            _EXCLUDED,
            partial(insert_cells, name=name, figure=figure),
            (View("Inserted tuples per second", "throughput", lines, "batch"),),
            paper=PAPER[f"{short}_insert_{figure}"],
        )
    for figure, what, column in (
        (1, "equality with S = 1 over the batch, P and N_sub", "batch"),
        (2, "equality over S and P, batches of 32K", "selectivity"),
        (3, "a band over S and P, batches of 32K", "selectivity"),
    ):
        yield _probing(
            f"index.{short}_probe_{figure}",
            f"the paper's {short}_probe_{figure}: {what}",
            partial(paper_probe_cells, name=name, figure=figure),
            View("Probing tuples per second", "throughput", ("capacity", "partitions", "form"), column),
            timed=f"{_PROBE}; {_FORMS}",
        )


EXPERIMENTS = (
    _probing(
        "index.probe",
        "band with S = 1 over the batch, each structure beside np.searchsorted called twice, in turns",
        probe_cells,
        View("Probing tuples per second", "throughput", ("structure", "contestant"), "batch"),
    ),
    _probing(
        "index.selectivity",
        "BI-Sort's counts over S, beside np.searchsorted called twice",
        selectivity_cells,
        View("Probing tuples per second", "throughput", ("contestant",), "matches"),
    ),
    Experiment(
        "index.merge",
        "BI-Sort's merge of a sorted batch into the main array, on one thread and on two",
        "one merge that ends with a full window; the rate counts output tuples",
        "drawing and sorting the data, restoring the main array, one uncounted merge",
        merge_cells,
        (View("Output tuples per second", "throughput", ("contestant",), "batch"),),
        3,
    ),
    Experiment(
        "index.com_insert",
        "the paper's com_insert: insertion over the batch",
        _INSERT,
        _EXCLUDED,
        comparison_insert_cells,
        (
            View("Inserted tuples per second", "throughput", ("contestant",), "batch"),
            View("Memory", "memory", ("contestant",), "batch", plot=False),
        ),
        paper=PAPER["com_insert"],
    ),
    _probing(
        "index.com_probe",
        "the paper's com_probe: a band over S, beside np.searchsorted and a B-tree (BTrees)",
        comparison_probe_cells,
        View("Probing tuples per second, counts", "throughput", ("contestant",), "selectivity", {"form": "counts"}),
        View("Probing tuples per second, all pairs", "throughput", ("contestant",), "selectivity", {"form": "pairs"}),
        View("Comparisons per second", "comparisons", ("contestant",), "selectivity", plot=False),
        timed=f"{_PROBE}; slow contestants are given fewer tuples of the batch, spread over it",
    ),
    *_of_one_structure("rap", "rap-table"),
    Experiment(
        "index.rap_adjust",
        "the paper's rap_adjust: imbalance of the partitions over the generations of splitters (PANJOIN_VIEWS_FILE "
        "names the paper's file of video views, for who has it; it is added then)",
        "nothing: mean absolute error of the tuples per partition, relative to N/P",
        "",
        rap_adjust_cells,
        (View("Imbalance", "imbalance", ("distribution", "spread", "modes", "partitions"), "generation"),),
        paper=PAPER["rap_adjust"],
    ),
    *_of_one_structure("wib", "wib-tree"),
    Experiment(
        "index.wib_comp",
        "the paper's wib_comp: WiB+-Tree beside a B-tree that others wrote (BTrees)",
        f"{_PROBE}, or filling a subwindow; the B-tree gets the same sorted batches, tuple by tuple",
        _EXCLUDED,
        wib_comp_cells,
        (
            View(
                "Speedup over the B-tree", "speedup over the B-tree", ("operation", "batch"), "selectivity", plot=False
            ),
            View("Tuples per second", "throughput", ("operation", "batch"), "selectivity", plot=False),
            View(
                "Tuples per second of the B-tree",
                "throughput of the B-tree",
                ("operation", "batch"),
                "selectivity",
                plot=False,
            ),
        ),
        paper=PAPER["wib_comp"],
    ),
    *_of_one_structure("bis", "bi-sort"),
    Experiment(
        "index.bis_buffer",
        "the paper's bis_buffer: insertion of small batches into a small subwindow, one line per size of the buffer",
        _INSERT,
        _EXCLUDED,
        bis_buffer_cells,
        (View("Inserted tuples per second", "throughput", ("buffer",), "batch"),),
        paper=PAPER["bis_buffer"],
    ),
)
