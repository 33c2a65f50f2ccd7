"""`panjoin fpga simulate` and `report`: from circuits to the tables of docs/hardware.md, at sizes of a test."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from typer.testing import CliRunner

from panjoin.bench.experiment import Cell, Point, Skip
from panjoin.bench.goals import GOALS, Found
from panjoin.bench.hardware import DESIGNS, EXPERIMENTS, HARDWARE, SEEDS
from panjoin.bench.hardware_page import Power, placed_mhz, renew, sections
from panjoin.bench.records import Record, Records, record
from panjoin.cli.app import app
from panjoin.errors import DamageError, ParameterError
from panjoin.fpga.flow import verilator

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "hardware.md"
BY_NAME = {each.name: each for each in EXPERIMENTS}


def made(name: str, cell: dict[str, Any], *points: Point | Skip) -> list[Record]:
    return [record(BY_NAME[name], "small", Cell(cell, list), point) for point in points]


def placements(mhz: float = 210.0) -> list[Record]:
    return [
        each
        for design in DESIGNS
        for seed in SEEDS
        for each in made(
            "fpga.resources",
            {"design": design, "seed": seed},
            Point("clock", "MHz", [mhz + seed], noted={"wires in the slowest path": 0.5, "slowest path": []}),
            Point("COMB, share", "share", [0.3]),
        )
    ]


def rates(rate: float, contestant: str) -> list[Record]:
    return made(
        "fpga.fpga_insert", {"contestant": contestant}, Point("throughput", "tuples/s", [rate], {"batch": 1 << 20})
    )


def test_a_page_without_records_says_so_everywhere_and_no_goal_is_reached(tmp_path: Path) -> None:
    page = Path(copy(PAGE, tmp_path))
    assert renew(page, []) == [page]
    text = page.read_text()
    assert text.count("not measured") > 15
    assert "holds |" not in text
    assert {goal.measured(Found([])) for goal in GOALS if goal.room == "fpga"} == {None}


def test_only_what_is_between_the_markers_is_renewed(tmp_path: Path) -> None:
    page = Path(copy(PAGE, tmp_path))
    renew(page, [])
    once = page.read_text()
    renew(page, [])
    assert page.read_text() == once
    outside = "BI-Sort is a sorted array, a sparse index"
    assert outside in once
    page.write_text(once.replace("<!-- units: end -->", ""))
    with pytest.raises(DamageError, match="must have the markers <!-- units: begin --> and <!-- units: end -->"):
        renew(page, [])
    with pytest.raises(ParameterError, match=r"there is no .*nowhere\.md to write the tables into"):
        renew(tmp_path / "nowhere.md", [])


def test_the_slowest_of_three_seeds_is_the_clock_and_two_seeds_are_none() -> None:
    records = placements()
    assert placed_mhz(Found(records)) == 211.0
    fewer = [each for each in records if (each.parameters["design"], each.parameters["seed"]) != ("worker", 2)]
    assert placed_mhz(Found(fewer)) is None
    row = next(line for line in sections(fewer, Power())["resources"] if line.startswith("| worker"))
    assert "211, not measured, 213 | not measured |" in row


def test_a_slower_placement_slows_the_hardware_and_a_faster_one_does_not_speed_it_up() -> None:
    for mhz, shown in ((99.0, "500K"), (399.0, "1.00M")):
        lines = sections([*placements(mhz), *rates(1e6, HARDWARE)], Power())["insert"]
        assert lines[-1] == f"| 1M | {shown} |"


def test_the_energy_model_prints_its_inputs_and_divides() -> None:
    records = [*placements(), *rates(8e6, HARDWARE), *rates(12e6, "bi-sort")]
    lines = sections(records, Power(board_watts=4, cpu_watts=60, cpu_cores=10))["energy"]
    assert "| board with FPGA and memory | 4 W | the paper's board, not an ECP5's |" in lines
    assert lines[-1] == "| insertion | 1M | 2.00M | 2.00M | 1.00 |"
    with pytest.raises(ParameterError, match="cpu_cores must be above 0, not 0"):
        Power(cpu_cores=0)


def test_what_could_not_be_measured_stands_with_its_reason() -> None:
    records = made("fpga.second_opinion", {"design": "worker"}, Skip("all", "Verilator is not installed here"))
    assert sections(records, Power())["opinion"] == ["- Not measured: Verilator is not installed here"]


def test_numbers_with_commas_are_asked_for(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["fpga", "simulate", "worker", "--batches", "1,x"])
    assert str(answer.exception) == "batches must be whole numbers with commas between, such as 1,2,3, not '1,x'"


def test_units_are_simulated_by_command() -> None:
    asked = ["fpga", "simulate", "merger-1", "--preset", "index-int32", "--tuples", "4096"]
    answer = CliRunner().invoke(app, [*asked, "--json"])
    assert answer.exit_code == 0, answer.output
    (unit,) = json.loads(answer.stdout)["units"]
    assert (unit["design"], unit["words"]) == ("merger-1", 4096)
    assert 1 <= unit["clocks per word"] <= 1.005
    assert "merger-1" in CliRunner().invoke(app, asked).output


@pytest.mark.slow
def test_the_worker_is_simulated_by_command() -> None:
    asked = ["fpga", "simulate", "worker", "--preset", "index-int32", "--capacity", "4096", "--batches", "64,1024"]
    answer = CliRunner().invoke(app, [*asked, "--json"])
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)["worker"]
    assert [(each["operation"], each["batch"]) for each in found] == [
        ("insertion", 64), ("insertion", 1024), ("probing", 64), ("probing", 1024)
    ]  # fmt: skip
    assert all(0 < each["share of the modelled bandwidth"] <= 1 for each in found)


@pytest.mark.slow
def test_one_command_measures_and_writes_the_page(tmp_path: Path) -> None:
    page = Path(copy(PAGE, tmp_path))
    (tmp_path / "pictures").mkdir()
    asked = ["fpga", "report", "--records", str(tmp_path / "records"), "--to", str(page), "--scale", "toy"]
    answer = CliRunner().invoke(app, asked)
    assert answer.exit_code == 0, answer.output
    records = list(Records(tmp_path / "records"))
    assert {each.experiment for each in records} == set(BY_NAME)
    for name, experiment in BY_NAME.items():
        cells = {json.dumps(cell.parameters, sort_keys=True) for cell in experiment.cells("toy")}
        assert {json.dumps(each.cell, sort_keys=True) for each in records if each.experiment == name} == cells
    skipped = {each.skipped for each in records if each.skipped}
    assert skipped == (set() if verilator.here() else {f"Verilator is not installed here; {verilator.REMEDY}"})
    opinions: dict[str, set[float | None]] = {}
    for each in records:
        if each.experiment == "fpga.second_opinion" and not each.skipped:
            opinions.setdefault(each.parameters["design"], set()).add(each.median)
    assert all(len(clocks) == 1 for clocks in opinions.values()), opinions
    assert len(opinions) == (3 if verilator.here() else 0)
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == {"fpga-insert.svg", "fpga-probe.svg"}
    assert "| merger-1 |" in page.read_text()
    again = CliRunner().invoke(app, asked)
    assert "0 cells measured" in again.output
