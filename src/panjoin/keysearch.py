"""The first key of a range at which a monotone trial turns true, from a guess that is nearly always right.

    keys    first ............ guess-1  guess ............ last
    trial     F   F   F   F      F        T   T   T   T    T        two trials settle it: the guess and its neighbour

Where they do not, the search gallops away from the guess (steps 2, 4, 8, ...) until the trial turns, and bisects what
remains: at most 64 + 64 trials, for the rows that need them. Differences of keys are taken unsigned, because a range
may span all of 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from panjoin.columns import Array


def first_true(trial: Callable[[Array, Any], Array], guess: Array, first: int, last: int) -> tuple[Array, Array]:
    """For each row the first key of [first, last] where the monotone trial holds, and whether there is one."""
    some = trial(np.array([last], np.int64), None)  # one key beside every row
    key = np.clip(guess, first, last)
    here = trial(key, None)
    # The neighbour: below where the trial holds (is it the first?), above where it does not.
    beside = np.where(here, np.maximum(key, first + 1) - 1, np.minimum(key, last - 1) + 1)
    there = trial(beside, None)
    answer = np.where(here, key, beside)
    answer = np.where(here & (key == first), first, answer)
    open_rows = np.flatnonzero(some & (here == there) & ~(here & (key == first)))
    if len(open_rows):
        answer[open_rows] = _searched(trial, open_rows, key[open_rows], here[open_rows], first, last)
    return answer, some


def _searched(
    trial: Callable[[Array, Any], Array], rows: Array, key: Array, here: Array, first: int, last: int
) -> Array:
    """Gallop away from the key until the trial turns, then bisect. The trial holds at `last` for all these rows."""
    low = np.where(here, np.int64(first), key)  # the answer lies in [low, high]
    high = np.where(here, key, np.int64(last))
    going = np.arange(len(rows))
    step = np.uint64(2)
    while len(going) and step:
        down = here[going]
        room = high[going].view(np.uint64) - low[going].view(np.uint64)
        stride = np.minimum(step, room)
        tried = np.where(
            down,
            (high[going].view(np.uint64) - stride).view(np.int64),
            (low[going].view(np.uint64) + stride).view(np.int64),
        )
        holds = trial(tried, rows[going])
        high[going] = np.where(holds, tried, high[going])
        low[going] = np.where(holds, low[going], np.minimum(tried, last - 1) + 1)
        going = going[(holds == down) & (stride < room)]
        step = step << np.uint64(1)
    going = np.flatnonzero(low < high)
    while len(going):
        half = (high[going].view(np.uint64) - low[going].view(np.uint64)) >> np.uint64(1)
        middle = (low[going].view(np.uint64) + half).view(np.int64)
        holds = trial(middle, rows[going])
        high[going] = np.where(holds, middle, high[going])
        low[going] = np.where(holds, low[going], middle + 1)
        going = going[low[going] < high[going]]
    return high
