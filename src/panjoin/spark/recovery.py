"""Windows from state, or from files that equal it, and state from windows.

taken_over    sealed subwindows are mapped, the few runs of the others inserted     O(newest subwindow), mostly maps
rebuilt       every tuple of the window is read, encoded, sorted, inserted          O(window)
journaled     the other direction: what a micro-batch changed                       O(batch)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from panjoin.chain.batch import Batch
from panjoin.chain.subwindow import Subwindow
from panjoin.engine.commands import Command, Create, Insert, Seal
from panjoin.engine.manager import SubwindowInfo
from panjoin.engine.preprocess import preprocess
from panjoin.engine.worker import Part
from panjoin.errors import DamageError
from panjoin.expression import Side
from panjoin.spark.chunk import Chunk, marks_of, marks_to_bytes
from panjoin.spark.mapped import UnusableError
from panjoin.spark.plan import SIDES, JoinPlan
from panjoin.spark.resident import BATCH_BYTES, Resident
from panjoin.spark.shelf import Shelf, Slot
from panjoin.spark.state import Header, StateOfRecord, refuse_size

#: Per subwindow: (marks set, tuples there were) when marks were last written; of itself, and of its late buffer.
Marked = list[list[int]]
NO_MARKS: Marked = [[0, 0], [0, 0]]

#: Puts the tuples of one subwindow where they belong.
Fill = Callable[[Resident, Side, SubwindowInfo], None]

# ---- windows from state ----


def rebuilt(plan: JoinPlan, number: int, header: Header, record: StateOfRecord) -> Resident:
    """The windows that the state speaks of; DamageError when it contradicts itself."""

    def fill(resident: Resident, side: Side, info: SubwindowInfo) -> None:
        chunks = record.chunks(side, info.number, header.parts[side][str(info.number)], plan.schema(side))
        _insert(resident, side, info, _batches(resident, side, chunks))
        if info.sealed:
            resident.crew.worker.chains[side][info.number].seal()

    return _restored(plan, number, header, record, fill)


def taken_over(plan: JoinPlan, number: int, header: Header, record: StateOfRecord, shelf: Shelf) -> Resident:
    """The same windows from files; UnusableError when one is not as it was written."""

    def fill(resident: Resident, side: Side, info: SubwindowInfo) -> None:
        sealed = shelf.sealed(side, info.number, tracked=resident.spec.tracks(side))
        if sealed is not None:
            resident.crew.worker.chains[side].add(sealed)
        runs = [(run, late) for late in (False, True) for run in shelf.runs(Slot(side, info.number, late))]
        _insert(resident, side, info, runs, created=sealed is not None)

    try:
        resident = _restored(plan, number, header, record, fill)
    except (DamageError, KeyError, ValueError) as error:
        raise UnusableError(f"the files do not fit the books: {error}") from error
    resident.replayed.clear()
    resident.shelf = shelf
    return resident


def _restored(plan: JoinPlan, number: int, header: Header, record: StateOfRecord, fill: Fill) -> Resident:
    resident = Resident(plan, number)
    join = resident.join
    join.manager.restore(header.books)
    join.arrived, join.late = dict(header.arrived), dict(header.late)
    if header.watermark is not None:
        join.watermark.advance(header.watermark)
    for side in SIDES:
        for info in join.manager.windows[side]:
            if info.worker == resident.seat:
                fill(resident, side, info)
                _check_size(resident, side, info)
        _observe(resident, side)
    for subwindow, late in _tracked(resident):
        known = header.marked[subwindow.side].get(str(subwindow.number), NO_MARKS)
        count, size = known[late]
        assert subwindow.matched is not None
        if count:
            what = f"marks of {subwindow.side} subwindow {subwindow.number}"
            blob = record.marks(subwindow.side, subwindow.number, late)
            subwindow.matched[:size] = marks_of(blob, size, what)
        _leave(resident, subwindow, header.watermark)
    resident.crew.clear()
    return resident


def _insert(
    resident: Resident, side: Side, info: SubwindowInfo, batches: Iterable[tuple[Batch, bool]], created: bool = False
) -> None:
    worker, number = resident.crew.worker, resident.seat
    for batch, late in batches:
        commands: list[Command] = [] if created else [_create(resident, side, info, batch)]
        insert = Insert(number, side, info.number, 0, batch.size, late=late)
        worker.execute([*commands, insert], [Part(batch)])
        if late or not info.sealed:
            resident.replayed.append((insert, batch))
        created = True


def _check_size(resident: Resident, side: Side, info: SubwindowInfo) -> None:
    try:
        subwindow = resident.crew.worker.chains[side][info.number]
    except KeyError:
        refuse_size(side, info.number, (0, 0), (info.size, info.late))
        return
    sizes = (subwindow.size, 0 if subwindow.late is None else subwindow.late.size)
    refuse_size(side, info.number, sizes, (info.size, info.late))


def _observe(resident: Resident, side: Side) -> None:
    """The newest sealed subwindow teaches the next one its splitters."""
    sealed = [subwindow.number for subwindow in resident.crew.worker.chains[side] if subwindow.sealed]
    if sealed:
        status = resident.crew.worker.execute([Seal(resident.seat, side, sealed[-1])]).status
        resident.join.advisor.observe(status)


def _create(resident: Resident, side: Side, info: SubwindowInfo, batch: Batch) -> Create:
    chosen = resident.join.advisor.choose(side, info.capacity, batch.keys)
    return Create(
        resident.seat,
        side,
        info.number,
        chosen.name,
        info.capacity,
        chosen.partitions,
        info.first_no,
        chosen.splitters,
    )


def _batches(resident: Resident, side: Side, chunks: Iterator[Chunk]) -> Iterator[tuple[Batch, bool]]:
    """Chunks as preprocessed batches, as many together as a batch may hold."""
    held: list[Chunk] = []
    for chunk in chunks:
        size = sum(each.rows.nbytes for each in held) + chunk.rows.nbytes
        if held and (held[0].late != chunk.late or size > BATCH_BYTES):
            yield _batch(resident, side, held), held[0].late
            held = []
        held.append(chunk)
    if held:
        yield _batch(resident, side, held), held[0].late


def _batch(resident: Resident, side: Side, chunks: list[Chunk]) -> Batch:
    rows = pa.concat_batches([chunk.rows for chunk in chunks])
    numbers = np.concatenate(
        [
            np.arange(chunk.rows.num_rows, dtype=np.int64) + chunk.first_no if chunk.numbers is None else chunk.numbers
            for chunk in chunks
        ]
    )
    first_no = int(numbers[0])
    contiguous = np.array_equal(numbers, np.arange(first_no, first_no + len(numbers)))
    times = resident.spec.times(side, rows)
    return preprocess(resident.spec, side, rows, first_no, times, None if contiguous else numbers)


def _leave(resident: Resident, subwindow: Subwindow, watermark: int | None) -> None:
    """Tuples that had left were handed out then."""
    own = resident.spec.sides[subwindow.side]
    if not resident.spec.preserves(subwindow.side):
        return
    if own.count is not None:
        subwindow.leave_before_number(max(0, resident.join.manager.counts[subwindow.side] - own.count))
    elif own.extent is not None and watermark is not None:
        subwindow.left_before_time(watermark - own.extent)


# ---- state from windows ----


def journaled(resident: Resident, header: Header, record: StateOfRecord) -> dict[str, Any]:
    """Write what the journal holds; returns what changes in the header."""
    parts = {side: dict(header.parts[side]) for side in SIDES}
    marked = {side: dict(header.marked[side]) for side in SIDES}
    stored = {side: dict(header.stored[side]) for side in SIDES}
    gone = set(resident.crew.expired)
    for command, batch in resident.crew.inserted:
        if (command.side, command.subwindow) in gone:
            continue
        own, name = parts[command.side], str(command.subwindow)
        before = record.written
        own[name] = record.append(command.side, command.subwindow, own.get(name, 0), _chunk(command, batch))
        stored[command.side][name] = stored[command.side].get(name, 0) + record.written - before
    for side, number in gone:
        had = header.marked[side].get(str(number), NO_MARKS)
        record.remove(side, number, header.parts[side].get(str(number), 0), [count > 0 for count, _ in had])
        parts[side].pop(str(number), None)
        stored[side].pop(str(number), None)
        marked[side].pop(str(number), None)
    for subwindow, late in _tracked(resident):
        marks, name = marked[subwindow.side], str(subwindow.number)
        marks[name] = _write_marks(subwindow, late, marks.get(name, NO_MARKS), record)
    join = resident.join
    return {
        "parameters": resident.plan.parameters,
        "books": join.manager.books(),
        "arrived": dict(join.arrived),
        "late": dict(join.late),
        "watermark": join.watermark.value,
        "parts": parts,
        "marked": marked,
        "stored": stored,
    }


def _chunk(command: Insert, batch: Batch) -> Chunk:
    assert batch.rows is not None
    rows = batch.rows.slice(command.first, command.last - command.first)
    positions = np.arange(command.first, command.last)
    if batch.numbers is None:
        return Chunk(rows, batch.first_no + command.first, late=command.late)
    numbers = batch.arrival_numbers(positions)
    return Chunk(rows, int(numbers[0]), numbers, late=command.late)


def _write_marks(subwindow: Subwindow, late: bool, known: Marked, record: StateOfRecord) -> Marked:
    """Marks only ever go up, so an equal count is no change; tuples behind the stored size have none."""
    assert subwindow.matched is not None
    matched = subwindow.matched[: subwindow.size]
    count = int(np.count_nonzero(matched))
    if count == known[late][0]:
        return known
    record.put_marks(subwindow.side, subwindow.number, late, marks_to_bytes(matched))
    return [known[0], [count, subwindow.size]] if late else [[count, subwindow.size], known[1]]


def _tracked(resident: Resident) -> Iterator[tuple[Subwindow, bool]]:
    """Subwindows whose tuples are marked, and whether each is a late buffer."""
    return ((subwindow, late) for subwindow, late in resident.subwindows() if resident.spec.tracks(subwindow.side))
