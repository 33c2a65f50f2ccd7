"""The demo does the work that it says it does, and notices when its answer is wrong."""

import dataclasses
import io
import json
import os
import re
import signal
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from typer.testing import CliRunner

from panjoin.cli import demo
from panjoin.cli.app import app, main
from panjoin.cli.demo_check import Verdict, verdict, watermarks
from panjoin.cli.demo_place import Place, Settings, taken
from panjoin.cli.market import MINUTE, Ticks, listed_prices, make, trade
from panjoin.cli.views import Lines
from panjoin.errors import ParameterError
from panjoin.job.history import History
from panjoin.job.moments import Moment
from panjoin.page.board import Board

SETTINGS = Settings(tuples=300, batches=3, seed=1, index="auto")


def run(directory: Path, *arguments: str, code: int = 0) -> str:
    """Small, and long enough in event time for some tuples to be late."""
    small = ["demo", "--directory", str(directory), "--tuples", "16000", "--batches", "4", *arguments]
    result = CliRunner().invoke(app, small)
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


def number(pattern: str, text: str) -> int:
    (found,) = re.findall(pattern, text)
    return int(found.replace(",", ""))


@pytest.fixture(scope="module")
def done(spark, tmp_path_factory) -> tuple[Path, list[str]]:
    """A demo that was interrupted after two micro-batches and then run again; its directory, and what both runs said."""
    place = tmp_path_factory.mktemp("demo") / "a place"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lines, "moment", lambda self, moment: moment.batch == 1 and signal.raise_signal(signal.SIGINT))
        first = run(place, code=130)
    return place, [first, run(place)]


def test_the_demo_stops_when_it_is_interrupted_and_goes_on_from_there_to_an_answer_equal_to_spark_s(done):
    place, (first, second) = done
    assert "made up now" in first
    assert "stopped; the same command goes on from there" in first
    assert "made up by an earlier run" in second
    heard = [json.loads(line) for line in (place / "history.jsonl").read_text().splitlines()]
    assert [each["batch"] for each in heard][:4] == [0, 1, 2, 3]
    assert "the two answers are equal, row by row, and every late tuple is accounted for" in second
    pairs = number(r"pairs +([\d,]+);", second)
    assert pairs == number(r"of the same rows has ([\d,]+)", second) == sum(each["pairs"] for each in heard)
    assert pairs > 1000
    assert number(r"late +([\d,]+) orders", second) + number(r"([\d,]+) quotes came", second) == sum(
        each["late"] for each in heard
    )
    assert sum(each["late"] for each in heard) > 0
    for name in ("matches", "checkpoint", "job.toml", "report.html"):
        assert f"{place / name}" in second
        assert (place / name).exists()


def test_the_demo_s_report_shows_both_runs_and_the_verdict(done):
    place, _ = done
    text = (place / "report.html").read_text()
    told = json.loads(text.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    heard = [json.loads(line) for line in (place / "history.jsonl").read_text().splitlines()]
    assert told["moments"] == heard
    assert told["total"]["pairs"] == sum(each["pairs"] for each in heard)
    assert (told["state"], told["said"]) == ("done", demo._EQUAL)
    assert told["facts"]["output"] == str(place / "matches")


def test_a_demo_that_is_complete_says_so_and_checks_its_answer_again(done):
    place, _ = done
    said = run(place)
    assert "an earlier run has joined all of it; --fresh starts over" in said
    assert "the two answers are equal" in said


def test_the_demo_fails_when_its_rows_are_not_those_of_the_batch_join(done):
    place, _ = done
    file = place / "orders" / "001.parquet"
    kept, status = file.read_bytes(), file.stat()
    rows = pq.read_table(file)
    matched = set(pq.read_table(place / "matches")["order_id"].to_pylist())
    one = next(at for at, order in enumerate(rows["order_id"].to_pylist()) if order in matched)
    prices = pc.if_else(np.arange(len(rows)) == one, 1, rows["price"]).cast("int32")
    pq.write_table(rows.set_column(rows.schema.get_field_index("price"), "price", prices), file)
    said = run(place, code=1)
    file.write_bytes(kept)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert re.search(r"wrong +\d+ rows are in one of the two answers only", said)
    assert "this is a bug in panjoin" in said


@pytest.fixture(scope="module")
def judged(spark, done) -> Verdict:
    """What Spark's batch join says of it."""
    place, _ = done
    return verdict(spark, Place(place, SETTINGS))


def told(place: Path, judged: Verdict, *moments: Moment) -> tuple[int, str]:
    """Exit code and summary, had the micro-batches told this."""
    history = History()
    for moment in moments:
        history.add(moment)
    console = Console(file=io.StringIO(), soft_wrap=True, highlight=False)
    code = demo._told(console, Place(place, SETTINGS), Board("demo"), history, judged)
    return code, console.file.getvalue()


def test_the_demo_fails_when_a_micro_batch_has_not_told_all_of_its_late_tuples(done, judged):
    place, _ = done
    moments = History(place / "history.jsonl").since()
    assert told(place, judged, *moments)[0] == 0
    code, said = told(place, judged, *moments[:3], dataclasses.replace(moments[3], late=1), *moments[4:])
    assert code == 1
    assert f"wrong      micro-batch 3 dropped 1 late tuples, but {moments[3].late} came late" in said
    assert "this is a bug in panjoin" in said


def test_the_demo_says_which_micro_batches_nobody_heard(done, judged):
    place, _ = done
    moments = [moment for moment in History(place / "history.jsonl").since() if moment.batch != 2]
    code, said = told(place, judged, *moments)
    assert code == 0
    assert "unheard    micro-batches [2]: committed while an earlier run was stopped" in said


# ---- the check's own parts ----


def test_the_watermark_is_the_smaller_of_both_sides_newest_less_the_delay_and_never_goes_back():
    orders = [10 * MINUTE, 12 * MINUTE, 11 * MINUTE, 20 * MINUTE]
    quotes = [11 * MINUTE, 11 * MINUTE + 1_999, 15 * MINUTE, 0]
    assert watermarks(orders, quotes) == [0, 9 * MINUTE, 10 * MINUTE + 1_000, 11 * MINUTE]


def stream(tuples: int = 20_000, seed: int = 5) -> Ticks:
    random = np.random.default_rng(seed)
    return trade(random, listed_prices(random), tuples)


def test_the_streams_are_skewed_and_out_of_order_and_some_tuples_are_very_late():
    ticks = stream()
    counts = np.sort(np.unique(ticks.symbol, return_counts=True)[1])[::-1]
    assert counts[0] > 20 * counts[len(counts) // 2]
    behind = np.maximum.accumulate(ticks.ts) - ticks.ts
    assert 0.5 < np.mean(behind > 0) < 1
    assert behind.max() > 5 * MINUTE


def test_the_same_seed_makes_the_same_files_and_another_one_others(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        make(tmp_path / name, 500, 3, seed)
    a, b, c = ([pq.read_table(file) for file in sorted((tmp_path / name / "quotes").iterdir())] for name in "abc")
    assert len(a) == 3
    assert a == b != c
    assert np.concatenate([each["quote_id"] for each in a]).tolist() == list(range(500))


# ---- its directory ----


def test_a_directory_with_something_else_in_it_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with (
        pytest.raises(ParameterError, match=r"holds 'thesis\.txt', which is not the demo's"),
        taken(tmp_path, SETTINGS, fresh=True),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_starting_over_removes_what_the_demo_made_and_nothing_else(tmp_path):
    with taken(tmp_path, SETTINGS) as place:
        assert place.prepare()
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "checkpoint").mkdir()
    with taken(tmp_path, SETTINGS) as place:
        assert not place.prepare()
    with taken(tmp_path, SETTINGS, fresh=True) as place:
        assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "notes.txt"]
        assert place.prepare()


def test_streams_that_were_not_finished_are_made_again(tmp_path):
    with taken(tmp_path, SETTINGS) as place:
        place.prepare()
        (tmp_path / "settings.json").unlink()
        (tmp_path / "quotes" / "002.parquet").unlink()
        assert place.prepare()
    assert (tmp_path / "quotes" / "002.parquet").exists()


def test_two_demos_do_not_work_in_one_directory(tmp_path):
    with (
        taken(tmp_path, SETTINGS),
        pytest.raises(ParameterError, match=r"another demo works in .*; wait for it, or name another place"),
        taken(tmp_path, SETTINGS),
    ):
        pass


def test_a_demo_does_not_go_on_with_other_streams(tmp_path):
    with taken(tmp_path, SETTINGS) as place:
        place.prepare()
    other = Settings(tuples=400, batches=3, seed=1, index="auto")
    with pytest.raises(ParameterError, match=r"begun with --tuples 300, not 400; .*--fresh"), taken(tmp_path, other):
        pass


def test_a_directory_that_cannot_be_made_is_one_line_for_the_user(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ParameterError, match=r"cannot write in .*/file/demo: Not a directory; name another place"),
        taken(tmp_path / "file" / "demo", SETTINGS),
    ):
        pass


def test_an_unknown_structure_is_one_line_for_the_user(monkeypatch, capsys, tmp_path):
    arguments = ["--directory", str(tmp_path / "demo"), "--tuples", "100", "--batches", "2", "--index", "nothing"]
    monkeypatch.setattr("sys.argv", ["panjoin", "demo", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert "no index structure is called 'nothing'" in capsys.readouterr().err
