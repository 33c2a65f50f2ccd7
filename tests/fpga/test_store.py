"""Results by hash: made once, complete or not there, and only ours to enter."""

import stat
from pathlib import Path

import pytest

from panjoin.errors import ParameterError
from panjoin.fpga.flow import store


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PANJOIN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(directory: Path) -> None:
    (directory / "result").write_text("42")


def test_what_is_kept_is_not_made_again_unless_asked(cache: Path) -> None:
    made = []

    def make(directory: Path) -> None:
        made.append(directory)
        (directory / "result").write_text(str(len(made)))

    first = store.kept("kind", {"a": 1}, make)
    assert store.kept("kind", {"a": 1}, make) == first == store.place("kind", {"a": 1})
    assert len(made) == 1
    assert (first / "inputs.json").read_text() == '{\n "a": 1\n}'
    store.kept("kind", {"a": 1}, make, again=True)
    assert (first / "result").read_text() == "2"


def test_every_input_and_the_kind_tell_results_apart() -> None:
    places = {
        store.place(*each) for each in (("kind", {"a": 1}), ("kind", {"a": 2}), ("kind", {"b": 1}), ("sort", {"a": 1}))
    }
    assert len(places) == 4


def test_a_run_that_is_stopped_leaves_nothing(cache: Path) -> None:
    def stopped(directory: Path) -> None:
        write(directory)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.kept("kind", {}, stopped)
    assert list((cache / "fpga").iterdir()) == []
    assert (store.kept("kind", {}, write) / "result").read_text() == "42"


def test_a_failed_run_again_keeps_what_was_there() -> None:
    kept = store.kept("kind", {}, write)

    def failing(directory: Path) -> None:
        raise ValueError(directory)

    with pytest.raises(ValueError, match="kind"):
        store.kept("kind", {}, failing, again=True)
    assert (kept / "result").read_text() == "42"


def test_of_two_runs_at_once_one_result_is_kept(cache: Path) -> None:
    def slow(directory: Path) -> None:
        store.kept("kind", {}, write)  # the other run is done first
        (directory / "result").write_text("43")

    kept = store.kept("kind", {}, slow)
    assert (kept / "result").read_text() == "42"
    assert list((cache / "fpga").iterdir()) == [kept]


def test_results_are_for_their_owner_alone() -> None:
    kept = store.kept("kind", {}, write)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    kept.chmod(0o755)
    with pytest.raises(ParameterError, match="has mode 755, so others can enter it; mend it with: chmod 700"):
        store.kept("kind", {}, write)
