"""Comparing two sets of records: a slowdown counts when it is beyond the tolerance and beyond the spread."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from panjoin.bench.compare import compare
from panjoin.bench.experiment import Cell, Experiment, Point
from panjoin.bench.records import Record, Records, record
from panjoin.cli.app import app

ONE = Experiment("fruit", "", "", "", lambda scale: [], ())


def measured(values: list[float], unit: str = "tuples/s", metric: str = "throughput") -> Record:
    return record(ONE, "toy", Cell({"batch": 1024}, list), Point(metric, unit, values))


@pytest.mark.parametrize(
    ("unit", "before", "after", "verdict"),
    [
        ("tuples/s", [100, 101, 102], [50, 51, 52], "slower"),
        ("tuples/s", [50, 51, 52], [100, 101, 102], "faster"),
        ("ms", [50, 51, 52], [100, 101, 102], "slower"),
        ("ms", [100, 101, 102], [50, 51, 52], "faster"),
        ("tuples/s", [100, 101, 102], [97, 98, 99], "same"),  # beyond the spread, but below the tolerance
        ("tuples/s", [60, 100, 140], [55, 80, 90], "same"),  # slower, but not beyond the spread
        ("tuples/s", [60, 100, 140], [55, 57, 59], "slower"),
        ("ms", [5.0], [9.0], "?"),  # no spread is known
    ],
)
def test_a_verdict_looks_at_the_better_side_the_tolerance_and_the_spread(unit, before, after, verdict) -> None:
    (change,) = compare([measured(before, unit)], [measured(after, unit)])
    assert change.verdict == verdict
    assert (change.ratio > 1) == ((sorted(after)[len(after) // 2] > sorted(before)[len(before) // 2]) == (unit != "ms"))


def test_ratios_have_no_better_side_and_are_not_compared() -> None:
    assert list(compare([measured([1.0, 1.0], "ratio")], [measured([9.0, 9.0], "ratio")])) == []


@pytest.mark.parametrize(("after", "code"), [([50.0, 51.0], 1), ([100.0, 103.0], 0), ([200.0, 203.0], 0)])
def test_the_command_fails_on_a_slowdown_alone(tmp_path: Path, after: list[float], code: int) -> None:
    for name, values in (("a", [100.0, 102.0]), ("b", after)):
        Records(tmp_path / name).append([measured(values)])
    answer = CliRunner().invoke(app, ["bench", "compare", str(tmp_path / "a"), str(tmp_path / "b")])
    assert answer.exit_code == code
    assert ("1 slower" in answer.output) == bool(code)


def test_records_that_have_nothing_in_common_are_refused(tmp_path: Path) -> None:
    Records(tmp_path / "a").append([measured([1.0], metric="speed")])
    Records(tmp_path / "b").append([measured([1.0])])
    answer = CliRunner().invoke(app, ["bench", "compare", str(tmp_path / "a"), str(tmp_path / "b")])
    assert "have no measurement in common; run the same experiments and scale" in str(answer.exception)
