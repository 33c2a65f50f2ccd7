"""The page in a real Chromium: what a person would see of a run, on a desktop and on a phone."""

import json
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from panjoin.page.board import Board
from panjoin.page.report import save
from panjoin.page.serve import Pages
from tests.page.browser import chromium
from tests.page.moments import HOSTILE, board, moment, subwindow

pytestmark = pytest.mark.slow

#: Milliseconds that are waited for what must show up before it counts as missing: ten minutes, for Spark starts
#: meanwhile, kernels are compiled, other tests run beside. (Playwright's own wait is 5 to 30 seconds.)
LONG = 600_000
expect.set_options(timeout=LONG)
SRC = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), timeout=LONG)
        yield opened
        opened.close()


class Seen:
    """A page, and everything that it complained about or asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))

    def tiles(self) -> dict[str, str]:
        tiles = self.page.locator(".tile")
        return {tile.get_attribute("data-name"): tile.locator("b").inner_text() for tile in tiles.all()}

    def text(self, place: str) -> str:
        return self.page.locator(place).inner_text()


@contextmanager
def seen(browser: Browser, address: str, **settings) -> Iterator[Seen]:
    """Opened, looked at, and without a complaint at the end."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
    context.set_default_timeout(LONG)
    try:
        here = Seen(context.new_page())
        here.page.goto(address)
        yield here
        assert here.complaints == []
    finally:
        context.close()


@contextmanager
def served(made: Board) -> Iterator[Pages]:
    pages = Pages(made)
    try:
        yield pages
    finally:
        pages.asked = float("-inf")  # the browser has gone
        pages.close()


def painted(here: Seen, chart: str) -> int:
    """Pixels of a chart that are not empty."""
    return here.page.evaluate(
        """chart => {
            const canvas = document.querySelector(`#${chart} canvas`);
            const copy = Object.assign(document.createElement("canvas"), {width: canvas.width, height: canvas.height});
            const context = copy.getContext("2d", {willReadFrequently: true}); // or Chromium grumbles
            context.drawImage(canvas, 0, 0);
            const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
            return data.filter((value, at) => at % 4 === 3 && value > 0).length;
        }""",
        chart,
    )


def overflow(here: Seen) -> int:
    """Pixels that stick out of the window, to the right."""
    return here.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


# ---- a real run ----


def write_job(place: Path) -> Path:
    """Files of one micro-batch each at first; it runs until somebody stops it."""
    for side in ("orders", "quotes"):
        (place / side).mkdir()
        for number in range(3):
            add_files(place, side, number)
    (place / "job.yaml").write_text(
        """\
name: watched
left:  {format: csv, path: orders, schema: "ts timestamp, k string, x int", watermark: 1 min, files_per_batch: 1}
right: {format: csv, path: quotes, schema: "ts timestamp, k string, x int", watermark: 1 min, files_per_batch: 1}
join: {on: "left.k = right.k AND left.x BETWEEN right.x - 5 AND right.x + 5", index: rap-table}
window: {time: 10 minutes, on: ts}
sink: {format: json, path: out}
run: {trigger: 1 second, master: "local[2]"}
"""
    )
    return place / "job.yaml"


def add_files(place: Path, side: str, number: int) -> None:
    rows = [f"2026-01-05T09:{5 * number + at // 10:02}:{at % 10:02}Z,{'ab'[at % 2]},{at}\n" for at in range(40)]
    (place / side / f".{number}").write_text("".join(rows))
    (place / side / f".{number}").rename(place / side / f"{number}.csv")  # at once, as Spark wants files


def test_a_run_is_shown_while_it_runs_with_the_numbers_that_the_engine_reports(browser, tmp_path):
    job, report = write_job(tmp_path), tmp_path / "report.html"
    command = [sys.executable, "-m", "panjoin", "run", str(job), "--json", "--ui", "--report", str(report)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(SRC)}
    ) as running:
        try:
            (address,) = re.findall(r"^page +(http://127\.0\.0\.1:\d+/\S+/)$", running.stderr.readline())
            with seen(browser, address) as here:
                page = here.page
                expect(page.locator("#waiting")).to_be_visible()
                expect(page.locator("#badge")).to_have_text("running")
                expect(page.locator('.tile[data-name="tuples"] b')).to_have_text("240")
                for side in ("orders", "quotes"):
                    add_files(tmp_path, side, 3)
                expect(page.locator('.tile[data-name="tuples"] b')).to_have_text("320")
                running.send_signal(signal.SIGINT)
                expect(page.locator("#badge")).to_have_text("stopped")
                told = [json.loads(line) for line in running.stdout]
                agree(here, told)
            assert running.wait() == 130
        finally:
            running.kill()
    with seen(browser, report.as_uri()) as here:
        expect(here.page.locator("#badge")).to_have_text("stopped")
        agree(here, told)
        assert here.requests == [report.as_uri()]


def agree(here: Seen, told: list[dict]) -> None:
    """What is shown, and what `--json` has told."""
    *moments, end = told
    tiles = here.tiles()
    assert end["left"] + end["right"] == 320
    assert tiles["tuples"] == "320"
    assert tiles["matches"] == f"{sum(each['pairs'] for each in moments):,}" == f"{end['pairs']:,}"
    assert end["pairs"] > 100
    assert tiles["too late"] == f"{sum(each['late'] for each in moments):,}"
    assert tiles["tuples/s, all"] == f"{end['rate']:,.0f}"
    last = moments[-1]
    assert here.text("#when").startswith(f"after micro-batch {last['batch']}, ")
    for side in ("left", "right"):
        cards = here.page.locator(f"#{side} .sub").all()
        chain = sorted(last["chains"][side], key=lambda each: (each["worker"], each["number"]))
        assert len(cards) == len(chain)  # perhaps none, when the watermark has passed all of them at the end
        assert any(each["chains"][side] for each in moments)
        for card, one in zip(cards, chain, strict=True):
            text = card.inner_text()
            assert f"#{one['number']} {one['structure']}" in text
            assert f"{one['size']:,} of " in text
            assert f"{math.floor(100 * one['size'] / one['capacity'] + 0.5)}%" in text
            assert ("empty" if one["balance"] is None else f"{one['balance']:.2f}x") in text
            assert re.search(r"\d\d:\d\d:\d\d \u2013 \d\d:\d\d:\d\d", text)
            assert card.locator('svg[aria-label="balance of partitions"] rect').count() == (
                len(one["partitions"]) or 16
            )
    for chart in ("throughput", "matches", "time"):
        assert painted(here, chart) > 500


# ---- made-up runs ----


def test_new_micro_batches_come_by_themselves_and_charts_tell_the_one_under_the_cursor(browser):
    made = board(3)
    with served(made) as pages, seen(browser, pages.address) as here:
        assert here.tiles()["matches"] == "303"
        before = painted(here, "matches")
        for batch in range(3, 12):
            made.moment(moment(batch, pairs=1000 + batch))
        expect(here.page.locator('.tile[data-name="matches"] b')).to_have_text("9,366")
        assert painted(here, "matches") != before
        over = here.page.locator("#time .u-over")
        box = over.bounding_box()
        over.hover(position={"x": box["width"] - 20, "y": box["height"] / 2})
        legend = here.page.locator("#time .u-legend").text_content()
        assert legend == "micro-batch11, 12:00:11state0.20 sinsert0.30 sprobe0.50 sspark1.00 s"
        assert "1,011" in here.text("#matches .u-legend")  # the cursor is in all charts
        assert "25" in here.text("#throughput .u-legend")


def test_an_older_picture_of_the_windows_is_chosen_with_the_slider(browser):
    with served(board(6)) as pages, seen(browser, pages.address) as here:
        assert [each.split()[0] for each in here.page.locator("#left .sub b").all_inner_texts()] == [
            "#2",
            "#3",
            "#4",
            "#5",
        ]
        here.page.locator("#batch").fill("1")
        assert here.text("#picked") == "1"
        assert [each.split()[0] for each in here.page.locator("#left .sub b").all_inner_texts()] == ["#0", "#1"]
        card = here.page.locator("#left .sub").nth(0).inner_text()
        assert "75 of 100" in card
        assert "12:00:00 \u2013 12:14:24" in card
        assert "14.4 min" in card
        assert "1.50x" in card
        assert "cut evenly" in here.text("#right")


def test_a_chain_that_was_scrolled_stays_where_it_is_when_there_is_more(browser):
    made = board(6)
    with served(made) as pages, seen(browser, pages.address, viewport={"width": 390, "height": 844}) as here:
        chain = here.page.locator("#left .chain")
        chain.evaluate("list => { list.scrollLeft = 30 }")
        made.moment(moment(6))
        expect(chain).to_contain_text("#6")
        assert chain.evaluate("list => list.scrollLeft") == 30


def test_how_a_run_ended_is_seen(browser):
    made = board(1)
    with served(made) as pages, seen(browser, pages.address) as here:
        made.note("pairs", "100 of 100")
        made.say("failed", "the condition was changed")
        expect(here.page.locator("#badge")).to_have_text("failed")
        assert here.text("#said") == "the condition was changed"
        assert here.page.locator("#facts dt").all_inner_texts() == ["condition", "pairs"]


def test_the_page_can_be_kept_as_a_file_that_needs_nothing(browser, tmp_path):
    with served(board(4)) as pages, seen(browser, pages.address) as here:
        with here.page.expect_download() as download:
            here.page.locator("#keep").click()
        download.value.save_as(tmp_path / "report.html")
    file = (tmp_path / "report.html").as_uri()
    with seen(browser, file, offline=True) as here:
        assert here.tiles()["matches"] == "406"
        assert here.page.locator("#keep").is_hidden()
        assert here.requests == [file]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_it_fits_and_can_be_read_on_a_phone_and_on_a_desktop(browser, tmp_path, width, scheme):
    made = board(12)
    made.note("condition", "left.a_very_long_name_of_a_column_that_has_no_place_to_break = right." + "x" * 200)
    save(made, tmp_path / "report.html")
    look = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme, "has_touch": width < 500}
    with seen(browser, (tmp_path / "report.html").as_uri(), **look) as here:
        assert overflow(here) <= 0
        for chart in ("throughput", "matches", "time"):
            box = here.page.locator(f"#{chart} canvas").bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["width"] > 240
        ground, ink = here.page.evaluate(
            "['backgroundColor', 'color'].map(name => getComputedStyle(document.body)[name].match(/\\d+/g).map(Number))"
        )
        assert (sum(ground) > 600, sum(ink) < 150) == ((True, True) if scheme == "light" else (False, False))
        for card in here.page.locator(".sub .row").all():
            assert card.evaluate("row => row.scrollWidth - row.clientWidth") <= 0
        if width == 390:  # the chains scroll in themselves
            assert here.page.locator("#left .chain").evaluate("list => list.scrollWidth > list.clientWidth")
            assert here.page.locator("#left .chain").evaluate("list => list.scrollLeft") > 0  # to the newest
            assert (
                here.page.evaluate(
                    "getComputedStyle(document.getElementById('charts')).gridTemplateColumns.split(' ').length"
                )
                == 1
            )


def test_charts_follow_the_window_and_the_colours_of_the_system(browser):
    with served(board(5)) as pages, seen(browser, pages.address) as here:
        here.page.set_viewport_size({"width": 500, "height": 800})
        expect(here.page.locator("#time .uplot")).to_have_css("width", re.compile(r"^4\d\d(\.\d+)?px$"))
        assert overflow(here) <= 0
        light = here.page.locator("#time").screenshot()
        here.page.emulate_media(color_scheme="dark")
        assert here.page.locator("#time").screenshot() != light


# ---- who may look, and what is run ----


def test_a_wrong_token_is_refused(browser):
    with served(board(1)) as pages:
        context = browser.new_context()
        context.set_default_timeout(LONG)
        page = context.new_page()
        answer = page.goto(pages.address.replace(pages.token, pages.token[::-1]))
        assert answer.status == 403
        assert page.content().count("tuples") == 0
        context.close()


def test_hostile_names_are_shown_as_they_are_and_nothing_of_them_runs(browser, tmp_path):
    made = Board(HOSTILE, {HOSTILE: HOSTILE}, HOSTILE)
    made.moment(moment(0, chains={"left": (subwindow("left", 0, structure=HOSTILE),), "right": ()}))
    made.say("failed", HOSTILE)
    save(made, tmp_path / "report.html")
    with served(made) as pages:
        for address in (pages.address, (tmp_path / "report.html").as_uri()):
            with seen(browser, address) as here:
                for place in ("#title", "#said", "#facts dt", "#facts dd", "#plan pre"):
                    assert here.page.locator(place).text_content() == HOSTILE
                assert here.page.locator("#left .sub b").text_content() == f"#0 {HOSTILE}"
                assert here.page.locator("img").count() == 0
                assert here.page.locator("script").count() == 2


def test_the_policy_of_the_page_stops_what_is_not_ours(browser):
    with served(board(1)) as pages:
        context = browser.new_context()
        here = Seen(context.new_page())
        here.page.goto(pages.address)
        here.page.evaluate(
            """() => {
                const script = document.createElement("script");
                script.textContent = "window.ran = true";
                document.body.append(script);
            }"""
        )
        assert here.page.evaluate("window.ran") is None
        assert any("Content Security Policy" in each for each in here.complaints)
        context.close()
