"""What an experiment is: cells that are measured one by one, and views that its records are shown in.

    Experiment ── cells(scale) ──> Cell ── measure() ──> Point    one number with its repeats
       │                           a unit of work        Skip     ... or why there is none
       └─ views ──> tables and plots of the report

A cell is done or not done: after an interruption the run goes on with the first cell that is not. What cannot be
measured here (too large, too slow, a package is missing) is a Skip with its reason, never silently left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

SCALES = ("toy", "small", "paper")

Better = Literal["higher", "lower", ""]

#: Units, and which way is better; a regression is judged by this.
UNITS: dict[str, Better] = {
    "tuples/s": "higher",
    "comparisons/s": "higher",
    "ms": "lower",
    "bytes/tuple": "lower",
    "ratio": "",
    "share": "",
    "imbalance": "lower",
    "rounds": "lower",
    "cores": "lower",
    "MB": "lower",
    "MHz": "higher",
    "cells": "lower",
    "clocks": "lower",
    "clocks/tuple": "lower",
}


@dataclass(frozen=True)
class Point:
    """One measured quantity; `values` are the repeats, best understood by their median."""

    metric: str
    unit: str
    values: Sequence[float]
    parameters: Mapping[str, Any] = field(default_factory=dict)  #: beyond those of the cell
    noted: Mapping[str, Any] = field(default_factory=dict)  #: seen on the way; tells nothing apart

    def __post_init__(self) -> None:
        assert self.unit in UNITS, self.unit
        assert self.values, self


@dataclass(frozen=True)
class Skip:
    """A quantity that was not measured, and why."""

    metric: str
    reason: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """A unit of work. It skips itself as a whole by raising `CannotMeasure`."""

    parameters: Mapping[str, Any]
    measure: Callable[[], Iterable[Point | Skip]]


class CannotMeasure(Exception):  # noqa: N818  (no error: a result of the measurement)
    """Raised inside a cell that does not fit here; the text is the reason."""


@dataclass(frozen=True)
class View:
    """A table (and a plot) of one metric: one row per combination of `rows`, one column per value of `column`."""

    title: str
    metric: str
    rows: tuple[str, ...]
    column: str
    where: Mapping[str, Any] = field(default_factory=dict)  #: only records with these parameters
    plot: bool = True


@dataclass(frozen=True)
class Experiment:
    """One experiment; `timed` and `excluded` say what its numbers are about."""

    name: str
    shows: str
    timed: str
    excluded: str
    cells: Callable[[str], Sequence[Cell]]
    views: tuple[View, ...]
    seed: int = 1
    paper: str = ""  #: what the paper's text says of the figure; stands beside it in the report
    setup: Mapping[str, str] = field(default_factory=dict)  #: contestant -> the best configuration found for it
    spark: bool = False  #: needs a Spark session: tested with the slow tests
    circuits: bool = False  #: builds circuits first, which takes minutes: tested with the slow tests
