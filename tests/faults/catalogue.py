"""All classes of faults and inputs, from the modules that have some.

A module of `MODULES` has a tuple `CLASSES` of `Class`; its cases run in a directory of their own. A class is run by
`python -m tests.faults NAME`, and the smallest form of it, with few cases, as a test.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from tests.faults.records import Tally, slug

#: Where classes are; the parts of the table come in this order.
MODULES: tuple[str, ...] = (
    "tests.faults.worlds",
    "tests.faults.kills",
    "tests.faults.space",
    "tests.faults.settings",
    "tests.faults.restarts",
    "tests.faults.damage",
    "tests.faults.golden",
    "tests.faults.metamorphic",
    "tests.fuzz.kept",
    "tests.faults.hard",
    "tests.faults.long",
    "tests.faults.hostile",
)
PARTS = ("simulation", "kills", "space", "settings", "restarts", "damage", "inputs", "load", "security")


class Class(NamedTuple):
    """Cases of one kind."""

    part: str  #: of the table, one of PARTS or a new one
    name: str  #: the row of the table
    how: str  #: what is done and who judges, as a sentence
    run: Callable[[Path, range], Tally]  #: a directory for its files, and the seeds: one case for each, or more
    cases: int  #: seeds in the full table


def classes() -> dict[str, Class]:
    """By the names that the command takes."""
    return {slug(each.name): each for module in MODULES for each in import_module(module).CLASSES}
