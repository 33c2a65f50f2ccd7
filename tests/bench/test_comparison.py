"""The comparison experiment at toy scale: every point is there, and the contestants found the same matches."""

from __future__ import annotations

from collections import defaultdict

import pytest

from panjoin.bench.comparison import Record, comparison
from tests.index.structures import STRUCTURES


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return comparison(
        1 << 12,
        64,
        structures=STRUCTURES,
        batches=(64, 1 << 12, 1 << 20),
        selectivities=(1, 16, 1 << 20),
        probes=256,
        seconds=0.05,
        repeats=2,
    )


def test_insertion_has_a_record_for_each_structure_and_batch_that_fits(records: list[Record]) -> None:
    points = {(r["contestant"], r["batch"]): r for r in records if r["experiment"] == "comparison.insertion"}
    assert set(points) == {(name, batch) for name in STRUCTURES for batch in (64, 1 << 12)}
    for (_, batch), record in points.items():
        assert len(record["seconds"]) == 2
        assert all(inserted % batch == 0 and 0 < inserted <= 1 << 12 for inserted in record["inserted"])
        assert record["tuples_per_second"] > 0
        assert record["memory_bytes"] >= 8 << 12


def test_probing_has_counts_and_pairs_and_everybody_found_the_same(records: list[Record]) -> None:
    found = defaultdict(dict)
    for record in records:
        if record["experiment"] == "comparison.probing":
            assert record["probed"] == 256
            found[record["selectivity"]][record["contestant"], record["form"]] = record["found"]
    assert set(found) == {1, 16}
    for selectivity, answers in found.items():
        expected = {(name, form) for name in STRUCTURES for form in ("counts", "pairs")}
        assert set(answers) >= expected | {("np.searchsorted", "counts")}
        assert len(set(answers.values())) == 1
        assert 0.5 < answers["np.searchsorted", "counts"] / (256 * selectivity) < 1.5
