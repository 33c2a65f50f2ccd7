"""The processor of the product, with points in it where faults wait (`points.py`); nothing of this is in the product.

The operator makes `InjectedProcessor` in the place of `JoinProcessor`. In a Python worker its `init` puts the points
around functions of the product's modules; they ask `HERE` which worker is in which turn.
"""

from __future__ import annotations

import random
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

from pyspark import TaskContext

from panjoin.engine.commands import Insert, Probe
from panjoin.spark import mapped
from panjoin.spark.processor import JoinProcessor
from panjoin.spark.resident import JournalCrew
from panjoin.spark.shelf import Shelf
from tests.faults.points import InjectedError, reach


class Injection(NamedTuple):
    """What travels with the query."""

    directory: str  #: of the faults
    driver: int  #: process group of the driver
    chance: float = 0.0  #: of a call to fail, for random failures
    seed: int = 0


class _Here:
    """Where this process is; one task at a time runs in a Python worker."""

    injection: Injection | None = None
    worker = -1
    turn = -1

    def reach(self, point: str) -> None:
        if self.injection is not None:
            reach(Path(self.injection.directory), point, self.turn, self.worker, self.injection.driver)


HERE = _Here()


class InjectedProcessor(JoinProcessor):
    """Comes to all points of IN_WORKER."""

    def __init__(self, plan: Any, injection: Injection) -> None:
        super().__init__(plan)
        self.injection = injection

    def init(self, handle: Any) -> None:
        """As ever; then points around reading and writing of state."""
        super().init(handle)
        HERE.injection = self.injection
        _patch()
        record = self._record
        read, append, write = record.read, record.append, record.write

        def reading() -> Any:
            header = read()
            HERE.turn = 0 if header is None else header.version
            return header

        def appending(*arguments: Any) -> int:
            HERE.reach("before put")
            parts = append(*arguments)
            HERE.reach("after put")
            return parts

        def writing(header: Any) -> None:
            HERE.reach("before header")
            write(header)
            HERE.reach("before commit")

        record.read, record.append, record.write = reading, appending, writing

    def _turn(self, number: int, watermark: int, messages: Any) -> Any:
        HERE.worker = number
        self._perhaps_fail(number, watermark)
        for row in super()._turn(number, watermark, messages):
            yield row
            HERE.reach("between rows")

    def _perhaps_fail(self, number: int, watermark: int) -> None:
        context = TaskContext.get()
        assert context is not None
        drawn = random.Random(f"{self.injection.seed} {context.taskAttemptId()} {number} {watermark}")
        if drawn.random() < self.injection.chance:
            with (Path(self.injection.directory) / "failures").open("a") as file:
                file.write(".")
            raise InjectedError("told to fail at random")


def _patch() -> None:
    """Once per process."""
    if getattr(JournalCrew, "patched", False):
        return
    JournalCrew.patched = True
    send, put, publish = JournalCrew.send, mapped._write_all, Shelf._put

    @wraps(send)
    def sending(self: Any, commands: Any, parts: Any = ()) -> Any:
        own = [command for command in commands if command.worker == self.worker.number]
        if any(isinstance(command, Insert) for command in own):
            HERE.reach("before insert")
        if any(isinstance(command, Probe) for command in own):
            HERE.reach("during probe")
        return send(self, commands, parts)

    def half(file: Any, body: Any) -> None:
        view = memoryview(body)
        put(file, view[: view.nbytes // 2])
        if view.nbytes:
            HERE.reach("half of a file")
        put(file, view[view.nbytes // 2 :])

    def putting(self: Any, *arguments: Any) -> Any:
        stored = publish(self, *arguments)
        HERE.reach("before manifest")
        return stored

    JournalCrew.send, mapped._write_all, Shelf._put = sending, half, putting
