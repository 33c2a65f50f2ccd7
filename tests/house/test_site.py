"""The site is built without a warning, holds every page, says what the code says, and needs nothing from elsewhere."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from scripts import reference
from scripts.reference import api
from scripts.reference.table import table

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: What begins an address that a browser would follow by itself.
LOADED = re.compile(
    r"""<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)="?(?:https?:)?//[^">\s]+""", re.IGNORECASE
)
LOADED_BY_STYLE = re.compile(r"""(?:@import|url\()\s*["']?(?:https?:)?//""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    answer = subprocess.run(
        [sys.executable, "-m", "mkdocs", "--quiet", "build", "--strict", "--site-dir", place],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
    return place


def test_every_document_is_a_page(site: Path) -> None:
    pages = {path.stem for path in site.glob("*.html")} - {"404"}
    assert pages == {path.stem for path in DOCS.glob("*.md")}


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert [(path.name, found) for path in pages for found in LOADED.findall(path.read_text())] == []
    styles = list(site.rglob("*.css"))
    assert len(styles) > 1
    assert [path.name for path in styles if LOADED_BY_STYLE.search(path.read_text())] == []


def test_every_picture_is_shown_and_says_what_it_shows(site: Path) -> None:
    shown = {
        name: text for page in DOCS.glob("*.md") for text, name in re.findall(r"!\[(.*?)\]\((.*?)\)", page.read_text())
    }
    there = [path for folder in ("pictures", "plots") for path in (DOCS / folder).iterdir()]
    assert set(shown) == {f"{path.parent.name}/{path.name}" for path in there}
    assert all(len(text) > 20 for text in shown.values())
    assert all((site / name).exists() for name in shown)


@pytest.mark.parametrize("path", sorted(reference.pages()), ids=lambda path: path.name)
def test_pages_that_are_made_from_code_say_what_it_says_now(path: Path) -> None:
    assert path.read_text() == reference.pages()[path], f"{path.name} is stale; run: make docs"


@pytest.mark.parametrize("module", ["panjoin", "panjoin.spark", "panjoin.index"])
def test_every_public_name_is_explained(module: str) -> None:
    (told,) = [{each.name for each in page.names} for page in api.MODULES if page.name == module]
    assert set(import_module(module).__all__) - told <= {"index", "__version__"}


def test_a_cell_with_a_bar_in_it_stays_one_cell() -> None:
    assert table(("a", "b"), [("int | None", "two\nlines")]) == [
        "| a | b |",
        "| --- | --- |",
        "| int \\| None | two lines |",
    ]


def test_the_navigation_names_no_page_twice() -> None:
    listed = re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE)
    assert len(listed) == len(set(listed)) > 8
    assert yaml.safe_load((ROOT / "mkdocs.yml").read_text())["theme"]["font"] is False
