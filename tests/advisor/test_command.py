"""`panjoin advise` as it is typed."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from panjoin.bench import calibrate
from panjoin.calibration import calibration_path, load
from panjoin.cli.app import app
from panjoin.cli.sample import read
from panjoin.errors import DataError, ParameterError, StateError

TINY = calibrate.Effort((256, 1024), (1, 32), 0.001, (1, 8))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PANJOIN_CACHE_DIR", str(tmp_path / "cache"))


def told(*arguments: str) -> str:
    found = CliRunner().invoke(app, ["advise", *arguments])
    if found.exception is not None:
        raise found.exception
    return found.stdout


def test_it_says_what_it_recommends_and_why():
    text = told("--window", "8000000", "--batch", "100000", "--cores", "2")
    for part in (
        "structure          bi-sort  batches of 100,000 are large",
        "subwindow        1,000,000  tuples; a window of 8,000,000 is up to 9",
        "workers                  2  one per core",
        "tuples/s of both sides",
        "measure this machine with --calibrate",
    ):
        assert part in text, text


def test_a_window_of_time_becomes_tuples_by_the_rates():
    body = json.loads(told("--window", "10 seconds", "--left-rate", "1000", "--right-rate", "50", "--json"))
    assert (body["left"]["window"], body["right"]["window"]) == (10_000, 500)
    assert body["load"] < 1


def test_sides_that_differ_are_told_apart():
    text = told("--window", "10 minutes", "--left-rate", "1000", "--right-rate", "50")
    assert "left:" in text
    assert "right:" in text
    assert "of that throughput is needed for the rates" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--window", "10 minutes"], "a window of '10 minutes' holds as many tuples as come in it; give --rate"),
        (["--window", "ten"], "window"),
        (["--window", "0"], "the left window must hold at least 1 tuple, not 0"),
        (["--left-rate", "5"], "one side has a rate and the other has none"),
        (["--keys", "odd"], "keys must be one of unknown, stable, drifting, not 'odd'"),
        (["--emit", "json"], "emit must be one of rows, counts, ranges, aggregates, not 'json'"),
        (["--band", "5", "-5"], "a band goes from the smaller to the larger number, not from 5 to -5"),
        (["--sample", "a.csv"], "a sample needs --column"),
    ],
)
def test_what_cannot_be_is_refused_with_its_value(arguments, message):
    with pytest.raises(ParameterError, match=message):
        told(*arguments)


# ---- calibration ----


def test_calibrating_measures_this_machine_and_keeps_it(monkeypatch):
    monkeypatch.setattr(calibrate, "Effort", lambda: TINY)
    body = json.loads(told("--calibrate", "--json"))
    assert body["source"] == str(calibration_path())
    found = load()
    assert found is not None
    assert {(cost.capacity, cost.batch) for cost in found.costs} == {(256, 1), (256, 32), (1024, 1), (1024, 32)}
    assert json.loads(told("--json"))["source"] == str(calibration_path())


def test_a_damaged_calibration_is_a_named_error():
    calibration_path().parent.mkdir(mode=0o700)
    calibration_path().write_text("{")
    with pytest.raises(StateError, match=r"is damaged .*make it again with: panjoin advise --calibrate"):
        told()


# ---- samples ----


def test_a_sample_tells_matches_and_drift(tmp_path):
    place = tmp_path / "s.parquet"
    pa.parquet.write_table(pa.table({"k": pa.array(np.arange(4000) % 40, pa.int64())}), place)
    text = told("--sample", str(place), "--column", "k", "--window", "1000", "--batch", "4")
    assert "4,000 values; a tuple finds 24.8 in the window, drift 0.00" in text  # 99 of 3,999 others, times 1,000
    assert json.loads(told("--sample", str(place), "--column", "k", "--matches", "3", "--json"))["matches"] == 3


def test_increasing_keys_of_a_sample_drift(tmp_path):
    place = tmp_path / "s.csv"
    pa.csv.write_csv(pa.table({"n": np.arange(3000)}), place)
    seen = read(place, "n", (-1, 2))
    assert seen.drift > 0.9
    assert seen.matching == pytest.approx((3 * 3000 - 1 - 1 - 2) / (3000 * 2999), rel=1e-3)


def test_texts_have_equality_and_no_band(tmp_path):
    place = tmp_path / "s.json"
    place.write_text('{"s": "a"}\n{"s": "b"}\n{"s": null}\n{"s": "a"}\n')
    assert read(place, "s", (0, 0)).matching == pytest.approx(2 / 6)
    with pytest.raises(ParameterError, match="column 's' is string, which has no order to lay a band over"):
        read(place, "s", (-1, 1))


def test_times_and_decimals_are_numbers(tmp_path):
    place = tmp_path / "s.feather"
    table = pa.table({"t": pa.array([0, 5, 9], pa.timestamp("us")), "d": pa.array([1, 2, 2], pa.decimal128(12, 2))})
    pa.feather.write_feather(table, place)
    assert read(place, "t", (-4, 4)).matching == pytest.approx(2 / 6)
    assert read(place, "d", (0, 0)).matching == pytest.approx(2 / 6)


def test_a_sample_that_cannot_be_used_is_named(tmp_path):
    place = tmp_path / "s.csv"
    place.write_text("k\n1\n")
    with pytest.raises(DataError, match="has no column 'j'; there is 'k'"):
        read(place, "j", (0, 0))
    with pytest.raises(DataError, match="has 1 values; at least 2 are needed"):
        read(place, "k", (0, 0))
    with pytest.raises(ParameterError, match=r"ends in '.txt'; there are '.parquet'"):
        read(place.with_suffix(".txt"), "k", (0, 0))
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path / "none.parquet", "k", (0, 0))
