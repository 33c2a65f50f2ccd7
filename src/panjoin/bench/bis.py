"""The figures in which BI-Sort's own knobs matter: insertion with and without a middle run, and the buffer's size.

bis_insert_1/2  as of the other structures, twice: "paper" (every flush merges into the main array) and "middle run"
(what stands between buffer and main array beyond the paper)
bis_buffer      insertion of small batches into a small subwindow, one line per buffer size B; with the paper's
structure, where all that a flush costs is shared by B tuples
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from panjoin.bench.structure import Record, insert

#: Name -> knobs; None lets the index choose.
VARIANTS: dict[str, int | None] = {"paper": 0, "middle run": None}


def insertion(
    capacity: int,
    partitions: int,
    batch: int,
    *,
    threads: int = 1,
    seconds: float = 1.0,
    repeats: int = 3,
    variants: Iterable[str] = VARIANTS,
) -> Iterator[Record]:
    """One point of bis_insert_1 or bis_insert_2 for each variant."""
    for variant in variants:
        middle = VARIANTS[variant]
        found = insert(
            "bi-sort",
            capacity,
            partitions,
            batch,
            seconds=seconds,
            repeats=repeats,
            threads=threads,
            middle=middle,
        )
        yield found | {"variant": variant}


def buffers(
    capacity: int, partitions: int, sizes: Iterable[int], batch: int, *, seconds: float = 1.0, repeats: int = 3
) -> Iterator[Record]:
    """bis_buffer: one batch size, several buffer sizes."""
    for size in sizes:
        found = insert("bi-sort", capacity, partitions, batch, seconds=seconds, repeats=repeats, buffer=size, middle=0)
        yield found | {"buffer": size}
