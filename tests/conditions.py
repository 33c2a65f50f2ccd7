"""Hypothesis strategies for conditions: the ON text, and the columns that it reads.

A condition is one form (comparison, band, abs, ...) over one pair of columns that Spark compares, either side first,
with distances that suit their types; or several of these under AND or OR. `simple_conditions` and `conditions` can be
narrowed to some forms and to some columns of `tests.strategies.COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st


class Condition(NamedTuple):
    """An ON text and the columns it needs of each side (names of COLUMNS)."""

    text: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    form: str


#: Pairs of columns that Spark compares and subtracts, and what a distance between them is.
_PAIRS: dict[tuple[str, str], str] = {
    **{(a, b): "number" for a in "ildfn" for b in "ildfn"},
    ("t", "t"): "time",
    ("dt", "dt"): "moment",
    ("t", "dt"): "time",
    ("s", "s"): "nothing",
}
_DISTANCES: dict[str, list[str]] = {
    "number": ["0", "1", "2", "5", "1.5", "0.25", "3L", "0.1D", "2E0", "2147483647", "9223372036854775807"],
    "time": [
        "INTERVAL 0 SECONDS",
        "INTERVAL 1 MICROSECOND",
        "INTERVAL '5 microseconds'",
        "INTERVAL '2' DAY",
        "INTERVAL 1 HOUR",
        "INTERVAL '1 day 2 hours'",
    ],
    # Beside dates: whole days keep a DATE, all others make a TIMESTAMP of it, even if they are as long as days.
    "moment": [
        "INTERVAL 0 DAYS",
        "INTERVAL '2' DAY",
        "INTERVAL 1 WEEK",
        "INTERVAL 24 HOURS",
        "INTERVAL '1 day 1 hour'",
    ],
}
_COMPARISONS = ("<", "<=", ">", ">=", "=", "!=", "<>")


def _compare(draw: st.DrawFn, a: str, b: str, _c: Any, kind: str) -> str:
    signs = ("=", "!=", "<>") if kind == "nothing" else _COMPARISONS
    return f"{a} {draw(st.sampled_from(signs))} {b}"


def _equal(_draw: st.DrawFn, a: str, b: str, _c: Any, _kind: str) -> str:
    return f"{a} = {b}"


def _unequal(draw: st.DrawFn, a: str, b: str, _c: Any, _kind: str) -> str:
    return f"{a} {draw(st.sampled_from(['!=', '<>']))} {b}"


def _null_safe(_draw: st.DrawFn, a: str, b: str, _c: Any, _kind: str) -> str:
    return f"{a} <=> {b}"


def _shifted(draw: st.DrawFn, a: str, b: str, c: Any, _kind: str) -> str:
    sign, plus = draw(st.sampled_from(_COMPARISONS)), draw(st.sampled_from("+-"))
    return draw(
        st.sampled_from([f"{a} {plus} {c()} {sign} {b}", f"{a} {sign} {b} {plus} {c()}", f"{a} - {b} {sign} {c()}"])
    )


def _band(draw: st.DrawFn, a: str, b: str, c: Any, _kind: str) -> str:
    low, high = draw(st.sampled_from(["-+", "++", "--"]))
    return draw(
        st.sampled_from(
            [
                f"{a} BETWEEN {b} {low} {c()} AND {b} {high} {c()}",
                f"{a} - {b} BETWEEN -{c()} AND {c()}",
                f"{a} >= {b} {low} {c()} AND {a} < {b} {high} {c()}",
                f"{a} + {c()} BETWEEN {b} AND {b} + {c()}",
            ]
        )
    )


def _abs(draw: st.DrawFn, a: str, b: str, c: Any, _kind: str) -> str:
    return f"abs({a} - {b}) {draw(st.sampled_from(['<=', '<', '>']))} {c()}"


def _bands(draw: st.DrawFn, a: str, b: str, c: Any, kind: str) -> str:
    return f"{_band(draw, a, b, c, kind)} OR {a} BETWEEN {b} - {c()} AND {b} + {c()}"


def _negated(draw: st.DrawFn, a: str, b: str, c: Any, kind: str) -> str:
    inner = _shifted(draw, a, b, c, kind)
    return draw(st.sampled_from([f"NOT ({inner})", f"{a} NOT BETWEEN {b} - {c()} AND {b} + {c()}", f"NOT {inner}"]))


#: The shapes of one comparison between one pair of columns; `compare` and its two special cases need no distance.
FORMS: dict[str, Any] = {
    "compare": _compare,
    "equal": _equal,
    "unequal": _unequal,
    "null_safe": _null_safe,
    "shifted": _shifted,
    "band": _band,
    "abs": _abs,
    "bands": _bands,
    "negated": _negated,
}
_WITHOUT_DISTANCE = ("compare", "equal", "unequal", "null_safe")


@st.composite
def simple_conditions(
    draw: st.DrawFn, forms: Sequence[str] = tuple(FORMS), columns: Sequence[str] = (*"ildfn", "t", "dt", "s")
) -> Condition:
    """One form over one pair of columns, either side first."""
    form = draw(st.sampled_from(forms))
    pairs = [
        (pair, kind)
        for pair, kind in _PAIRS.items()
        if set(pair) <= set(columns) and (kind != "nothing" or form in _WITHOUT_DISTANCE)
    ]
    (left, right), kind = draw(st.sampled_from(pairs))
    a, b = f"left.{left}", f"right.{right}"
    if draw(st.booleans()):
        a, b = b, a

    def distance() -> str:
        return draw(st.sampled_from(_DISTANCES[kind]))

    return Condition(FORMS[form](draw, a, b, distance, kind), (left,), (right,), form)


@st.composite
def conditions(
    draw: st.DrawFn,
    forms: Sequence[str] = tuple(FORMS),
    columns: Sequence[str] = (*"ildfn", "t", "dt", "s"),
    *,
    max_parts: int = 3,
) -> Condition:
    """One to `max_parts` simple conditions, joined by AND (mostly) or OR."""
    parts = draw(st.lists(simple_conditions(forms, columns), min_size=1, max_size=max_parts))
    if len(parts) == 1:
        return parts[0]
    word = draw(st.sampled_from([" AND ", " AND ", " OR "]))
    return Condition(
        word.join(f"({part.text})" for part in parts),
        tuple(dict.fromkeys(name for part in parts for name in part.left)),
        tuple(dict.fromkeys(name for part in parts for name in part.right)),
        word.strip().lower() + ":" + ",".join(part.form for part in parts),
    )
