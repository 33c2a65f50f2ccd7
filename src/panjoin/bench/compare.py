"""Compares two sets of records: what became slower by more than the noise?

    slower   the medians differ by more than the tolerance, and the best repeat now is worse than the worst before
    ?        the same of numbers that have one repeat: shown, but no regression, for their noise is not known

Only records of the same experiment, scale, parameters and metric are compared, and only those whose unit has a better
side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from panjoin.bench.records import Record

#: Medians that are closer than this are the same, however small the noise was.
TOLERANCE = 0.05


@dataclass(frozen=True)
class Change:
    """One measurement then and now; `ratio` is above 1 where now is better."""

    before: Record
    after: Record
    ratio: float
    verdict: str  #: "slower", "faster", "same" or "?"


def compare(before: Iterable[Record], after: Iterable[Record], tolerance: float = TOLERANCE) -> Iterator[Change]:
    """All that both sets have, in the order of the second."""
    known = {each.key: each for each in before}
    for each in after:
        other = known.get(each.key)
        if other is None or not other.median or not each.median or not each.better:
            continue
        higher = each.better == "higher"
        ratio = each.median / other.median if higher else other.median / each.median
        yield Change(other, each, ratio, _verdict(other, each, ratio, higher, tolerance))


def _verdict(before: Record, after: Record, ratio: float, higher: bool, tolerance: float) -> str:
    if 1 / (1 + tolerance) <= ratio <= 1 + tolerance:
        return "same"
    if min(before.repeats, after.repeats) < 2:
        return "?"
    if min(after.values) > max(before.values):
        return "faster" if higher else "slower"
    if max(after.values) < min(before.values):
        return "slower" if higher else "faster"
    return "same"
