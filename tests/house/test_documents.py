"""What the documents show runs, and what the program offers is in the documents."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import panjoin
from panjoin.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def test_the_code_at_the_head_of_the_readme_runs_and_joins() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(code.splitlines()) <= 12
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stderr == ""
    assert sorted(answer.stdout.splitlines()) == [
        "order 0 at 1005 meets quote 1 at 1003",
        "order 0 at 1005 meets quote 3 at 1008",
        "order 1 at 1012 meets quote 0 at 1017",
        "order 1 at 1012 meets quote 2 at 1011",
        "order 1 at 1012 meets quote 3 at 1008",
    ]


@pytest.mark.parametrize("command", sorted(get_command(app).commands))
def test_every_command_is_described_in_the_readme(command: str) -> None:
    assert f"| `panjoin {command}" in README


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
