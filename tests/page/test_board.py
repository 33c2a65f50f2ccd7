"""What the page is told."""

import json

import pytest

from panjoin.job.history import History
from tests.page.moments import board, moment


def test_all_that_there_is_comes_first_and_then_what_is_new():
    made = board(3)
    assert [each["batch"] for each in made.told()["moments"]] == [0, 1, 2]
    made.moment(moment(3))
    told = made.told(after=2)
    assert [each["batch"] for each in told["moments"]] == [3]
    assert made.told(after=3)["moments"] == []


def test_the_total_counts_micro_batches_that_are_no_longer_kept():
    made = board(5, history=History(keep=2))
    told = made.told()
    assert [each["batch"] for each in told["moments"]] == [3, 4]
    total = told["total"]
    assert (total["batches"], total["left"], total["right"], total["pairs"]) == (5, 150, 100, 510)
    assert total["rate"] == 250 / 10


def test_a_run_that_goes_on_counts_what_earlier_runs_have_done(tmp_path):
    for batch in range(2):
        History(tmp_path / "history.jsonl").add(moment(batch))
    made = board(history=History(tmp_path / "history.jsonl"))
    made.moment(moment(2))
    assert made.told()["total"]["pairs"] == 303


def test_what_is_told_is_what_the_engine_told():
    (told,) = board(1).told()["moments"]
    assert json.loads(json.dumps(told)) == json.loads(json.dumps(moment(0).as_json()))


def test_old_micro_batches_lose_their_picture_when_there_are_too_many_and_the_newest_never_does():
    made = board(50, pictures=5_000)
    pictures = [each["chains"] is not None for each in made.told()["moments"]]
    assert pictures == sorted(pictures)
    assert 1 < sum(pictures) < 50
    assert sum(len(json.dumps(each["chains"])) for each in made.told()["moments"][-sum(pictures) :]) < 5_000
    (*_, before, last) = board(3, pictures=0).told()["moments"]
    assert before["chains"] is None
    assert last["chains"] is not None


@pytest.mark.parametrize("state", ["done", "stopped", "failed"])
def test_how_it_ended_is_told_with_the_facts_that_came_with_it(state):
    made = board()
    assert made.told()["state"] == "running"
    made.say(state, "why")
    made.note("pairs", "4")
    told = made.told()
    assert (told["state"], told["said"], told["facts"]) == (
        state,
        "why",
        {"condition": "left.x < right.x", "pairs": "4"},
    )
