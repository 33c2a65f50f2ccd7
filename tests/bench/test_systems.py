"""The system comparison at toy scale: everybody is measured, and nobody with a wrong answer."""

from __future__ import annotations

import numpy as np
import pytest

from panjoin.bench import systems
from panjoin.bench.baselines import SplitJoin
from panjoin.bench.experiment import CannotMeasure
from panjoin.bench.systems import CONTESTANTS, Runner, Setting, compared
from panjoin.errors import StateError

SETTINGS = [Setting(2048, "equi", 1, 64), Setting(2048, "band", 16, 64)]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.kind)
def test_every_contestant_has_a_record_with_its_rate_and_its_ratio(setting):
    records = {record["contestant"]: record for record in compared(setting, seconds=0.01)}
    assert set(records) == set(CONTESTANTS)
    skipped = {name: record["skipped"] for name, record in records.items() if "skipped" in record}
    assert skipped == ({} if setting.kind == "equi" else {"symmetric-hash": "a hash join finds equal keys only"})
    for name in set(records) - set(skipped):
        record = records[name]
        assert record["tuples_per_second"] > 0 and len(record["rates"]) == len(record["over_splitjoin"]) == 3
        assert record["batches_per_side"] >= 3 and record["memory_bytes"] >= 2 * 4 * setting.window
    assert set(records["splitjoin"]["over_splitjoin"]) == {1.0}


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.kind)
def test_a_probing_tuple_finds_about_as_many_matches_as_the_selectivity_says(setting):
    rng, join = np.random.default_rng(2), systems.Other("splitjoin", setting)
    join.store("right", setting.draw(rng, setting.window))
    assert 0.8 < join.push("left", setting.draw(rng, 2048)).mean() / setting.selectivity < 1.2


def test_a_wrong_answer_is_not_timed(monkeypatch):
    push = SplitJoin._push
    monkeypatch.setattr(SplitJoin, "_push", lambda self, *batch: push(self, *batch) + 1)
    with pytest.raises(StateError, match="splitjoin finds 18 matches where another contestant finds 17"):
        compared(SETTINGS[1], ("bi-sort", "splitjoin"), seconds=0.01)


def test_a_wrong_number_of_matches_while_the_clock_runs_is_seen():
    runner = Runner("splitjoin", systems.Other("splitjoin", SETTINGS[1]))
    batch = {"left": np.arange(3, dtype=np.int32)}
    with pytest.raises(StateError, match="splitjoin finds 0 matches where another contestant finds 7"):
        runner.turn([batch], 0.0, {(0, "left", 3): np.array([7])})


def test_windows_that_do_not_fit_beside_each_other_are_measured_one_after_another_with_smaller_batches_for_nested_loops():
    setting = Setting(2048, "band", 4, 64, nested_batch=16, together=False)
    records = {record["contestant"]: record for record in compared(setting, ("bi-sort", "splitjoin"), seconds=0.01)}
    assert {name: record["batch"] for name, record in records.items()} == {"bi-sort": 64, "splitjoin": 16}
    assert all(len(record["over_splitjoin"]) == 3 for record in records.values())


def test_a_window_that_takes_too_long_to_fill_is_given_up_with_the_time_that_it_would_take(monkeypatch):
    monkeypatch.setattr(systems, "_FILL", 128)
    runner = Runner("splitjoin", systems.Other("splitjoin", SETTINGS[1]))
    filling = {side: np.zeros(2048, np.int32) for side in systems.SIDES}
    with pytest.raises(CannotMeasure, match=r"filling both windows would take \d+ s or more; 0 s are allowed"):
        runner.fill(filling, 0.0)


def test_what_does_not_fit_or_would_not_end_is_refused_with_the_reason():
    assert Setting(1 << 27).refusal("bi-sort", 1 << 30) == "needs 3.0 GB, 1.0 GB are free"
    assert (
        Setting(1 << 20, selectivity=1 << 16).refusal("rbsnlj", 1 << 40)
        == "a push would walk over 2,147,483,648 matches"
    )
    assert Setting(1 << 20).refusal("splitjoin", 1 << 30) == ""
