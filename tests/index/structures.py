"""Which structures the suites run on, and the knobs at which their corners are near: tiny buffers, small fan-outs."""

from __future__ import annotations

from typing import Any

import pytest

from panjoin.index.contract import _OURS

STRUCTURES = list(_OURS)
#: Those that keep their tuples sorted, and so answer with ranges.
SORTED = ("bi-sort", "bi-sort-rtl")
#: What the contract's own suites run on: the simulated hardware as well, which is compiled on first use.
CONTRACTORS = [*STRUCTURES, pytest.param("bi-sort-rtl", marks=pytest.mark.slow)]

KNOBS: dict[str, list[dict[str, Any]]] = {
    "bi-sort": [{}, {"buffer": 2, "middle": 0}, {"buffer": 2, "middle": 3}],
    "rap-table": [{}, {"sigma": 1.05}],
    "wib-tree": [{"fanout": 3}, {"fanout": 3, "sigma": 1.05}],
    "scan": [{}],
    "bi-sort-rtl": [{}, {"buffer": 2}],
}
