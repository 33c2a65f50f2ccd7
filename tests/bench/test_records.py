"""Records on disk: written cell by cell, resumed, repeated, interrupted, torn and damaged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from panjoin.bench import machine
from panjoin.bench.experiment import CannotMeasure, Cell, Experiment, Point, Skip
from panjoin.bench.records import Records, existing, largest_scale
from panjoin.bench.run import plan, run
from panjoin.errors import DamageError, ParameterError


def experiment(*measures: Callable[[], Iterable[Point | Skip]], name: str = "fruit") -> Experiment:
    cells = [Cell({"cell": number}, measure) for number, measure in enumerate(measures)]
    return Experiment(name, "what it shows", "eating", "washing", lambda scale: cells, (), seed=7)


def counting(calls: list[int], number: int) -> Callable[[], list[Point]]:
    def measure() -> list[Point]:
        calls.append(number)
        return [Point("throughput", "tuples/s", [3.0, 1.0, 2.0], {"apples": number}, {"found": 5})]

    return measure


def run_all(directory: Path, one: Experiment, *, again: bool = False) -> int:
    records = Records(directory)
    return run(plan([one], "toy", records, again=again), "toy", records)


def test_a_record_says_what_was_measured_where_and_how(tmp_path: Path) -> None:
    assert run_all(tmp_path, experiment(counting([], 4))) == 1
    (line,) = (tmp_path / "fruit.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert record["parameters"] == {"cell": 0, "apples": 4}
    assert (record["values"], record["median"], record["spread"], record["repeats"]) == ([3.0, 1.0, 2.0], 2.0, 1.0, 3)
    assert (record["unit"], record["better"], record["seed"], record["scale"]) == ("tuples/s", "higher", 7, "toy")
    assert (record["timed"], record["excluded"], record["noted"]) == ("eating", "washing", {"found": 5})
    assert record["machine"]["cores"] >= 1
    assert record["machine"]["memory_gb"] > 0
    assert record["machine"]["cpu"]
    assert set(record["versions"]) == {"python", "panjoin", *machine.PACKAGES}
    assert record["load"] >= 0


def test_what_is_done_is_not_done_again_unless_asked_for(tmp_path: Path) -> None:
    calls: list[int] = []
    one = experiment(counting(calls, 0), counting(calls, 1))
    assert run_all(tmp_path, one) == 2
    assert run_all(tmp_path, one) == 0
    assert run_all(tmp_path, one, again=True) == 2
    assert calls == [0, 1, 0, 1]
    assert len((tmp_path / "fruit.jsonl").read_text().splitlines()) == 2


def test_an_interrupted_run_keeps_finished_cells_and_goes_on_with_the_others(tmp_path: Path) -> None:
    calls: list[int] = []
    interrupted = [True]

    def second() -> list[Point]:
        if interrupted:
            raise KeyboardInterrupt
        return counting(calls, 1)()

    one = experiment(counting(calls, 0), second)
    with pytest.raises(KeyboardInterrupt):
        run_all(tmp_path, one)
    assert [record.parameters["apples"] for record in Records(tmp_path)] == [0]
    interrupted.clear()
    assert run_all(tmp_path, one) == 1
    assert calls == [0, 1]


def test_a_torn_last_line_is_dropped_and_the_next_record_starts_a_line_of_its_own(tmp_path: Path) -> None:
    run_all(tmp_path, experiment(counting([], 0)))
    path = tmp_path / "fruit.jsonl"
    whole = path.read_text()
    path.write_text(whole + whole[:40])
    assert len(Records(tmp_path)) == 1
    assert run_all(tmp_path, experiment(counting([], 0), counting([], 1))) == 1
    assert len(path.read_text().splitlines()) == len(Records(tmp_path)) == 2


@pytest.mark.parametrize("damage", ["{", "[]", '{"experiment": "fruit"}'])
def test_a_damaged_line_is_named(tmp_path: Path, damage: str) -> None:
    run_all(tmp_path, experiment(counting([], 0)))
    path = tmp_path / "fruit.jsonl"
    path.write_text(path.read_text() + damage + "\n")
    with pytest.raises(DamageError, match=r"fruit.jsonl, line 2 is no record of this version; remove the line"):
        Records(tmp_path)


def test_a_digit_that_has_changed_is_noticed_and_lines_of_before_have_no_checksum(tmp_path: Path) -> None:
    run_all(tmp_path, experiment(counting([], 0)))
    path = tmp_path / "fruit.jsonl"
    whole = path.read_text()
    path.write_text(whole.replace("3.0", "8.0"))
    with pytest.raises(DamageError, match=r"fruit\.jsonl, line 1 is no record of this version"):
        Records(tmp_path)
    content = json.loads(whole)
    assert content.pop("crc32")
    path.write_text(json.dumps(content, sort_keys=True) + "\n")
    assert [list(record.values) for record in Records(tmp_path)] == [[3.0, 1.0, 2.0]]


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (CannotMeasure("needs 5.0 GB of memory, 1.0 GB are free"), "needs 5.0 GB of memory, 1.0 GB are free"),
        (MemoryError(), "out of memory"),
        (
            ModuleNotFoundError("No module named 'BTrees'", name="BTrees"),
            "the package BTrees is not installed; pip install 'panjoin[bench]'",
        ),
    ],
)
def test_what_cannot_be_measured_is_recorded_with_its_reason(tmp_path: Path, trouble: Exception, reason: str) -> None:
    def measure() -> list[Point]:
        raise trouble

    assert run_all(tmp_path, experiment(measure)) == 1
    (record,) = Records(tmp_path)
    assert (record.skipped, record.values, record.median, record.metric) == (reason, [], None, "all")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("no file /tmp/somebody/x y.csv here", "no file x y.csv here"),
        ("see file:/home/me/a/b.csv", "see b.csv"),
        ("12 tuples/s, left/right, https://host.org/a/b", "12 tuples/s, left/right, https://host.org/a/b"),
    ],
)
def test_a_reason_does_not_say_where_files_lie_here(tmp_path: Path, said: str, kept: str) -> None:
    run_all(tmp_path, experiment(lambda: [Skip("all", said)]))
    assert [record.skipped for record in Records(tmp_path)] == [kept]


def test_a_cell_that_is_measured_after_all_leaves_no_reason_behind(tmp_path: Path) -> None:
    def measure() -> list[Point]:
        raise MemoryError

    run_all(tmp_path, experiment(measure))
    run_all(tmp_path, experiment(counting([], 0)), again=True)
    assert [record.skipped for record in Records(tmp_path)] == [""]


def test_a_directory_without_records_is_refused_where_some_are_needed(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"there are no records in .*; make some with: panjoin bench run --out "):
        existing(tmp_path)


def test_of_several_scales_the_largest_counts(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for scale in ("small", "toy"):
        run(plan([experiment(counting([], 0))], scale, records), scale, records)
    assert [record.scale for record in largest_scale(Records(tmp_path))] == ["small"]
