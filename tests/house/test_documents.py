"""What the documents show runs, and what the program offers is in the documents."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import panjoin
from panjoin.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCUMENTS = sorted((ROOT / "docs").glob("*.md"))


def blocks(document: Path) -> list[str]:
    """The python code that a document shows."""
    return re.findall(r"^```python\n(.*?)^```", document.read_text(), flags=re.DOTALL | re.MULTILINE)


def test_the_code_at_the_head_of_the_readme_runs_and_joins() -> None:
    (code,) = blocks(ROOT / "README.md")
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


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_python_example_in_the_documents_runs_and_gives_what_it_shows(document: Path) -> None:
    """In one session per document; what follows `>>>` is compared with what is printed below it."""
    session: dict[str, object] = {}
    for number, code in enumerate(blocks(document)):
        name = f"{document.name}[{number}]"
        if not code.startswith(">>>"):
            exec(compile(code, name, "exec"), session)
            continue
        told: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS, verbose=False)
        example = doctest.DocTestParser().get_doctest(code, session, name, str(document), 0)
        runner.run(example, out=told.append, clear_globs=False)
        session = example.globs
        assert runner.failures == 0, "".join(told)


def test_the_semantics_are_shown_by_examples() -> None:
    assert sum(code.count(">>>") for code in blocks(ROOT / "docs" / "semantics.md")) > 30


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
