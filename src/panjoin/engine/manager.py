"""The manager: turns batches, watermarks and statuses into commands (paper, Architecture).

It knows every subwindow of both streams from the outside (owner, size, times) and holds no tuple. A batch becomes

    probe     to each worker that holds a nonempty subwindow of the opposite stream
    create    when the newest subwindow is full (count) or spans enough time; dealt round robin
    insert    into the newest subwindow, split at its end; late tuples beside the old one they belong to
    seal      what is full
    expire    what no tuple can match any more, whole

All of it is a pure function of what came before, so replicas of a manager that see the same batches give the same
commands: that is how Spark tasks agree on who does what without talking to each other.

Invariant: at most one subwindow of each stream is unsealed, the newest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from panjoin.advisor import Advisor
from panjoin.chain.batch import LEFT, NO_TIME, OPPOSITE, RIGHT, Batch
from panjoin.chain.expiry import is_past
from panjoin.chain.late import LATE_CAPACITY, route
from panjoin.engine.commands import Command, Create, Expire, Insert, Probe, Seal, SubwindowStatus
from panjoin.engine.spec import JoinSpec
from panjoin.expression import Side
from panjoin.sizing import LARGEST, PIECES, SMALLEST, subwindow_of

Array = npt.NDArray[Any]

FOREVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class SubwindowInfo:
    """A subwindow from the outside."""

    number: int
    worker: int
    first_no: int
    end_no: int
    capacity: int
    size: int = 0
    late: int = 0
    oldest: int | None = None
    newest: int | None = None
    sealed: bool = False

    def grown(self, size: int, end_no: int, times: tuple[int, int] | None) -> SubwindowInfo:
        """After taking in `size` tuples."""
        oldest, newest = self.oldest, self.newest
        if times is not None:
            oldest = times[0] if oldest is None else min(oldest, times[0])
            newest = times[1] if newest is None else max(newest, times[1])
        return replace(self, size=self.size + size, end_no=max(self.end_no, end_no), oldest=oldest, newest=newest)

    def describe(self) -> dict[str, Any]:
        """For statistics."""
        return asdict(self)


@dataclass(frozen=True)
class Plan:
    """Commands for one batch: all probes are answered before anything changes."""

    probes: tuple[Command, ...]
    changes: tuple[Command, ...]
    pieces: tuple[Batch, ...] = ()  #: what inserts speak of: the tuples in order, then late ones by subwindow
    positions: tuple[Array, ...] = ()  #: where the tuples of each piece stand in the batch; nothing when it is whole


class Manager:
    """Deals subwindows to workers and batches to subwindows."""

    def __init__(
        self,
        spec: JoinSpec,
        advisor: Advisor,
        *,
        workers: int = 1,
        subwindow: int | None = None,
        span: int | None = None,
        share: int = 1,
    ) -> None:
        """`subwindow` is the size in tuples, `span` in microseconds of event time; None: an eighth of the window.

        One tuple in `share` of a window comes here.
        """
        self.spec, self.workers, self._share = spec, workers, share
        self._advisor, self._subwindow, self._span = advisor, subwindow, span
        self.windows: dict[str, list[SubwindowInfo]] = {LEFT: [], RIGHT: []}
        self.counts = {LEFT: 0, RIGHT: 0}  #: tuples processed per side, by arrival number
        self._next_number = {LEFT: 0, RIGHT: 0}
        self._last_size = {LEFT: 0, RIGHT: 0}

    # ---- one batch ----

    def plan(self, batch: Batch) -> Plan:
        """Commands for a batch, which counts as processed from now on."""
        side = batch.side
        probes = self.probes(OPPOSITE[side])
        changes: list[Command] = []
        pieces, positions = [batch], []
        routed = self._route(batch)
        if routed:
            others = np.ones(batch.size, bool)
            others[np.concatenate([late for _, late in routed])] = False
            positions = [np.flatnonzero(others), *(late for _, late in routed)]
            pieces = [batch.pick(piece) for piece in positions]
            self._insert_late(side, routed, changes)
        self._insert(pieces[0], changes)
        self.counts[side] = batch.next_no
        changes += self._expire_numbers(side)
        return Plan(tuple(probes), tuple(changes), tuple(pieces), tuple(positions))

    def probes(self, side: Side) -> list[Command]:
        """Only workers with a nonempty subwindow of the opposite stream are asked."""
        window = self.spec.sides[side].count
        live_from = None if window is None else max(0, self.counts[side] - window)
        owners = sorted({info.worker for info in self.windows[side] if info.size or info.late})
        return [Probe(worker, side, live_from) for worker in owners]

    def _insert(self, batch: Batch, changes: list[Command]) -> None:
        self._advisor.took(batch.side, batch.keys, batch.size, self._capacity(batch.side, batch.size))
        first = 0
        while first < batch.size:
            info = self._newest(batch, batch.size - first, changes)
            last = min(batch.size, first + info.capacity - info.size)
            changes.append(Insert(info.worker, batch.side, info.number, first, last))
            if info.size == 0:
                info = replace(info, first_no=batch.number_at(first))
            info = info.grown(last - first, batch.number_at(last - 1) + 1, _time_range(batch, first, last))
            self.windows[batch.side][-1] = info
            if info.size == info.capacity:
                self._seal(batch.side, changes)
            first = last

    def _newest(self, batch: Batch, room: int, changes: list[Command]) -> SubwindowInfo:
        """The subwindow that takes the next tuples, created if the one before is closed or spans enough time."""
        side = batch.side
        infos = self.windows[side]
        if infos and not infos[-1].sealed:
            if not self._spans_enough(side, infos[-1]):
                return infos[-1]
            self._seal(side, changes)
        number = self._next_number[side]
        self._next_number[side] += 1
        capacity = self._capacity(side, room)
        structure = self._advisor.choose(side, capacity, batch.keys)
        first_no = batch.number_at(batch.size - room)
        info = SubwindowInfo(number, number % self.workers, first_no, first_no, capacity)
        changes.append(
            Create(
                worker=info.worker,
                side=side,
                subwindow=number,
                structure=structure.name,
                capacity=capacity,
                partitions=structure.partitions,
                first_no=first_no,
                splitters=structure.splitters,
            )
        )
        infos.append(info)
        return info

    def _seal(self, side: Side, changes: list[Command]) -> None:
        info = self.windows[side][-1]
        self.windows[side][-1] = replace(info, sealed=True)
        self._last_size[side] = info.size
        changes.append(Seal(info.worker, side, info.number))

    def _capacity(self, side: Side, room: int) -> int:
        if self._subwindow is not None:
            return self._subwindow
        window = self.spec.sides[side].count
        if window is not None:
            return subwindow_of(-(-window // self._share))
        # the rate of a time window is not known beforehand: half as much again as the last one held
        return max(SMALLEST, min(LARGEST, max(2 * room, self._last_size[side] + self._last_size[side] // 2)))

    def _spans_enough(self, side: Side, info: SubwindowInfo) -> bool:
        extent = self.spec.sides[side].extent
        if extent is None or info.oldest is None or info.newest is None or self._subwindow is not None:
            return False
        span = self._span if self._span is not None else max(1, extent // PIECES)
        return info.newest - info.oldest >= span

    # ---- late tuples ----

    def _route(self, batch: Batch) -> list[tuple[int, Array]]:
        infos = self.windows[batch.side]
        if (
            self.spec.sides[batch.side].extent is None
            or batch.times is None
            or len(infos) < 2
            or infos[-1].oldest is None
        ):
            return []
        old = [
            (info.oldest, info.newest, LATE_CAPACITY - info.late) if info.oldest is not None and info.newest is not None
            else (0, -1, 0)
            for info in infos[:-1]
        ]  # fmt: skip
        return route(batch.times, infos[-1].oldest, old)

    def _insert_late(self, side: Side, routed: Iterable[tuple[int, Array]], changes: list[Command]) -> None:
        for part, (place, positions) in enumerate(routed, start=1):
            info = self.windows[side][place]
            self.windows[side][place] = replace(info, late=info.late + len(positions))
            changes.append(Insert(info.worker, side, info.number, 0, len(positions), part, late=True))

    # ---- leaving ----

    def _expire_numbers(self, side: Side) -> list[Command]:
        window = self.spec.sides[side].count
        if window is None:
            return []
        live_from = self.counts[side] - window
        gone = [info for info in self.windows[side] if info.end_no <= live_from]
        return self._expire(side, gone, before_no=live_from) if live_from > 0 else []

    def expire_times(self, watermark: int) -> list[Command]:
        """Commands for a watermark that has moved."""
        commands: list[Command] = []
        for side in (LEFT, RIGHT):
            extent = self.spec.sides[side].extent
            if extent is None:
                continue
            gone = [
                info
                for info in self.windows[side]
                if (info.newest is None and info.sealed)
                or (info.newest is not None and is_past(info.newest, extent, watermark))
            ]
            commands += self._expire(side, gone, before_time=watermark - extent)
        return commands

    def expire_all(self) -> list[Command]:
        """Commands for the end of both streams."""
        commands: list[Command] = []
        for side in (LEFT, RIGHT):
            before_no = None if self.spec.sides[side].count is None else FOREVER
            commands += self._expire(side, list(self.windows[side]), before_no=before_no)
        return commands

    def _expire(
        self, side: Side, gone: list[SubwindowInfo], *, before_no: int | None = None, before_time: int | None = None
    ) -> list[Command]:
        owners = {info.worker for info in (self.windows[side] if self.spec.preserves(side) else gone)}
        dropped = {info.number for info in gone}
        self.windows[side] = [info for info in self.windows[side] if info.number not in dropped]
        return [
            Expire(
                worker,
                side,
                tuple(info.number for info in gone if info.worker == worker),
                before_no,
                before_time,
            )
            for worker in sorted(owners)
        ]

    # ---- the books, for a replica that takes over ----

    def books(self) -> dict[str, Any]:
        """All that the commands for the next batch depend on, as JSON can hold it."""
        return {
            "windows": {side: [asdict(info) for info in infos] for side, infos in self.windows.items()},
            "counts": dict(self.counts),
            "next_number": dict(self._next_number),
            "last_size": dict(self._last_size),
        }

    def restore(self, books: Mapping[str, Any]) -> None:
        """Go on from there."""
        self.windows = {side: [SubwindowInfo(**info) for info in infos] for side, infos in books["windows"].items()}
        self.counts = dict(books["counts"])
        self._next_number, self._last_size = dict(books["next_number"]), dict(books["last_size"])

    # ---- feedback ----

    def learn(self, statuses: Iterable[SubwindowStatus]) -> None:
        """Compare a worker's word with the books: a subwindow that differs has lost or doubled tuples."""
        for status in statuses:
            for info in self.windows[status.side]:
                if info.number == status.subwindow and (info.size, info.sealed) != (status.size, status.sealed):
                    raise AssertionError(f"the manager has {info}, its worker reports {status}")


def _time_range(batch: Batch, first: int, last: int) -> tuple[int, int] | None:
    if batch.times is None:
        return None
    timed = batch.times[first:last]
    timed = timed[timed != NO_TIME]
    return (int(timed.min()), int(timed.max())) if len(timed) else None
