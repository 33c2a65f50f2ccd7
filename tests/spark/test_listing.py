"""Which files a micro-batch takes, without Spark."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.errors import DataError
from panjoin.spark.listing import Position, Taken, advanced, listed

DAY = 86_400_000_000
SECOND = 10**9
HERE = Path("/data")


def put(directory: Path, name: str, second: int, text: str = "x") -> None:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (second, second))


def stepped(directory: Path, start: Position, most: int | None = None, age: int = DAY) -> Position:
    """One step, through the JSON of Spark's offset log."""
    after = advanced(start, listed(directory), most, age, directory)
    return Position.from_offset(json.loads(json.dumps(after.offset())))


def names(position: Position) -> list[str]:
    return [file.name for file in position.files]


def test_files_are_taken_once_in_the_order_of_time_and_name(tmp_path):
    for name, second in (("b", 10), ("a", 20), ("c", 10), ("sub/d", 15), ("_e", 1), (".f", 1), ("_g/h", 1)):
        put(tmp_path, name, second)
    first = stepped(tmp_path, Position.start(), 3)
    second = stepped(tmp_path, first, 3)
    assert (names(first), names(second)) == (["b", "c", "sub/d"], ["a"])
    assert stepped(tmp_path, second) == second
    put(tmp_path, "late", 12)
    assert names(stepped(tmp_path, second)) == ["late"]


def test_a_file_that_was_deleted_and_put_back_is_not_taken_again(tmp_path):
    put(tmp_path, "a", 10)
    first = stepped(tmp_path, Position.start())
    (tmp_path / "a").unlink()
    put(tmp_path, "b", 11)
    second = stepped(tmp_path, first)
    put(tmp_path, "a", 10)
    assert stepped(tmp_path, second) == second


def test_a_file_that_changed_after_it_was_taken_is_named(tmp_path):
    put(tmp_path, "a", 10)
    first = stepped(tmp_path, Position.start())
    put(tmp_path, "a", 10, "other")
    with pytest.raises(DataError, match=r"/a has changed since a micro-batch took it.*new tuples into new files"):
        stepped(tmp_path, first)


def test_what_is_remembered_ends_with_the_age_and_older_files_are_not_taken(tmp_path):
    position = Position.start()
    for second in range(100, 200):
        put(tmp_path, f"{second}", second)
        position = stepped(tmp_path, position, age=10_000_000)
    assert position.number == 100
    assert len(position.known) == 11
    put(tmp_path, "older", 150)
    assert stepped(tmp_path, position, age=10_000_000) == position
    put(tmp_path, "younger", 195)
    assert names(stepped(tmp_path, position, age=10_000_000)) == ["younger"]


def test_old_files_that_are_there_at_the_start_are_all_taken(tmp_path):
    for day in range(5):
        put(tmp_path, f"{day}", 10_000_000 - 86_400 * 30 * day)
    position, seen = Position.start(), []
    for _ in range(5):
        position = stepped(tmp_path, position, 1)
        seen += names(position)
    assert seen == ["4", "3", "2", "1", "0"]


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(DataError, match=r"/nowhere of a packed source is missing; make it before the query starts"):
        listed(tmp_path / "nowhere")


@pytest.mark.parametrize("offset", [{}, {"number": 1}, {"logOffset": 3}, {"files": 1, "known": [], "number": 1}])
def test_an_offset_of_another_source_is_refused(offset):
    with pytest.raises(DataError, match="not that of a packed source; restart the query with the sources"):
        Position.from_offset(offset)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=40),
    st.integers(1, 5),
)
def test_every_file_that_comes_within_the_age_is_taken_exactly_once(arrivals, most):
    files: list[Taken] = []
    position, taken = Position.start(), []

    def step() -> bool:
        nonlocal position
        there = sorted(files, key=lambda each: (each.changed, each.name))
        after = advanced(position, there, most, DAY, HERE)
        moved, position = after != position, after
        taken.extend(names(after) if moved else [])
        return moved

    for number, (second, steps) in enumerate(arrivals):
        files.append(Taken(str(number), 1, second * SECOND))
        for _ in range(steps):
            step()
    while step():
        pass
    assert sorted(taken) == sorted(file.name for file in files)
