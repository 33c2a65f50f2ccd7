"""The partition phase: the target partitions of a sorted batch (paper, Batch Mode).

A key belongs to the partition whose number is the key's lower bound in the splitters (`splitters.py`). Because the
batch ascends, both directions only ever go forward, and the keys of one partition stand together, a *run*:

    splitters     10   20   30   40
    batch          3    4   25   27   28   41
                  `--0--'  `----2-----'  `-4-'      gallop in the splitters from 0 for 3: partition 0 (up to 10);
                                                    gallop in the batch for the first key past 10: run [0, 2);
                                                    gallop in the splitters from 0 for 25: partition 2; and so on

Insertion needs the runs only. That is the paper's rebounding search over the splitters for a sparse batch (runs of
one tuple), and turns by itself into a search of the splitters in the batch for a dense one: O(runs * log(gap)). 8M
sorted tuples over 64K partitions take 2 ms, where a rebounding search per tuple (`find_targets_plain`) takes 14.

Probing needs the targets of both bounds of each probing tuple. In a sparse batch the next LANE splitters are compared
at once, which decides nearly always, and without a branch; four cursors walk at once, and high bounds that are near are
looked for beside the low ones (2.0 ns for both bounds at 32K over 64K partitions, 4.3 with one cursor for each row of
bounds, 17 plain). In a dense batch nearly every bound stays in its partition, which one comparison says.
"""

from typing import Any

import numpy.typing as npt

from panjoin.kernels.jit import kernel
from panjoin.kernels.lanes import LANE, smaller
from panjoin.kernels.search import gallop_lower, gallop_upper, rebound_lower

Array = npt.NDArray[Any]

#: Probing tuples per partition from which a batch is dense.
DENSE = 4
#: Probing tuples of a batch that are looked at to tell whether high bounds are near the low ones.
NEAR_SAMPLES = 16


@kernel
def cut_into_runs(splitters: Array, keys: Array, partitions: Array, starts: Array) -> int:
    """Write each run's partition and start (and after the last, the end); returns how many runs there are.

    At most min(len(keys), P) runs come out; `starts` needs one place more.
    """
    runs, at, partition = 0, 0, 0
    while at < len(keys):
        partition = gallop_lower(splitters, keys[at], partition)
        partitions[runs] = partition
        starts[runs] = at
        runs += 1
        at = gallop_upper(keys, splitters[partition], at) if partition < len(splitters) else len(keys)
    starts[runs] = at
    return runs


@kernel
def find_targets_plain(splitters: Array, low: Array, high: Array, low_target: Array, high_target: Array) -> None:
    """As `find_targets`: one rebounding search per bound."""
    rebound_lower(splitters, low, low_target)
    rebound_lower(splitters, high, high_target)


@kernel
def find_targets(padded: Array, low: Array, high: Array, low_target: Array, high_target: Array) -> None:
    """The partitions of both bounds of each probing tuple; each row of bounds ascends.

    `padded` holds the splitters and then LANE times the largest key of the type, so that no bound is past the first of
    these. Where low[i] > high[i] (an empty interval) high_target[i] is of no use.
    """
    if len(low) > DENSE * len(padded):
        _find_densely(padded, low, high, low_target, high_target)
    elif len(low) > 0:
        _find_sparsely(padded, low, low_target)
        if _are_near(padded, low_target, high):
            for i in range(len(high)):
                high_target[i] = _advance(padded, high[i], low_target[i])
        else:
            _find_sparsely(padded, high, high_target)


@kernel
def _find_densely(padded: Array, low: Array, high: Array, low_target: Array, high_target: Array) -> None:
    """Nearly every bound stays in its partition, which one comparison says."""
    partition, upper = 0, 0
    for i in range(len(low)):
        if low[i] > padded[partition]:
            partition = _advance(padded, low[i], partition)
        low_target[i] = partition
        if high[i] <= padded[partition]:
            high_target[i] = partition
            continue
        upper = max(upper, partition)
        if high[i] > padded[upper]:
            upper = _advance(padded, high[i], upper)
        high_target[i] = upper


@kernel
def _find_sparsely(padded: Array, bounds: Array, targets: Array) -> None:
    """Four cursors, one per quarter of the batch: one alone waits for its comparison before it knows where to load."""
    size = (len(bounds) + 3) // 4
    b, c, d = min(size, len(bounds) - size), min(2 * size, len(bounds) - size), len(bounds) - size  # may overlap
    at = gallop_lower(padded, bounds[0], 0)
    at_b = gallop_lower(padded, bounds[b], at)
    at_c = gallop_lower(padded, bounds[c], at_b)
    at_d = gallop_lower(padded, bounds[d], at_c)
    bounds_b, bounds_c, bounds_d = bounds[b:], bounds[c:], bounds[d:]
    targets_b, targets_c, targets_d = targets[b:], targets[c:], targets[d:]
    for i in range(size):
        at = _advance(padded, bounds[i], at)
        at_b = _advance(padded, bounds_b[i], at_b)
        at_c = _advance(padded, bounds_c[i], at_c)
        at_d = _advance(padded, bounds_d[i], at_d)
        targets[i], targets_b[i], targets_c[i], targets_d[i] = at, at_b, at_c, at_d


@kernel
def _are_near(padded: Array, low_target: Array, high: Array) -> bool:
    """Whether the high bounds lie within a lane of the low ones, by a few of them."""
    for i in range(0, len(high), max(1, len(high) // NEAR_SAMPLES)):
        if smaller(padded, int(low_target[i]), high[i]) == LANE:
            return False
    return True


@kernel
def _advance(padded: Array, bound: Any, at: Any) -> Any:
    step = smaller(padded, int(at), bound)
    return at + step if step < LANE else gallop_lower(padded, bound, at + step)
