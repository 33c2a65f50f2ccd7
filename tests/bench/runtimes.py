"""The baselines as runtimes. They know whole keys, one band and count windows; NULL is for this adaptor to keep apart.

A NULL matches nothing, but is numbered like any other tuple. It travels as a key that is far from all others.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from panjoin.bench.baselines import BASELINES, Baseline
from tests.oracle.question import Answer, Count, Question
from tests.registry import PREDICATES, runtime

#: Predicate of the registry -> column, low, high.
BANDS = {
    "equal": ("k", 0, 0),
    "band": ("x", -5, 5),
    "band_lopsided": ("x", -5, 10),
    "band_half_open": ("y", -3, 2),
}
COUNTED = ("last_1", "last_7_and_20", "everything")
FAR = 1 << 40


def keys_of(column, side):
    """int64 keys; the i-th NULL of a side becomes a key of its own, a million away from the next."""
    keys, holes = column.fill_null(0).to_numpy().astype(np.int64), column.is_null().to_numpy()
    apart = FAR + 1_000_000 * np.flatnonzero(holes)
    keys[holes] = apart if side == "left" else -apart
    return keys


def answer_of(question: Question, join: Baseline, column: str) -> Answer:
    """All pairs, having checked that counts say as many."""
    answer: Answer = Counter()
    for side, table in question.parts():
        keys, first = keys_of(table[column], side), join.arrived[side]
        positions, numbers = join.pairs(side, keys)
        assert join.push(side, keys).tolist() == np.bincount(positions, minlength=len(keys)).tolist()
        own, other = (positions + first).tolist(), numbers.tolist()
        answer.update(zip(own, other, strict=True) if side == "left" else zip(other, own, strict=True))
    return answer


def join_of(question: Question, name: str, low: int, high: int, **knobs) -> Baseline:
    """A baseline with the question's window, cut to what will come."""
    sides = {"left": question.left.num_rows, "right": question.right.num_rows}
    assert isinstance(question.window.left, Count) and isinstance(question.window.right, Count)
    left, right = (
        max(1, min(window.size, size))
        for window, size in zip((question.window.left, question.window.right), sides.values(), strict=True)
    )
    return BASELINES[name](window_left=left, window_right=right, low=low, high=high, dtype=np.int64, **knobs)


def predicate_of(question: Question) -> str:
    """The registry's name of the question's condition."""
    return next(name for name, predicate in PREDICATES.items() if predicate.text == question.on)


def _register(name: str) -> None:
    known = ("equal",) if name == "symmetric-hash" else tuple(BANDS)

    @runtime(name, accepts=lambda predicate, window, how: predicate in known and window in COUNTED and how == "inner")
    def _run(question: Question, _index: str | None) -> Answer:
        column, low, high = BANDS[predicate_of(question)]
        return answer_of(question, join_of(question, name, low, high), column)


for _name in BASELINES:
    _register(_name)
