"""What is kept of a running query."""

import dataclasses
import json

import pytest

from panjoin.job.history import History
from panjoin.job.moments import Moment
from panjoin.spark.metrics import SubwindowProgress


def moment(batch: int, **changed) -> Moment:
    subwindow = SubwindowProgress("left", 7, "rap-table", 40, 2, 80, True, 1_000, 2_000, 1.5, 640, (100, 150), 1)
    plain = Moment(
        batch=batch, at=1e9 + batch, seconds=0.5, left=30, right=20, pairs=100 + batch, rows=100, late=3,
        split={"spark": 0.3, "probe": 0.2, "insert": 0.0, "state": 0.0}, watermark=5_000, state_bytes=10,
        resident_bytes=20, chains={"left": (subwindow,), "right": ()},
    )  # fmt: skip
    return dataclasses.replace(plain, **changed)


def test_the_last_moments_are_kept_and_asked_for_from_a_micro_batch_on():
    history = History(keep=3)
    for batch in range(5):
        history.add(moment(batch))
    assert history.since() == [moment(2), moment(3), moment(4)]
    assert history.since(3) == [moment(4)]
    assert history.since(4) == []


def test_what_is_in_the_file_is_there_in_the_next_run_to_the_last_number(tmp_path):
    file = tmp_path / "history.jsonl"
    for batch in range(2):
        History(file).add(moment(batch))
    assert History(file).since() == [moment(0), moment(1)]


def test_a_micro_batch_that_spark_repeats_replaces_what_was_told_of_it(tmp_path):
    file = tmp_path / "history.jsonl"
    history = History(file)
    for batch, pairs in ((0, 1), (1, 2), (2, 3), (1, 5)):
        history.add(moment(batch, pairs=pairs))
    for one in (history, History(file)):
        assert [(each.batch, each.pairs) for each in one.since()] == [(0, 1), (1, 5)]


@pytest.mark.parametrize("cut", [1, 40])
def test_a_line_that_was_cut_off_when_the_process_ended_is_left_out_and_the_next_one_is_whole(tmp_path, cut):
    file = tmp_path / "history.jsonl"
    History(file).add(moment(0))
    file.write_text(file.read_text() + json.dumps(moment(1).as_json())[:cut])
    history = History(file)
    assert history.since() == [moment(0)]
    history.add(moment(1))
    assert History(file).since() == [moment(0), moment(1)]
