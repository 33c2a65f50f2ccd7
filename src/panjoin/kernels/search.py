"""Search in an ascending array: one bound at a time, or a whole ascending batch by rebounding.

    lower bound of b = first position whose key is >= b      (len(keys) when there is none)
    upper bound of b = first position whose key is >  b

so the keys inside [low, high] stand at positions lower(low) .. upper(high) - 1, whatever duplicates there are, and
no "smallest value larger than high" is ever needed (the type's maximum has none).

Rebounding search (paper, Batch Mode): the bounds ascend, so each search starts where the one before it ended, steps
forward with doubled strides until it stands on or past its target, then halves its way back:

    keys    2   3   5   7  11  13  17  19        bound 3 was answered with position 1; now bound 17
                ^   ^       ^           ^        forward  1, +1 -> 2, +2 -> 4, +4 -> 8 (past the end: clamp)
                                .   ^   .        back     between 5 and 8: 6 holds 17, 5 holds 13 < 17: answer 6

Cost: O(log d) for a target d positions ahead, so a dense batch costs O(1) per bound and a sparse one O(log n).
These are the plain versions; the fast ones beside them are tested against them.
"""

from typing import Any

import numpy.typing as npt

from panjoin.kernels.jit import kernel

Array = npt.NDArray[Any]


@kernel
def lower_bound(keys: Array, bound: Any) -> int:
    """First position in ascending `keys` whose key is >= `bound`."""
    first, length = 0, len(keys)
    while length > 0:
        half = length >> 1
        if keys[first + half] < bound:
            first += half + 1
            length -= half + 1
        else:
            length = half
    return first


@kernel
def upper_bound(keys: Array, bound: Any) -> int:
    """First position in ascending `keys` whose key is > `bound`."""
    first, length = 0, len(keys)
    while length > 0:
        half = length >> 1
        if keys[first + half] <= bound:
            first += half + 1
            length -= half + 1
        else:
            length = half
    return first


@kernel
def gallop_lower(keys: Array, bound: Any, start: int) -> int:
    """Lower bound of `bound`, known to be at `start` or after it."""
    first, at, step, end = start, start, 1, len(keys)
    while at < end and keys[at] < bound:  # forward: every key before `first` is smaller
        first = at + 1
        at += step
        step <<= 1
    length = min(at, end) - first
    while length > 0:  # back: the answer is in first .. first + length
        half = length >> 1
        if keys[first + half] < bound:
            first += half + 1
            length -= half + 1
        else:
            length = half
    return first


@kernel
def gallop_upper(keys: Array, bound: Any, start: int) -> int:
    """Upper bound of `bound`, known to be at `start` or after it."""
    first, at, step, end = start, start, 1, len(keys)
    while at < end and keys[at] <= bound:
        first = at + 1
        at += step
        step <<= 1
    length = min(at, end) - first
    while length > 0:
        half = length >> 1
        if keys[first + half] <= bound:
            first += half + 1
            length -= half + 1
        else:
            length = half
    return first


@kernel
def rebound_lower(keys: Array, bounds: Array, out: Array) -> None:
    """out[i] = lower bound of bounds[i]; the bounds ascend."""
    at = 0
    for i in range(len(bounds)):
        at = gallop_lower(keys, bounds[i], at)
        out[i] = at


@kernel
def rebound_upper(keys: Array, bounds: Array, out: Array) -> None:
    """out[i] = upper bound of bounds[i]; the bounds ascend."""
    at = 0
    for i in range(len(bounds)):
        at = gallop_upper(keys, bounds[i], at)
        out[i] = at
