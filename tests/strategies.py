"""Hypothesis strategies: what arrives (values, times, batches), what is asked (conditions, windows), and bare keys.

Values come in shapes, because data that is uniform over a type almost never joins: a few distinct values, one constant,
steps up or down, and the ends of the type, mixed with NULL, NaN, infinities and -0.0. Times are small whole
microseconds, so that a window of a few microseconds meets its boundary, one step before it and one after it, always.

Conditions have their own file, bare keys too; larger, seeded data of the same kinds is in `tests/streams.py`.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tests.conditions import Condition, conditions
from tests.oracle.question import HOWS, Count, Question, Time, Window

#: Name -> type of the columns that conditions are drawn over; `ts` is the event time of windows.
COLUMNS: dict[str, pa.DataType] = {
    "i": pa.int32(),
    "l": pa.int64(),
    "d": pa.float64(),
    "f": pa.float32(),
    "n": pa.decimal128(10, 2),
    "t": pa.timestamp("us", "UTC"),
    "dt": pa.date32(),
    "s": pa.string(),
    "ts": pa.timestamp("us", "UTC"),
}

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TINY32 = float(np.finfo(np.float32).smallest_subnormal)

#: The values of each type where something can go wrong.
EXTREMES: dict[str, list[Any]] = {
    "i": [-(2**31), -(2**31) + 1, -1, 0, 1, 2**31 - 2, 2**31 - 1],
    "l": [-(2**63), -(2**63) + 1, -(2**53) - 1, -1, 0, 1, 2**53 + 1, 2**63 - 2, 2**63 - 1],
    "d": [-math.inf, -1.7976931348623157e308, -5e-324, -0.0, 0.0, 5e-324, 0.1, 2.0**53, math.inf, math.nan],
    "f": [-math.inf, -3.4028234663852886e38, -_TINY32, -0.0, 0.0, _TINY32, float(np.float32(0.1)), math.inf, math.nan],
    "n": [decimal.Decimal(text) for text in ("-99999999.99", "-0.01", "0.00", "0.01", "99999999.99")],
    "t": [
        _EPOCH + dt.timedelta(days=days, microseconds=us) for days, us in ((-719000, 0), (0, -1), (0, 1), (2932000, 1))
    ],
    "dt": [
        dt.date(1, 1, 1),
        dt.date(1969, 12, 31),
        dt.date(2024, 2, 29),
        dt.date(9999, 12, 31),
    ],
    "s": ["", "a", "A", "a ", "é", "\U0001f600", "0"],
}


# ---- values ----


def _number(name: str, small: int) -> Any:
    """The small whole number as a value of the column's type; fractions where the type has them."""
    return {
        "i": small,
        "l": small,
        "d": small / 4,
        "f": small / 4,
        "n": decimal.Decimal(small) / 4,
        "t": _EPOCH + dt.timedelta(microseconds=small),
        "dt": dt.date(1970, 1, 1) + dt.timedelta(days=small),
        "s": f"s{small}",
    }[name]


@st.composite
def values(draw: st.DrawFn, name: str, size: int, *, nulls: bool = True, extremes: bool = True) -> list[Any]:
    """`size` values for the column `name` of COLUMNS, in one of the shapes."""
    shapes = ["constant", "few", "spread", "increasing", "decreasing", "mixed", *(["extremes"] * extremes)]
    shape = draw(st.sampled_from(shapes))
    small = st.integers(-3, 3) if shape in ("constant", "few") else st.integers(-10, 10)
    if shape == "constant":
        numbers = [draw(small)] * size
    elif shape in ("increasing", "decreasing"):
        start, step = draw(small), draw(st.integers(0, 3)) * (1 if shape == "increasing" else -1)
        numbers = [start + step * at for at in range(size)]
    else:
        numbers = draw(st.lists(small, min_size=size, max_size=size))
    known = [_number(name, number) for number in numbers]
    if extremes and shape in ("extremes", "mixed"):
        swaps = st.lists(st.sampled_from([*EXTREMES[name], ...]), min_size=size, max_size=size)
        known = [old if new is ... else new for old, new in zip(known, draw(swaps), strict=True)]
    if nulls and draw(st.booleans()):
        holes = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
        known = [None if hole == 0 else value for value, hole in zip(known, holes, strict=True)]
    return known


@st.composite
def times(draw: st.DrawFn, size: int, *, disorder: int = 9, nulls: bool = True) -> list[Any]:
    """Event times that mostly grow by a few microseconds, up to `disorder` behind the greatest seen; sometimes NULL."""
    steps = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    back = draw(st.lists(st.integers(0, disorder) if disorder else st.just(0), min_size=size, max_size=size))
    holes = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)) if nulls else [1] * size
    now, answer = 20, list[Any]()
    for step, late, hole in zip(steps, back, holes, strict=True):
        now += step
        answer.append(None if hole == 0 else _EPOCH + dt.timedelta(microseconds=now - late))
    return answer


@st.composite
def tables(
    draw: st.DrawFn,
    names: Sequence[str],
    *,
    max_size: int = 12,
    disorder: int = 9,
    nulls: bool = True,
    extremes: bool = True,
) -> pa.Table:
    """A table with these columns of COLUMNS, in this order; at least one column."""
    size = draw(st.one_of(st.integers(0, max_size), *[st.integers(max_size // 2, max_size)] * 3))
    arrays = [
        pa.array(
            draw(times(size, disorder=disorder, nulls=nulls))
            if name == "ts"
            else draw(values(name, size, nulls=nulls, extremes=extremes)),
            COLUMNS[name],
        )
        for name in names
    ]
    return pa.table(arrays, names=list(names))


@st.composite
def cuts(draw: st.DrawFn, total: int, pieces: int) -> list[int]:
    """Sizes of `pieces` consecutive batches of `total` tuples; some are empty."""
    if pieces == 0:
        return []
    marks = sorted(draw(st.lists(st.integers(0, total), min_size=pieces - 1, max_size=pieces - 1)))
    return [high - low for low, high in zip([0, *marks], [*marks, total], strict=True)]


@st.composite
def arrivals(
    draw: st.DrawFn, left: int, right: int, *, micro_batches_only: bool = False
) -> tuple[tuple[str, int], ...]:
    """How `left` and `right` tuples arrive: micro-batches (left, then right), or any sequence of batches."""
    pieces = draw(st.one_of(st.integers(1, 8), st.integers(4, 8)))
    sizes = {"left": draw(cuts(left, pieces)), "right": draw(cuts(right, pieces))}
    order = [side for _ in range(pieces) for side in ("left", "right")]
    if not micro_batches_only and draw(st.booleans()):
        order = draw(st.permutations(order))
    return tuple((side, sizes[side].pop(0)) for side in order)


# ---- windows and questions ----

_COUNTS = st.one_of(st.integers(1, 8), st.just(1 << 40)).map(Count)
_TIMES = st.one_of(st.integers(0, 8), st.just(1 << 40)).map(Time)
_TS = ("ts", "ts")
_LATENESS = st.one_of(st.none(), st.integers(0, 1), st.integers(0, 4))


def windows(
    kinds: Sequence[str] = ("count", "time", "mixed"), *, lateness: st.SearchStrategy[int | None] = _LATENESS
) -> st.SearchStrategy[Window]:
    """Count, time and mixed windows, from one tuple or no time at all to everything; `lateness` of None: never late."""
    by_kind = {
        "count": st.builds(Window, _COUNTS, _COUNTS, st.none(), st.none()),
        "time": st.builds(Window, _TIMES, _TIMES, st.just(_TS), lateness),
        "mixed": st.one_of(
            st.builds(Window, _COUNTS, _TIMES, st.just(_TS), lateness),
            st.builds(Window, _TIMES, _COUNTS, st.just(_TS), lateness),
        ),
    }
    return st.sampled_from(kinds).flatmap(by_kind.__getitem__)


@st.composite
def questions(
    draw: st.DrawFn,
    *,
    conditions: st.SearchStrategy[Condition] | None = None,
    windows: st.SearchStrategy[Window] | None = None,
    hows: Sequence[str] = HOWS,
    max_size: int = 12,
    micro_batches_only: bool = False,
    nulls: bool = True,
    extremes: bool = True,
) -> Question:
    """Everything that a runtime is asked. Narrow it by handing in narrower strategies of this file."""
    condition = draw(_ANY_CONDITION if conditions is None else conditions)
    window = draw(_ANY_WINDOW if windows is None else windows)
    event_time = ("ts",) if window.ts is not None else ()
    left, right = (
        draw(tables((*names, *event_time), max_size=max_size, nulls=nulls, extremes=extremes))
        for names in (condition.left, condition.right)
    )
    batches = draw(arrivals(left.num_rows, right.num_rows, micro_batches_only=micro_batches_only))
    return Question(left, right, batches, condition.text, window, draw(st.sampled_from(hows)))


_ANY_CONDITION = conditions()
_ANY_WINDOW = windows()
