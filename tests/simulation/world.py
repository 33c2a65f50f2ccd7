"""One simulated run: a question, a join whose workers live in a bad world, and the nested loop beside it.

A seed decides the streams, condition, window and join type, the number of workers and the structures, the weather, and
every event. Besides what the network does, the manager itself is replaced by one that knows nothing but its books (as JSON),
a replica that does so more often has to give the same commands, batches are prepared ahead, and results are read late.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from panjoin.advisor import Advisor, Structure
from panjoin.chain.watermark import Watermark
from panjoin.engine.build import shape, specify
from panjoin.engine.commands import Command, Create
from panjoin.engine.local import Join, Prepared
from panjoin.engine.manager import Manager, Plan
from panjoin.engine.result import Result
from panjoin.engine.spec import JoinSpec
from panjoin.options import Options
from panjoin.predicate import parse
from tests.engine.runtimes import numbers_of, window_of
from tests.oracle import nested
from tests.oracle.question import HOWS, Question
from tests.registry import INDEXES, PREDICATES, WINDOWS, question
from tests.simulation.network import Network, SimulatedCrew, Weather


class Report(NamedTuple):
    """What happened, for the curious; a run that went wrong raises instead."""

    question: str
    weather: Weather
    pairs: int
    crashes: int
    repeated: int
    takeovers: int
    history: int  #: events that were scheduled; equal for equal seeds


class WhimsicalAdvisor(Advisor):
    """Any structure may follow any other."""

    def __init__(self, random: Random) -> None:
        super().__init__("bi-sort")
        self._random = random

    def choose(self, side: Any, capacity: int, keys: Any) -> Structure:
        """Whatever comes to mind, with the splitters that it needs."""
        self._index = self._random.choice(INDEXES)
        self._partitions = self._random.choice([None, 1, 3])
        return super().choose(side, capacity, keys)


class DoubledManager(Manager):
    """A manager and a replica that now and then starts from the books: both must give the same commands."""

    def __init__(self, *parts: Any, random: Random, **knobs: Any) -> None:
        super().__init__(*parts, **knobs)
        self._parts, self._knobs, self._random = parts, knobs, random
        self._replica = self.successor(Manager)
        self.takeovers = 0

    def successor(self, kind: type[Manager], **more: Any) -> Manager:
        """One that knows the books and nothing else."""
        spec, _ = self._parts
        other = kind(spec, WhimsicalAdvisor(self._random), **self._knobs, **more)
        other.restore(json.loads(json.dumps(self.books())))
        return other

    def restore(self, books: Any) -> None:
        """So does the replica."""
        super().restore(books)
        self._replica.restore(books)

    def plan(self, batch: Any) -> Plan:
        """Both plan."""
        if self._random.random() < 0.3:
            self._replica = self.successor(Manager)
            self.takeovers += 1
        mine, other = super().plan(batch), self._replica.plan(batch)
        assert mine.probes == other.probes
        assert alike(mine.changes) == alike(other.changes)
        return mine

    def expire_times(self, watermark: int) -> list[Command]:
        """Both expire."""
        mine = super().expire_times(watermark)
        assert mine == self._replica.expire_times(watermark)
        return mine


def alike(commands: tuple[Command, ...]) -> list[Command]:
    """Without what replicas may choose differently: the structure and its tuning."""
    return [
        replace(command, structure="", partitions=0, splitters=None) if isinstance(command, Create) else command
        for command in commands
    ]


def simulate(seed: int, fault: str | None = None) -> Report:
    """Run; raises when anything differs from the nested loop."""
    random = Random(seed)
    asked, emit = drawn(random, seed)
    weather = Weather.of(random)
    network = Network(random, weather)
    options = Options.of({"how": asked.how, "emit": emit, "subwindow": random.choice([1, 2, 5, 16])})
    window = window_of(asked.window)
    spec = specify(parse(asked.on), window, asked.left.schema, asked.right.schema, options)
    workers = random.choice([1, 2, 3, 5])
    crew = SimulatedCrew(workers, spec, network, fault)
    advisor = WhimsicalAdvisor(random)
    size = options.subwindow.tuples
    manager = DoubledManager(spec, advisor, workers=workers, subwindow=size, random=random)
    join = Join(spec, manager, crew, Watermark(lateness=window.lateness or 0), advisor)
    answer = _driven(join, asked, random, emit, options)
    crew.settle()
    expected: Any = nested.join(asked) if emit == "rows" else Counter(nested.counts(asked))
    assert answer == expected, f"missing {expected - answer}, too many {answer - expected}"
    for worker in crew.workers:
        for chain in worker.chains.values():
            for subwindow in chain:
                subwindow.index.check()
    assert isinstance(join.manager, DoubledManager)
    told = f"{asked.on} | {asked.how} | {asked.window} | {emit}"
    return Report(
        told, weather, sum(expected.values()), network.crashes, crew.repeated, join.manager.takeovers, network.tickets
    )


def drawn(random: Random, seed: int) -> tuple[Question, str]:
    """What is asked, and in which form."""
    emit = random.choice(["rows", "rows", "rows", "counts"])
    how = random.choice(HOWS) if emit == "rows" else "inner"
    predicate, window = random.choice(list(PREDICATES)), random.choice(list(WINDOWS))
    size, batch = random.choice([12, 30, 60]), random.choice([1, 3, 10])
    return question(predicate, window, how, size=size, seed=seed % 50, batch=batch), emit


def _driven(join: Join, asked: Question, random: Random, emit: str, options: Options) -> Counter[Any]:
    spec, answer, unread = join.spec, Counter[Any](), list[Result]()
    ahead: list[Prepared] = []
    for side, table in asked.parts():
        rows = table.combine_chunks().to_batches() or [table.schema.empty_table().to_batches(1) or None]
        batch = rows[0] if table.num_rows else None
        if batch is not None:
            ahead.append(join.prepare(side, batch, 0.0))  # type: ignore[arg-type]
        while ahead and (len(ahead) > 1 or random.random() < 0.5):
            unread.append(_executed(join, ahead.pop(0), spec, options))
        while unread and (len(unread) > 3 or random.random() < 0.6):
            _read(unread.pop(0), emit, answer)
        if random.random() < 0.1:
            _replace_manager(join, random)
    unread += [_executed(join, prepared, spec, options) for prepared in ahead]
    for result in unread:
        _read(result, emit, answer)
    _read(Result(join.end(), shape(spec, options.suffixes), spec.form), emit, answer)
    return answer


def _executed(join: Join, prepared: Prepared, spec: JoinSpec, options: Options) -> Result:
    return Result(join.execute(prepared), shape(spec, options.suffixes), spec.form)


def _read(result: Result, emit: str, answer: Counter[Any]) -> None:
    if emit == "rows":
        answer.update(numbers_of(result))
    else:
        answer.update({(row["side"], row["id"]): row["count"] for row in result.to_arrow().to_pylist()})


def _replace_manager(join: Join, random: Random) -> None:
    """The manager has died; another one takes over from its books."""
    assert isinstance(join.manager, DoubledManager)
    before = join.manager.takeovers
    join.manager = join.manager.successor(DoubledManager, random=random)
    assert isinstance(join.manager, DoubledManager)
    join.manager.takeovers = before + 1
