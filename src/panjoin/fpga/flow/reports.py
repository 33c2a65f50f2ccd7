"""What yosys and nextpnr say about a design, read into plain numbers.

    yosys     cells of each type                                       -> Cells
    nextpnr   cells used and available, clock reached, critical path   -> Placed

A report that is not of the expected form is refused; a number that is not there is never taken for 0.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from panjoin.errors import DamageError

#: What we call a resource -> the cells of ECP5 that are counted as it, as placement names them.
RESOURCES = {"COMB": "TRELLIS_COMB", "FF": "TRELLIS_FF", "block RAM": "DP16KD", "DSP": "MULT18X18D"}


@dataclass(frozen=True)
class Cells:
    """Cells of a design before placement."""

    by_type: Mapping[str, int]

    @property
    def lut(self) -> int:
        """Look-up tables; a carry cell is two of them, a wide function is made of them, a small memory is four."""
        of = Counter(self.by_type)
        return of["LUT4"] + 2 * of["CCU2C"] + 4 * of["TRELLIS_DPR16X4"]

    @property
    def ff(self) -> int:
        """Flip-flops."""
        return self.by_type.get("TRELLIS_FF", 0)

    @property
    def block_ram(self) -> int:
        """Block RAMs of 18 Kbit."""
        return self.by_type.get("DP16KD", 0)

    @property
    def dsp(self) -> int:
        """Multipliers."""
        return self.by_type.get("MULT18X18D", 0)


@dataclass(frozen=True)
class Step:
    """One piece of a path: through a cell ("logic"), or along a wire ("routing")."""

    kind: str
    nanoseconds: float
    name: str  #: of the wire, or of the cell


@dataclass(frozen=True)
class Placed:
    """One placement."""

    used: Mapping[str, int]  #: resource -> cells
    available: Mapping[str, int]
    mhz: float  #: the clock reached
    path: Sequence[Step]  #: the slowest, from register to register

    @property
    def routing_share(self) -> float:
        """How much of the slowest path's time is wire."""
        total = sum(step.nanoseconds for step in self.path)
        return sum(step.nanoseconds for step in self.path if step.kind == "routing") / total


def cells(text: str) -> Cells:
    """What `stat -json` of yosys printed."""
    content = _json(text, "yosys' statistics")
    try:
        return Cells({str(name): int(count) for name, count in content["design"]["num_cells_by_type"].items()})
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise DamageError(f"yosys' statistics have no cells by type ({error!r}); {_AGAIN}") from None


def placed(text: str) -> Placed:
    """What nextpnr wrote as its report."""
    content = _json(text, "nextpnr's report")
    try:
        used = {name: int(content["utilization"][cell]["used"]) for name, cell in RESOURCES.items()}
        available = {name: int(content["utilization"][cell]["available"]) for name, cell in RESOURCES.items()}
        clocks = {str(name): float(found["achieved"]) for name, found in content["fmax"].items()}
        if len(clocks) != 1:
            raise DamageError(f"a design here has one clock, and nextpnr's report tells of {len(clocks)}; {_AGAIN}")
        (clock, mhz), *_ = clocks.items()
        inside = [path for path in content["critical_paths"] if {_of(path["from"]), _of(path["to"])} == {clock}]
        path = [_step(each) for each in inside[0]["path"]]
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise DamageError(f"nextpnr's report misses something ({error!r}); {_AGAIN}") from None
    return Placed(used, available, mhz, path)


_AGAIN = "make it again with: panjoin fpga place --again"


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise DamageError(f"{what} cannot be read ({error}); {_AGAIN}") from None


def _of(edge: str) -> str:
    return edge.removeprefix("posedge ").removeprefix("negedge ")


def _step(each: Mapping[str, Any]) -> Step:
    return Step(str(each["type"]), float(each["delay"]), str(each.get("net", each["to"]["cell"])))
