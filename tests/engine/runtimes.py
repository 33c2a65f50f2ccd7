"""The local engine as a runtime: the join that users push into, fed as the question says."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

from panjoin.engine.result import NO_PARTNER, Result
from panjoin.engine.stream_join import StreamJoin
from panjoin.window import CountWindow, MixedWindow, TimeWindow, Window
from tests.oracle.question import Answer, Count, Question
from tests.oracle.question import Window as Asked
from tests.registry import INDEXES, runtime

NEVER_LATE = timedelta(days=365 * 1000)


def window_of(asked: Asked) -> Window:
    """Our window for the oracle's."""
    if isinstance(asked.left, Count) and isinstance(asked.right, Count):
        return CountWindow(left=asked.left.size, right=asked.right.size)
    lateness = NEVER_LATE if asked.lateness is None else timedelta(microseconds=asked.lateness)
    if not isinstance(asked.left, Count) and not isinstance(asked.right, Count):
        left, right = (timedelta(microseconds=side.length) for side in (asked.left, asked.right))
        return TimeWindow(left=left, right=right, on=asked.ts, lateness=lateness)
    sides = {
        name: CountWindow(side.size)
        if isinstance(side, Count)
        else TimeWindow(timedelta(microseconds=side.length), on=asked.ts, lateness=lateness)
        for name, side in (("left", asked.left), ("right", asked.right))
    }
    return MixedWindow(**sides)


def join_of(question: Question, **options: Any) -> StreamJoin:
    """A join that answers the question; small subwindows, so that every edge is near."""
    window = window_of(question.window)
    options = {"subwindow": 8, "partitions": 2, "workers": 2, "how": question.how, **options}
    return StreamJoin(on=question.on, window=window, schemas=(question.left.schema, question.right.schema), **options)


def numbers_of(result: Result) -> Answer:
    """The pairs of arrival numbers, None where a tuple stands alone."""
    left, right = result.pairs()
    return Counter(
        (None if one == NO_PARTNER else one, None if other == NO_PARTNER else other)
        for one, other in zip(left.tolist(), right.tolist(), strict=True)
    )


def answer_of(question: Question, **options: Any) -> Answer:
    """Everything that all pushes and the end give."""
    answer: Answer = Counter()
    with join_of(question, **options) as join:
        for side, table in question.parts():
            answer += numbers_of(join.push(side, table))
        answer += numbers_of(join.finish())
    return answer


@runtime("local", indexes=INDEXES)
def _local(question: Question, index: str | None) -> Answer:
    return answer_of(question, index=index)
