"""A worker: holds subwindows of both streams and executes the manager's commands on them (paper, Processing).

No input, no output, no clock, no thread of its own: `execute` takes commands and the batch they speak of, and
answers with what it found. One worker is used by one thread at a time; workers share nothing but immutable batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin import index
from panjoin.chain.batch import LEFT, RIGHT, Batch
from panjoin.chain.chain import Chain
from panjoin.chain.late import late_buffer
from panjoin.chain.match import Match, counts_of
from panjoin.chain.subwindow import Subwindow
from panjoin.engine.commands import Command, Create, Expire, Insert, Probe, Seal, SubwindowStatus
from panjoin.engine.spec import JoinSpec
from panjoin.expression import Side

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Alone:
    """Tuples of one side that are handed out without a partner: unmatched ones, or those of a semi join."""

    side: Side
    numbers: Array
    rows: pa.RecordBatch | None


@dataclass
class Feedback:
    """A worker's answer to one list of commands."""

    matches: list[Match] = field(default_factory=list)
    alone: list[Alone] = field(default_factory=list)
    matched: Array | None = None  #: which tuples of the batch have found a match here
    form: Any = None  #: the answer in a form other than rows
    total: int = 0  #: candidates or matches found here, as cheaply as they can be known
    asked: int = 0  #: of so many probing tuples, counted once per subwindow that could hold a match
    status: list[SubwindowStatus] = field(default_factory=list)


@dataclass(frozen=True)
class Part:
    """A batch, or a piece of it that goes its own way, and which of its tuples have matched already."""

    batch: Batch
    matched: Array | None = None


class Worker:
    """Executes commands on its subwindows."""

    def __init__(self, number: int, spec: JoinSpec) -> None:
        self.number, self.spec = number, spec
        self.chains = {LEFT: Chain(), RIGHT: Chain()}

    def execute(self, commands: Iterable[Command], parts: Sequence[Part] = ()) -> Feedback:
        """Run the commands in order; `parts` are what probes (part 0) and inserts speak of."""
        feedback = Feedback()
        touched: dict[tuple[str, int], Subwindow] = {}
        for command in commands:
            if isinstance(command, Create):
                subwindow = self._create(command)
            elif isinstance(command, Insert):
                subwindow = self._insert(command, parts[command.part])
            elif isinstance(command, Seal):
                subwindow = self.chains[command.side][command.subwindow]
                subwindow.seal()
            elif isinstance(command, Probe):
                self._probe(command, parts[0].batch, feedback)
                continue
            else:
                self._expire(command, feedback)
                for number in command.subwindows:
                    touched.pop((command.side, number), None)
                continue
            touched[command.side, command.subwindow] = subwindow
        feedback.status = [self._status(subwindow) for subwindow in touched.values()]
        return feedback

    def _create(self, command: Create) -> Subwindow:
        knobs: dict[str, Any] = {}
        if command.splitters is not None:
            knobs["splitters"] = np.array(command.splitters, self.spec.keys.dtype)
        structure = index.create(
            command.structure,
            capacity=command.capacity,
            partitions=command.partitions,
            dtype=self.spec.keys.dtype,
            **knobs,
        )
        subwindow = Subwindow(
            command.side,
            command.subwindow,
            structure,
            first_no=command.first_no,
            timed=self.spec.timed,
            tracked=self.spec.tracks(command.side),
        )
        self.chains[command.side].add(subwindow)
        return subwindow

    def _insert(self, command: Insert, part: Part) -> Subwindow:
        subwindow = self.chains[command.side][command.subwindow]
        target = late_buffer(subwindow) if command.late else subwindow
        target.insert(part.batch, command.first, command.last, part.matched)
        return subwindow

    def _probe(self, command: Probe, batch: Batch, feedback: Feedback) -> None:
        matches = self.chains[command.side].probe(
            batch,
            live_from=command.live_from,
            reach=self.spec.reach(batch.side),
            negate=self.spec.keys.negate,
            verify=self.spec.verify if self.spec.verifies else None,
        )
        if self.spec.form is None:
            feedback.matches = matches
        else:
            feedback.form = self.spec.form.answer(batch, matches)
        feedback.total = sum(asked.probe.total for match in matches for asked in match.probes)
        feedback.asked = batch.size * len(matches)
        if self.spec.tracks(batch.side):
            feedback.matched = counts_of(batch, matches) > 0
        if self.spec.tracks(command.side):
            for match in matches:
                self._mark(match, feedback)

    def _mark(self, match: Match, feedback: Feedback) -> None:
        """Stored tuples have found a partner; a semi join hands them out the first time."""
        subwindow = match.subwindow
        assert subwindow.matched is not None
        for _, ids in match.pairs():
            if self.spec.how == "left_semi":
                fresh = np.unique(ids[~subwindow.matched[ids]])
                if len(fresh):
                    feedback.alone.append(_alone(subwindow, fresh))
            subwindow.matched[ids] = True

    def _expire(self, command: Expire, feedback: Feedback) -> None:
        chain = self.chains[command.side]
        if self.spec.preserves(command.side):
            for subwindow in chain:
                ids = _leaving(subwindow, command)
                if len(ids):
                    feedback.alone.append(_alone(subwindow, ids))
        for number in command.subwindows:
            chain.drop(number)

    def _status(self, subwindow: Subwindow) -> SubwindowStatus:
        histogram = getattr(subwindow.index, "histogram", None) if subwindow.sealed else None
        return SubwindowStatus(
            worker=self.number,
            side=subwindow.side,
            subwindow=subwindow.number,
            size=subwindow.size,
            sealed=subwindow.sealed,
            oldest=subwindow.oldest,
            newest=subwindow.newest,
            structure=subwindow.index.name,
            memory_bytes=subwindow.memory_bytes,
            histogram=None if histogram is None else _plain(histogram),
        )


def _plain(histogram: Any) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    counts, minima, maxima = (tuple(column.tolist()) for column in histogram)
    return counts, minima, maxima


def _leaving(subwindow: Subwindow, command: Expire) -> Array:
    if command.before_no is not None:
        return subwindow.leave_before_number(command.before_no)
    return subwindow.leave_before_time(command.before_time)


def _alone(subwindow: Subwindow, ids: Array) -> Alone:
    rows = subwindow.rows.take(ids) if subwindow.rows.size else None
    return Alone(subwindow.side, subwindow.numbers(ids), rows)
