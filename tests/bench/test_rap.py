"""The figures of RaP-Table at toy size: every point is there, and what they claim beyond time holds."""

from __future__ import annotations

import numpy as np
import pytest

from panjoin.bench import rap

FORMS = {"partition phase", "counts", "pairs"}


def test_insertion_has_a_record_for_each_line_and_batch_that_fits():
    for records, lines in (
        (
            rap.insert_1(1 << 10, (1, 16), (1, 64, 1 << 10, 1 << 11), seconds=0.01, repeats=2),
            {(1 << 10, 1), (1 << 10, 16)},
        ),
        (rap.insert_2((64, 1 << 10), 16, (1, 64, 1 << 10), seconds=0.01, repeats=2), {(64, 16), (1 << 10, 16)}),
    ):
        points = [(r["capacity"], r["partitions"], r["batch"]) for r in records]
        batches = (1, 64, 1 << 10)
        assert sorted(points) == sorted((n, p, batch) for n, p in lines for batch in batches if batch <= n)
        for record in records:
            assert len(record["seconds"]) == 2
            assert record["tuples_per_second"] > 0
            assert record["memory_bytes"] > 8 * record["capacity"]


def test_the_share_of_the_partition_phase_can_be_read_from_the_equi_join_records():
    records = rap.probe_1(((1 << 10, 8), (1 << 10, 64)), (1, 200), repeats=2)
    points = {(r["partitions"], r["batch"], r["form"]): r for r in records}
    assert set(points) == {(p, batch, form) for p in (8, 64) for batch in (1, 200) for form in FORMS}
    for p in (8, 64):
        assert 0.7 < points[p, 200, "counts"]["found"] / 200 < 1.3


@pytest.mark.parametrize("figure", [rap.probe_2, rap.probe_3])
def test_the_selectivity_is_the_one_that_was_asked_for(figure):
    records = figure(1 << 12, (4, 64), (1, 16, 256), probes=300, threads=2, repeats=1)
    found = {(r["partitions"], r["selectivity"], r["form"]): r["found"] for r in records}
    assert set(found) == {(p, s, form) for p in (4, 64) for s in (1, 16, 256) for form in FORMS}
    for (_, selectivity, _), pairs in found.items():
        assert 0.7 < pairs / (300 * selectivity) < 1.3


def test_the_imbalance_is_0_for_equal_partitions_and_2_less_2_in_p_for_one_full_one():
    assert rap.imbalance(np.array([5, 5, 5, 5])) == 0
    assert rap.imbalance(np.array([0, 20, 0, 0])) == pytest.approx(2 - 2 / 4)


def test_every_distribution_balances_in_three_generations():
    records = rap.adjust(1 << 15, (64,), generations=3)
    course = {}
    for record in records:
        legend = record["distribution"], record["spread"], record["modes"]
        course.setdefault(legend, []).append(record["mae"])
    assert set(course) == {*rap.DISTRIBUTIONS, rap.RANK_SIZE}
    for legend, maes in course.items():
        assert len(maes) == 4
        assert maes[0] > 0.5, (legend, maes)
        assert maes[3] < 0.2, (legend, maes)


def test_rank_size_data_are_as_the_paper_describes_its_own():
    keys = rap.drawn(*rap.RANK_SIZE, 100_000, 1)
    assert 0.985 < (keys < 0.01 * 2**31).mean() < 0.995
    assert keys.min() > 0
    assert keys.max() > 0.5 * 2**31
