"""Where windows lie as files: private, by executor, and gone when nobody needs them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from panjoin.errors import ParameterError
from panjoin.spark import residence
from panjoin.spark.residence import LEASE, LOCK, Lodgings, Residence, executor, sweep


def shelf(own: Path, name: str, *, age: float = 0.0) -> Path:
    directory = own / name
    directory.mkdir(parents=True)
    (directory / LOCK).touch()
    now = (directory / LOCK).stat().st_mtime
    os.utime(directory / LOCK, (now - age, now - age))
    return directory


def test_the_option_comes_before_the_environment_before_sparks_directories(tmp_path, monkeypatch):
    first, second = tmp_path / "one disk", tmp_path / "another"
    first.mkdir(), second.mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{first},{second}")
    monkeypatch.delenv("PANJOIN_RESIDENT_DIR", raising=False)
    ours = f"panjoin-{os.getuid()}"
    assert [Residence().root(number) for number in range(3)] == [first / ours, second / ours, first / ours]
    monkeypatch.setenv("PANJOIN_RESIDENT_DIR", str(tmp_path / "named"))
    assert Residence().root(1) == tmp_path / "named"
    assert Residence(str(tmp_path / "asked")).root(1) == tmp_path / "asked" / ours


def test_without_any_of_them_it_is_the_temporary_directory(monkeypatch):
    for name in ("SPARK_LOCAL_DIRS", "PANJOIN_RESIDENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert Residence().root(0).parts[-2:] == (f"panjoin-{os.getuid()}", "resident")


@pytest.mark.parametrize(
    ("said", "size"), [(None, None), (5, 5), ("5", 5), ("2k", 2048), ("3 GB", 3 << 30), ("1t", 1 << 40)]
)
def test_a_limit_is_a_number_of_bytes_or_sparks_way_to_write_one(said, size):
    assert Residence.of("/dev/shm", said) == Residence("/dev/shm", size)


@pytest.mark.parametrize("said", [0, -1, "", "8 gigs", 1.5, True, "-1"])
def test_another_limit_is_refused(said):
    with pytest.raises(ParameterError, match=r"resident_limit must be a number of bytes, such as 8 << 30 or '8g', not"):
        Residence.of(None, said)


@pytest.mark.parametrize("said", ["tmp", 5, "", "file:/tmp"])
def test_a_directory_that_depends_on_where_a_process_runs_is_refused(said):
    with pytest.raises(ParameterError, match="resident must be an absolute path on the executors"):
        Residence.of(said, None)


def test_a_place_that_cannot_hold_the_windows_is_refused_with_what_it_takes(tmp_path, monkeypatch):
    monkeypatch.delenv("PANJOIN_RESIDENT_DIR", raising=False)

    def refused(message, where, tuples, workers, local):
        with pytest.raises(ValueError, match=message):
            where.refuse_too_small(tuples, workers, local)

    small = Residence.of(None, 7999)
    refused("resident_limit is 7999 bytes, and windows of 1000 tuples take at least 8000 on", small, 1000, 4, ["/tmp"])
    small.refuse_too_small(999, 4, ["/tmp"])
    small.refuse_too_small(3999, 4, ())
    refused("windows of 4000 tuples take at least 8000 on an executor", small, 4000, 4, ())

    monkeypatch.setattr(residence.shutil, "disk_usage", lambda _: SimpleNamespace(free=5000))
    place = Residence.of(tmp_path / "not" / "yet", None)
    refused(rf"directory {tmp_path} has 5000 bytes left, and .* at least 8000; make room, name another", place, 1000, 1,
            ["/tmp"])  # fmt: skip
    refused(rf"directory {tmp_path} has 5000 bytes left", Residence.of(None, None), 1000, 1, [f"{tmp_path}/local"])
    place.refuse_too_small(1000, 1, ())
    place.refuse_too_small(625, 1, ["/tmp"])
    mine = tmp_path / f"panjoin-{os.getuid()}" / "1-2-3" / "query"
    mine.mkdir(parents=True)
    (mine / "left-0.sealed").write_bytes(bytes(3000))
    Residence.of(tmp_path, None).refuse_too_small(1000, 1, ["/tmp"])


def test_directories_are_ours_alone(tmp_path):
    directory = Lodgings().directory(Residence(str(tmp_path)), 0, "lineage")
    assert directory.parent.name == executor()
    for place in (directory.parent, directory.parent.parent):
        assert place.stat().st_mode & 0o777 == 0o700
    directory.parent.parent.chmod(0o755)
    with pytest.raises(ParameterError, match="so others can enter it"):
        Lodgings().directory(Residence(str(tmp_path)), 0, "lineage")


def test_a_place_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"panjoin-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ParameterError, match="is a symbolic link"):
        Lodgings().directory(Residence(str(tmp_path)), 0, "lineage")


def test_all_python_workers_of_an_executor_share_a_directory_and_two_executors_do_not():
    child = [sys.executable, "-c", "from panjoin.spark.residence import executor; print(executor())"]
    siblings = {subprocess.run(child, check=True, capture_output=True, text=True).stdout.strip() for _ in range(2)}
    assert len(siblings) == 1
    assert siblings != {executor()}


def test_what_a_dead_executor_left_is_removed_and_what_a_living_one_has_is_not(tmp_path):
    dead = subprocess.run([sys.executable, "-c", _SAY_WHO_I_AM], check=True, capture_output=True, text=True)
    own = tmp_path / executor()
    mine = shelf(own, "mine")
    theirs = shelf(tmp_path / dead.stdout.strip(), "theirs")
    living = shelf(tmp_path / f"{residence._namespace()}-{os.getpid()}-{residence._started(os.getpid())}", "living")
    elsewhere = shelf(tmp_path / "4711-1-1", "elsewhere")
    sweep(tmp_path, own)
    assert mine.exists() and living.exists() and elsewhere.exists()
    assert not theirs.parent.exists()


_SAY_WHO_I_AM = (
    "import os; from panjoin.spark.residence import _namespace, _started;"
    "print(f'{_namespace()}-{os.getpid()}-{_started(os.getpid())}')"
)


def test_executors_that_were_killed_left_their_own_local_directories(tmp_path):
    """Spark names them blockmgr-<uuid>, and removes them unless the executor is killed."""
    ours = f"panjoin-{os.getuid()}"
    own = tmp_path / "blockmgr-1" / ours / executor()
    mine, left = shelf(own, "mine"), shelf(tmp_path / "blockmgr-2" / ours / f"{residence._namespace()}-1-0", "left")
    other = shelf(tmp_path / "other" / ours / f"{residence._namespace()}-1-0", "not Spark's")
    sweep(own.parent, own)
    assert mine.exists() and other.exists() and not left.exists()


def test_the_files_of_a_query_that_is_not_heard_of_any_more_are_removed(tmp_path):
    own = tmp_path / executor()
    silent, busy, asking = (
        shelf(own, "silent", age=LEASE + 9),
        shelf(own, "busy", age=9),
        shelf(own, "a", age=9 * LEASE),
    )
    sweep(tmp_path, own, except_for="a")
    assert not silent.exists() and busy.exists() and asking.exists()


def test_a_sweep_is_made_at_first_and_then_now_and_then(tmp_path, monkeypatch):
    lodgings, here = Lodgings(), Residence(str(tmp_path))
    swept = []
    monkeypatch.setattr(residence, "sweep", lambda root, own, except_for: swept.append(except_for))
    for lineage in ("a", "b"):
        lodgings.directory(here, 0, lineage)
    assert swept == ["a"]
    monkeypatch.setattr(residence, "SWEEP_EVERY", 0.0)
    lodgings.directory(here, 0, "c")
    assert swept == ["a", "c"]


def test_what_cannot_be_removed_is_left_and_nothing_is_said(tmp_path, monkeypatch):
    own = tmp_path / executor()
    shelf(own, "silent", age=LEASE + 9)
    shutil.rmtree(own)
    sweep(tmp_path, own)
    sweep(tmp_path / "nowhere", own)
