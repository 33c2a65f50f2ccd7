"""What is built from this tree: one pure wheel with the package, its types, its program and its licence, nothing else."""

import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

import panjoin

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    """Built with what constraints.txt pins, without the network."""
    place = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place], cwd=ROOT, check=True)
    (path,) = place.iterdir()
    assert path.name == f"panjoin-{panjoin.__version__}-py3-none-any.whl"
    return ZipFile(path)


def test_it_holds_every_module_and_the_mark_of_types_and_no_tests(wheel: ZipFile) -> None:
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    source = ROOT / "src"
    modules = {path.relative_to(source).as_posix() for path in source.rglob("*.py")}
    assert modules | {"panjoin/py.typed"} <= held
    parts = {path.relative_to(source).as_posix() for path in (source / "panjoin" / "page").rglob("*.*")}
    assert {path for path in parts if "__pycache__" not in path} <= held
    assert "panjoin/page/uplot/LICENSE" in held
    assert all(name.startswith("panjoin/") for name in held)


def test_it_says_for_which_pythons_it_is_what_it_needs_and_how_it_may_be_used(wheel: ZipFile) -> None:
    info = f"panjoin-{panjoin.__version__}.dist-info"
    told = wheel.read(f"{info}/METADATA").decode()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "Requires-Python: <3.14,>=3.11" in told
    for name in (need.partition(">")[0] for need in project["dependencies"]):
        assert f"Requires-Dist: {name}" in told
    assert "panjoin = panjoin.cli.app:main" in wheel.read(f"{info}/entry_points.txt").decode()
    assert "Apache License" in wheel.read(f"{info}/licenses/LICENSE").decode()


def test_every_public_name_is_there_when_it_is_asked_for_and_no_other() -> None:
    assert {*panjoin.__all__, *panjoin._HOMES} <= set(dir(panjoin))
    assert set(panjoin.__all__) == {*panjoin._HOMES, "index", "__version__"}
    assert all(getattr(panjoin, name) is not None for name in panjoin.__all__)
    with pytest.raises(AttributeError, match="module 'panjoin' has no attribute 'join'"):
        _ = panjoin.join
