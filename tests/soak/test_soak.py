"""The soak's streams are the same in Spark and in numpy, and its verdict sees what it is for."""

import copy
import json

import numpy as np
import pyarrow as pa
import pytest

from tests.faults import records
from tests.faults.long import short
from tests.soak import verdict
from tests.soak.stream import CYCLE, LATE_FROM, SILENT, WINDOW, Stream

MIB = 1 << 20


@pytest.mark.parametrize("side", ["left", "right"])
def test_spark_and_numpy_make_the_same_rows(spark, side):
    stream = Stream(30)
    table = stream.rows_of(spark.range(CYCLE * 30).selectExpr("id AS value"), side).toArrow()
    n, x, ts = stream.made(side, 0, CYCLE)
    times = table["ts"].cast(pa.int64()).to_numpy()
    second = times // 1_000_000 - 1_750_000_000
    on_time = second >= table["n"].to_numpy() // 30 - 3
    assert table["n"].to_numpy()[on_time].tolist() == n.tolist()
    assert table["x"].to_numpy()[on_time].tolist() == x.tolist()
    assert times[on_time].tolist() == ts.tolist()
    assert int((~on_time).sum()) == stream.late(side, CYCLE) > 0
    silent = {batch for first, last in SILENT[side] for batch in range(first, last)}
    assert set((table["n"].to_numpy() // 30).tolist()) == set(range(CYCLE)) - silent
    assert (table["n"].to_numpy()[~on_time] // 30).min() >= LATE_FROM


def test_pairs_of_blocks_are_all_pairs_and_those_of_the_definition():
    stream = Stream(20)
    together = stream.pairs(0, 2 * WINDOW, 2 * WINDOW)
    apart = np.concatenate([stream.pairs(at, at + 7, 2 * WINDOW) for at in range(0, 2 * WINDOW, 7)])
    (n, x, ts), (m, y, when) = (stream.made(side, 0, 2 * WINDOW) for side in ("left", "right"))
    seen = (abs(x[:, None] - y[None, :]) <= 5) & (abs(ts[:, None] - when[None, :]) <= WINDOW * 1_000_000)
    expected = {(int(n[i]), int(m[j])) for i, j in zip(*np.nonzero(seen), strict=True)}
    assert {tuple(pair) for pair in together.tolist()} == expected
    assert {tuple(pair) for pair in apart.tolist() if pair[0] < 2 * WINDOW * 20} == expected
    assert len(expected) > 500


def _seen(batches=1000, **growing):
    """Of a query that holds still, but for what grows by so much per 1,000 micro-batches."""

    def grown(name, batch, level):
        return level + growing.get(name, 0) * batch / 1000

    turns = [
        {
            "batch": batch,
            "seconds": grown("seconds", batch, 1.0),
            "late": {"left": 0, "right": 0},
            "held": {"left": 900_000, "right": 900_000},
            "bytes_state": grown("state", batch, 50 * MIB),
        }
        for batch in range(batches)
    ]
    samples = [
        {
            "batch": batch,
            "seconds": 2.0 * batch,
            "python": grown("python", batch, 800 * MIB) + 10 * MIB * (batch % 3),
            "heap": grown("heap", batch, 100 * MIB) + 5 * MIB * (batch % 2),
            "files": grown("files", batch, 70 * MIB),
            "checkpoint": 60 * MIB,
            "cpu": 1.0 * batch + growing.get("cpu", 0) * batch**2 / 2000,
            "machine": 1.0 * batch + growing.get("cpu", 0) * batch**2 / 2000 + growing.get("others", 0) * batch,
        }
        for batch in range(0, batches, 10)
    ]
    return {"rows": 20_000, "first": 50, "turns": turns, "samples": samples}


def _broken(**growing):
    return [finding.what for finding in verdict.bounds(_seen(**growing)) if not finding.holds]


def test_what_holds_still_passes():
    assert _broken() == []


@pytest.mark.parametrize(
    ("growing", "what"),
    [
        ({"python": 60 * MIB}, "memory of the Python processes"),
        ({"heap": 30 * MIB}, "live heap of the JVM"),
        ({"files": 500 * MIB}, "bytes of resident files"),
        ({"state": 500 * MIB}, "bytes of windows in the state"),
        ({"cpu": 1.0}, "processor seconds per micro-batch"),
        ({"seconds": 0.5}, "seconds per micro-batch"),
    ],
)
def test_what_grows_is_named(growing, what):
    assert _broken(**growing) == [what]


def test_the_clock_is_not_judged_while_others_use_the_machine():
    assert _broken(seconds=0.5, others=1.0) == []
    told = [finding.bound for finding in verdict.bounds(_seen(seconds=0.5, others=1.0))][-1]
    assert "not judged: others had 25% of the machine in the first third" in told


def test_rows_that_are_missing_or_more_are_counted(tmp_path):
    stream = Stream(20)
    seen = copy.deepcopy(_seen(batches=30)) | {"rows": 20, "samples": []}
    out = tmp_path / "out"
    out.mkdir()
    pairs = stream.pairs(0, 30, 30)
    spoiled = np.concatenate([pairs[3:], pairs[5:6], [[1 << 20, 2], [0, 1 << 20]]])
    for number, piece in enumerate(np.array_split(spoiled, 30)):
        np.save(out / f"{number:06}.npy", piece)
    tally, _ = verdict.judged(tmp_path, seen)
    assert (tally.lost, tally.duplicated) == (3, 1)
    assert tally.wrong == 1, "a left number that there is not belongs to no block"


def test_the_table_of_a_soak_stands_between_its_marks(tmp_path):
    document = tmp_path / "reliability.md"
    document.write_text(f"before\n{verdict.BEGIN}\nold\n{verdict.END}\nafter\n")
    told = {"rows": 20_000, "share": 0.8, "seconds_at_peak": 1.6, "interval": 2.0, "took": 2100.0, "commit": "abc"}
    told |= {"machine": {"cpu": "a processor", "cores": 2}, "micro_batches": 1000, "paced_seconds": 1800, "pairs": 5}
    told |= {"findings": [verdict.Finding("memory", "1 MiB", "at most 2 MiB", True)._asdict()]}
    (tmp_path / "soak").mkdir()
    (tmp_path / "soak" / "soak.json").write_text(json.dumps(told))
    verdict.write(document, tmp_path)
    lines = document.read_text().splitlines()
    assert lines[0] == "before" and lines[-1] == "after" and "old" not in lines
    assert "| memory | 1 MiB | at most 2 MiB | yes |" in lines
    assert any("peak 25,000 tuples/s, paced at 20,000 (80%)" in line for line in lines)


def test_the_document_shows_the_soak_that_is_kept():
    for told in verdict.kept(records.RECORDS):
        assert verdict.table(told) in records.DOCUMENT.read_text()
        assert all(finding["holds"] for finding in told["findings"])
    assert verdict.BEGIN in records.DOCUMENT.read_text()


@pytest.mark.slow
def test_a_short_soak_on_spark_loses_nothing(tmp_path):
    tally = short(tmp_path, range(14))
    assert tally.clean, tally.failed
    assert tally.cases >= 14
