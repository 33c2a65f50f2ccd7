"""Threads for kernels: they release the GIL, so plain Python threads run them at once.

One pool per process, made when first needed and shared by all indexes; the caller works too, so that n tasks need
n - 1 threads. A forked child (Spark's worker daemon forks) has no threads: it drops the pool and makes its own.
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
    try:
        if tasks:
            tasks[0]()
    finally:
        errors = [future.exception() for future in others]  # waits: nobody writes into our arrays after we return
    for error in errors:
        if error is not None:
            raise error


os.register_at_fork(after_in_child=_pools.clear)
