"""Where a worker's windows are between two micro-batches.

    in this process       those of the last micro-batch, under the stamp of the state they equal
    in files here         the same, for any process of this executor (shelf.py)
    in the state          always; windows that are in neither place are made from it again

Spark's Python workers are reused but not sticky: the same worker of a join was seen in different processes in
successive micro-batches. Windows are taken out of the process while they are worked on, and files never change, so a
task that fails half-way leaves behind what there was before it.

Invariant: what `take` gives equals the state under the stamp in the header, wherever it comes from.
"""

from __future__ import annotations

import logging
from collections import OrderedDict

from panjoin.spark.mapped import Reader, UnusableError
from panjoin.spark.plan import JoinPlan
from panjoin.spark.recovery import rebuilt, taken_over
from panjoin.spark.residence import Lodgings
from panjoin.spark.resident import Resident
from panjoin.spark.shelf import Shelf, Stamps
from panjoin.spark.state import Header, StateOfRecord

log = logging.getLogger(__name__)


class Keeper:
    """The windows that one process knows of."""

    def __init__(self, most: int) -> None:
        """`most` workers' windows are held in the process."""
        self._most = most
        self._held: OrderedDict[tuple[str, int], tuple[str, Resident]] = OrderedDict()
        self._reader, self._lodgings = Reader(), Lodgings()

    def take(self, plan: JoinPlan, number: int, header: Header, record: StateOfRecord) -> Resident:
        """The windows that equal this state; they are the caller's until he keeps them."""
        stamp, resident = self._held.pop((header.lineage, number), ("", None))
        directory = self._lodgings.directory(plan.residence, number, header.lineage)
        if resident is not None and stamp == header.stamp and resident.plan == plan:
            if resident.shelf is not None and resident.shelf.intact:
                return resident
            log.warning("files in %s were changed or removed; worker %d does without them", directory, number)
        if header.version > 0:
            resident = self._from_files(plan, number, header, record) or rebuilt(plan, number, header, record)
        else:
            resident = Resident(plan, number)
        if resident.shelf is None:
            resident.shelf = Shelf(directory, self._reader, plan.residence.limit)
        return resident

    def _from_files(self, plan: JoinPlan, number: int, header: Header, record: StateOfRecord) -> Resident | None:
        directory = self._lodgings.directory(plan.residence, number, header.lineage)
        try:
            shelf = Shelf.found(directory, self._reader, plan.residence.limit, header.stamp, plan)
            return None if shelf is None else taken_over(plan, number, header, record, shelf)
        except UnusableError as reason:
            log.warning("worker %d makes its windows from the state: %s", number, reason)
            return None

    def keep(self, resident: Resident, before: Header, after: Header) -> None:
        """Windows that equal the state that is about to be committed. Those longest untouched make room."""
        assert resident.shelf is not None
        fresh = [*resident.replayed, *resident.crew.inserted]
        resident.replayed.clear()
        resident.crew.clear()
        stamps = Stamps(before.stamp, after.stamp)
        try:
            resident.shelf.publish(resident.subwindows(), fresh, resident.plan, stamps)
        except UnusableError as reason:
            log.warning("worker %d keeps no windows: %s", resident.number, reason)
            return
        self._held[after.lineage, resident.number] = (after.stamp, resident)
        while len(self._held) > self._most:
            self._held.popitem(last=False)

    def forget(self) -> None:
        """As if this were another process."""
        self._held.clear()
        self._reader = Reader()
