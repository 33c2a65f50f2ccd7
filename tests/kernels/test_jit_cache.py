"""The cache of compiled kernels: many processes at once, damage, edits, directories that cannot be trusted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import panjoin
from panjoin.kernels import code_cache, emit, search
from panjoin.kernels.code_cache import CodeCache, fingerprint

PACKAGE = Path(panjoin.__file__).parent

#: A process that searches with two kernels, and says what it found and what it had to compile.
SEARCH = """
import json, sys, warnings
import numpy as np
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from panjoin.kernels.search import lower_bound, upper_bound
    keys = np.array([2, 3, 5, 7, 7, 11], sys.argv[1])
    answers, stats = [], []
    for search in (lower_bound, upper_bound)[:: int(sys.argv[2])]:
        answers.append([search(keys, keys[1]), search(keys, keys[3])])
        stats.append(search.stats)
print(json.dumps({
    "answers": answers[:: int(sys.argv[2])],
    "loaded": sum(sum(each.cache_hits.values()) for each in stats),
    "compiled": sum(sum(each.cache_misses.values()) for each in stats),
    "warnings": [str(warning.message) for warning in caught],
}))
"""
RIGHT = [[1, 3], [2, 5]]
RIGHT_COLD = {"answers": RIGHT, "loaded": 0, "compiled": 2, "warnings": []}
RIGHT_WARM = {"answers": RIGHT, "loaded": 2, "compiled": 0, "warnings": []}


def environment(cache: Path | None, package: Path = PACKAGE, **more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "PANJOIN_", "XDG_"))}
    place = {} if cache is None else {"PANJOIN_CACHE_DIR": str(cache)}
    return kept | {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"} | place | more


def start(env: dict[str, str], dtype: str = "int32", order: int = 1, script: str = SEARCH) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, dtype, str(order)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def result(process: subprocess.Popen[str]) -> Any:
    out, err = process.communicate()
    assert process.returncode == 0, err
    return json.loads(out)


def run(env: dict[str, str], **how: Any) -> Any:
    return result(start(env, **how))


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that sixteen processes filled at once, each starting cold, with two types and in two orders."""
    cache = tmp_path_factory.mktemp("cache") / "panjoin"
    env = environment(cache)
    running = [start(env, dtype, order) for dtype in ("int32", "int64") for order in (1, -1) for _ in range(4)]
    for process in running:
        found = result(process)
        assert found["answers"] == RIGHT
        assert found["warnings"] == []
    return cache


@pytest.fixture
def copy_of_warm(warm: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(warm, tmp_path / "copy"))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_sixteen_processes_starting_cold_at_once_are_right_and_the_next_compiles_nothing(
    warm: Path, dtype: str
) -> None:
    assert run(environment(warm), dtype=dtype) == RIGHT_WARM


def test_the_cache_is_for_its_owner_alone_and_holds_no_leftovers(warm: Path) -> None:
    assert [path.stat().st_mode & 0o777 for path in (warm, warm / "kernels")] == [0o700, 0o700]
    assert {path.suffix for path in (warm / "kernels").iterdir()} == {".code"}


def test_damaged_files_are_compiled_again_and_mended(copy_of_warm: Path) -> None:
    files = sorted((copy_of_warm / "kernels").iterdir())
    assert len(files) == 4
    for number, path in enumerate(files):
        data = bytearray(path.read_bytes())
        flipped, cut = data.copy(), data[: len(data) // 2]
        flipped[len(data) // 2] ^= 1
        path.write_bytes((flipped, cut, b"", data + b"x")[number])
    for dtype in ("int32", "int64"):
        assert run(environment(copy_of_warm), dtype=dtype) == RIGHT_COLD
        assert run(environment(copy_of_warm), dtype=dtype) == RIGHT_WARM


def test_code_under_the_name_of_other_types_is_not_used(copy_of_warm: Path) -> None:
    """What numba's own cache gets wrong when two processes number their files alike."""
    by_kernel: dict[str, list[Path]] = {}
    for path in sorted((copy_of_warm / "kernels").iterdir()):
        by_kernel.setdefault(path.name.partition("-")[0], []).append(path)
    for first, second in (paths for paths in by_kernel.values() if len(paths) == 2):
        content = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(content)
    for dtype in ("int32", "int64"):
        assert run(environment(copy_of_warm), dtype=dtype)["answers"] == RIGHT


@pytest.mark.parametrize("switch", ["NUMBA_BOUNDSCHECK=1", "NUMBA_OPT=1", "NUMBA_CPU_NAME=generic"])
def test_code_of_other_options_or_processors_is_not_used(warm: Path, switch: str) -> None:
    assert run(environment(warm, **dict([switch.split("=")]))) == RIGHT_COLD


def test_a_change_in_a_called_kernel_of_another_module_is_noticed(tmp_path: Path) -> None:
    package = Path(shutil.copytree(PACKAGE, tmp_path / "lib" / "panjoin", ignore=shutil.ignore_patterns("__pycache__")))
    (package / "kernels" / "callee.py").write_text(
        "from panjoin.kernels.jit import kernel\n@kernel\ndef callee(x):\n    return x + 1\n"
    )
    (package / "kernels" / "middle.py").write_text(
        "from panjoin.kernels import (\n    callee,\n)\nONE = callee.callee\n"
    )
    (package / "kernels" / "caller.py").write_text(
        "from panjoin.kernels.jit import kernel\nfrom panjoin.kernels.middle import ONE\n"
        "@kernel\ndef caller(x):\n    return ONE(x)\n"
    )
    script = """
import json
from panjoin.kernels.caller import caller
print(json.dumps([caller(1), sum(caller.stats.cache_hits.values())]))
"""
    env = environment(tmp_path / "cache", package)
    assert run(env, script=script) == [2, 0]
    assert run(env, script=script) == [2, 1]
    changed = package / "kernels" / "callee.py"
    changed.write_text(changed.read_text().replace("x + 1", "x + 5"))
    assert run(env, script=script) == [6, 0]
    assert list(package.rglob("*.nb?")) == [], "nothing is written beside the sources: the install may be read-only"


def test_a_package_in_a_zip_file_is_cached_as_well(tmp_path: Path) -> None:
    archive = Path(shutil.make_archive(str(tmp_path / "panjoin"), "zip", PACKAGE.parent, "panjoin"))
    env = environment(tmp_path / "cache", archive / "panjoin")
    assert run(env) == RIGHT_COLD
    assert run(env) == RIGHT_WARM


def test_a_file_of_another_user_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if somebody managed to exchange the directory after it was checked."""
    monkeypatch.setattr(code_cache, "directory", lambda: tmp_path)
    mine = os.getuid()
    for uid, hits in ((mine, 0), (mine, 1), (mine + 1, 0)):
        monkeypatch.setattr(os, "getuid", lambda uid=uid: uid)
        adder = compiled(add)
        assert adder(1) == 2
        assert sum(adder.stats.cache_hits.values()) == hits


def test_without_a_home_the_cache_is_in_the_temporary_directory(tmp_path: Path) -> None:
    env = environment(None, TMPDIR=str(tmp_path), HOME=str(tmp_path / "missing"))
    assert run(env) == RIGHT_COLD
    assert run(env) == RIGHT_WARM
    assert len(list((tmp_path / f"panjoin-{os.getuid()}" / "cache" / "kernels").iterdir())) == 2


def make_open_to_all(place: Path) -> None:
    place.mkdir(mode=0o700)
    (place / "kernels").mkdir()
    (place / "kernels").chmod(0o777)


def make_parent_open_to_all(place: Path) -> None:
    place.mkdir()
    place.chmod(0o777)


def make_link(place: Path) -> None:
    (place.parent / "elsewhere").mkdir(mode=0o700)
    place.symlink_to(place.parent / "elsewhere")


def make_file(place: Path) -> None:
    place.write_text("")


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (make_open_to_all, "kernels has mode 777, so others can enter it; mend it with: chmod 700"),
        (make_parent_open_to_all, "panjoin has mode 777, so others can enter it; mend it with: chmod 700"),
        (make_link, "panjoin is a symbolic link; remove it, or name another place with PANJOIN_CACHE_DIR"),
        (make_file, "cannot make the directory .*panjoin"),
    ],
)
def test_a_directory_that_others_could_write_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepare: Any, message: str
) -> None:
    place = tmp_path / "panjoin"
    prepare(place)
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setenv("PANJOIN_CACHE_DIR", str(place))
    with pytest.warns(RuntimeWarning, match=f"are not kept, so every process compiles them anew: .*{message}"):
        assert code_cache.directory.__wrapped__() is None
    assert sorted(tmp_path.rglob("*")) == before


def test_without_a_cache_results_are_right_and_there_is_one_warning(tmp_path: Path) -> None:
    make_open_to_all(tmp_path / "panjoin")
    found = run(environment(tmp_path / "panjoin"))
    [warning] = found.pop("warnings")
    assert found | {"warnings": []} == RIGHT_COLD
    assert "chmod 700" in warning
    assert list((tmp_path / "panjoin" / "kernels").iterdir()) == []


def test_a_directory_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PANJOIN_CACHE_DIR", str(tmp_path / "panjoin"))
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    with pytest.warns(
        RuntimeWarning, match=rf"panjoin belongs to user {mine}, not to you \({mine + 1}\); name another"
    ):
        assert code_cache.directory.__wrapped__() is None


# ---- in this process: one small kernel with a cache of its own ----


def add(x: int) -> int:
    return x + CONSTANT


CONSTANT = 1


def compiled(function: Any) -> Any:
    dispatcher = njit(function)
    dispatcher._cache = CodeCache(function)
    return dispatcher


def test_a_cache_that_can_be_read_but_not_written_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_cache, "directory", lambda: tmp_path)
    assert compiled(add)(1) == 2

    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "utime", refuse)
    monkeypatch.setattr(Path, "write_bytes", refuse)
    again = compiled(add)
    assert again(1) == 2
    assert sum(again.stats.cache_hits.values()) == 1


def test_a_full_disk_costs_a_warning_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(path: Path, data: bytes) -> None:
        with path.open("wb") as file:
            file.write(data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(code_cache, "directory", lambda: tmp_path)
    monkeypatch.setattr(Path, "write_bytes", fill)
    adder = compiled(add)
    with pytest.warns(
        RuntimeWarning, match="cannot keep compiled kernels in .*: No space left on device; free it or name"
    ):
        assert adder(1) == 2
    assert adder(1.5) == 2.5, "the warning comes once"
    assert list(tmp_path.iterdir()) == []


def test_the_files_used_last_stay_when_the_cache_grows_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        (tmp_path / str(number)).write_bytes(bytes(100))
        os.utime(tmp_path / str(number), ns=(number, number))
    monkeypatch.setattr(code_cache, "_MOST_BYTES", 1000)
    code_cache._keep_small.__wrapped__(tmp_path)
    assert len(list(tmp_path.iterdir())) == 10
    monkeypatch.setattr(code_cache, "_MOST_BYTES", 999)
    code_cache._keep_small.__wrapped__(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["6", "7", "8", "9"]


def test_a_replaced_constant_makes_other_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(code_cache, "directory", lambda: tmp_path)
    assert compiled(add)(1) == 2
    monkeypatch.setitem(globals(), "CONSTANT", 7)
    assert compiled(add)(1) == 8
    assert len(list(tmp_path.iterdir())) == 2


def test_the_products_of_a_factory_have_fingerprints_of_their_own() -> None:
    def adder(step: Any) -> Any:
        def plus(x: int) -> int:
            return x + step

        return plus

    def caller(callee: Any) -> Any:
        def plus_one(x: int) -> int:
            return callee(x) + 1

        return plus_one

    table = np.arange(3)
    made = [adder(1), adder(2), adder(np.int32), adder(table), adder(table[::-1])]
    made += [caller(njit(each)) for each in made]
    assert len({fingerprint(each) for each in made}) == len(made)
    assert fingerprint(adder(1)) == fingerprint(adder(1))
    assert fingerprint(caller(njit(adder(1)))) == fingerprint(caller(njit(adder(1))))


def test_a_source_that_changed_after_the_import_is_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    find = code_cache.sources_digest.__wrapped__
    assert find(search.__name__) is not None
    assert find(search.__name__) != find(emit.__name__)
    assert find("panjoin.not_imported") is None
    monkeypatch.setattr(code_cache, "_STARTED_NS", 0)
    assert find(search.__name__) is None
