"""A sorted batch into a sorted run, in place, from the back.

The run's array has room for the batch behind the run. Writing from the largest tuple down, the gap between what is
still to be read and what is written is exactly as wide as the rest of the batch, so nothing is overwritten unread:

    run 2 5 7 11 . . .   batch 5 6 20          20 > 11          2 5 7 11  .  .  20     5 6
                                               6 < 11, 6 < 7    2 5  .  .  7 11 20     5 6    (7 and 11 move by two)
                                               6 >= 5           2 5  .  6  7 11 20     5
                                               5 >= 5: stable   2 5  5  6  7 11 20             (2 and 5 never moved)

Equal keys: the run's stay before the batch's, so the order of equal keys is the order of arrival. No second array, no
fresh pages, and a batch of large keys moves little. Stopped half-way (`floor`), the state is two sorted runs with a gap
between them and a shorter batch, all of it still searchable: bounded insertion works that way (index/bi_sort.py).

Two ways to take the next steps, by density:

    lanes    the batch is small beside the run: sixteen run tuples are compared and moved at once
    select   they are about equal: one tuple a step without a branch; two pieces at once, as each waits for itself

Measured, int32 keys and ids, 8M output tuples, output tuples per second for batches of 1K, 32K, 256K, 1M, 4M:
lanes 3.6, 2.8, 1.6, 1.1, 0.4 G/s; select on two pieces 0.8-0.9 G/s throughout (one piece 0.47). Lost: one branch per
tuple 1.9, 1.6, 1.3, 0.7, 0.3; galloping and memmove 2.5, 1.2, 0.9, 0.4, 0.2; lanes without a branch 2.3, 1.5, 1.9, 1.1,
0.3; four pieces of select at once 0.7; signed indices in select (numba checks each for wrapping) 0.33.
Two threads: 1.8, 1.7 and 1.7 times one at 256K, 1M and 4M, but 1.3 times at 1K, where memory is the bound.

Pieces (merge path; paper, Multithreading: "balance the size of each piece"): cut k gives how many run and batch tuples
precede output position k * total / pieces. Piece k writes where run tuples of piece k + 1 still stand, at most as many
as the batch has before the cut: that strip is saved first, and then all pieces are independent.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from panjoin.kernels.jit import kernel
from panjoin.kernels.lanes import LANE, copy_lane, move, not_larger
from panjoin.kernels.search import lower_bound, upper_bound
from panjoin.kernels.threads import run_all

Array = npt.NDArray[Any]

#: Run tuples per batch tuple below which `select` is taken.
SELECT_BELOW = 4
#: Output tuples for which a second thread is worth waking.
MIN_OUTPUT_PER_THREAD = 1 << 16


class Tuples(NamedTuple):
    """Where to read: tuple n stands at keys[n - shift] and ids[n - shift]."""

    keys: Array
    ids: Array
    shift: int


class Pieces(NamedTuple):
    """Piece k merges run[run_cut[k]:run_cut[k+1]] with batch[batch_cut[k]:batch_cut[k+1]].

    Its run tuples before top[k] were saved at strip_at[k] of the strips, as its lower neighbour writes over them.
    """

    run_cut: Array
    batch_cut: Array
    top: Array
    strip_at: Array


@kernel
def merge_path(run: Array, size: int, batch: Array, before: int) -> int:
    """How many run tuples are among the first `before` of the output."""
    first, last = max(0, before - len(batch)), min(size, before)
    while first < last:
        half = (first + last) >> 1
        if run[half] <= batch[before - half - 1]:
            first = half + 1
        else:
            last = half
    return first


@kernel
def cut(run: Array, size: int, batch: Array, whole_strips: bool, pieces: Pieces) -> None:
    """Fill `pieces` for pieces of equal output. Whole strips save all run tuples of each piece but the first."""
    count = len(pieces.top)
    for k in range(count + 1):
        before = (size + len(batch)) * k // count
        pieces.run_cut[k] = merge_path(run, size, batch, before)
        pieces.batch_cut[k] = before - pieces.run_cut[k]
    pieces.strip_at[0] = 0
    for k in range(count):
        first, last = pieces.run_cut[k], pieces.run_cut[k + 1]
        top = first if k == 0 else last if whole_strips else min(first + pieces.batch_cut[k], last)
        pieces.top[k] = top
        pieces.strip_at[k + 1] = pieces.strip_at[k] + top - first


@kernel
def save_strips(run_keys: Array, run_ids: Array, pieces: Pieces, strip_keys: Array, strip_ids: Array) -> None:
    """Copy what lower neighbours would write over."""
    for k in range(len(pieces.top)):
        at, first = pieces.strip_at[k], pieces.run_cut[k]
        move(strip_keys, at, run_keys, first, pieces.top[k] - first)
        move(strip_ids, at, run_ids, first, pieces.top[k] - first)


@kernel
def merge_lanes(
    keys: Array, ids: Array, run: Tuples, i: int, floor: int, batch: Tuples, j: int, batch_floor: int
) -> tuple[int, int]:
    """Merge run tuples floor .. i - 1 with batch tuples batch_floor .. j - 1 until one side is used up.

    Position i + j - 1 is the next to be written. Returns the new (i, j). Nothing unwanted is left in the gap: a lane
    leaves at most 15 such tuples right below what it wrote, and as it began with 16 on both sides of their floors,
    at least as many are written after it.
    """
    run_keys, run_ids, shift = run.keys, run.ids, run.shift
    batch_keys, batch_ids = batch.keys, batch.ids
    while i - floor >= LANE and j - batch_floor >= LANE:
        key = batch_keys[np.uintp(j - 1)]
        larger = LANE - not_larger(run_keys, i - LANE - shift, key)
        # All sixteen are written, wanted or not: what is not wanted lands in the gap, which is j >= LANE wide.
        copy_lane(keys, i - LANE + j, run_keys, i - LANE - shift)
        copy_lane(ids, i - LANE + j, run_ids, i - LANE - shift)
        if larger == LANE:
            i -= LANE
        else:
            i -= larger
            keys[np.uintp(i + j - 1)] = key
            ids[np.uintp(i + j - 1)] = batch_ids[np.uintp(j - 1)]
            j -= 1
    while i > floor and j > batch_floor:
        run_key, key = run_keys[np.uintp(i - 1 - shift)], batch_keys[np.uintp(j - 1)]
        if run_key > key:
            keys[np.uintp(i + j - 1)] = run_key
            ids[np.uintp(i + j - 1)] = run_ids[np.uintp(i - 1 - shift)]
            i -= 1
        else:
            keys[np.uintp(i + j - 1)] = key
            ids[np.uintp(i + j - 1)] = batch_ids[np.uintp(j - 1)]
            j -= 1
    return i, j


@kernel
def merge_select(
    keys: Array,
    ids: Array,
    batch: Tuples,
    run_a: Tuples,
    state_a: tuple[int, int, int, int],
    run_b: Tuples,
    state_b: tuple[int, int, int, int],
) -> tuple[int, int, int, int]:
    """Two pieces at once, one tuple of each per turn, until one side of one piece is used up.

    A state is (i, floor, j, batch_floor) as in `merge_lanes`. Returns the new (i, j) of both.
    """
    batch_keys, batch_ids = batch.keys, batch.ids
    keys_a, ids_a, shift_a = run_a.keys, run_a.ids, run_a.shift
    keys_b, ids_b, shift_b = run_b.keys, run_b.ids, run_b.shift
    i, floor, j, batch_floor = state_a
    m, floor_b, n, batch_floor_b = state_b
    turns = min(i - floor, j - batch_floor, m - floor_b, n - batch_floor_b)
    while turns > 0:  # as many turns as need no look at the floors
        for _ in range(turns):
            run_key, key = keys_a[np.uintp(i - 1 - shift_a)], batch_keys[np.uintp(j - 1)]
            run_id, batch_id = ids_a[np.uintp(i - 1 - shift_a)], batch_ids[np.uintp(j - 1)]
            from_run = run_key > key
            keys[np.uintp(i + j - 1)] = run_key if from_run else key
            ids[np.uintp(i + j - 1)] = run_id if from_run else batch_id
            step = int(from_run)
            i -= step
            j -= 1 - step
            run_key, key = keys_b[np.uintp(m - 1 - shift_b)], batch_keys[np.uintp(n - 1)]
            run_id, batch_id = ids_b[np.uintp(m - 1 - shift_b)], batch_ids[np.uintp(n - 1)]
            from_run = run_key > key
            keys[np.uintp(m + n - 1)] = run_key if from_run else key
            ids[np.uintp(m + n - 1)] = run_id if from_run else batch_id
            step = int(from_run)
            m -= step
            n -= 1 - step
        turns = min(i - floor, j - batch_floor, m - floor_b, n - batch_floor_b)
    return i, j, m, n


@kernel
def finish_piece(
    keys: Array, ids: Array, batch: Tuples, strips: Tuples, pieces: Pieces, k: int, i: int, j: int
) -> None:
    """What is left of piece k, from run tuple i and batch tuple j down."""
    first, top, batch_floor = pieces.run_cut[k], pieces.top[k], pieces.batch_cut[k]
    if i > top:
        i, j = merge_lanes(keys, ids, Tuples(keys, ids, 0), i, top, batch, j, batch_floor)
        if i > top and j > 0:  # the batch's part is used up: the run's moves as one
            move(keys, top + j, keys, top, i - top)
            move(ids, top + j, ids, top, i - top)
        if i > top:
            i = top
    shift = first - pieces.strip_at[k]
    i, j = merge_lanes(keys, ids, Tuples(strips.keys, strips.ids, shift), i, first, batch, j, batch_floor)
    move(keys, first + j, strips.keys, first - shift, i - first)
    move(ids, first + j, strips.ids, first - shift, i - first)
    move(keys, first + batch_floor, batch.keys, batch_floor, j - batch_floor)
    move(ids, first + batch_floor, batch.ids, batch_floor, j - batch_floor)


@kernel
def merge_piece(keys: Array, ids: Array, batch: Tuples, strips: Tuples, pieces: Pieces, k: int) -> None:
    """Piece k, by lanes."""
    finish_piece(keys, ids, batch, strips, pieces, k, pieces.run_cut[k + 1], pieces.batch_cut[k + 1])


@kernel
def merge_two_pieces(keys: Array, ids: Array, batch: Tuples, strips: Tuples, pieces: Pieces, k: int) -> None:
    """Pieces k and k + 1, by select; all their run tuples are in strips, but those of piece 0 in place."""
    run_cut, batch_cut = pieces.run_cut, pieces.batch_cut
    lower = Tuples(strips.keys, strips.ids, run_cut[k] - pieces.strip_at[k])
    if k == 0:
        lower = Tuples(keys, ids, run_cut[0])
    upper = Tuples(strips.keys, strips.ids, run_cut[k + 1] - pieces.strip_at[k + 1])
    i, j, m, n = merge_select(
        keys,
        ids,
        batch,
        lower,
        (run_cut[k + 1], run_cut[k], batch_cut[k + 1], batch_cut[k]),
        upper,
        (run_cut[k + 2], run_cut[k + 1], batch_cut[k + 2], batch_cut[k + 1]),
    )
    finish_piece(keys, ids, batch, strips, pieces, k, i, j)
    finish_piece(keys, ids, batch, strips, pieces, k + 1, m, n)


@kernel
def trim(keys: Array, ids: Array, size: int, batch_keys: Array, batch_ids: Array) -> tuple[int, int]:
    """(how many run tuples stay where they are, how many batch tuples are left), the others appended already."""
    stay = upper_bound(keys[:size], batch_keys[0])
    left = lower_bound(batch_keys, keys[size - 1]) if size > 0 else 0
    move(keys, size + left, batch_keys, left, len(batch_keys) - left)
    move(ids, size + left, batch_ids, left, len(batch_ids) - left)
    return stay, left


def merge(keys: Array, ids: Array, size: int, batch_keys: Array, batch_ids: Array, threads: int = 1) -> int:
    """Merge the batch (at least one tuple) into keys[:size], ids[:size], which have room for it.

    Returns the first position that changed.
    """
    stay, left = trim(keys, ids, size, batch_keys, batch_ids)
    if left == 0:
        return stay
    run_keys, run_ids, run_size = keys[stay:], ids[stay:], size - stay
    batch = Tuples(batch_keys[:left], batch_ids[:left], 0)
    threads = min(threads, max(1, (run_size + left) // MIN_OUTPUT_PER_THREAD))
    dense = run_size < SELECT_BELOW * left and run_size + left >= 4 * LANE
    count = 2 * threads if dense else threads
    pieces = Pieces(*(np.empty(count + extra, np.int64) for extra in (1, 1, 0, 1)))
    cut(run_keys, run_size, batch.keys, dense, pieces)
    saved = int(pieces.strip_at[count])
    strips = Tuples(np.empty(saved, keys.dtype), np.empty(saved, ids.dtype), 0)
    save_strips(run_keys, run_ids, pieces, strips.keys, strips.ids)
    work, each = (merge_two_pieces, 2) if dense else (merge_piece, 1)
    run_all([lambda k=k: work(run_keys, run_ids, batch, strips, pieces, k) for k in range(0, count, each)])  # type: ignore[misc]
    return stay
