"""Sizing before a join runs: what follows from rates, windows, batches and keys."""

import pytest

from panjoin.advice import Situation, advise, as_json
from panjoin.calibration import built_in
from panjoin.errors import ParameterError
from tests.advisor.costs import calibration

COSTS = calibration()


def situation(window=80_000, rate=None, **known) -> Situation:
    rates = None if rate is None else {"left": rate, "right": rate}
    return Situation(windows={"left": window, "right": window}, rates=rates, **known)


def test_subwindow_partitions_and_memory_follow_from_the_window():
    left = advise(situation(batch=5000, payload=30, timed=True), COSTS).sides["left"]
    assert (left.structure, left.subwindow, left.subwindows, left.partitions) == ("bi-sort", 10_000, 9, 78)
    assert left.memory_bytes == 9 * 10_000 * (8 + 30 + 8)


@pytest.mark.parametrize(
    ("known", "structure"),
    [
        ({"batch": 5000}, "bi-sort"),
        ({"batch": 10, "drift": 0.0}, "rap-table"),
        ({"batch": 10, "drift": 0.5}, "wib-tree"),
        ({"batch": 10, "drift": 0.0, "matches": 80}, "bi-sort"),
        ({"batch": 10, "drift": 0.0, "matches": 80, "pairs": False}, "rap-table"),
        ({"batch": 10, "sorted_only": True, "pairs": False}, "bi-sort"),
    ],
)
def test_the_structure_is_the_one_the_join_itself_would_choose(known, structure):
    assert advise(situation(**known), COSTS).sides["right"].structure == structure


def test_throughput_is_the_inverse_of_what_a_tuple_costs():
    advised = advise(situation(batch=1024, matches=18.0, cores=1), COSTS)
    cost = 10 + 100 + 9 * 10 + 18 * 1  # the rest of a push, insertion, nine probes, eighteen pairs
    assert advised.throughput == advised.throughput_one == pytest.approx(1e9 / cost)
    assert advised.batch_seconds == pytest.approx(1024 * cost / 1e9)


def test_workers_share_probes_of_large_batches_only():
    large, small = (advise(situation(batch=batch, matches=0, cores=3), COSTS) for batch in (8192, 1024))
    assert large.throughput == pytest.approx(1e9 / (10 + 100 + 30))
    assert small.throughput == small.throughput_one


def test_no_more_workers_than_the_rates_need_and_the_load_is_told():
    easy, fair, hard, too_hard = (
        advise(situation(batch=8192, matches=0, rate=rate, cores=3), COSTS) for rate in (1e6, 1.5e6, 3e6, 9e6)
    )
    assert (easy.workers, easy.load) == (1, pytest.approx(2e6 / 5e6))
    assert (fair.workers, fair.why_workers) == (2, "enough for 2 times the rates")
    assert hard.workers == 3
    assert "bursts will wait" in hard.why_workers
    assert "which is not enough: 18,000,000 tuples/s come and 7,142,857 can be taken" in too_hard.why_workers
    assert too_hard.load > 1


def test_with_rates_the_smallest_batch_that_carries_them_is_chosen():
    slow, fast = (advise(situation(rate=rate, matches=0, cores=1), COSTS) for rate in (1_000, 1_200_000))
    assert slow.batch == 16
    assert 16 < fast.batch <= 1024
    assert "none carries 2 times the rates here" in advise(situation(rate=1e9), COSTS).why_batch


def test_sides_of_different_rates_are_weighed_by_them():
    windows = {"left": 8, "right": 80_000}
    alone = Situation(windows=windows, batch=1024, matches=0, rates={"left": 1e-9, "right": 1})
    assert advise(alone, COSTS).throughput == pytest.approx(1e9 / (10 + 100 + 2 * 10), rel=1e-3), (
        "rights probe two lefts"
    )


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"window": 0}, "the left window must hold at least 1 tuple, not 0"),
        ({"rate": -1.0}, r"the left rate must be above 0 tuples/s, not -1.0"),
        ({"batch": 0}, "batch must be at least 1, not 0"),
        ({"matches": -2.0}, "matches must be at least 0, not -2.0"),
        ({"matches": float("nan")}, "matches must be at least 0, not nan"),
        ({"cores": 0}, "cores must be at least 1, not 0"),
        ({"payload": -1}, "payload must be at least 0, not -1"),
    ],
)
def test_what_cannot_be_is_refused_with_its_value(known, message):
    with pytest.raises(ParameterError, match=message):
        situation(**known)


@pytest.mark.parametrize("window", [1, 5_000, 10**7, 10**9])
@pytest.mark.parametrize("batch", [1, 1000, 10**6])
def test_any_situation_has_an_answer_from_the_built_in_costs(window, batch):
    told = as_json(advise(situation(window, batch=batch, cores=4), built_in()))
    assert told["throughput"] >= told["throughput_one"] > 0
    assert told["memory_bytes"] >= 16 * window
    assert told["left"]["structure"] in ("bi-sort", "rap-table", "wib-tree")
