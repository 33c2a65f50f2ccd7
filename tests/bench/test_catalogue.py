"""Every experiment at toy scale, from the command line to the report."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copy

import pytest
from typer.testing import CliRunner

from panjoin.bench import catalogue, report
from panjoin.bench import run as runner
from panjoin.bench.claims import CLAIMS
from panjoin.bench.experiment import SCALES, Cell, Point, Skip
from panjoin.bench.goals import GOALS, Found
from panjoin.bench.records import Record, Records
from panjoin.bench.records import record as recorded
from panjoin.bench.tables import table
from panjoin.cli.app import app
from panjoin.errors import ParameterError

#: What needs neither a Spark session nor a compiled circuit (tests/fpga/test_report.py has those).
LOCAL = [experiment for experiment in catalogue.EXPERIMENTS if not experiment.spark and not experiment.circuits]
NAMES = [experiment.name for experiment in LOCAL]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bench") / "records"
    answer = CliRunner().invoke(app, ["bench", "run", *NAMES, "--scale", "toy", "--out", str(out)])
    assert answer.exit_code == 0, answer.output
    assert "0 of them done before; seed 1, 3" in answer.output
    assert [name for name in NAMES if f": {name}\n" not in answer.output] == []  # where no bar is seen
    return out


@pytest.fixture(scope="module")
def records(directory: Path) -> list[Record]:
    return list(Records(directory))


@pytest.mark.parametrize("experiment", LOCAL, ids=lambda experiment: experiment.name)
def test_every_cell_of_an_experiment_is_recorded_and_every_view_shows_something(experiment, records) -> None:
    own = [record for record in records if record.experiment == experiment.name]
    cells = {json.dumps(cell.parameters, sort_keys=True) for cell in experiment.cells("toy")}
    assert {json.dumps(record.cell, sort_keys=True) for record in own} == cells
    assert [record.skipped for record in own if record.skipped] == []
    assert all(value > 0 for record in own for value in record.values if record.unit != "imbalance")
    for view in experiment.views:
        laid_out = table(view, own)
        assert laid_out is not None, view.title
        assert any(cell is not None for cell in laid_out.cells.values())


SYSTEM_LABELS = [
    "sys_per_1",
    "sys_per_2",
    "sys_per_3",
    "sys_per_4",
    "sys_com_1",
    "sys_com_2",
    "sys_storm_1",
    "sys_storm_2",
]
LABELS = [
    "rap_insert_1",
    "rap_insert_2",
    "rap_probe_1",
    "rap_probe_2",
    "rap_probe_3",
    "rap_adjust",
    "wib_insert_1",
    "wib_insert_2",
    "wib_probe_1",
    "wib_probe_2",
    "wib_probe_3",
    "wib_comp",
    "bis_insert_1",
    "bis_insert_2",
    "bis_probe_1",
    "bis_probe_2",
    "bis_probe_3",
    "bis_buffer",
    "com_insert",
    "com_probe",
]


def test_every_figure_of_the_structures_is_in_the_list_under_its_label_also_on_a_narrow_screen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = CliRunner().invoke(app, ["bench", "list"])
    assert [label for label in LABELS if f" index.{label} " not in listed.output] == []
    shown = {experiment.name: experiment.shows for experiment in catalogue.EXPERIMENTS}
    assert [label for label in LABELS if f"the paper's {label}" not in shown[f"index.{label}"]] == []
    assert [label for label in SYSTEM_LABELS if f"the paper's {label}" not in shown[f"systems.{label}"]] == []


def test_every_figure_has_the_paper_s_words_beside_it() -> None:
    figures = [each for each in catalogue.EXPERIMENTS if each.name.split(".")[1] in {*LABELS, *SYSTEM_LABELS}]
    assert len(figures) == len(LABELS) + len(SYSTEM_LABELS)
    assert [each.name for each in figures if not each.paper] == []


@pytest.mark.parametrize("scale", SCALES)
def test_cells_of_an_experiment_differ(scale: str) -> None:
    for experiment in catalogue.EXPERIMENTS:
        cells = [json.dumps(cell.parameters, sort_keys=True) for cell in experiment.cells(scale)]
        assert len(set(cells)) == len(cells) > 0


def test_the_engine_finds_as_many_matches_as_the_selectivity_says(records: list[Record]) -> None:
    checked = 0
    for record in records:
        if record.experiment.startswith("engine.") and record.parameters.get("batch", 2) > 1:
            wanted = record.parameters.get("S", 1)
            found = record.noted.get("matches_per_tuple")
            if found is not None and record.noted["pushes"] * record.parameters.get("batch", 16) > 1000:
                assert 0.7 < found / wanted < 1.3, record
                checked += 1
    assert checked > 20


def test_running_again_measures_nothing(directory: Path) -> None:
    answer = CliRunner().invoke(app, ["bench", "run", *NAMES, "--scale", "toy", "--out", str(directory)])
    assert "0 cells measured" in answer.output


def test_all_is_every_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[str] = []
    monkeypatch.setattr(runner, "run", lambda tasks, *_: planned.extend(task.experiment.name for task in tasks) or 0)
    answer = CliRunner().invoke(app, ["bench", "all", "--out", str(tmp_path)])
    assert answer.exit_code == 0, answer.output
    assert set(planned) == {experiment.name for experiment in catalogue.EXPERIMENTS}


def test_the_claims_are_measured_and_told_whether_they_hold(directory: Path) -> None:
    reads = [claim for claim in CLAIMS if {*claim.reads} <= {*NAMES}]
    found = Found(Records(directory))
    assert [claim.sentence for claim in reads if claim.judged(found)[0] == "not measured"] == []


def test_every_reason_for_a_claim_that_fails_is_made_of_records_that_are_there(directory: Path) -> None:
    found = Found(Records(directory))
    told = {
        claim.sentence: claim.why(found) for claim in CLAIMS if claim.why is not None and {*claim.reads} <= {*NAMES}
    }
    assert len(told) > 30
    assert [sentence for sentence, reason in told.items() if not reason or "?" in reason or ": ;" in reason] == []


def test_the_report_has_every_experiment_and_the_scale(records: list[Record]) -> None:
    text = report.text(records)
    assert "scale toy" in text
    for experiment in LOCAL:
        assert f"\n## {experiment.name}\n" in text
        assert not experiment.paper or experiment.paper in text


def test_the_report_gives_the_reason_of_what_has_no_place_in_a_table() -> None:
    one = next(each for each in LOCAL if each.name == "peers.one_shot")
    cell = Cell({"W": 1024, "condition": "equi", "S": 1}, list)
    seen = Point("throughput", "tuples/s", [1.0], {"contestant": "numpy", "cores": 1})
    gone = [Skip("throughput", "not here", {"contestant": "duckdb"}), Skip("all", "too large")]
    text = report.text([recorded(one, "toy", cell, each) for each in (seen, *gone)])
    assert "| duckdb | equi | 1 |  | skipped [1] |\n\n[1] not here" in text
    assert "- Skipped (W 1K, condition equi, S 1): too large\n" in text


def test_the_command_writes_the_report_and_its_plots(directory: Path, tmp_path: Path) -> None:
    some = tmp_path / "records"
    some.mkdir()
    for name in ("engine.aggregates", "index.probe", "index.rap_adjust"):
        copy(directory / f"{name}.jsonl", some)
    to = tmp_path / "deep" / "benchmarks.md"
    readme = to.with_name("README.md")
    to.parent.mkdir()
    readme.write_text("<!-- measured: begin -->\n<!-- measured: end -->\n")
    asked = ["bench", "report", str(some), "--to", str(to), "--readme", str(readme), "--png"]
    answer = CliRunner().invoke(app, asked)
    assert answer.output == f"wrote {to} and 6 plots\nrenewed the numbers in {readme}\n"
    plots = {line.split("](")[1].rstrip(")") for line in to.read_text().splitlines() if line.startswith("![")}
    assert len(plots) == 3
    assert plots == {f"plots/{path.name}" for path in (to.parent / "plots").glob("*.svg")}
    assert {Path(plot).stem for plot in plots} == {path.stem for path in (to.parent / "plots").glob("*.png")}


def test_a_goal_without_records_is_not_measured() -> None:
    assert {report.judged(goal, Found([])) for goal in GOALS} == {("not measured", "-")}


def test_the_list_names_every_experiment() -> None:
    answer = CliRunner().invoke(app, ["bench", "list"], env={"COLUMNS": "200"})
    assert answer.exit_code == 0
    for experiment in catalogue.EXPERIMENTS:
        assert experiment.name in answer.output


def test_experiments_are_chosen_by_name_pattern_or_all() -> None:
    names = [each.name for each in catalogue.chosen(["index.merge", "engine.*"])]
    assert names == ["engine.grid", "engine.aggregates", "engine.scaling", "engine.headline", "index.merge"]
    assert catalogue.chosen(["all"]) == list(catalogue.EXPERIMENTS)
    with pytest.raises(
        ParameterError, match=r"no experiment is called 'index.murge'; there are .*mean 'index.merge'\?"
    ):
        catalogue.chosen(["index.murge"])


def test_an_unknown_scale_is_refused(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["bench", "run", "all", "--scale", "large", "--out", str(tmp_path)])
    assert str(answer.exception) == "no scale is called 'large'; there are 'toy', 'small', 'paper'"


def test_ctrl_c_says_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(tasks, scale, records, before):
        for task in tasks[:2]:
            before(task)
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run", interrupted)
    answer = CliRunner().invoke(app, ["bench", "run", "index.probe", "--out", str(tmp_path)])
    assert answer.exit_code == 130
    assert "stopped: 1 cells were measured and are kept in" in answer.output
