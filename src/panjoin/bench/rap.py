"""The figure that only RaP-Table has: how fast its splitters adapt (rap_adjust).

Each generation is a subwindow with new tuples of the same distribution, whose splitters are adjusted from the
histograms of the one before. The imbalance of its partitions is the mean absolute error of the tuples per partition,
relative to N/P: 0 is perfect balance, and all tuples in one partition give nearly 2.

The paper's last data set (view counts of videos) is not ours to ship; a rank-size distribution of the same description
stands in: 99% of the tuples in 1% of the range. Who has the file names it in PANJOIN_VIEWS_FILE, and it is added.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from panjoin.bench.structure import LEAST, MOST
from panjoin.errors import DataError
from panjoin.index import create
from panjoin.index.contract import Array
from panjoin.index.rap_table import RapTable

Record = dict[str, Any]

#: The legends of the figure: a shape, its spread as a share of the range, and its modes.
DISTRIBUTIONS = tuple(
    (shape, spread, modes) for shape in ("normal", "uniform") for spread in (0.01, 0.1) for modes in (1, 3)
)
RANK_SIZE = ("rank-size", 0.01, 1)
#: Names the paper's file, for who has it.
VIEWS = "PANJOIN_VIEWS_FILE"


def adjust(
    capacity: int = 1 << 23,
    partitions: Iterable[int] = (1 << 8, 1 << 12, 1 << 16),
    distributions: Iterable[tuple[str, float, int]] = (*DISTRIBUTIONS, RANK_SIZE),
    *,
    generations: int = 5,
    seed: int = 1,
) -> list[Record]:
    """Imbalance over the generations: each subwindow has new tuples of the same distribution."""
    records, partitions = [], list(partitions)
    for shape, spread, modes in distributions:
        for count in partitions:
            course = [np.sort(drawn(shape, spread, modes, capacity, seed + k)) for k in range(generations + 1)]
            for generation, mae in enumerate(imbalances(course, count)):
                point = {"distribution": shape, "spread": spread, "modes": modes, "capacity": capacity}
                point |= {"partitions": count, "generation": generation, "mae": mae}
                records.append({"experiment": "rap.adjust", **point})
    return records


def adjust_to_views(partitions: Iterable[int], *, generations: int = 5, seed: int = 1) -> list[Record]:
    """The same for the user's file of view counts, shuffled anew for each generation."""
    path = views_file()
    assert path is not None
    views, rng = from_file(path), np.random.default_rng(seed)
    records = []
    for count in partitions:
        course = [np.sort(rng.choice(views, len(views))) for _ in range(generations + 1)]
        for generation, mae in enumerate(imbalances(course, min(count, len(views)))):
            point = {"distribution": "video views", "capacity": len(views), "partitions": count}
            records.append({"experiment": "rap.adjust", **point, "generation": generation, "mae": mae})
    return records


def views_file() -> Path | None:
    """The file that the user has named, if any."""
    named = os.environ.get(VIEWS)
    return Path(named) if named else None


def imbalances(course: Iterable[Array], partitions: int) -> list[float]:
    """The imbalance of each subwindow of a chain; the first one has even splitters."""
    index, maes = None, []
    for keys in course:
        index = create("rap-table", capacity=len(keys), partitions=partitions, dtype=keys.dtype, like=index)
        assert isinstance(index, RapTable)
        index.insert(keys, np.arange(len(keys)))
        maes.append(imbalance(index.histogram.counts))
    return maes


def imbalance(counts: Array) -> float:
    """Mean absolute error of the tuples per partition, relative to the ideal N/P."""
    ideal = counts.sum(dtype=np.int64) / len(counts)
    return float(np.abs(counts - ideal).mean() / ideal)


def drawn(shape: str, spread: float, modes: int, count: int, seed: int) -> Array:
    """Keys of a multimodal normal or uniform distribution, or by rank and size."""
    rng = np.random.default_rng(seed)
    if shape == "rank-size":  # size ~ 1 / rank: the largest values are few, 99% of the tuples lie below `spread`
        sizes = spread * MOST / 100 / (1 - rng.random(count))
        return np.minimum(sizes, MOST).astype(np.int32)
    centres = np.linspace(LEAST, MOST, modes + 2)[1:-1][rng.integers(0, modes, count)]
    width = spread * 2**32 / modes
    offsets = rng.normal(0, width, count) if shape == "normal" else rng.uniform(-width / 2, width / 2, count)
    return np.clip(centres + offsets, LEAST, MOST).astype(np.int32)


def from_file(path: Path, column: int = 5) -> Array:
    """View counts from a file of the paper's data set: tab-separated lines, the count of views in the sixth column.

    Lines that are too short are those of videos that were removed, and are passed over.
    """
    views = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        fields = line.split("\t")
        if len(fields) <= column:
            continue
        if not fields[column].strip().isdigit():
            raise DataError(
                f"{path}, line {number}: column {column + 1} holds {fields[column]!r}, not a count of views"
            )
        views.append(min(int(fields[column]), MOST))
    if not views:
        raise DataError(f"{path} has no line of {column + 1} tab-separated columns")
    return np.array(views, np.int32)
