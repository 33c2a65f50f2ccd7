"""How far a placement is, read from the lines that nextpnr prints while it works.

    packing ─ placing (solving, spreading) ─ refining ─ routing (arcs that remain) ─ timing
    0         0.05                           0.45       0.6                          0.98

The fractions are of wall time, taken from the placement of eight mergers; a bar needs no more than that.
"""

from __future__ import annotations

import re

#: What begins a line -> how far the work is then, and what it is.
_MARKS = {
    "Packing": (0.0, "packing"),
    "Creating initial analytic placement": (0.02, "placing"),
    "Running main analytical placer": (0.05, "placing"),
    "Running simulated annealing placer for refinement": (0.45, "refining"),
    "Routing globals": (0.6, "routing"),
    "Routing complete": (0.95, "timing"),
    "Program finished normally": (1.0, "done"),
}
_ITERATION = re.compile(r"at iteration #(\d+), type")
_ARCS = re.compile(r"Routing (\d+) arcs")
_LEFT = re.compile(r"\|\s*(\d+)\|\s*[\d.]+\s+[\d.]+\|$")
_USUAL_ITERATIONS = 40  #: of the analytical placer, four lines each


class Progress:
    """Remembers what must be remembered between lines."""

    def __init__(self) -> None:
        self.fraction = 0.0
        self.stage = "synthesis"
        self._arcs = 0

    def hear(self, line: str) -> None:
        """Take the next line; what says nothing about progress changes nothing."""
        text = line.removeprefix("Info:").strip()
        for begins, (fraction, stage) in _MARKS.items():
            if text.startswith(begins):
                self._at(fraction, stage)
                return
        if found := _ITERATION.search(text):
            self._at(0.05 + 0.4 * min(1.0, int(found[1]) / _USUAL_ITERATIONS), "placing")
        elif found := _ARCS.match(text):
            self._arcs = int(found[1])
        elif self._arcs and (found := _LEFT.search(text)):
            self._at(0.6 + 0.35 * (1 - min(1.0, int(found[1]) / self._arcs)), "routing")

    def _at(self, fraction: float, stage: str) -> None:
        self.fraction, self.stage = max(self.fraction, fraction), stage  # a bar does not go back
