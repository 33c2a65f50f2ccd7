"""How a run is told in a terminal: the bar where an end is in sight, the live picture where there is none."""

import dataclasses
import io
import json
import re

import pytest
from rich.console import Console

from panjoin.cli.run import view_of
from panjoin.cli.views import Bar, Json, Lines, Picture
from panjoin.job.totals import Total, size, total_of
from tests.job.files import RIGHT, changed, job
from tests.page.moments import moment


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=120, height=40, color_system=None, highlight=False)


def said(console: Console) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())


def test_a_job_with_an_end_gets_a_bar_one_without_a_picture_and_a_log_gets_lines():
    endless = job(changed(more="[run]\ntrigger = '5 seconds'"))
    for made, console, as_json, kind in (
        (job(RIGHT), terminal(), False, Bar),
        (endless, terminal(), False, Picture),
        (job(RIGHT), Console(file=io.StringIO()), False, Lines),
        (endless, Console(file=io.StringIO()), False, Lines),
        (job(RIGHT), terminal(), True, Json),
    ):
        assert type(view_of(console, made, as_json=as_json)) is kind


def test_the_bar_says_how_much_of_all_rows_is_read():
    console = terminal()
    with Bar(console, rows=200) as bar:
        for batch in range(2):
            bar.moment(moment(batch))
        bar._progress.refresh()
    assert "100 tuples, 201 matches, 25 tuples/s" in said(console)
    assert " 50%" in said(console)


def test_the_picture_shows_rates_matches_windows_lateness_and_where_the_time_goes():
    console = terminal()
    with Picture(console, "orders", rows=500, before=Total(batches=1, left=100, right=100)) as picture:
        for batch in range(3):
            picture.moment(moment(batch))
        picture._live.refresh()
    text = said(console)[said(console).rindex("orders   micro-batch 2") :]
    for row in (
        r"tuples/s +25 ", r"matches +303 ", r"tuples +350 +left 30, right 20 in the last one",
        r"too late +9 +watermark 2026-01-05 12:02:00, 1,164 s behind the newest tuple",
        r"micro-batch +2\.00 s .*spark 1\.00 .*probe 0\.50 .*insert 0\.30 .*state 0\.20",
        r"left window +225 .* 3 subwindows 75% full rap-table", r"right window +75 .* 1 subwindows 75% full bi-sort",
        r"memory +2\.5 MB +in state 1\.5 kB", r"done +70%",
    ):  # fmt: skip
        assert re.search(row, text), (row, text)


def test_lines_come_at_most_so_often_and_json_for_every_micro_batch():
    console = Console(file=io.StringIO(), width=200)
    with Lines(console, every=3600.0) as lines:
        for batch in range(5):
            lines.moment(moment(batch))
    assert console.file.getvalue().count("micro-batch") == 1
    console = Console(file=io.StringIO(), width=200)
    with Json(console) as told:
        for batch in range(5):
            told.moment(moment(batch))
    assert [json.loads(line)["batch"] for line in console.file.getvalue().splitlines()] == list(range(5))


def test_the_total_is_that_of_all_micro_batches():
    total = total_of(moment(batch) for batch in range(3))
    assert (total.batches, total.tuples, total.pairs, total.late, total.rate) == (3, 150, 303, 9, 25.0)
    assert total.said() == "3 micro-batches, 150 tuples, 9 too late, 303 matches, 25 tuples/s, state 1.5 kB"
    assert total_of([]).rate == 0.0
    idle = dataclasses.replace(moment(3), state_bytes=0)  # a micro-batch in which no worker was called
    assert total.plus(idle).state_bytes == 1_500


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (2e9, "2.0 GB"), (3e13, "30,000.0 GB")]
)
def test_sizes_are_for_people(number, text):
    assert size(number) == text
