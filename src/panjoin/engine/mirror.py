"""The manager's mirror: the main array of every subwindow once more, so that range records resolve without a worker.

With emit="ranges" workers answer in positions of their main arrays. The mirror executes the same create, insert, seal
and expire commands on the same batches; merging is stable and a function of the arrivals alone, so position and version
mean the same tuple here as there (paper, BI-Sort). It costs the keys and ids a second time, and no rows.

    record (subwindow 3, version 12, 120 .. 480)  ──>  mirror of subwindow 3, at version 12?  ──>  arrival numbers
                                                       at 13 already: the record is of the past, a clear error
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.chain.batch import LEFT, OPPOSITE
from panjoin.chain.subwindow import Subwindow
from panjoin.engine.commands import Command
from panjoin.engine.spec import JoinSpec
from panjoin.engine.worker import Part, Worker
from panjoin.errors import StateError

Array = npt.NDArray[Any]


class Mirror:
    """A worker that is never probed, holding all subwindows of all workers."""

    def __init__(self, spec: JoinSpec) -> None:
        self._worker = Worker(-1, spec)

    def follow(self, changes: Iterable[Command], parts: Sequence[Part]) -> None:
        """Do as the workers were told."""
        bare = [replace(part, batch=replace(part.batch, rows=None)) for part in parts]
        self._worker.execute(changes, bare)

    def resolve(self, records: pa.Table) -> tuple[Array, Array]:
        """Arrival numbers (left, right) of all pairs that the records stand for."""
        probing: list[Array] = [np.empty(0, np.int64)]
        stored: list[Array] = [np.empty(0, np.int64)]
        lefts = []
        for record in records.to_pylist():
            numbers = self._numbers(record)
            probing.append(np.full(len(numbers), record["probe"], np.int64))
            stored.append(numbers)
            lefts.append(np.full(len(numbers), record["side"] == LEFT))
        one, other = np.concatenate(probing), np.concatenate(stored)
        left = np.concatenate([np.empty(0, bool), *lefts])
        return np.where(left, one, other), np.where(left, other, one)

    def _numbers(self, record: dict[str, Any]) -> Array:
        if record["tuple"] is not None:
            return np.array([record["tuple"]], np.int64)
        subwindow = self._subwindow(record)
        ids = subwindow.index.sorted_ids
        assert ids is not None
        start, end = record["id_start"], record["id_end"]
        numbers = subwindow.numbers(np.concatenate([ids[:start], ids[end:]]) if record["not"] else ids[start:end])
        return numbers if record["live_from"] is None else numbers[numbers >= record["live_from"]]

    def _subwindow(self, record: dict[str, Any]) -> Subwindow:
        side, number, version = OPPOSITE[record["side"]], record["subwindow"], record["version"]
        try:
            subwindow = self._worker.chains[side][number]
        except KeyError:
            raise StateError(
                f"subwindow {number} of the {side} stream is not held any more; resolve records sooner"
            ) from None
        if subwindow.index.version != version:
            raise StateError(
                f"the record names version {version} of subwindow {number} of the {side} stream, which is at version "
                f"{subwindow.index.version} now: positions have shifted; resolve records before the next push"
            )
        return subwindow

    @property
    def memory_bytes(self) -> int:
        """What the mirror costs."""
        return sum(subwindow.memory_bytes for chain in self._worker.chains.values() for subwindow in chain)
