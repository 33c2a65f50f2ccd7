"""What an index must answer, said in the plainest Python: lists, and one comparison per pair.

Imports nothing of the package, so that it cannot share a mistake with it. Also here: the ways keys and bounds are
drawn, and `ask`, which reads an index's whole answer (counts, pairs, chunks) and checks that its parts agree.

    model                       probe [2, 5], [5, 9]          not [5, 9]
    (7, id 0) (5, id 1)         [1] and [0, 1]                []
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st


@dataclass
class Model:
    """One subwindow as a list of (key, id)."""

    tuples: list[tuple[int, int]] = field(default_factory=list)

    def insert(self, keys: Any, ids: Any) -> None:
        self.tuples += [(int(key), int(number)) for key, number in zip(keys, ids, strict=True)]

    def probe(self, low: Any, high: Any, negate: bool = False) -> list[list[int]]:
        """The ids that match, ascending, for each probing tuple."""
        return [
            sorted(number for key, number in self.tuples if (int(lo) <= key <= int(hi)) != negate)
            for lo, hi in zip(low, high, strict=True)
        ]


def ask(index: Any, low: Any, high: Any, negate: bool = False, chunk: int = 3) -> list[list[int]]:
    """The index's answer in the model's form; asserts that counts, pairs and chunks tell the same."""
    probe = index.probe(low, high, negate=negate)
    assert probe.counts.dtype == np.int64
    assert probe.counts.shape == (len(low),)
    probe_no, ids = probe.pairs()
    assert probe_no.dtype == np.int32
    assert ids.dtype == np.int32
    assert len(probe_no) == len(ids) == probe.total == int(probe.counts.sum())
    assert (np.diff(probe_no) >= 0).all(), "pairs come ordered by probe_no"
    assert np.bincount(probe_no, minlength=len(low)).tolist() == probe.counts.tolist()
    pieces = list(probe.chunks(chunk))
    for piece_no, piece_ids in pieces:
        assert len(piece_no) == len(piece_ids) > 0
        assert len(piece_no) <= chunk or piece_no[0] == piece_no[-1]
    answer = _by_probe(len(low), probe_no, ids)
    chunked: list[list[int]] = [[] for _ in range(len(low))]
    for piece_no, piece_ids in pieces:
        for number, found in enumerate(_by_probe(len(low), piece_no, piece_ids)):
            chunked[number] += found
    assert [sorted(found) for found in chunked] == answer
    return answer


def _by_probe(probes: int, probe_no: Any, ids: Any) -> list[list[int]]:
    answer: list[list[int]] = [[] for _ in range(probes)]
    for number, found in zip(probe_no.tolist(), ids.tolist(), strict=True):
        answer[number].append(found)
    return [sorted(found) for found in answer]


# ---- how keys are drawn: each kind is a list of n Python ints that fit the dtype ----

KINDS = (
    "small",
    "constant",
    "increasing",
    "decreasing",
    "drifting",
    "zipf",
    "powers",
    "extremes",
    "wide",
    "two clusters",
)


def extremes(dtype: Any) -> list[int]:
    """The values where an off-by-one or an overflow shows."""
    info = np.iinfo(dtype)
    return [info.min, info.min + 1, -1, 0, 1, info.max - 1, info.max]


def keys_of(kind: str, dtype: Any, n: int) -> st.SearchStrategy[list[int]]:
    """Exactly n keys of one kind; `increasing` and `decreasing` repeat a key now and then.

    `drifting` lies elsewhere each time it is drawn; `powers` is the worst case of the paper's adjustment algorithm.
    """
    info = np.iinfo(dtype)
    small = st.integers(0, 7)
    if kind == "constant":
        return st.sampled_from([0, 5, info.min, info.max]).map(lambda key: [key] * n)
    if kind in ("increasing", "decreasing"):
        turn = 1 if kind == "increasing" else -1
        steps = st.lists(st.integers(0, 3), min_size=n, max_size=n)
        return st.tuples(st.integers(-20, 20), steps).map(
            lambda drawn: [drawn[0] + turn * int(step) for step in np.cumsum(drawn[1])]
        )
    if kind == "drifting":
        offsets = st.lists(st.integers(-9, 9), min_size=n, max_size=n)
        centres = st.integers(info.min + 9, info.max - 9)
        return st.tuples(centres, offsets).map(lambda drawn: [drawn[0] + offset for offset in drawn[1]])
    element = {
        "small": small,
        "zipf": st.integers(0, 63).map(lambda rank: 8 // (rank + 1)),
        "powers": st.integers(0, 12).map(lambda power: info.max // 4**power),
        "extremes": st.sampled_from(extremes(dtype)),
        "wide": st.integers(info.min, info.max),
        "two clusters": small | small.map(lambda key: 1_000_000 + key),
    }[kind]
    return st.lists(element, min_size=n, max_size=n)


def clip(values: Any, dtype: Any) -> Any:
    """Python ints as an array; what lies past the type's end becomes the type's end."""
    info = np.iinfo(dtype)
    return np.array([min(max(int(value), info.min), info.max) for value in values], dtype=dtype)


@st.composite
def bounds(draw: st.DrawFn, dtype: Any, near: list[int]) -> tuple[Any, Any]:
    """Ascending (low, high) arrays of every kind of probe, around the keys `near` and elsewhere."""
    info = np.iinfo(dtype)
    key = st.integers(-3, 12) | st.sampled_from(extremes(dtype)) | st.integers(info.min, info.max)
    if near:
        key = st.sampled_from(near) | key
    values = sorted(draw(st.lists(key, max_size=9)))
    kind = draw(st.sampled_from(["equal", "band", "below", "above", "independent", "all", "inverted"]))
    if kind == "equal":
        return clip(values, dtype), clip(values, dtype)
    if kind in ("band", "inverted"):
        before, after = draw(st.tuples(*[st.sampled_from([0, 1, 2, 5, info.max])] * 2))
        if kind == "inverted":
            before, after = -before - 1, 0
        return clip([v - before for v in values], dtype), clip([v + after for v in values], dtype)
    if kind == "below":
        return clip([info.min] * len(values), dtype), clip(values, dtype)
    if kind == "above":
        return clip(values, dtype), clip([info.max] * len(values), dtype)
    if kind == "all":
        return clip([info.min] * len(values), dtype), clip([info.max] * len(values), dtype)
    others = sorted(draw(st.lists(key, min_size=len(values), max_size=len(values))))
    return clip(values, dtype), clip(others, dtype)
