"""A network and its processes in virtual time: nothing here waits, nothing depends on a clock or on the machine.

    crew (manager's side) ── message 7 ──> [delayed, dropped, doubled] ──> node 1: executes 7 when 0..6 are done
                          <── answer 7 ──  [delayed, dropped, doubled] <──         crashes after any command
                          <── "I am at 5" ──────────────────────────────           restarts empty: everything again

The protocol is the least that such a network allows: messages are numbered per worker and executed in order, once in each
life of a node; who misses something says where he stands, and what is not answered is sent again. A worker has no memory
beyond its life, so after a crash it gets all its messages again, and has to answer them as it did before.

`fault` breaks the protocol on purpose: a simulation that does not notice is worth nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from panjoin.engine.commands import Command, from_json, to_json
from panjoin.engine.crew import Crew
from panjoin.engine.spec import JoinSpec
from panjoin.engine.worker import Feedback, Part, Worker

#: Ways to be wrong on purpose.
FAULTS = (
    "duplicates are executed",
    "order is not kept",
    "a restarted node goes on without its past",
    "half of a message survives a crash",
    "the tail of each message is lost",
)
#: Virtual time after which an unanswered message is sent again.
PATIENCE = 50
#: Events that one exchange may take; more mean that it never ends.
MOST_EVENTS = 20_000


@dataclass(frozen=True)
class Weather:
    """How bad the world is, as shares of messages and of executions."""

    delay: int = 10
    dropped: float = 0.0
    doubled: float = 0.0
    crash: float = 0.0
    most_crashes: int = 0

    @classmethod
    def of(cls, random: Random) -> Weather:
        """Fair in one case of eight."""
        if random.random() < 1 / 8:
            return cls()
        return cls(
            random.choice([1, 10, 80]), random.choice([0, 0.1, 0.4]), random.choice([0, 0.2]), random.choice([0, 0.05, 0.3]), 5
        )  # fmt: skip


@dataclass
class Network:
    """Events in the order of their virtual times."""

    random: Random
    weather: Weather
    now: int = 0
    crashes: int = 0
    events: list[tuple[int, int, Callable[[], None]]] = field(default_factory=list)
    tickets: int = 0

    def later(self, delay: int, action: Callable[[], None]) -> None:
        """Let `action` happen in a while."""
        self.tickets += 1
        heapq.heappush(self.events, (self.now + delay, self.tickets, action))

    def transmit(self, action: Callable[[], None]) -> None:
        """Let it arrive: some time, perhaps twice, perhaps never."""
        random, weather = self.random, self.weather
        for _ in range(2 if random.random() < weather.doubled else 1):
            if random.random() >= weather.dropped:
                self.later(random.randint(1, weather.delay), action)

    def step(self) -> None:
        """The next event."""
        self.now, _, action = heapq.heappop(self.events)
        action()

    def crashes_now(self) -> bool:
        """Whether the node that asks dies."""
        if self.crashes >= self.weather.most_crashes or self.random.random() >= self.weather.crash:
            return False
        self.crashes += 1
        return True


@dataclass(frozen=True)
class Message:
    """Commands as they travel, in text, and the tuples that they speak of."""

    number: int
    lines: tuple[str, ...]
    parts: tuple[Part, ...]

    def commands(self) -> list[Command]:
        """Read."""
        return [from_json(line) for line in self.lines]  # type: ignore[misc]


class Node:
    """The process of one worker."""

    def __init__(self, number: int, spec: JoinSpec, crew: SimulatedCrew) -> None:
        self.number, self.spec, self.crew = number, spec, crew
        self.next = 0
        self.start()

    def start(self) -> None:
        """A new life, without a memory."""
        self.up = True
        if self.crew.fault not in ("a restarted node goes on without its past", "half of a message survives a crash"):
            self.next = 0
        if self.crew.fault != "half of a message survives a crash" or not hasattr(self, "worker"):
            self.worker = Worker(self.number, self.spec)
        self.asks_from = 0
        self.early: dict[int, Message] = {}
        self.answers: dict[int, Feedback] = {}

    def receive(self, message: Message) -> None:
        """Execute what is due; remember what is early; answer again what has been answered."""
        if not self.up:
            return
        fault = self.crew.fault
        if fault == "order is not kept" or (fault == "duplicates are executed" and message.number < self.next):
            self.execute(message)
            return
        if message.number < self.next:
            if message.number in self.answers:
                self.answer(message.number)
            return
        self.early[message.number] = message
        while self.up and self.next in self.early:
            self.execute(self.early.pop(self.next))
        network = self.crew.network
        if self.up and self.early and network.now >= self.asks_from:
            self.asks_from = network.now + PATIENCE  # answers to the last question are still under way
            network.transmit(self._tell_where_i_am())

    def _tell_where_i_am(self) -> Callable[[], None]:
        number, place = self.number, self.next
        return lambda: self.crew.send_from(number, place)

    def execute(self, message: Message) -> None:
        """All commands, or some and then death."""
        commands, network = message.commands(), self.crew.network
        if network.crashes_now():
            self.worker.execute(commands[: network.random.randint(0, len(commands))], message.parts)
            self.up = False
            network.later(network.random.randint(1, 100), self.start)
            return
        if self.crew.fault == "the tail of each message is lost" and len(commands) > 2:
            commands = commands[:-1]
        self.answers[message.number] = self.worker.execute(commands, message.parts)
        self.next = max(self.next, message.number + 1)
        self.answer(message.number)

    def answer(self, number: int) -> None:
        """Tell the crew."""
        feedback = self.answers[number]
        self.crew.network.transmit(lambda: self.crew.take(self.number, number, feedback))


class SimulatedCrew(Crew):
    """Workers behind a network, seen from the manager."""

    def __init__(self, size: int, spec: JoinSpec, network: Network, fault: str | None = None) -> None:
        self.network, self.fault = network, fault
        self.nodes = [Node(number, spec, self) for number in range(size)]
        self.log: list[list[Message]] = [[] for _ in range(size)]
        self.answered: list[dict[int, Feedback]] = [{} for _ in range(size)]
        self.repeated = 0  #: answers given again, and found the same
        self._threads = None

    @property
    def workers(self) -> list[Worker]:  # type: ignore[override]
        """Those alive now."""
        return [node.worker for node in self.nodes]

    def send(self, commands: Sequence[Command], parts: Sequence[Part] = ()) -> list[Feedback]:
        """As the crew on threads: each worker executes its own commands, in order, and everybody has answered."""
        orders: dict[int, list[str]] = {}
        for command in commands:
            orders.setdefault(command.worker, []).append(to_json(command))
        awaited = []
        for worker, lines in orders.items():
            message = Message(len(self.log[worker]), tuple(lines), tuple(_guarded(parts)))
            self.log[worker].append(message)
            awaited.append((worker, message.number))
            self._insist(worker, message.number)
        begun = self.network.tickets
        while any(number not in self.answered[worker] for worker, number in awaited):
            assert self.network.events, "nobody will ever answer"
            assert self.network.tickets - begun < MOST_EVENTS, "this exchange does not end"
            self.network.step()
        return [self.answered[worker][number] for worker, number in awaited]

    def _insist(self, worker: int, number: int) -> None:
        """Send, and again as long as there is no answer."""
        if number in self.answered[worker]:
            return
        self._transmit(worker, number)
        self.network.later(PATIENCE, lambda: self._insist(worker, number))

    def _transmit(self, worker: int, number: int) -> None:
        message, node = self.log[worker][number], self.nodes[worker]
        self.network.transmit(lambda: node.receive(message))

    def send_from(self, worker: int, place: int) -> None:
        """A node stands at `place` and misses what follows."""
        for number in range(place, len(self.log[worker])):
            self._transmit(worker, number)

    def take(self, worker: int, number: int, feedback: Feedback) -> None:
        """The first answer counts; any other must be the same."""
        known = self.answered[worker].setdefault(number, feedback)
        if known is not feedback:
            assert told(known) == told(feedback), f"worker {worker} answers message {number} in two ways"
            self.repeated += 1

    def settle(self) -> None:
        """Let everything that is still under way arrive."""
        while self.network.events:
            self.network.step()


def told(feedback: Feedback) -> Any:
    """What an answer says, to compare. Memory depends on what has been read, which is nobody's promise."""
    return (
        feedback.total,
        feedback.asked,
        [(alone.side, alone.numbers.tolist()) for alone in feedback.alone],
        None if feedback.matched is None else feedback.matched.tolist(),
        [replace(status, memory_bytes=0) for status in feedback.status],
        feedback.form.tolist() if hasattr(feedback.form, "tolist") else None,
    )


def _guarded(parts: Iterable[Part]) -> Iterable[Part]:
    """Batches are shared by all workers: none may write into one."""
    for part in parts:
        for array in (part.batch.keys, part.batch.order, part.batch.times, part.batch.numbers, part.matched):
            if array is not None:
                array.flags.writeable = False
        yield part
