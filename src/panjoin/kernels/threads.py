"""Threads for kernels: they release the GIL, so plain Python threads run them at once.

One pool per process, made when first needed and shared by all indexes; the caller works too, so that n tasks need
n - 1 threads. What no thread has begun when the caller is done with its own task, the caller does itself. So a task may
call `run_all` in its turn, in any number: nobody waits for work that nobody does. A forked child (Spark's worker daemon
forks) has no threads: it drops the pool and makes its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

_MOST = 64
_pools: list[ThreadPoolExecutor] = []


def run_all(tasks: Sequence[Callable[[], None]]) -> None:
    """Run all tasks, at once where possible, and return when all have ended; the first error is raised."""
    if len(tasks) > 1 and not _pools:
        _pools.append(ThreadPoolExecutor(_MOST, thread_name_prefix="panjoin-kernel"))
    others = [_pools[0].submit(task) for task in tasks[1:]]
    errors = [_error_of(task) for task in tasks[:1]]
    for task, future in zip(tasks[1:], others, strict=True):
        errors.append(_error_of(task) if future.cancel() else future.exception())  # waits: we own the arrays again
    for error in errors:
        if error is not None:
            raise error


def _error_of(task: Callable[[], None]) -> BaseException | None:
    try:
        task()
    except BaseException as error:  # noqa: BLE001  (raised again when the others have ended)
        return error
    return None


os.register_at_fork(after_in_child=_pools.clear)
