"""The README's numbers: between the markers, from the records, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from panjoin.bench.experiment import Cell, Experiment, Point
from panjoin.bench.goals import Found, K, M
from panjoin.bench.readme import BEGIN, END, renew
from panjoin.bench.records import record
from panjoin.errors import DamageError

HEADLINE = Experiment("engine.headline", "", "", "", lambda scale: [], ())
CELL = Cell({"emit": "counts", "W": 128 * M, "batch": 8 * M}, list)


def test_only_what_is_between_the_markers_is_renewed(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"# Name\n\n{BEGIN}\nold\n{END}\n\nmore\n")
    found = Found([record(HEADLINE, "small", CELL, Point("throughput", "tuples/s", [31.25e6]))])
    assert renew(readme, found)
    head, _, rest = readme.read_text().partition(BEGIN)
    table, _, tail = rest.partition(END)
    assert (head, tail) == ("# Name\n\n", "\n\nmore\n")
    assert table.splitlines()[1:] == [
        "| what | measured |",
        "|---|---|",
        "| both windows 128M tuples, equality, batches of 8M, two threads | 31.2M tuples/s |",
    ]
    once = readme.read_text()
    assert renew(readme, found) and readme.read_text() == once


def test_a_readme_without_markers_is_left_alone_and_one_marker_is_an_error(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    assert not renew(readme, Found([]))
    readme.write_text("nothing")
    assert not renew(readme, Found([])) and readme.read_text() == "nothing"
    readme.write_text(f"{BEGIN}\n")
    with pytest.raises(DamageError, match=r"has only one of the markers .* add the other one"):
        renew(readme, Found([]))


def test_this_repositorys_readme_has_the_markers() -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text()
    assert text.count(BEGIN) == text.count(END) == 1
    assert K * K == M
