"""Runs experiments cell by cell and writes the records as they come; what is done is not done again unless asked."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from panjoin.bench.experiment import CannotMeasure, Cell, Experiment, Point, Skip
from panjoin.bench.records import Records, cell_key, record


@dataclass(frozen=True)
class Task:
    """One cell of one experiment."""

    experiment: Experiment
    cell: Cell
    done: bool


def plan(experiments: Iterable[Experiment], scale: str, records: Records, *, again: bool = False) -> list[Task]:
    """All cells in order, and which of them need no work."""
    done = set() if again else records.done()
    return [
        Task(experiment, cell, cell_key(experiment, scale, cell) in done)
        for experiment in experiments
        for cell in experiment.cells(scale)
    ]


def run(tasks: Iterable[Task], scale: str, records: Records, before: Callable[[Task], None] | None = None) -> int:
    """Measure what is not done, and return how many cells that were. An interruption loses the cell at work alone."""
    measured = 0
    touched: dict[str, None] = {}
    try:
        for task in tasks:
            if before is not None:
                before(task)
            if task.done:
                continue
            points = list(_measured(task.cell))
            records.append(record(task.experiment, scale, task.cell, point) for point in points)
            touched[task.experiment.name] = None
            measured += 1
    finally:
        for name in touched:
            records.compact(name)
    return measured


def _measured(cell: Cell) -> Iterator[Point | Skip]:
    gc.collect()  # the windows of the cell before are gone before this one looks for memory
    try:
        yield from cell.measure()
    except CannotMeasure as reason:
        yield Skip("all", str(reason))
    except MemoryError:
        yield Skip("all", "out of memory")
    except ModuleNotFoundError as missing:
        yield Skip("all", f"the package {missing.name} is not installed; pip install 'panjoin[bench]'")
