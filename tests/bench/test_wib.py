"""The comparison with a B-tree at toy size: one record per point, with numbers that can be true."""

from __future__ import annotations

from panjoin.bench.wib import comparison


def test_the_comparison_puts_a_b_tree_beside_each_of_its_points() -> None:
    records = list(comparison(1024, 32, (64,), (1, 16), repeats=1))
    assert [r["operation"] for r in records] == ["insertion", "equality", "band", "equality", "band"]
    for record in records:
        assert record["speedup"] == record["tuples_per_second"] / record["b_tree_tuples_per_second"]
        if record["operation"] != "insertion":
            assert 0.5 < record["found"] / 64 / (record["selectivity"] + 1) < 2
