"""The figures that all three structures have, at toy size: every point is there, with numbers that can be true."""

from __future__ import annotations

import numpy as np
import pytest

from panjoin.bench import bis, structure

NAMES = ("rap-table", "wib-tree", "bi-sort")
FORMS = {"counts", "pairs"}


def forms(name: str) -> set[str]:
    return FORMS | ({"partition phase"} if name == "rap-table" else set())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("capacity", "partitions", "batch"), [(1 << 10, 1, 1), (1 << 10, 16, 64), (64, 16, 64)])
def test_an_insertion_is_timed_from_a_half_full_subwindow_on(
    name: str, capacity: int, partitions: int, batch: int
) -> None:
    record = structure.insert(name, capacity, partitions, batch, seconds=0.01, repeats=2)
    assert len(record["seconds"]) == len(record["inserted"]) == 2
    half = min(capacity // 2, capacity - batch)
    assert all(0 < inserted <= capacity - half and inserted % batch == 0 for inserted in record["inserted"])
    assert record["tuples_per_second"] == max(np.divide(record["inserted"], record["seconds"]))
    assert record["memory_bytes"] > 8 * capacity


@pytest.mark.parametrize("name", NAMES)
def test_equality_over_the_batch_finds_one_match_on_average(name: str) -> None:
    records = list(structure.probe_1(name, 1 << 10, 8, (1, 200), repeats=2))
    assert {(r["batch"], r["form"]) for r in records} == {(batch, form) for batch in (1, 200) for form in forms(name)}
    assert all(0.7 < r["found"] / 200 < 1.3 for r in records if r["batch"] == 200)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("figure", [structure.probe_2, structure.probe_3])
def test_the_selectivity_is_the_one_that_was_asked_for(name, figure) -> None:
    records = list(figure(name, 1 << 12, 64, (1, 16, 256), probes=300, threads=2, repeats=1))
    assert {(r["selectivity"], r["form"]) for r in records} == {(s, form) for s in (1, 16, 256) for form in forms(name)}
    for record in records:
        assert 0.7 < record["found"] / (300 * record["selectivity"]) < 1.3
        assert record["tuples_per_second"] == 300 / min(record["seconds"])


def test_the_paper_s_bi_sort_and_the_one_with_a_middle_run_are_both_measured() -> None:
    records = list(bis.insertion(1 << 12, 16, 64, seconds=0.01, repeats=1))
    assert [record["variant"] for record in records] == ["paper", "middle run"]


def test_every_size_of_the_buffer_is_measured() -> None:
    records = list(bis.buffers(1 << 10, 8, (1, 16, 2048), 4, seconds=0.01, repeats=1))
    assert [record["buffer"] for record in records] == [1, 16, 2048]
