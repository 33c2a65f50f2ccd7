"""Hypothesis strategies for bare keys, as the index structures see them: batches to insert, intervals to probe."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st


def keys(dtype: Any) -> st.SearchStrategy[int]:
    """One key: near the ends of the type, near zero, or anywhere."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    traps = [low, low + 1, -1, 0, 1, high - 1, high]
    return st.one_of(st.integers(-8, 8), st.sampled_from(traps), st.integers(low, high))


def key_batches(dtype: Any, *, min_size: int = 0, max_size: int = 40, ascending: bool = True) -> st.SearchStrategy[Any]:
    """A batch of keys with runs of equal ones, as a numpy array; ascending as indexes want them, unless told."""
    runs = st.lists(st.tuples(keys(dtype), st.integers(1, 5)), min_size=min_size, max_size=max_size)

    def flatten(drawn: list[tuple[int, int]]) -> Any:
        flat = [key for key, times_ in drawn for _ in range(times_)][: max(max_size, min_size)]
        return np.array(sorted(flat) if ascending else flat, dtype)

    return runs.map(flatten)


@st.composite
def intervals(draw: st.DrawFn, dtype: Any, *, max_size: int = 20) -> tuple[Any, Any]:
    """Bounds of a probe (low, high), each ascending; points, empty intervals, intervals up to the ends of the type."""
    low = draw(st.lists(keys(dtype), max_size=max_size))
    kind = draw(st.sampled_from(["points", "band", "any", "everything"]))
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if kind == "points":
        high = low
    elif kind == "band":
        width = draw(st.one_of(st.integers(-2, 10), st.just(most)))
        high = [max(least, min(most, key + width)) for key in low]
    elif kind == "any":
        high = draw(st.lists(keys(dtype), min_size=len(low), max_size=len(low)))
    else:
        low, high = [least] * len(low), [most] * len(low)
    return np.array(sorted(low), dtype), np.array(sorted(high), dtype)
