"""How records are laid out: order, numbers, spread, and reasons for what is missing."""

from __future__ import annotations

import pytest

from panjoin.bench import workload
from panjoin.bench.experiment import CannotMeasure, Cell, Experiment, Point, Skip, View
from panjoin.bench.records import record
from panjoin.bench.tables import number, shown, table

ONE = Experiment("fruit", "", "", "", lambda scale: [], ())
VIEW = View("Speed", "throughput", ("structure", "W"), "batch")


def at(structure: str, window: int, *measured: Point | Skip):
    return [record(ONE, "toy", Cell({"structure": structure, "W": window}, list), each) for each in measured]


def test_rows_and_columns_ascend_and_cells_hold_median_and_half_the_spread() -> None:
    laid_out = table(
        VIEW,
        [
            *at("wib", 2048, Point("throughput", "tuples/s", [1e6], {"batch": 1024})),
            *at("wib", 100, Point("throughput", "tuples/s", [9.0, 10.0, 11.0], {"batch": 1})),
            *at("rap", 100, Point("throughput", "tuples/s", [2e9], {"batch": 1}), Point("other", "ms", [1.0])),
        ],
    )
    assert laid_out is not None
    assert laid_out.columns == [1, 1024]
    assert laid_out.rows == [("wib", 100), ("wib", 2048), ("rap", 100)]
    texts = [[laid_out.text(row, column) for column in laid_out.columns] for row in laid_out.rows]
    assert texts == [["10.0 ±10%", "-"], ["-", "1.00M"], ["2.00G", "-"]]


def test_reasons_are_numbered_and_stand_in_every_cell_that_they_are_about() -> None:
    laid_out = table(
        VIEW,
        [
            *at(
                "wib", 1, Point("throughput", "tuples/s", [5.0], {"batch": 1}), Skip("throughput", "slow", {"batch": 9})
            ),
            *at("rap", 1, Skip("all", "large")),
        ],
    )
    assert laid_out is not None
    texts = [[laid_out.text(row, column) for column in laid_out.columns] for row in laid_out.rows]
    assert texts == [["5.00", "skipped [1]"], ["skipped [2]", "skipped [2]"]]
    assert laid_out.reasons == ["slow", "large"]


def test_a_view_of_a_metric_that_was_not_measured_is_none() -> None:
    assert table(VIEW, at("wib", 1, Point("other", "ms", [1.0]))) is None


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "ms", "0.00"),
        (0.0123, "ms", "0.012"),
        (9.994, "ratio", "9.99"),
        (28.9e6, "tuples/s", "28.9M"),
        (4e10, "x/s", "40.0G"),
        (1234.4, "ms", "1234"),
    ],
)
def test_numbers_have_three_digits(value: float, unit: str, text: str) -> None:
    assert number(value, unit) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1000, "1000"), (1024, "1K"), (8 << 20, "8M"), (1536, "1536"), ("equi", "equi")]
)
def test_sizes_are_shown_in_powers_of_1024(value: object, text: str) -> None:
    assert shown(value) == text


def test_windows_that_do_not_fit_are_refused_before_they_are_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "memory", lambda: 1 << 20)
    with pytest.raises(CannotMeasure, match=r"needs 0.1 GB of memory, 0.0 GB are free"):
        workload.fill(workload.Workload(1 << 20), 1, 10.0)


def test_windows_that_take_too_long_to_fill_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "FILL", 16)
    with pytest.raises(CannotMeasure, match=r"filling both windows would take \d+ s or more; 0 s are allowed"):
        workload.fill(workload.Workload(1 << 14), 1, 0.001)
