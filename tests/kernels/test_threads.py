"""Threads: all tasks run, beside each other; an error comes out after all have ended."""

from __future__ import annotations

import threading
import time

import pytest

from panjoin.kernels.threads import run_all


def test_every_task_runs_once_and_none_is_no_trouble():
    run_all([])
    done: list[int] = []
    run_all([lambda k=k: done.append(k) for k in range(20)])
    assert sorted(done) == list(range(20))


def test_tasks_run_beside_each_other():
    meeting = threading.Barrier(2, timeout=60)
    run_all([meeting.wait, meeting.wait])
    assert not meeting.broken


def test_an_error_comes_out_when_no_task_is_running_any_more():
    ended = []

    def slow() -> None:
        time.sleep(0.05)
        ended.append(True)

    def bad() -> None:
        raise ZeroDivisionError("of the task")

    started = threading.Event()

    def started_slow() -> None:
        started.set()
        slow()

    def bad_when_the_other_runs() -> None:
        started.wait(60)
        bad()

    with pytest.raises(ZeroDivisionError, match="of the task"):
        run_all([bad_when_the_other_runs, started_slow])
    assert ended == [True]
