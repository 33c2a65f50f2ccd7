"""The page as one document: nothing in it is markup that was meant as text, and nothing is loaded from elsewhere."""

import base64
import hashlib
import json
import re
import stat
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from panjoin.errors import ParameterError
from panjoin.page.board import Board
from panjoin.page.document import document, embedded, plain
from panjoin.page.report import check_place, save
from tests.page.moments import HOSTILE, board, moment, subwindow


class Read(HTMLParser):
    """Elements with their attributes, and the text of each kind of element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements, self.texts, self._open = [], {}, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag if ("type", "application/json") not in attrs else "data")

    def handle_endtag(self, tag):
        self._open.pop()

    def handle_data(self, data):
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)


def hostile() -> Board:
    made = Board(HOSTILE, {HOSTILE: HOSTILE}, HOSTILE)
    made.moment(moment(0, chains={"left": (subwindow("left", 0, structure=HOSTILE),), "right": ()}))
    made.say("failed", HOSTILE)
    return made


def elements(made: Board) -> list[str]:
    return [tag for tag, _ in Read(document(made.told(), live=True)).elements]


def test_hostile_names_are_text_and_add_no_element():
    assert elements(hostile()) == elements(board(1))
    read = Read(document(hostile().told(), live=True))
    assert "".join(read.texts["title"]) == HOSTILE


def test_the_data_in_the_document_is_what_is_told_to_the_last_character():
    for live in (True, False):
        text = "".join(Read(document(hostile().told(), live=live)).texts["data"])
        assert json.loads(text) == json.loads(plain(hostile().told())) | {"live": live}
        assert not re.search(r"[<>&]", text)


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "&amp;", "\u2028", "\\u003c", "é𝄞"])
def test_embedded_text_comes_back_as_it_was(text):
    assert json.loads(embedded({text: [text]})) == {text: [text]}


def test_a_number_that_json_does_not_have_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        plain({"rate": float("nan")})


@pytest.mark.parametrize("live", [True, False])
def test_the_policy_lets_these_scripts_and_styles_run_and_nothing_else(live):
    read = Read(document(board(1).told(), live=live))
    (policy,) = [each["content"] for tag, each in read.elements if each.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    for kind in ("script", "style"):
        (text,) = read.texts[kind]
        assert rules[f"{kind}-src"] == f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    assert rules["default-src"] == "'none'"
    assert rules["connect-src"] == ("'self'" if live else "'none'")
    assert "unsafe" not in policy


def test_nothing_is_loaded_from_elsewhere_and_the_charts_licence_is_in_it():
    text = document(board(1).told(), live=False)
    addresses = [
        value for _, each in Read(text).elements for name, value in each.items() if name in {"src", "href", "action"}
    ]
    assert sorted(addresses) == ["data:,", "report.html"]
    assert not re.search(r"@import|url\(", text)
    assert "Copyright (c) 2022 Leon Sorokin" in text
    assert "uPlot 1.6.32" in text
    assert "(v1.6.32)" in files("panjoin.page").joinpath("uplot", "uPlot.iife.min.js").read_text()


# ---- the report ----


def test_a_report_is_written_over_an_older_report_and_over_nothing_else(tmp_path):
    file = tmp_path / "report.html"
    save(board(1), file)
    save(board(2), file)
    read = Read(file.read_text())
    assert [each["batch"] for each in json.loads("".join(read.texts["data"]))["moments"]] == [0, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert stat.S_IMODE(file.stat().st_mode) & stat.S_IRUSR
    job = tmp_path / "job.toml"
    job.write_text("name = 'mine'\n")
    with pytest.raises(ParameterError, match=r"job\.toml is there, and no report of PanJoin; name another file"):
        save(board(1), job)
    assert job.read_text() == "name = 'mine'\n"


def test_a_place_where_no_report_can_be_written_is_refused_before_the_job_starts(tmp_path):
    with pytest.raises(ParameterError, match=r"there is no directory .*/nowhere; make it, or name another"):
        check_place(tmp_path / "nowhere" / "report.html")
    with pytest.raises(ParameterError, match=r"is a directory; name a file in it, such as .*/report\.html"):
        check_place(tmp_path)
