"""The speed experiments at toy size: they run, for every structure that is there, and their records are JSON."""

from __future__ import annotations

import json

import pytest

from panjoin.bench import index_speed
from tests.index.structures import STRUCTURES


@pytest.mark.parametrize("structure", STRUCTURES)
def test_probe_and_insert_records_are_json_and_name_what_was_measured(structure: str) -> None:
    records = [
        *index_speed.probe_records(structure, 1_000, [10, 200], (1, 8), repeats=2),
        *index_speed.insert_records(structure, 1_000, [100]),
    ]
    assert json.loads(json.dumps(records)) == records
    assert [(r["experiment"], r["contestant"], r["batch"]) for r in records] == [
        *[("probe", name, size) for size in (10, 10, 200, 200) for name in (structure, "numpy")],
        ("insert", structure, 100),
    ]
    assert all(record["per_second"] > 0 and record["window"] == 1_000 for record in records)


def test_merge_records_come_for_one_thread_and_for_two() -> None:
    records = list(index_speed.merge_records(1_000, [100], repeats=2))
    assert [record["contestant"] for record in records] == ["threads=1", "threads=2"]
    assert all(record["per_second"] > 0 for record in records)


def test_bands_hold_the_wanted_number_of_uniform_keys() -> None:
    index, _ = index_speed.filled("bi-sort", 50_000, "int32", index_speed.np.random.default_rng(1))
    (low, high), *_ = index_speed.batches(index_speed.np.random.default_rng(2), 1, 2_000, 50_000, 20, "int32")
    assert 18 < index.probe(low, high).counts.mean() < 22
