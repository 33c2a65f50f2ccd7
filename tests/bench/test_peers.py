"""Peers: everybody finds the same pairs or is not recorded; processes are bound, watched and ended."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from panjoin.bench.peers import experiments, one_shot
from panjoin.bench.peers.cores import PeerFailed, family, watched
from panjoin.bench.peers.streams import BEGIN_MS, Streams
from panjoin.errors import StateError

REQUEST = {
    "window": 500, "values": 300, "batch": 64, "batches": 5, "seconds": 0.0, "turns": 2, "seed": 3,
    "cores": 1, "contestants": ["panjoin", "numpy", "duckdb", "polars"],
}  # fmt: skip


@pytest.mark.parametrize("reach", [0, 5])
def test_all_one_shot_peers_find_the_same_pairs_also_when_windows_have_moved_on(reach: int) -> None:
    answer = one_shot.compared({**REQUEST, "reach": reach})
    assert set(answer["rates"]) == set(REQUEST["contestants"])
    assert all(len(rates) == 2 and min(rates) > 0 for rates in answer["rates"].values())
    assert all(held >= 2 * 500 * 8 for held in answer["bytes"].values())
    assert answer["pairs_per_tuple"] == pytest.approx(500 * (2 * reach + 1) / 300, rel=0.3)


def test_a_peer_with_a_wrong_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    join = one_shot.Duckdb.join
    monkeypatch.setattr(one_shot.Duckdb, "join", lambda self, *given: tuple(part[1:] for part in join(self, *given)))
    with pytest.raises(ValueError, match=r"duckdb finds .* in batch 0, where another contestant finds"):
        one_shot.compared({**REQUEST, "reach": 5})


def test_streams_that_disagree_are_refused_and_say_who() -> None:
    answers: dict[str, list[int]] = {}
    experiments.agree(answers, "one", [3, 1, 2])
    experiments.agree(answers, "two", [3, 1, 2])
    with pytest.raises(StateError, match=r"three finds \[3, 1, 9\] .* where one finds \[3, 1, 2\]"):
        experiments.agree(answers, "three", [3, 1, 9])


def test_cores_to_beat_are_measured_where_somebody_is_faster_and_predicted_where_not() -> None:
    rates = {"panjoin": {1: [100.0], 2: [190.0]}, "slow": {1: [5.0], 2: [8.0]}, "near": {1: [60.0], 2: [110.0]}}
    points = {point.parameters["contestant"]: point for point in experiments.cost(rates)}
    assert {name: (list(point.values), point.parameters["how"]) for name, point in points.items()} == {
        "slow": ([25.0], "predicted"),
        "near": ([2.0], "measured"),
    }
    assert list(experiments.cost({"slow": {1: [1.0]}})) == []


def child(text: str, cores: int = 1, seconds: float = 60):
    return watched([sys.executable, "-c", text], {"asked": 1}, cores=cores, seconds=seconds, environment={"PEER": "7"})


def test_a_process_is_told_its_request_bound_to_its_cores_and_its_memory_is_seen() -> None:
    answer = child(
        "import sys, os, json, time; room = bytearray(50_000_000); time.sleep(0.5)\n"
        "told = json.load(sys.stdin) | {'bound': len(os.sched_getaffinity(0)), 'peer': os.environ['PEER']}\n"
        "print('noise'); print(json.dumps(told))"
    )
    assert answer["peak_bytes"] > 50_000_000
    assert {**answer, "peak_bytes": 0} == {"asked": 1, "cores": 1, "bound": 1, "peer": "7", "peak_bytes": 0}


def test_a_process_that_fails_says_its_last_line_and_one_that_takes_too_long_is_ended() -> None:
    with pytest.raises(PeerFailed, match="ValueError: no such thing"):
        child("raise ValueError('no such thing')")
    with pytest.raises(PeerFailed, match="no answer within 1 s"):
        child("import time; time.sleep(60)", seconds=1)
    assert family(os.getpid())[0] == os.getpid()


def test_an_engine_that_is_not_there_is_skipped_with_the_variable_that_names_one(monkeypatch) -> None:
    monkeypatch.delenv("PANJOIN_FLINK_PYTHON", raising=False)
    with pytest.raises(experiments.CannotMeasure, match=r"pyflink is not installed .* PANJOIN_FLINK_PYTHON names"):
        experiments._python("flink")
    monkeypatch.setenv("PANJOIN_FLINK_PYTHON", "somewhere/python")
    assert experiments._python("flink") == "somewhere/python"


def test_files_hold_the_window_first_and_age_in_order(tmp_path: Path) -> None:
    Streams(100, 30, 2, 5, 1).write(tmp_path)
    files = sorted((tmp_path / "left").iterdir())
    assert [pq.read_table(path).num_rows for path in files] == [100, 30, 30]
    assert [path.stat().st_mtime for path in files] == [BEGIN_MS // 1000 + number for number in range(3)]
    times = pq.read_table(files[1])["ts"].cast("int64").to_pylist()
    assert times[:2] == [(BEGIN_MS + 100) * 1000, (BEGIN_MS + 101) * 1000]
    assert len((tmp_path / "all" / "right.csv").read_text().splitlines()) == 160
    assert (tmp_path / "headed-few" / "right.csv").read_text().startswith('"id_","k","ms"\n0,')


@pytest.mark.slow
def test_every_engine_inside_spark_finds_the_same_pairs_at_toy_size() -> None:
    seen: dict[str, set[str]] = {}
    for cell in experiments.streaming("toy"):
        for measured in cell.measure():
            kind = seen.setdefault(cell.parameters["condition"], set())
            if isinstance(measured, experiments.Point) and measured.metric == "throughput":
                assert min(measured.values) > 0 and measured.noted["pairs"] > 0
                kind.add(measured.parameters["contestant"])
            elif isinstance(measured, experiments.Skip):
                assert measured.parameters["contestant"] in experiments.PYTHONS, measured
    assert seen["equi"] >= {"panjoin", "spark"}
    assert seen["band"] >= {"panjoin", "spark, buckets", "foreachBatch duckdb", "foreachBatch polars"}
