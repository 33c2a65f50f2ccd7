"""The engine's knobs: one frozen dataclass, checked once at the door, the same for the local engine and for Spark.

    Options(how="left_outer", emit=["count", "sum(price)"])   ->   refused: aggregates are of inner joins

Invariants: what an Options holds can be used; values are normalised (one spelling per join type, tuples or
microseconds for extents); knobs that contradict each other are refused with the remedy. What depends on the rooms
below (names of structures) or on the window is checked by `check_index` and `check_window`, which they call.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

import numpy as np

from panjoin.aggregates import Aggregate, aggregates
from panjoin.durations import Micros, microseconds_of
from panjoin.errors import ParameterError
from panjoin.suggest import choices
from panjoin.window import Extent, Window

HOWS = ("inner", "left", "right", "full", "left_semi", "left_anti")
_SPELLINGS = {
    "inner": "inner",
    "left": "left",
    "leftouter": "left",
    "right": "right",
    "rightouter": "right",
    "full": "full",
    "outer": "full",
    "fullouter": "full",
    "semi": "left_semi",
    "leftsemi": "left_semi",
    "anti": "left_anti",
    "leftanti": "left_anti",
}
EMITS = ("rows", "ranges", "counts", "total", "aggregates")
SORTED_INDEX = "bi-sort"  #: the structure whose tuples stay sorted, so that ranges of them are an answer

#: Where tuples are kept: "arrival" deals subwindows round robin (the paper's way: every worker sees every batch); "key"
#: sends a tuple to the workers that can match its key; "auto" is the runtime's choice. A StreamJoin always deals.
PLACEMENTS = ("auto", "arrival", "key")


@dataclass(frozen=True, kw_only=True)
class Options:
    """All knobs; None means that the engine chooses."""

    how: str = "inner"  #: inner, left, right, full, left_semi or left_anti; Spark's other spellings as well
    index: str = "auto"  #: bi-sort, rap-table, wib-tree or scan; auto chooses for each subwindow
    subwindow: Any = None  #: its size in tuples, or a length of time (normalised: an Extent)
    partitions: int | None = None  #: of a subwindow
    workers: int | None = None  #: threads here, tasks in Spark
    emit: Any = "rows"  #: rows, counts, total, ranges, or a list of aggregates (normalised: "aggregates")
    aggregates: tuple[Aggregate, ...] = ()  #: what a list given as `emit` becomes
    suffixes: tuple[str, str] = ("_left", "_right")  #: for names that are on both sides
    batch_size: int | None = None  #: collect so many tuples of a side before a batch is processed; None: every push
    batch_time: Any = None  #: ... or for so long, whichever comes first (normalised: microseconds)
    idle_timeout: Any = None  #: a side silent for so long no longer holds the watermark back (normalised: microseconds)
    max_advance: Any = (
        None  #: an event time further ahead than this is set aside and counted (normalised: microseconds)
    )
    placement: str = "auto"  #: in Spark, which workers see a tuple: arrival (all), key (those that can match it)
    timezone: str = "UTC"  #: what a date or a timestamp without zone means beside one with; in Spark, the session's

    def __post_init__(self) -> None:
        self._set(how=_how(self.how), subwindow=_subwindow(self.subwindow), suffixes=_suffixes(self.suffixes))
        for name in ("partitions", "workers", "batch_size"):
            self._set(**{name: _whole(getattr(self, name), name)})
        for name in ("batch_time", "idle_timeout", "max_advance"):
            self._set(**{name: _duration(getattr(self, name), name)})
        form, found = _emit(self.emit, self.aggregates)
        self._set(emit=form, aggregates=found, placement=_one_of(self.placement, PLACEMENTS, "placement"))
        if not isinstance(self.timezone, str):
            raise ParameterError(f"timezone must be a name such as 'UTC' or 'Europe/Berlin', not {self.timezone!r}")
        if not isinstance(self.index, str):
            raise ParameterError(f"index must be 'auto' or the name of a structure, not {self.index!r}")
        self._refuse_contradictions()

    @classmethod
    def of(cls, knobs: Mapping[str, Any]) -> Options:
        """From a mapping, such as a job file's table; an unknown knob is refused with the nearest one that exists."""
        known = [field.name for field in fields(cls)]
        for name in knobs:
            if name not in known:
                raise ParameterError(f"no option is called {name!r}; {choices(name, known)}")
        return cls(**knobs)

    def check_index(self, names: Iterable[str]) -> None:
        """Refuse an index that is neither "auto" nor one of the structures that exist."""
        known = ["auto", *names]
        if self.index not in known:
            raise ParameterError(f"no index structure is called {self.index!r}; {choices(self.index, known)}")

    def check_window(self, window: Window) -> None:
        """Refuse knobs that mean nothing for a window."""
        if not isinstance(window, Window):
            raise ParameterError(
                f"window must be a CountWindow, TimeWindow or MixedWindow, not {window!r}; "
                f"write for example CountWindow(1000), or TimeWindow('10 minutes', on='ts')"
            )
        by_time = [window.extent(side).by_time for side in ("left", "right")]
        if self.subwindow is not None and self.subwindow.by_time and not all(by_time):
            raise ParameterError(
                f"subwindow is {self.subwindow}, but the window counts tuples; give the subwindow in tuples, too"
            )
        for name in ("idle_timeout", "max_advance"):
            if getattr(self, name) is not None and not window.timed:
                raise ParameterError(f"{name} is about event time, which {window!r} has none of; leave it out")

    def _refuse_contradictions(self) -> None:
        if self.emit != "rows" and self.how != "inner":
            raise ParameterError(
                f"emit={self.emit!r} is for inner joins, not for how={self.how!r}: only rows can be unmatched; "
                f"use emit='rows', or how='inner'"
            )
        if self.emit == "ranges" and self.index not in ("auto", SORTED_INDEX):
            raise ParameterError(
                f"emit='ranges' needs an index whose tuples stay sorted, which {self.index!r} is not; "
                f"use index={SORTED_INDEX!r}, or emit='rows'"
            )

    def _set(self, **normalised: Any) -> None:
        for name, value in normalised.items():
            object.__setattr__(self, name, value)


def _how(given: Any) -> str:
    plain = given.lower().replace("_", "").replace(" ", "").replace("-", "") if isinstance(given, str) else ""
    if plain == "cross":
        raise ParameterError(
            "how='cross' has no condition to join by; use how='inner' with the condition that you need"
        )
    if plain in ("rightsemi", "rightanti"):
        raise ParameterError(f"how={given!r} does not exist; swap the two streams and use 'left_{plain[5:]}'")
    if plain not in _SPELLINGS:
        raise ParameterError(f"how={given!r} is no join type; {choices(given, HOWS)}")
    return _SPELLINGS[plain]


def _subwindow(given: Any) -> Extent | None:
    if given is None or isinstance(given, Extent):
        return given
    if isinstance(given, (str, timedelta, np.timedelta64)):
        return Extent(micros=_duration(given, "subwindow"))
    return Extent(tuples=_whole(given, "subwindow"))


def _whole(given: Any, name: str) -> int | None:
    if given is None:
        return None
    if isinstance(given, (bool, np.bool_)) or not hasattr(given, "__index__"):
        raise ParameterError(f"{name} must be a whole number, not {given!r}")
    number = operator.index(given)
    if number < 1:
        raise ParameterError(f"{name} must be at least 1, not {number}")
    return number


def _duration(given: Any, name: str) -> Micros | None:
    if given is None:
        return None
    micros = microseconds_of(given, name)
    if micros < 1:
        raise ParameterError(f"{name} must be longer than nothing, not {given!r}; leave it out to do without")
    return micros


def _emit(given: Any, found: tuple[Aggregate, ...]) -> tuple[str, tuple[Aggregate, ...]]:
    if isinstance(given, str) and given in EMITS:
        if (given == "aggregates") != bool(found):
            raise ParameterError("aggregates are asked for by a list: emit=['count', 'sum(price)']")
        return given, found
    if isinstance(given, str) and "(" not in given:
        raise ParameterError(
            f"emit={given!r} is no form of result; {choices(given, EMITS[:4])}; "
            f"for aggregates give a list, such as emit=['count', 'sum(price)']"
        )
    if isinstance(given, (str, Aggregate)):
        return "aggregates", aggregates([given])
    if not isinstance(given, Iterable):
        raise ParameterError(f"emit must be 'rows', 'ranges', 'counts', 'total' or a list of aggregates, not {given!r}")
    given = list(given)
    for one in given:
        if one in EMITS:
            raise ParameterError(f"{one!r} is a form of result of its own, not one of a list; use emit={one!r}")
    return "aggregates", aggregates(given)


def _suffixes(given: Any) -> tuple[str, str]:
    pair = tuple(given) if isinstance(given, (tuple, list)) else ()
    if len(pair) != 2 or not all(isinstance(suffix, str) for suffix in pair):
        raise ParameterError(f"suffixes must be two texts, such as ('_left', '_right'), not {given!r}")
    if pair[0] == pair[1]:
        raise ParameterError(f"suffixes must differ, or they tell nothing apart; not {pair!r}")
    return pair


def _one_of(given: Any, known: tuple[str, ...], name: str) -> str:
    if given not in known:
        raise ParameterError(f"{name}={given!r} does not exist; {choices(given, known)}")
    return str(given)
