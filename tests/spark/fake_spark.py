"""As much of Spark as a stateful processor sees, without a JVM: state that commits or not, timers, shuffled messages.

Every call may happen in another process, which may find the files of the one before (`forget`), and any attempt may fail and
be repeated (`fail_at`): what a worker keeps outside the state must not matter.
"""

from __future__ import annotations

import copy
import random
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from pyspark.sql import Row

from panjoin.spark import processor as processors
from panjoin.spark.keeper import Keeper
from panjoin.spark.metrics import WorkerProgress
from panjoin.spark.pack import Packer, opened
from panjoin.spark.partial import Combiner
from panjoin.spark.plan import JoinPlan
from panjoin.spark.processor import JoinProcessor
from panjoin.spark.residence import Residence
from panjoin.spark.worker_keys import worker_key


class FakeHandle:
    """State of one grouping key, and its timers."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.maps: dict[str, dict[Any, Any]] = {}
        self.timers: set[int] = set()
        self.puts = 0
        self.fail_at: int | None = None  #: die before this put of the attempt

    def getValueState(self, stateName, schema):
        def update(value):
            self._put()
            self.values[stateName] = tuple(bytes(each) for each in value)

        return SimpleNamespace(get=lambda: self.values.get(stateName), update=update)

    def getMapState(self, stateName, userKeySchema, valueSchema):
        def put(key, value):
            self._put()
            self.maps.setdefault(stateName, {})[key] = value

        return SimpleNamespace(
            exists=lambda: bool(self.maps.get(stateName)),
            getValue=lambda key: self.maps.get(stateName, {}).get(key),
            updateValue=put,
            removeKey=self.maps.setdefault(stateName, {}).pop,
        )

    def registerTimer(self, expiry):
        self.timers.add(expiry)

    def deleteTimer(self, expiry):
        self.timers.remove(expiry)

    def _put(self) -> None:
        if self.puts == self.fail_at:
            raise DiedError
        self.puts += 1


class DiedError(Exception):
    """The Python worker was killed."""


class Timers:
    def __init__(self, watermark: int) -> None:
        self._watermark = watermark

    def getCurrentWatermarkInMs(self) -> int:
        return self._watermark


class FakeSpark:
    """All workers of one query."""

    def __init__(self, plan: JoinPlan, *, seed: int = 0, forget: float = 0.0, die: float = 0.0) -> None:
        """`forget` and `die` are the chances per call that another process is called, and that it dies half-way.

        Every other time, the other process is one on another machine: files of before are not there. Before the next
        call, each of `doomed` tries it in its process, and dies at that put of state or is never committed (None).
        """
        self.plan, self._random = plan, random.Random(seed)
        self.directory = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self.directory, ignore_errors=True)
        self._forget, self._die = forget, die
        self._labelled: list[tuple[str, bytes]] = []
        self.told: list[WorkerProgress] = []
        self.handles = [FakeHandle() for _ in range(plan.workers)]
        self.process = Keeper(processors.RESIDENTS_KEPT)
        self.doomed: list[tuple[Keeper, int | None]] = []
        self.attempts = 0  #: that a call has taken at most

    def micro_batch(self, left: Sequence[pa.Table], right: Sequence[pa.Table], watermark: int = 0) -> list[dict]:
        """Result rows; each table is one source partition."""
        messages = [
            Row(**{**message, "partition": place})
            for place, (side, table) in enumerate([*(("left", t) for t in left), *(("right", t) for t in right)])
            for batch in self._packer(side)(table.select(self.plan.schema(side).names).to_batches())
            for message in batch.to_pylist()
        ]
        rows: list[dict] = []
        for number in range(self.plan.workers):
            self._random.shuffle(messages)
            own = [message for message in messages if message.worker in (None, worker_key(number))]
            if own:
                rows += self._call(number, "handleInputRows", iter(own), Timers(watermark))
            for timer in sorted(self.handles[number].timers):
                if timer <= watermark:
                    rows += self._call(number, "handleExpiredTimer", Timers(watermark), None)
                    self.handles[number].timers.discard(timer)
        return rows + self._added_up()

    def _added_up(self) -> list[dict]:
        """What the tasks behind the shuffle by label give: pieces come in any order, labels in any task."""
        self._random.shuffle(self._labelled)
        tasks = [[], []]
        for label, payload in self._labelled:
            tasks[len(label) % 2].append({"label": label, "payload": payload})
        self._labelled = []
        form = self.plan.spec().form
        schema = None if form is None else form.schema
        found = (Combiner(self.plan, schema)([pa.RecordBatch.from_pylist(task)]) for task in tasks if task)
        return [row for batches in found for batch in batches for row in batch.to_pylist()]

    def other_process(self, *, files: bool = True) -> None:
        """The next call happens elsewhere: in another process of this executor, or of another one, without its files."""
        self.process = Keeper(processors.RESIDENTS_KEPT)
        if not files:
            shutil.rmtree(self.directory)
            self.directory.mkdir()

    def _packer(self, side) -> Packer:
        return Packer(side, self.plan.schema(side), self.plan.placement(), self.plan.numbered)

    def _call(self, number: int, verb: str, *arguments: Any) -> list[dict]:
        arguments = tuple(list(each) if isinstance(each, Iterator) else each for each in arguments)
        while True:
            if self._random.random() < self._forget:
                self.other_process(files=self._random.random() < 0.5)
            self.attempts = max(self.attempts, len(self.doomed))
            while self.doomed:
                self._attempt(*self.doomed.pop(), number, verb, arguments)
            fail_at = self._random.randrange(4) if self._random.random() < self._die else None
            attempt, answer = self._attempt(self.process, fail_at, number, verb, arguments)
            if answer is None:
                continue
            self.handles[number] = attempt
            self.told += [WorkerProgress.of(each.progress) for each in answer if each.progress is not None]
            answer = [each for each in answer if each.payload is not None]
            self._labelled += [(each.label, each.payload) for each in answer if each.label is not None]
            whole = [each for each in answer if each.label is None]
            return [row for each in whole for batch in opened(each.payload) for row in batch.to_pylist()]

    def _attempt(self, process: Keeper, fail_at: int | None, number: int, verb: str, arguments: tuple) -> tuple:
        """(state after it, rows, or None if it died) of one attempt in one process; it counts when it is committed."""
        attempt = copy.deepcopy(self.handles[number])
        attempt.puts, attempt.fail_at = 0, fail_at
        processor = JoinProcessor(replace(self.plan, residence=Residence(str(self.directory))))
        processor.init(attempt)
        processors.KEEPER = process
        try:
            return attempt, list(getattr(processor, verb)((worker_key(number),), *arguments))
        except DiedError:
            return attempt, None
