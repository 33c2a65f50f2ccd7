"""The nested-loop oracle: what a stream join must answer, by comparing every tuple with every other one.

It shares no code with the engine. The rules, word for word as promised to users:

    batch    batches are processed one after another; a batch sees the opposite tuples processed before it
    number   tuples are numbered per side in arrival order; all of them, also those with NULL keys and late ones
    count    left may be seen by a later right batch while it is among the last W_left left numbers; mirrored
    time     l.ts <= r.ts and r.ts - l.ts <= left, or r.ts < l.ts and l.ts - r.ts <= right
    mixed    the later arrival decides: if it is r, l must obey the left rule (count, or r.ts - l.ts <= left); mirrored
    null     a tuple without event time matches nothing where one of the rules is about time
    late     a tuple behind the watermark at arrival is dropped: it is not seen, sees nothing, and is never "unmatched"

    left   0 1 | . . . | 2      with Count(2) on both sides: rights 0..2 see lefts 0, 1;
    right      | 0 1 2 |        left 2 sees rights 1, 2

All results derive from what each tuple *sees* when it arrives (`look`): every pair stands there exactly once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.oracle.condition import compile_condition
from tests.oracle.question import Answer, Count, Question, Window
from tests.oracle.rows import Row, columns_of, rows_of
from tests.oracle.values import compare

OPPOSITE = {"left": "right", "right": "left"}

Late = Callable[[int, int], bool]  #: (event time, watermark) -> dropped


class Sight(NamedTuple):
    """What one tuple sees when it arrives: the numbers of the opposite tuples that it matches, ascending."""

    side: str
    no: int
    matches: tuple[int, ...]


class Seen(NamedTuple):
    """Sights in order of arrival, and the (side, number) of the tuples that were late."""

    sights: list[Sight]
    late: list[tuple[str, int]]


class Aggregate(NamedTuple):
    """SQL's aggregates of one opposite column over the matches that a tuple sees: NULLs are not counted nor added."""

    matches: int
    count: int
    sum: Any
    min: Any
    max: Any
    avg: Any


def behind(ts: int, watermark: int) -> bool:
    """The engine's rule: what stands exactly at the watermark is still in time."""
    return ts < watermark


def join(question: Question, watermarks: list[int | None] | None = None, late: Late = behind) -> Answer:
    """The whole output at the end of both streams, as a multiset of (left number, right number)."""
    seen = look(question, watermarks, late)
    pairs = [
        (sight.no, match) if sight.side == "left" else (match, sight.no)
        for sight in seen.sights
        for match in sight.matches
    ]
    matched_left, matched_right = {left for left, _ in pairs}, {right for _, right in pairs}
    lefts = [sight.no for sight in seen.sights if sight.side == "left"]
    rights = [sight.no for sight in seen.sights if sight.side == "right"]
    how = question.how
    if how == "left_semi":
        return Counter((no, None) for no in lefts if no in matched_left)
    if how == "left_anti":
        return Counter((no, None) for no in lefts if no not in matched_left)
    answer: Answer = Counter(pairs)
    if how in ("left", "full"):
        answer.update((no, None) for no in lefts if no not in matched_left)
    if how in ("right", "full"):
        answer.update((None, no) for no in rights if no not in matched_right)
    return answer


def counts(
    question: Question, watermarks: list[int | None] | None = None, late: Late = behind
) -> dict[tuple[str, int], int]:
    """Matches per probing tuple at its arrival: (side, number) -> how many."""
    return {(sight.side, sight.no): len(sight.matches) for sight in look(question, watermarks, late).sights}


def aggregates(
    question: Question, column: dict[str, str], watermarks: list[int | None] | None = None, late: Late = behind
) -> dict[tuple[str, int], Aggregate]:
    """`column` names the column of each side that the other aggregates: {"right": "price"} is for left tuples."""
    answer = {}
    for side, name in column.items():
        values = (question.left if side == "left" else question.right).select([name])
        known = [value for (value,) in rows_of(values)]
        for sight in look(question, watermarks, late).sights:
            if sight.side == OPPOSITE[side]:
                answer[sight.side, sight.no] = _aggregate([known[no] for no in sight.matches])
    return answer


def look(question: Question, watermarks: list[int | None] | None = None, late: Late = behind) -> Seen:
    """Who sees whom. `watermarks` has one entry per batch, in force when it arrives; None: by our own rule."""
    window = question.window
    matching = compile_condition(question.on, columns_of(question.left.schema), columns_of(question.right.schema))
    if watermarks is None:
        watermarks = watermarks_of(question)
    seen = Seen([], [])
    arrived = {"left": 0, "right": 0}
    alive: dict[str, list[tuple[int, Row, int | None]]] = {"left": [], "right": []}
    for (side, batch), watermark in zip(_rows(question), watermarks, strict=True):
        opposite = OPPOSITE[side]
        for no, (row, ts) in enumerate(batch, start=arrived[side]):
            if watermark is not None and ts is not None and late(ts, watermark):
                seen.late.append((side, no))
                continue
            matches = []
            for other_no, other, other_ts in alive[opposite]:
                in_time = in_window(window, side, other_no, arrived[opposite], ts, other_ts)
                left, right = (row, other) if side == "left" else (other, row)
                if in_time and matching(left, right):
                    matches.append(other_no)
            seen.sights.append(Sight(side, no, tuple(matches)))
            alive[side].append((no, row, ts))
        arrived[side] += len(batch)
    return seen


def in_window(window: Window, side: str, other_no: int, others: int, ts: int | None, other_ts: int | None) -> bool:
    """Whether a tuple of `side` that arrives after `others` opposite tuples may see opposite number `other_no`."""
    timed = not (isinstance(window.left, Count) and isinstance(window.right, Count))
    if timed and (ts is None or other_ts is None):
        return False
    if not isinstance(window.left, Count) and not isinstance(window.right, Count):
        left, right = (ts, other_ts) if side == "left" else (other_ts, ts)
        if left <= right:
            return right - left <= window.left.length
        return left - right <= window.right.length
    rule = window.right if side == "left" else window.left
    if isinstance(rule, Count):
        return other_no >= others - rule.size
    return ts - other_ts <= rule.length


def watermarks_of(question: Question) -> list[int | None]:
    """Before each batch: the smaller side's greatest event time minus the lateness; None while a side has none."""
    greatest: dict[str, int | None] = {"left": None, "right": None}
    answer: list[int | None] = []
    for side, batch in _rows(question):
        left, right = greatest["left"], greatest["right"]
        lateness = question.window.lateness
        answer.append(None if left is None or right is None or lateness is None else min(left, right) - lateness)
        times = [ts for _, ts in batch if ts is not None]
        if times:
            before = greatest[side]
            greatest[side] = max(times) if before is None else max(before, *times)
    return answer


def _rows(question: Question) -> Iterator[tuple[str, list[tuple[Row, int | None]]]]:
    """The batches as (side, [(row, event time or None)])."""
    for side, table in question.parts():
        times: list[int | None] = [None] * table.num_rows
        if question.window.ts is not None:
            name = question.window.ts[0] if side == "left" else question.window.ts[1]
            times = [ts for (ts,) in rows_of(table.select([name]))]
        yield side, list(zip(rows_of(table), times, strict=True))


def _aggregate(values: list[Any]) -> Aggregate:
    known = [value for value in values if value is not None]
    if not known:
        return Aggregate(len(values), 0, None, None, None, None)
    least = greatest = known[0]
    for value in known:
        least = value if compare(value, least) < 0 else least
        greatest = value if compare(value, greatest) > 0 else greatest
    total = sum(known[1:], start=known[0])
    return Aggregate(len(values), len(known), total, least, greatest, total / len(known))
