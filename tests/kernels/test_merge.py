"""Merging in place against Python's stable sort, at densities and sizes that reach both ways and all pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.kernels import merge as subject
from panjoin.kernels.lanes import LANE

SIZES = [0, 1, 2, 5, LANE - 1, LANE, LANE + 1, 100, 700]


def merged(main: Any, batch: Any, threads: int) -> tuple[list[int], list[int], int]:
    """What merge makes of it, ids counting main first; and the first position that changed."""
    room, ids = np.empty(len(main) + len(batch), main.dtype), np.empty(len(main) + len(batch), np.int32)
    room[: len(main)], ids[: len(main)] = main, np.arange(len(main))
    numbers = np.arange(len(main), len(room), dtype=np.int32)
    batch = batch.copy()
    batch.flags.writeable = numbers.flags.writeable = False
    changed = subject.merge(room, ids, len(main), batch, numbers, threads)
    return room.tolist(), ids.tolist(), changed


def expected(main: Any, batch: Any) -> tuple[list[int], list[int]]:
    pairs = sorted(((int(key), number) for number, key in enumerate([*main, *batch])), key=lambda pair: pair[0])
    return [key for key, _ in pairs], [number for _, number in pairs]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MIN_OUTPUT_PER_THREAD", 8)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("arriving", SIZES[1:])
def test_merge_is_a_stable_sort(size: int, arriving: int, dtype: Any) -> None:
    info = np.iinfo(dtype)
    rng = np.random.default_rng(size * 1000 + arriving)
    for low, high in [(0, 1), (0, 6), (-(10**6), 10**6), (info.min, info.max)]:
        main, batch = (np.sort(rng.integers(low, high, n, dtype=dtype, endpoint=True)) for n in (size, arriving))
        for threads in (1, 2, 3):
            keys, ids, changed = merged(main, batch, threads)
            assert (keys, ids) == expected(main, batch)
            assert keys[:changed] == main[:changed].tolist() and ids[:changed] == list(range(changed))


@given(
    main=st.lists(st.integers(0, 9), max_size=60).map(sorted),
    batch=st.lists(st.integers(0, 9), min_size=1, max_size=60).map(sorted),
    shift=st.sampled_from([-20, -5, 0, 5, 20]),
    threads=st.integers(1, 4),
)
def test_merge_is_a_stable_sort_wherever_the_batch_lies(main: Any, batch: Any, shift: int, threads: int) -> None:
    main, batch = np.array(main, np.int32), np.array(batch, np.int32) + np.int32(shift)
    assert merged(main, batch, threads)[:2] == expected(main, batch)


@given(
    main=st.lists(st.integers(0, 30), max_size=200).map(sorted),
    batch=st.lists(st.integers(0, 30), min_size=1, max_size=200).map(sorted),
    pieces=st.integers(1, 7),
)
def test_pieces_are_equal_and_cut_where_the_stable_merge_passes(main: Any, batch: Any, pieces: int) -> None:
    main, batch = np.array(main, np.int32), np.array(batch, np.int32)
    made = subject.Pieces(*(np.zeros(pieces + extra, np.int64) for extra in (1, 1, 0, 1)))
    subject.cut(main, len(main), batch, False, made)
    sizes = np.diff(made.run_cut + made.batch_cut)
    assert sizes.max() - sizes.min() <= 1
    _, order = expected(main, batch)
    for run_cut, batch_cut in zip(made.run_cut, made.batch_cut, strict=True):
        assert sum(number < len(main) for number in order[: run_cut + batch_cut]) == run_cut
