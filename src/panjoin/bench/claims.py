"""What the paper's text claims, one by one: the sentence, its numbers, ours, and whether it holds here.

A claim is judged by the records of the experiments that it names, which measured both sides of its ratio in one run.
It has bounds: where our numbers lie between them it holds, beyond the better end it holds with more, else it does not,
and `why` says what the records know of the reason. Nothing here is measured; nothing is left out because it fails.

    sentence     "a WiB+-Tree with unsorted leaves takes 3 to 5 times less time to insert"
    paper        "3 to 5 times"                     bounds  at least 3
    measured     [4.1, 3.2]  of claims.leaves       holds, for all of them are at least 3
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from panjoin.bench import reasons
from panjoin.bench.goals import Found
from panjoin.bench.tables import number

K, M = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Claim:
    """One claim."""

    about: str  #: the paper's section or figure
    sentence: str
    paper: str  #: its numbers, as the text has them
    unit: str
    reads: tuple[str, ...]  #: the experiments that it is judged by
    measured: Callable[[Found], Iterable[float | None]]
    low: float | None = None
    high: float | None = None
    why: Callable[[Found], str] | None = None  #: it does not hold, where it does not

    def judged(self, found: Found) -> tuple[str, str]:
        """What was measured, and whether the claim holds."""
        values = [value for value in self.measured(found) if value is not None]
        if not values:
            return "not measured", "-"
        least, most = min(values), max(values)
        seen = number(least, self.unit)
        if number(most, self.unit) != seen:
            seen += f" to {number(most, self.unit)}"
        if (self.low is None or least >= self.low) and (self.high is None or most <= self.high):
            return seen, "holds"
        reason = "" if self.why is None else self.why(found)
        return seen, f"does not hold{': ' if reason else ''}{reason}"


# ---- how numbers are read ----


def ratio(above: float | None, below: float | None) -> float | None:
    """Of two rates; None when one is missing."""
    return above / below if above is not None and below else None


def each_ratio(
    found: Found, experiment: str, metric: str, name: str, above: object, below: object, over: str, **where: object
) -> list[float | None]:
    """The ratio of two values of the parameter `name`, for each value of the parameter `over`."""
    return [
        ratio(
            found.value(experiment, metric, **{name: above, over: size}, **where),
            found.value(experiment, metric, **{name: below, over: size}, **where),
        )
        for size in found.sizes(experiment, metric, over, **where)
    ]


def ends(found: Found, experiment: str, metric: str, name: str, **where: object) -> float | None:
    """At the largest value of a parameter over at its smallest one."""
    return ratio(
        found.at(experiment, metric, **where, **{name: max}), found.at(experiment, metric, **where, **{name: min})
    )


def _flat(values: list[float]) -> float | None:
    return min(values) / max(values) if len(values) > 1 else None


def _com(found: Found, contestant: str, matches: int, form: str) -> float | None:
    return found.value("index.com_probe", "throughput", contestant=contestant, selectivity=matches, form=form)


def _small_selectivities(found: Found) -> list[int]:
    return [size for size in found.sizes("index.com_probe", "throughput", "selectivity") if size < K]


def _as_the_paper_answers(found: Found, structure: str, matches: int) -> float | None:
    """BI-Sort's records (as many counts), and all pairs of the others."""
    return _com(found, structure, matches, "counts" if structure == "bi-sort" else "pairs")


def _com_ratio(found: Found, above: str, below: str, sizes: Iterable[int]) -> list[float | None]:
    return [
        ratio(_as_the_paper_answers(found, above, size), _as_the_paper_answers(found, below, size)) for size in sizes
    ]


def _most(found: Found, experiment: str, name: str) -> list[int]:
    return found.sizes(experiment, "throughput", name)[-1:]


def _speedup(found: Found, operation: str) -> list[float | None]:
    seen = found.values("index.wib_comp", "speedup over the B-tree", operation=operation)
    return [max(seen)] if seen else []


def _over_splitjoin(found: Found, figure: int, contestant: str, matches: Callable[[list[int]], int]) -> float | None:
    experiment = f"systems.sys_com_{figure}"
    sizes = found.sizes(experiment, "over splitjoin", "W", contestant=contestant, condition="band")
    if not sizes:
        return None
    where = {"contestant": contestant, "condition": "band", "W": sizes[-1]}
    return found.at(experiment, "over splitjoin", **where, S=matches)


def _balance(found: Found) -> list[float | None]:
    """How much the imbalance still falls after the third adjustment, for each distribution and P."""
    figure = ("index.rap_adjust", "imbalance")
    lines: list[dict[str, Any]] = [{}]
    for name in ("distribution", "spread", "modes", "partitions"):  # a file has no spread and no modes
        lines = [
            line | chosen
            for line in lines
            for chosen in ([{name: size} for size in found.sizes(*figure, name, **line)] or [{}])
        ]
    later = []
    for line in lines:
        third, last = (found.at(*figure, **line, generation=which) for which in (3, max))
        later.append(None if third is None or last is None else third - last)
    return later


def _insert(found: Found, short: str, figure: int, batch: Callable[[list[int]], int], **where: object) -> float | None:
    """Insertion in one of the figures; of a BI-Sort that is the paper's, without a middle run."""
    if short == "bis":
        where = {"variant": "paper"} | where
    return found.at(f"index.{short}_insert_{figure}", "throughput", batch=batch, **where)


def _phase(found: Found, form: str, partitions: Callable[[list[int]], int] = max) -> float | None:
    where = {"form": form, "capacity": max, "partitions": partitions, "batch": _in_the_middle}
    return found.at("index.rap_probe_1", "throughput", **where)


def _in_the_middle(sizes: list[int]) -> int:
    """The batch of 32K, or what comes nearest to it."""
    return min(sizes, key=lambda size: abs(size - 32 * K))


def _middle_batch(found: Found, figure: str) -> int:
    return _in_the_middle(found.sizes(figure, "throughput", "batch") or [0])


def _small(sizes: list[int]) -> int:
    """The batch of 1K, or what comes nearest to it."""
    return min(sizes, key=lambda size: abs(size - K))


_STRUCTURES = ("rap-table", "wib-tree")


def _predicted(found: Found, structure: str, matches: int, workers: int) -> float | None:
    where = {"placement": "arrival", "kind": "predicted", "structure": structure, "S": matches}
    return found.value("systems.sys_per_4", "throughput", **where, workers=workers)


def _predicted_ratios(found: Found, matches: int) -> list[float | None]:
    return [
        ratio(_predicted(found, "bi-sort", matches, workers), _predicted(found, name, matches, workers))
        for name in _STRUCTURES
        for workers in (16, 32, 64)
    ]


def _most_workers_over_best(found: Found) -> float | None:
    where = {"placement": "arrival", "kind": "predicted", "structure": "bi-sort", "S": 1}
    seen = found.values("systems.sys_per_4", "throughput", **where)
    return ratio(found.at("systems.sys_per_4", "throughput", **where, workers=max), max(seen, default=None))


CLAIMS = (
    # ---- RaP-Table ----
    Claim(
        "rap_insert_1",
        "RaP-Table: a larger batch inserts faster (largest over smallest batch)",
        "more",
        "ratio",
        ("index.rap_insert_1",),
        lambda found: [ends(found, "index.rap_insert_1", "throughput", "batch", partitions=max)],
        1,
    ),
    Claim(
        "rap_insert_1",
        "RaP-Table: with batches of 8M insertion reaches its peak",
        "about 100M tuples/s",
        "tuples/s",
        ("index.rap_insert_1",),
        lambda found: [_insert(found, "rap", 1, max, partitions=max)],
        80e6,
        why=reasons.rap_peak,
    ),
    Claim(
        "rap_insert_2",
        "RaP-Table: a smaller subwindow inserts a little faster, not significantly (largest N_sub over smallest)",
        "slight",
        "ratio",
        ("index.rap_insert_2",),
        lambda found: [
            ratio(
                _insert(found, "rap", 2, _in_the_middle, capacity=max),
                _insert(found, "rap", 2, _in_the_middle, capacity=min),
            )
        ],
        0.5,
        1.1,
        why=reasons.rap_capacities,
    ),
    Claim(
        "rap_probe_1",
        "RaP-Table: smaller partitions probe faster (most partitions over fewest, batches of 32K)",
        "faster",
        "ratio",
        ("index.rap_probe_1",),
        lambda found: [ratio(_phase(found, "counts"), _phase(found, "counts", min))],
        1,
    ),
    Claim(
        "rap_probe_2, rap_probe_3",
        "RaP-Table: throughput falls when S grows (all pairs, largest S over smallest)",
        "falls",
        "ratio",
        ("index.rap_probe_2", "index.rap_probe_3"),
        lambda found: [
            ends(found, f"index.rap_probe_{figure}", "throughput", "selectivity", form="pairs", partitions=max)
            for figure in (2, 3)
        ],
        None,
        0.9,
    ),
    Claim(
        "Batch Mode",
        "the partition phase is less than 10% of insertion and probing (insertion; probing for all pairs)",
        "under 10%",
        "share",
        ("claims.partition", "index.rap_probe_1"),
        lambda found: [
            *found.values("claims.partition", "partition phase of insertion"),
            ratio(_phase(found, "pairs"), _phase(found, "partition phase")),
        ],
        None,
        0.1,
        why=reasons.partition_phase,
    ),
    Claim(
        "rap_adjust",
        "splitters converge in 3 adjustments (how much the imbalance falls after the third one)",
        "3 iterations",
        "imbalance",
        ("index.rap_adjust",),
        _balance,
        None,
        0.05,
        why=reasons.rap_adjust,
    ),
    Claim(
        "Adjustment Algorithm",
        "the worst case takes ceil(log_P 2^32) adjustments (adjustments over that)",
        "at most 1",
        "ratio",
        ("claims.rounds",),
        lambda found: found.values("claims.rounds", "adjustments over promised"),
        None,
        1,
    ),
    Claim(
        "LLAT",
        "an LLAT takes 2 sigma - 1 times the tuples beyond them (measured over that; less is better)",
        "1",
        "ratio",
        ("claims.overhead",),
        lambda found: found.values("claims.overhead", "over 2 sigma - 1"),
        None,
        1.01,
    ),
    Claim(
        "Adjustment Algorithm",
        "splitters and histograms take less than 4% of the values",
        "under 4%",
        "share",
        ("claims.overhead",),
        lambda found: found.values("claims.overhead", "splitters and histograms over the values"),
        None,
        0.04,
    ),
    # ---- WiB+-Tree ----
    Claim(
        "WiB+-Tree",
        "a WiB+-Tree with unsorted leaves takes 3 to 5 times less time to insert than one with sorted leaves",
        "3 to 5 times",
        "ratio",
        ("claims.leaves",),
        lambda found: found.values("claims.leaves", "unsorted over sorted"),
        3,
        why=reasons.sorted_leaves,
    ),
    Claim(
        "wib_comp",
        "WiB+-Tree over a B-tree (BTrees, asked from Python): insertion",
        "3.5 to 4.5 times",
        "ratio",
        ("index.wib_comp",),
        lambda found: found.values("index.wib_comp", "speedup over the B-tree", operation="insertion"),
        3.5,
        why=reasons.b_tree("insertion"),
    ),
    Claim(
        "wib_comp",
        "the same: probing for equality, at its best",
        "up to 2.8 times",
        "ratio",
        ("index.wib_comp",),
        lambda found: _speedup(found, "equality"),
        2.8,
        why=reasons.b_tree("equality"),
    ),
    Claim(
        "wib_comp",
        "the same: probing a band, at its best",
        "up to 1.3 times",
        "ratio",
        ("index.wib_comp",),
        lambda found: _speedup(found, "band"),
        1.3,
        why=reasons.b_tree("band"),
    ),
    Claim(
        "wib_insert_1",
        "WiB+-Tree: insertion does not depend on P (slowest over fastest P, batches of 32K)",
        "not sensitive",
        "ratio",
        ("index.wib_insert_1",),
        lambda found: [
            _flat(found.values("index.wib_insert_1", "throughput", batch=_middle_batch(found, "index.wib_insert_1")))
        ],
        0.8,
        why=reasons.wib_partitions,
    ),
    Claim(
        "wib_insert_2",
        "WiB+-Tree: subwindows that do not fit the cache insert slower (largest N_sub over smallest)",
        "slower",
        "ratio",
        ("index.wib_insert_2",),
        lambda found: [
            ratio(
                _insert(found, "wib", 2, _in_the_middle, capacity=max),
                _insert(found, "wib", 2, _in_the_middle, capacity=min),
            )
        ],
        None,
        1,
        why=reasons.wib_capacities,
    ),
    # ---- BI-Sort ----
    Claim(
        "bis_insert_1",
        "BI-Sort as in the paper: insertion is the same for all batches below its buffer of 1K (1K over the smallest)",
        "the same",
        "ratio",
        ("index.bis_insert_1",),
        lambda found: [
            ratio(
                _insert(found, "bis", 1, _small, partitions=max),
                _insert(found, "bis", 1, min, partitions=max),
            )
        ],
        0.8,
        1.25,
        why=reasons.flat_below_the_buffer,
    ),
    Claim(
        "bis_insert_1",
        "BI-Sort: insertion does not depend on P (slowest over fastest P, batches of 32K)",
        "not sensitive",
        "ratio",
        ("index.bis_insert_1",),
        lambda found: [
            _flat(
                found.values(
                    "index.bis_insert_1",
                    "throughput",
                    variant="paper",
                    batch=_middle_batch(found, "index.bis_insert_1"),
                )
            )
        ],
        0.8,
        why=reasons.bis_partitions,
    ),
    Claim(
        "bis_insert_2",
        "BI-Sort as in the paper: with small batches a larger subwindow inserts considerably slower "
        "(smallest N_sub over largest, smallest batch)",
        "considerably",
        "ratio",
        ("index.bis_insert_2",),
        lambda found: [
            ratio(_insert(found, "bis", 2, min, capacity=min), _insert(found, "bis", 2, min, capacity=max)),
        ],
        2,
        why=reasons.bis_capacities,
    ),
    Claim(
        "bis_probe_3",
        "BI-Sort: probing does not depend on S (slowest over fastest S, band)",
        "not sensitive",
        "ratio",
        ("index.bis_probe_3",),
        lambda found: [
            _flat(found.values("index.bis_probe_3", "throughput", form="counts", partitions=count))
            for count in _most(found, "index.bis_probe_3", "partitions")
        ],
        0.8,
        why=reasons.bis_selectivity,
    ),
    Claim(
        "bis_buffer",
        "BI-Sort as in the paper: a large buffer inserts small batches 2 to 3 orders of magnitude faster than a small "
        "one (largest over smallest, each batch size)",
        "100 to 1000 times",
        "ratio",
        ("index.bis_buffer",),
        lambda found: [
            ratio(
                found.at("index.bis_buffer", "throughput", batch=batch, buffer=max),
                found.at("index.bis_buffer", "throughput", batch=batch, buffer=min),
            )
            for batch in found.sizes("index.bis_buffer", "throughput", "batch")
        ],
        100,
        why=reasons.bis_buffer,
    ),
    # ---- the three beside each other ----
    Claim(
        "com_insert",
        "BI-Sort inserts faster than the others where the batch is large (8M; over the faster one)",
        "above 64K",
        "ratio",
        ("index.com_insert",),
        lambda found: [
            ratio(
                found.at("index.com_insert", "throughput", contestant="bi-sort", batch=max),
                found.at("index.com_insert", "throughput", contestant=name, batch=max),
            )
            for name in _STRUCTURES
        ],
        1,
        why=reasons.insertion_of_large_batches,
    ),
    Claim(
        "com_insert",
        "BI-Sort as in the paper inserts slower than RaP-Table where the batch is small (1K; over RaP-Table)",
        "below 64K",
        "ratio",
        ("index.bis_insert_1", "index.rap_insert_1"),
        lambda found: [
            ratio(_insert(found, "bis", 1, _small, partitions=max), _insert(found, "rap", 1, _small, partitions=max))
        ],
        None,
        1,
        why=reasons.insertion_of_small_batches,
    ),
    Claim(
        "com_probe",
        "probing a band with S < 1K: RaP-Table over WiB+-Tree (all pairs)",
        "1.7 to 2.4 times",
        "ratio",
        ("index.com_probe",),
        lambda found: _com_ratio(found, "rap-table", "wib-tree", _small_selectivities(found)),
        1.7,
        why=reasons.pairs_of(
            "rap-table",
            "wib-tree",
            "both fetch about as many tuples for a probing tuple, and a descent shares its path with the tuple before",
        ),
    ),
    Claim(
        "com_probe",
        "the same: BI-Sort (records) over RaP-Table (all pairs)",
        "1.6 to 7 times",
        "ratio",
        ("index.com_probe",),
        lambda found: _com_ratio(found, "bi-sort", "rap-table", _small_selectivities(found)),
        1.6,
        why=reasons.pairs_of(
            "bi-sort",
            "rap-table",
            "where S is small both wait for the memory of one partition per probing tuple, not for the pairs",
        ),
    ),
    Claim(
        "com_probe",
        "probing a band with a large S: BI-Sort (records) over RaP-Table and WiB+-Tree (all pairs)",
        "100 times",
        "ratio",
        ("index.com_probe",),
        lambda found: [
            value
            for name in _STRUCTURES
            for value in _com_ratio(found, "bi-sort", name, _most(found, "index.com_probe", "selectivity"))
        ],
        100,
        why=reasons.pairs_of("bi-sort", "rap-table", "pairs are written at the speed of the memory"),
    ),
    # ---- the system ----
    Claim(
        "Architecture",
        "the manager preprocesses (sorts) more than 300M tuples per second (here: one thread, each batch size)",
        "over 300M tuples/s",
        "tuples/s",
        ("claims.sorting",),
        lambda found: found.values("claims.sorting", "throughput", sorted="keys and positions"),
        300e6,
        why=reasons.sorting,
    ),
    Claim(
        "BI-Sort",
        "keeping a mirror of each main array in the manager costs nothing (throughput with it over without)",
        "no overhead",
        "ratio",
        ("claims.mirror",),
        lambda found: found.values("claims.mirror", "with mirror over without"),
        0.95,
        why=reasons.mirror,
    ),
    Claim(
        "sys_per_1",
        "W = 128M, equality, S = 1: BI-Sort reaches 28.9M tuples per second (32 nodes there, one process here)",
        "28.9M tuples/s",
        "tuples/s",
        ("systems.sys_per_1", "engine.headline"),
        lambda found: [
            found.at("systems.sys_per_1", "throughput", structure="bi-sort", batch=max),
            *found.values("engine.headline", "throughput"),
        ],
        28.9e6,
        why=reasons.at_128m,
    ),
    Claim(
        "sys_per_1",
        "in the same figure RaP-Table is about 1.5 times as fast as WiB+-Tree where the batch is larger than 64K",
        "1.5 times",
        "ratio",
        ("systems.sys_per_1",),
        lambda found: each_ratio(
            found, "systems.sys_per_1", "throughput", "structure", "rap-table", "wib-tree", "batch"
        )[-2:],
        1.2,
        1.8,
        why=reasons.rap_over_wib(
            "systems.sys_per_1",
            "batch",
            "encoding, sorting and counting are the same for both, and take the greater part",
        ),
    ),
    Claim(
        "sys_per_2",
        "the throughput of RaP-Table and WiB+-Tree falls when S grows (all pairs, largest S over smallest)",
        "falls",
        "ratio",
        ("systems.sys_per_2",),
        lambda found: [
            ends(found, "systems.sys_per_2", "throughput", "S", structure=name, form="pairs") for name in _STRUCTURES
        ],
        None,
        0.9,
    ),
    Claim(
        "sys_per_2",
        "RaP-Table and WiB+-Tree are nearly as fast as each other (RaP-Table over WiB+-Tree, all pairs, each S)",
        "nearly identical",
        "ratio",
        ("systems.sys_per_2",),
        lambda found: each_ratio(
            found, "systems.sys_per_2", "throughput", "structure", "rap-table", "wib-tree", "S", form="pairs"
        ),
        0.8,
        1.25,
        why=reasons.rap_over_wib(
            "systems.sys_per_2",
            "S",
            "no network between manager and workers hides what the structures take",
            form="pairs",
        ),
    ),
    Claim(
        "sys_per_3",
        "with a large S receiving the result takes most of the time of RaP-Table and WiB+-Tree",
        "over 90% above 1K",
        "share",
        ("systems.sys_per_3",),
        lambda found: [found.at("systems.sys_per_3", "receiving", structure=name, S=max) for name in _STRUCTURES],
        0.9,
        why=reasons.receiving,
    ),
    Claim(
        "sys_com_1",
        "W = 8M: BI-Sort over SplitJoin (ScaleJoin), S = 1",
        "over 1000 times",
        "ratio",
        ("systems.sys_com_1",),
        lambda found: [_over_splitjoin(found, 1, "bi-sort", min)],
        1000,
        why=reasons.nested_loop(1),
    ),
    Claim(
        "sys_com_1",
        "W = 8M: RaP-Table and WiB+-Tree over SplitJoin, S = 1",
        "over 100 times",
        "ratio",
        ("systems.sys_com_1",),
        lambda found: [_over_splitjoin(found, 1, name, min) for name in _STRUCTURES],
        100,
        why=reasons.nested_loop(1),
    ),
    Claim(
        "sys_com_1",
        "W = 8M: RaP-Table and WiB+-Tree are no faster than SplitJoin where S is larger than 4K (here: counts at 4K)",
        "the same",
        "ratio",
        ("systems.sys_com_1",),
        lambda found: [_over_splitjoin(found, 1, name, max) for name in _STRUCTURES],
        0.5,
        2,
        why=reasons.always(
            "matches are counted here, which takes what lies between the two ends of a band from histograms; the paper "
            "copies them all"
        ),
    ),
    Claim(
        "sys_com_2",
        "W = 128M: BI-Sort over SplitJoin, S = 1",
        "about 5000 times",
        "ratio",
        ("systems.sys_com_2",),
        lambda found: [_over_splitjoin(found, 2, "bi-sort", min)],
        4000,
        why=reasons.nested_loop(2),
    ),
    Claim(
        "sys_com_2",
        "W = 128M: RaP-Table and WiB+-Tree over SplitJoin, S = 1",
        "100 to 5000 times",
        "ratio",
        ("systems.sys_com_2",),
        lambda found: [_over_splitjoin(found, 2, name, min) for name in _STRUCTURES],
        100,
        why=reasons.nested_loop(2),
    ),
    Claim(
        "sys_storm_2",
        "inside a stream processing engine (Storm there, Spark here): the throughput of PanJoin over that of the same "
        "pipeline with empty subwindows (BI-Sort, N_sub = 1M, each batch size)",
        "always about 90%",
        "ratio",
        ("systems.sys_storm_2",),
        lambda found: found.values("systems.sys_storm_2", "over the empty pipeline", structure="bi-sort"),
        0.9,
    ),
    # ---- many nodes, by the model of scaling.py ----
    Claim(
        "sys_per_4",
        "predicted: more worker nodes are not always faster, for communication dominates (throughput of BI-Sort at 256 "
        "workers over the best number of them, S = 1)",
        "not always",
        "ratio",
        ("systems.sys_per_4",),
        lambda found: [_most_workers_over_best(found)],
        None,
        0.95,
        why=reasons.predicted,
    ),
    Claim(
        "sys_per_4",
        "predicted: W = 1G, 64 and 128 workers, S = 1: BI-Sort still does about 10M tuples per second",
        "about 10M tuples/s",
        "tuples/s",
        ("systems.sys_per_4",),
        lambda found: [_predicted(found, "bi-sort", 1, workers) for workers in (64, 128)],
        8e6,
        why=reasons.predicted,
    ),
    Claim(
        "sys_per_4",
        "predicted: the others are slower than BI-Sort where S = 1 (16 to 64 workers)",
        "1 to 10 times",
        "ratio",
        ("systems.sys_per_4",),
        lambda found: _predicted_ratios(found, 1),
        1,
        10,
        why=reasons.predicted,
    ),
    Claim(
        "sys_per_4",
        "predicted: the same where S = 64",
        "10 to 100 times",
        "ratio",
        ("systems.sys_per_4",),
        lambda found: _predicted_ratios(found, 64),
        10,
        why=reasons.always(
            "the model gives each worker one thread and the paper's network, and its workers keep their results"
        ),
    ),
)


def rows(found: Found) -> list[list[str]]:
    """The table: where it is said, the claim, the paper's numbers, ours, the verdict."""
    return [[claim.about, claim.sentence, claim.paper, *claim.judged(found)] for claim in CLAIMS]


def needed() -> list[str]:
    """Names of all experiments that claims read."""
    return list(dict.fromkeys(name for claim in CLAIMS for name in claim.reads))
