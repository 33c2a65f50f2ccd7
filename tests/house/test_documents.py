"""What the documents show runs, and what the program offers is in the documents."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

import panjoin
from panjoin.cli.app import app
from tests.house.examples import blocks, doctests, run_all

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCUMENTS = sorted((ROOT / "docs").glob("*.md"))
NEED_SPARK = [document for document in DOCUMENTS if "panjoin.spark import" in document.read_text()]
#: Of these, those whose queries take longer than the quick tests can wait.
SLOW = ("cookbook.md", "spark.md")


def test_the_code_at_the_head_of_the_readme_runs_and_joins() -> None:
    (code,) = blocks(README, "python")
    assert len(code.splitlines()) <= 10
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stderr == ""
    assert sorted(answer.stdout.splitlines()) == [
        "A: the order at 1005 meets the quote at 1003",
        "B: the order at 1009 meets the quote at 1004",
    ]


@pytest.mark.parametrize("document", [each for each in DOCUMENTS if each not in NEED_SPARK], ids=lambda path: path.name)
def test_every_example_in_the_documents_runs_and_gives_what_it_shows(document: Path, place: Path) -> None:
    assert run_all(document, place) == []


@pytest.mark.parametrize("document", [each for each in NEED_SPARK if each.name not in SLOW], ids=lambda path: path.name)
def test_every_example_in_the_documents_on_spark_runs_too(document: Path, place: Path, spark: object) -> None:
    assert run_all(document, place) == []


@pytest.mark.slow
@pytest.mark.parametrize("document", [each for each in NEED_SPARK if each.name in SLOW], ids=lambda path: path.name)
def test_every_example_in_the_long_documents_on_spark_runs_too(document: Path, place: Path, spark: object) -> None:
    assert run_all(document, place) == []


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where examples write: also what they call their temporary directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_job_file_in_the_documents_can_be_read(document: Path) -> None:
    for text in blocks(document, "toml"):
        assert tomllib.loads(text)


@pytest.mark.parametrize(
    "module", [path for path in (ROOT / "src").rglob("*.py") if ">>> " in path.read_text()], ids=lambda path: path.stem
)
def test_every_example_in_a_docstring_runs_and_gives_what_it_shows(module: Path) -> None:
    assert doctests(module, ROOT / "src") == []


def test_the_semantics_are_shown_by_examples() -> None:
    assert sum(code.count(">>>") for code in blocks(ROOT / "docs" / "semantics.md", "python")) > 30


@pytest.mark.parametrize("document", [*DOCUMENTS, README], ids=lambda path: path.name)
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text()
    linked = [(document.parent / link) for link in re.findall(r"\]\((?!https?://|#)([^)#]+)\)", text)]
    named = [ROOT / path for path in re.findall(r"`((?:src|tests|docs|scripts)/[\w./-]+)`", text)]
    named += [ROOT / "src" / "panjoin" / path for path in re.findall(r"`(\w+/\w+\.py)`", text)]
    assert [str(path) for path in linked + named if not path.exists()] == []


@pytest.mark.parametrize("command", sorted(get_command(app).commands))
def test_every_command_is_described_in_the_readme(command: str) -> None:
    assert f"| `panjoin {command}" in README.read_text()


def test_the_version_is_written_in_one_place() -> None:
    written = [
        path for path in [*(ROOT / "src").rglob("*.py"), ROOT / "pyproject.toml"] if "__version__ =" in path.read_text()
    ]
    assert written == [ROOT / "src" / "panjoin" / "__init__.py"]
    assert f'version = "{panjoin.__version__}"' not in (ROOT / "pyproject.toml").read_text()


def test_every_pin_is_an_exact_version_and_nothing_else() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins == sorted(pins, key=str.lower)
    assert [line for line in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


def test_every_dependency_that_we_ask_for_is_pinned_and_justified() -> None:
    asked = re.findall(r'"([A-Za-z0-9-]+)(?:[<>=]|")', _dependencies())
    pins = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines()}
    justified = (ROOT / "CONTRIBUTING.md").read_text().lower()
    assert len(asked) > 15
    assert [name for name in asked if name.lower() not in pins] == []
    assert [name for name in asked if name.lower() not in justified] == []


def _dependencies() -> str:
    text = (ROOT / "pyproject.toml").read_text()
    return text[text.index("dependencies = [") : text.index("[project.scripts]")]
