"""The experiments of the WiB+-Tree figures at toy size: one record per point, with numbers that can be true."""

from __future__ import annotations

from panjoin.bench.wib import wib_comp, wib_insert_1, wib_insert_2, wib_probe_1, wib_probe_2, wib_probe_3


def test_insertion_is_recorded_for_every_point_and_all_tuples_are_in_leaves() -> None:
    records = wib_insert_1(256, (8, 32), (1, 16, 256), repeats=1)
    assert [(r["partitions"], r["batch"]) for r in records] == [(p, b) for b in (1, 16, 256) for p in (8, 32)]
    records += wib_insert_2((64, 256), 16, (16,), repeats=1)
    assert [r["capacity"] for r in records[-2:]] == [64, 256]
    for record in records:
        assert record["tuples_per_second"] == record["inserted"] / min(record["seconds"])
        assert record["partitions"] / 2 < record["leaves"] < 2 * record["partitions"]


def test_probing_finds_about_as_many_matches_as_its_selectivity_says() -> None:
    records = wib_probe_1(4096, (64,), (1, 512), repeats=1)
    records += wib_probe_2(4096, (64,), (4, 16), batch=512, repeats=1)
    records += wib_probe_3(4096, (64,), (4, 64), batch=512, repeats=1)
    assert [r["experiment"][-1] for r in records] == ["1", "1", "2", "2", "3", "3"]
    for record in records:
        if record["batch"] == 512:
            assert 0.5 < record["found"] / 512 / (record["selectivity"] + 1) < 2


def test_the_comparison_puts_a_b_tree_beside_each_of_its_points() -> None:
    records = wib_comp(1024, 32, (64,), (1, 16), repeats=1)
    assert [r["operation"] for r in records] == ["insertion", "equality", "band", "equality", "band"]
    for record in records:
        assert record["speedup"] == record["tuples_per_second"] / record["b_tree_tuples_per_second"]
