"""The pool of kernel threads: everything runs, errors wait for the others, and a forked child has its own."""

from __future__ import annotations

import os
import threading
import time

import numba
import pytest

import panjoin as pj
from panjoin.kernels.threads import run_all


def test_all_tasks_run_at_the_same_time() -> None:
    together = threading.Barrier(4)
    places: list[int] = []
    run_all([lambda: places.append(together.wait(timeout=60))] * 4)
    assert sorted(places) == [0, 1, 2, 3]


def test_no_task_is_no_work() -> None:
    run_all([])


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_an_error_is_raised_when_all_others_have_ended(failing: int) -> None:
    done: list[int] = []

    def task(number: int) -> None:
        if number == failing:
            message = f"task {number}"
            raise ValueError(message)
        time.sleep(0.02)
        done.append(number)

    with pytest.raises(ValueError, match=f"task {failing}"):
        run_all([lambda number=number: task(number) for number in range(3)])  # type: ignore[misc]
    assert sorted(done) == [number for number in range(3) if number != failing]


def test_tasks_that_run_tasks_do_not_wait_for_threads_that_all_wait() -> None:
    done: list[int] = []
    within = [lambda: done.append(1)] * 3
    run_all([lambda: run_all(within)] * 200)  # far more than the pool has threads
    assert len(done) == 600


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_its_parents_threads() -> None:
    run_all([lambda: None] * 3)
    child = os.fork()
    if child == 0:
        run_all([lambda: None] * 3)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_join_starts_no_threading_layer_of_numba_so_that_it_cannot_matter_which_one_there_is() -> None:
    side = {"k": range(10_000)}
    with pj.StreamJoin(on="left.k = right.k", window=pj.CountWindow(10_000), workers=2) as join:
        join.push("left", side)
        assert join.push("right", side).count == 10_000
    with pytest.raises(ValueError, match="Threading layer is not initialized"):
        numba.threading_layer()
