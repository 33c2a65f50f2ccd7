"""Manager and workers in simulated worlds (`tests/simulation`), as many as the table wants."""

from __future__ import annotations

from pathlib import Path

from tests.faults.catalogue import Class
from tests.faults.records import Tally
from tests.simulation.world import simulate


def simulated(directory: Path, seeds: range) -> Tally:
    """One world per seed; `simulate` raises when anything is not as the nested loop has it."""
    tally = Tally()
    for seed in seeds:
        try:
            simulate(seed)
        except Exception as error:  # noqa: BLE001  (whatever it is, the other seeds are run)
            tally.case(seed, f"python -m tests.simulation --from {seed} 1: {error!r:.300}", wrong=1)
        else:
            tally.case(seed)
    return tally


CLASSES = (
    Class(
        "simulation",
        "simulated networks and crashes",
        "Manager and workers in virtual time: messages and answers are delayed, lost, doubled and come in any order, workers "
        "die after any command and begin again without a memory, managers are replaced by their books; rows or counts are "
        "compared with the nested loop, and every index must be sound at the end.",
        simulated,
        2000,
    ),
)
