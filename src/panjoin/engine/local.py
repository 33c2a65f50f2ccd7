"""The five steps in one process: what runs behind `StreamJoin` once both schemas are known.

    prepare   number the tuples, set late ones aside, encode and sort the keys        (steps 1 and 2)
    execute   plan, send, process, feed back; then let time pass                      (steps 3 to 5)

`prepare` needs nothing from `execute` (the watermark moves with the event times alone), so the next batch can be
prepared while workers are busy with this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.advisor import Advisor
from panjoin.chain.batch import LEFT, NO_TIME, OPPOSITE, RIGHT, Batch
from panjoin.chain.watermark import Watermark
from panjoin.engine.commands import Command
from panjoin.engine.crew import Crew
from panjoin.engine.manager import Manager, Plan
from panjoin.engine.mirror import Mirror
from panjoin.engine.preprocess import preprocess
from panjoin.engine.ranges import Ranges
from panjoin.engine.result import Outcome
from panjoin.engine.spec import JoinSpec
from panjoin.engine.worker import Alone, Feedback, Part
from panjoin.expression import Side

Array = npt.NDArray[Any]


class Among(NamedTuple):
    """Where some tuples stand among all of their side that have arrived together."""

    positions: Array
    extent: int  #: how many there are in all


@dataclass(frozen=True)
class Prepared:
    """A batch ready for the workers, the rows that were set aside, and the watermark after it."""

    batch: Batch
    dropped: pa.RecordBatch | None
    watermark: int | None
    answered: bool = False  #: its tuples have been answered before (they waited for the other side's columns)


class Join:
    """A join whose two schemas are known."""

    def __init__(self, spec: JoinSpec, manager: Manager, crew: Crew, watermark: Watermark, advisor: Advisor) -> None:
        self.spec, self.manager, self.crew = spec, manager, crew
        self.watermark, self.advisor = watermark, advisor
        self.mirror = Mirror(spec) if isinstance(spec.form, Ranges) else None
        self.arrived = {LEFT: 0, RIGHT: 0}
        self.late = {LEFT: 0, RIGHT: 0}
        self.quarantined = {LEFT: 0, RIGHT: 0}

    # ---- steps 1 and 2 ----

    def check(self, side: Side, rows: pa.RecordBatch) -> None:
        """Raise what `prepare` would raise."""
        self.spec.times(side, rows)
        self.spec.keys.encode(side, rows)

    def prepare(self, side: Side, rows: pa.RecordBatch, now: float, among: Among | None = None) -> Prepared:
        """Number, set aside, encode, sort. Raises before it changes anything.

        `among` says where the rows stand when they are some of those that have arrived, the others being elsewhere.
        """
        first_no = self.arrived[side]
        numbers = None if among is None else among.positions + first_no
        end_no = first_no + (rows.num_rows if among is None else among.extent)
        times = self.spec.times(side, rows)
        if times is None:
            batch, dropped = preprocess(self.spec, side, rows, first_no, None, numbers, end_no), None
        else:
            far, late = self.watermark.too_far(times), self.watermark.late(times)
            batch, dropped = self._in_time(side, rows, times, far | late, numbers, end_no)
            self.late[side] += int(np.count_nonzero(late & ~far))
            self.quarantined[side] += int(np.count_nonzero(far))
            assert batch.times is not None
            self.watermark.observe(side, batch.times, now)
        self.arrived[side] = end_no
        return Prepared(batch, dropped, self.watermark.value)

    def _in_time(
        self, side: Side, rows: pa.RecordBatch, times: Array, drop: Array, numbers: Array | None, end_no: int
    ) -> tuple[Batch, pa.RecordBatch | None]:
        first_no = self.arrived[side]
        if not drop.any():
            return preprocess(self.spec, side, rows, first_no, times, numbers, end_no), None
        accepted = rows.filter(pa.array(~drop))
        numbers = np.flatnonzero(~drop) + first_no if numbers is None else numbers[~drop]
        batch = preprocess(self.spec, side, accepted, first_no, times[~drop], numbers, end_no)
        return batch, rows.filter(pa.array(drop))

    # ---- steps 3 to 5 ----

    def execute(self, prepared: Prepared) -> list[Outcome]:
        """Join the batch with the opposite window, put it into its own, and let time pass."""
        outcomes = [self._join(prepared.batch)] if prepared.batch.next_no > prepared.batch.first_no else []
        if prepared.watermark is not None:
            outcomes += self._change(self.manager.expire_times(prepared.watermark))
        return outcomes

    def ask(self, side: Side, rows: pa.RecordBatch) -> list[Outcome]:
        """What tuples match in the opposite window, without joining their own: nothing will ever probe them.

        The opposite side is complete, so who has no match now never will: unmatched tuples come out at once.
        """
        batch = preprocess(self.spec, side, rows, 0, self.spec.times(side, rows))
        answers = self.crew.send(self.manager.probes(OPPOSITE[side]), [Part(batch)])
        matched = self._matched(batch, answers)
        alone = [] if matched is None else self._alone_where(batch, matched != self.spec.preserves(side))
        matches = [match for answer in answers for match in answer.matches]
        return [Outcome(batch, matches, alone, [answer.form for answer in answers])] if batch.size else []

    def advance(self, watermark: int) -> list[Outcome]:
        """The caller's word that nothing older will come."""
        self.watermark.advance(watermark)
        assert self.watermark.value is not None
        return self._change(self.manager.expire_times(self.watermark.value))

    def end(self) -> list[Outcome]:
        """Both streams are over: everything leaves."""
        return self._change(self.manager.expire_all())

    def _join(self, batch: Batch) -> Outcome:
        plan = self.manager.plan(batch)
        answers = self.crew.send(plan.probes, [Part(batch)])
        self.advisor.probed(
            OPPOSITE[batch.side], sum(each.asked for each in answers), sum(each.total for each in answers)
        )
        matched = self._matched(batch, answers)
        changes = self._apply(plan.changes, _parts(plan, matched))
        statuses = [status for answer in changes for status in answer.status]
        self.manager.learn(statuses)
        self.advisor.observe(statuses)
        return Outcome(
            batch=batch,
            matches=[match for answer in answers for match in answer.matches],
            alone=[alone for answer in (*answers, *changes) for alone in answer.alone]
            + self._alone_at_once(batch, matched),
            parts=[answer.form for answer in answers],
        )

    def _matched(self, batch: Batch, answers: Iterable[Feedback]) -> Array | None:
        if not self.spec.tracks(batch.side):
            return None
        found = [answer.matched for answer in answers if answer.matched is not None]
        matched: Array = np.logical_or.reduce([np.zeros(batch.size, bool), *found])
        return matched

    def _alone_at_once(self, batch: Batch, matched: Array | None) -> list[Alone]:
        """Tuples that are handed out as they come: matched ones of a semi join, unmatched ones without event time."""
        if matched is None:
            return []
        if not self.spec.preserves(batch.side):
            return self._alone_where(batch, matched)
        if self.spec.sides[batch.side].extent is not None and batch.times is not None:
            return self._alone_where(batch, batch.times == NO_TIME)
        return []

    def _alone_where(self, batch: Batch, chosen: Array) -> list[Alone]:
        positions = np.flatnonzero(chosen)
        rows = None if batch.rows is None else batch.rows.take(pa.array(positions))
        return [Alone(batch.side, batch.arrival_numbers(positions), rows)] if len(positions) else []

    def _change(self, commands: Sequence[Command]) -> list[Outcome]:
        answers = self._apply(commands)
        alone = [alone for answer in answers for alone in answer.alone]
        return [Outcome(alone=alone)] if alone else []

    def _apply(self, commands: Sequence[Command], parts: Sequence[Part] = ()) -> list[Feedback]:
        """Commands that change subwindows, here and in the mirror."""
        answers = self.crew.send(commands, parts)
        if self.mirror is not None:
            self.mirror.follow(commands, parts)
        return answers

    def stats(self) -> dict[str, Any]:
        """What is held and has been seen, per side."""
        windows, structures = self.manager.windows, self.crew.structures
        return {
            "arrived": dict(self.arrived),
            "late": dict(self.late),
            "quarantined": dict(self.quarantined),
            "watermark": self.watermark.value,
            "subwindows": {
                side: [info.describe() | {"structure": structures.get((side, info.number))} for info in windows[side]]
                for side in windows
            },
            "memory_bytes": self.crew.memory_bytes,
            "mirror_bytes": 0 if self.mirror is None else self.mirror.memory_bytes,
        }


def _parts(plan: Plan, matched: Array | None) -> list[Part]:
    """The pieces of the batch, each with what is known of its tuples' partners."""
    if matched is None or not plan.positions:
        return [Part(piece, matched) for piece in plan.pieces]
    return [Part(piece, matched[where]) for piece, where in zip(plan.pieces, plan.positions, strict=True)]
