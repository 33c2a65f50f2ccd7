"""The workers on threads: sends commands, waits for feedback (paper, Steps 3 to 5, in one process).

    Crew       all workers of the join, here
    LoneCrew   one of them; the others sit elsewhere, each beside a replica of the manager that gives the same commands

Kernels release the GIL, so workers run side by side. A worker is only ever used by one thread at a time. Small
batches run on the calling thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from panjoin.engine.commands import Command
from panjoin.engine.spec import JoinSpec
from panjoin.engine.worker import Feedback, Part, Worker
from panjoin.sizing import TUPLES_WORTH_A_THREAD


class Crew:
    """All workers of a join."""

    def __init__(self, size: int, spec: JoinSpec) -> None:
        self.workers = [Worker(number, spec) for number in range(size)]
        self._threads = ThreadPoolExecutor(size, "panjoin-worker") if size > 1 else None

    def send(self, commands: Sequence[Command], parts: Sequence[Part] = ()) -> list[Feedback]:
        """Each worker executes its own commands, in order."""
        orders: dict[int, list[Command]] = {}
        for command in commands:
            orders.setdefault(command.worker, []).append(command)
        size = parts[0].batch.size if parts else 0
        if self._threads is None or len(orders) < 2 or size < TUPLES_WORTH_A_THREAD:
            return [self.workers[number].execute(own, parts) for number, own in orders.items()]
        jobs = [self._threads.submit(self.workers[number].execute, own, parts) for number, own in orders.items()]
        return [job.result() for job in jobs]

    @property
    def memory_bytes(self) -> int:
        """Bytes of all subwindows, payload included."""
        return sum(
            subwindow.memory_bytes for worker in self.workers for chain in worker.chains.values() for subwindow in chain
        )

    @property
    def structures(self) -> dict[tuple[str, int], str]:
        """By side and number of the subwindows that are here."""
        return {
            (subwindow.side, subwindow.number): subwindow.index.name
            for worker in self.workers
            for chain in worker.chains.values()
            for subwindow in reversed(list(chain))  # a late buffer has the number of the one before it
        }

    def close(self) -> None:
        """Let the threads go."""
        if self._threads is not None:
            self._threads.shutdown(wait=True)


class LoneCrew(Crew):
    """One worker of a join whose other workers are in other processes: their commands are theirs to execute."""

    def __init__(self, number: int, spec: JoinSpec) -> None:
        self.worker = Worker(number, spec)
        self.workers, self._threads = [self.worker], None

    def send(self, commands: Sequence[Command], parts: Sequence[Part] = ()) -> list[Feedback]:
        """The worker executes its own commands, in order."""
        own = [command for command in commands if command.worker == self.worker.number]
        return [self.worker.execute(own, parts)] if own else []
