"""The pairs of a band join over whole streams by plain numpy, for sizes past what a nested loop can do.

Sort the right keys once, look up the two ends for every left key, and drop the pairs that do not see each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Span(NamedTuple):
    """left BETWEEN right + low AND right + high."""

    low: int
    high: int


def candidates(left: Array, right: Array, span: Span) -> tuple[Array, Array]:
    """All (i, j) whose keys are that near."""
    order = np.argsort(right, kind="stable")
    ascending = right[order]
    first = np.searchsorted(ascending, left - span.high, "left")
    count = np.searchsorted(ascending, left - span.low, "right") - first
    i = np.repeat(np.arange(len(left)), count)
    within = np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count)
    return i, order[np.repeat(first, count) + within]


def counted(left: Array, right: Array, span: Span, batches: Sequence[tuple[str, int]], size: int) -> Array:
    """Pairs as i * len(right) + j, ascending, in windows of the last `size` tuples of either side."""
    came = {"left": np.empty(len(left), np.int64), "right": np.empty(len(right), np.int64)}
    before = {"left": np.empty(len(left), np.int64), "right": np.empty(len(right), np.int64)}
    known = {"left": 0, "right": 0}
    for number, (name, count) in enumerate(batches):
        mine = slice(known[name], known[name] + count)
        came[name][mine] = number
        before[name][mine] = known["right" if name == "left" else "left"]
        known[name] += count
    i, j = candidates(left, right, span)
    seen = np.where(came["left"][i] > came["right"][j], before["left"][i] - size <= j, before["right"][j] - size <= i)
    return np.sort(i[seen].astype(np.int64) * len(right) + j[seen])


def timed(left: tuple[Array, Array], right: tuple[Array, Array], span: Span, length: int) -> Array:
    """Pairs as i * len(right) + j, ascending, of (keys, event times) at most `length` apart; nothing is late."""
    i, j = candidates(left[0], right[0], span)
    seen = np.abs(left[1][i] - right[1][j]) <= length
    return np.sort(i[seen].astype(np.int64) * len(right[0]) + j[seen])


def differences(expected: Array, found: Array) -> dict[str, int]:
    """How many are lost, duplicated and wrong; both ascending."""
    which, times = np.unique(found, return_counts=True)
    known = np.isin(which, expected, assume_unique=True)
    return {
        "lost": int(len(expected) - known.sum()),
        "duplicated": int((times[known] - 1).sum()),
        "wrong": int(times[~known].sum()),
    }
