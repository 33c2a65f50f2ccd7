"""The table of claims: how one is judged, and that each reads what its experiments write."""

from __future__ import annotations

from pathlib import Path

import pytest

from panjoin.bench import catalogue, claims
from panjoin.bench.claims import CLAIMS, Claim
from panjoin.bench.experiment import Cell, Experiment, Point
from panjoin.bench.goals import Found
from panjoin.bench.records import record

ONE = Experiment("fruit", "", "", "", lambda scale: [], ())


def found(*points: Point) -> Found:
    return Found([record(ONE, "toy", Cell({}, list), point) for point in points])


def claim(low: float | None, high: float | None = None, why=None) -> Claim:
    return Claim(
        "fig", "fruit is red", "2 to 3 times", "ratio", ("fruit",), lambda f: f.values("fruit", "red"), low, high, why
    )


@pytest.mark.parametrize(
    ("values", "low", "high", "verdict"),
    [
        ([2.0], 2, 3, ("2.00", "holds")),
        ([2.5, 9.0], 2, None, ("2.50 to 9.00", "holds")),
        ([1.9, 9.0], 2, None, ("1.90 to 9.00", "does not hold: because of 2 points")),
        ([3.1], None, 3, ("3.10", "does not hold: because of 1 points")),
        ([], 2, 3, ("not measured", "-")),
    ],
)
def test_a_claim_holds_when_all_its_points_are_within_its_bounds(values, low, high, verdict) -> None:
    points = [Point("red", "ratio", [value], {"at": number}) for number, value in enumerate(values)]
    why = lambda f: f"because of {len(f.values('fruit', 'red'))} points"  # noqa: E731
    assert claim(low, high, why).judged(found(*points)) == verdict


def test_a_parameter_is_named_by_its_end_of_what_there_is() -> None:
    seen = found(
        *(
            Point("red", "ratio", [size * batch], {"size": size, "batch": batch})
            for size, batch in ((1, 10), (2, 10), (2, 20), (3, 30))
        )
    )
    assert seen.at("fruit", "red", size=2, batch=max) == 40
    assert seen.at("fruit", "red", batch=min, size=max) == 20
    assert seen.at("fruit", "red", size=max, batch=min) == 90
    assert seen.at("fruit", "blue", size=max) is None
    assert seen.sizes("fruit", "red", "batch", size=2) == [10, 20]


def test_claims_read_experiments_that_exist_and_each_says_which() -> None:
    names = {experiment.name for experiment in catalogue.EXPERIMENTS}
    assert [name for name in claims.needed() if name not in names] == []
    assert all(claim.reads and (claim.low, claim.high) != (None, None) for claim in CLAIMS)


class Listening(Found):
    """Notes which experiments are asked for."""

    def __init__(self) -> None:
        super().__init__([])
        self.asked: set[str] = set()

    def values(self, experiment, metric, **parameters):
        self.asked.add(experiment)
        return super().values(experiment, metric, **parameters)

    def sizes(self, experiment, metric, name, **parameters):
        self.asked.add(experiment)
        return super().sizes(experiment, metric, name, **parameters)


@pytest.mark.parametrize("one", CLAIMS, ids=lambda one: f"{one.about}: {one.sentence[:40]}")
def test_a_claim_asks_only_for_the_experiments_that_it_names(one: Claim) -> None:
    listening = Listening()
    assert one.judged(listening) == ("not measured", "-")
    assert listening.asked and listening.asked <= set(one.reads)


def test_the_report_keeps_claims_that_were_not_measured(tmp_path: Path) -> None:
    assert len(claims.rows(Found([]))) == len(CLAIMS)
