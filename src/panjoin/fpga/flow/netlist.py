r"""A design as text: Amaranth's RTLIL, without the places in our source, so that it is the same on every machine.

    attribute \top 1
    module \top
      wire width 64 input 0 \tuples__payload        -> Port("tuples__payload", 64, "input")

Invariant: equal designs give equal text, so the hash of the text names the design. Moving a line in a unit's file
changes nothing; changing a gate does.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from panjoin.errors import ParameterError
from panjoin.fpga.flow.tools import REMEDY

TOP = "top"
CLOCK, RESET = "clk", "rst"
_PORT = re.compile(r"^  wire (?:width (\d+) )?(input|output) \d+ +(?:signed +)?\\(\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Port:
    """One port of the top module."""

    name: str
    width: int
    direction: str  #: "input" or "output"


@dataclass(frozen=True)
class Netlist:
    """A design as RTLIL."""

    text: str

    @cached_property
    def hash(self) -> str:
        """Names the design."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """Of the top module, clock and reset among them."""
        start = self.text.index(f"module \\{TOP}\n")
        top = self.text[start : self.text.index("\nend\n", start)]
        return tuple(Port(name, int(width or 1), way) for width, way, name in _PORT.findall(top))


def netlist(component: Any, platform: Any = None) -> Netlist:
    """The text of an `amaranth.lib.wiring.Component`, for a chip or for none; its ports are those of its signature."""
    try:
        from amaranth.back import rtlil  # noqa: PLC0415  (an extra)
        from amaranth.lib.wiring import Component  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ParameterError(f"the package amaranth is not installed; {REMEDY}") from None
    if not isinstance(component, Component):
        raise ParameterError(f"a design is an amaranth.lib.wiring.Component, not {type(component).__name__}")
    return Netlist(rtlil.convert(component, name=TOP, platform=platform, emit_src=False))
