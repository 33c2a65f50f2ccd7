"""The join inside Spark as an experiment: what is fed has the answers that a nested loop finds, ratios are of one turn."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from panjoin.bench.experiment import CannotMeasure
from panjoin.bench.pipeline import asking, figures
from panjoin.bench.pipeline.feed import BEGIN, REACH, Feed
from panjoin.bench.records import Records
from panjoin.bench.tables import table
from panjoin.cli.app import app


@pytest.mark.parametrize("keys", ["uniform", "zipf"])
def test_the_feed_knows_the_pairs_that_a_nested_loop_finds(tmp_path: Path, keys: str) -> None:
    feed = Feed(tmp_path / "feed", 300, keys)
    window, batch = 60, 20
    seen: dict[str, list[int]] = {"left": [], "right": []}
    found = []
    for _ in range(6):
        files = feed.draw(batch, window + batch)
        new = {side: pq.read_table(path)["k"].to_pylist() for side, path in files.items()}
        before = seen["right"][-window:]
        pairs = sum(abs(one - other) <= REACH for one in new["left"] for other in before)
        for side, drawn in new.items():
            seen[side] += drawn
        pairs += sum(abs(one - other) <= REACH for one in new["right"] for other in seen["left"][-window:])
        assert feed.pairs(window) == pairs
        found.append(pairs)
    assert sum(found) > 0 and max(map(max, seen.values())) < 300


def test_zipf_keys_are_heavier_than_uniform_ones(tmp_path: Path) -> None:
    heaviest = {}
    for keys in ("uniform", "zipf"):
        path = Feed(tmp_path / keys, 10_000, keys).draw(5000, 5000)["left"]
        heaviest[keys] = np.bincount(pq.read_table(path)["k"].to_numpy()).max()
    assert heaviest["zipf"] > 100
    assert heaviest["uniform"] < 10


def test_files_age_in_order_and_carry_event_times_where_asked(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "feed", 10, timed=True)
    files = [feed.draw(4, 4)["left"] for _ in range(3)]
    assert [path.stat().st_mtime for path in files] == [BEGIN, BEGIN + 1, BEGIN + 2]
    tables = [pq.read_table(path) for path in files]
    assert [number for each in tables for number in each["id"].to_pylist()] == list(range(12))
    assert tables[1]["ts"].cast("int64").to_pylist()[0] == BEGIN * 10**6 + 4000


def turn(seconds: float, rows: int = 10) -> dict:
    return {"seconds": seconds, "rows": rows, "shuffled": 40, "steps": {"probe": 0.1, "total": 0.2}}


def test_ratios_are_taken_turn_by_turn() -> None:
    assert figures.beside([turn(1), turn(2)], [turn(3), turn(8)]) == [3, 4]
    assert figures.rates([turn(2), turn(4, 20)]) == [5, 5]
    assert list(figures.moved([turn(1)], {}).values) == [4]
    seen = {point.parameters["step"]: list(point.values) for point in figures.steps([turn(1.2)], {})}
    assert seen == {"probe": [100], "outside of the workers": [1000]}


def test_batches_divide_windows_so_that_answers_do_not_depend_on_the_order() -> None:
    for size in figures.SIZES.values():
        pairs = [(size.window, size.batch), size.placement[:2], *((size.storm[0], batch) for batch in size.storm[1])]
        assert [pair for pair in pairs if pair[0] % pair[1]] == []


@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("print('noise'); print('{\"failed\": \"AnalysisException: no such column\"}', flush=True)", "no such column"),
        ("raise SystemExit('no room on this machine')", "process ended: no room on this machine"),
    ],
)
def test_what_the_other_process_cannot_do_is_a_reason(monkeypatch: pytest.MonkeyPatch, does: str, told: str) -> None:
    start = asking.subprocess.Popen
    child = [sys.executable, "-c", f"import sys; sys.stdin.readline(); sys.stdin.readline(); {does}"]
    monkeypatch.setattr(asking.subprocess, "Popen", lambda command, **how: start(child, **how))
    process = asking.Asked()
    with pytest.raises(CannotMeasure, match=told):
        process.ask({"contestants": []})
    process.close()


@pytest.mark.slow
def test_every_experiment_of_the_pipeline_runs_at_toy_size_and_every_view_shows_something(tmp_path: Path) -> None:
    names = [experiment.name for experiment in figures.EXPERIMENTS]
    answer = CliRunner().invoke(app, ["bench", "run", *names, "--scale", "toy", "--out", str(tmp_path)])
    assert answer.exit_code == 0, answer.output
    records = list(Records(tmp_path))
    assert [record.skipped for record in records if record.skipped] == []
    for experiment in figures.EXPERIMENTS:
        own = [record for record in records if record.experiment == experiment.name]
        cells = {json.dumps(cell.parameters, sort_keys=True) for cell in experiment.cells("toy")}
        assert {json.dumps(record.cell, sort_keys=True) for record in own} == cells
        for view in experiment.views:
            assert table(view, own) is not None, view.title
    copies = {
        (record.parameters["placement"], record.parameters["workers"]): record.median
        for record in records
        if record.metric == "copies of a tuple" and record.parameters["keys"] == "uniform"
    }
    assert {workers: copies["arrival", workers] for workers in (2, 3)} == {2: 2, 3: 3}
    assert all(1 <= copies["key", workers] < 1.2 for workers in (2, 3))
