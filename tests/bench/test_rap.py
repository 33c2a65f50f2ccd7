"""The adjustment figure at toy size: it balances as the paper says; and the paper's own data can take part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from panjoin.bench import rap
from panjoin.bench.index_figures import rap_adjust_cells
from panjoin.errors import DataError


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


def test_who_has_the_file_of_video_views_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    views = (1e6 / np.arange(1, 3001)).astype(int)
    lines = [f"id{n}\tsomebody\t700\tMusic\t200\t{count}\t4.5\t10\t3\trelated" for n, count in enumerate(views)]
    path = tmp_path / "0.txt"
    path.write_text("\n".join([*lines[:10], "removed", *lines[10:]]) + "\n")
    assert rap.from_file(path).tolist() == views.tolist()
    assert len(rap_adjust_cells("toy")) == 9
    monkeypatch.setenv(rap.VIEWS, str(path))
    *_, cell = rap_adjust_cells("toy")
    points = list(cell.measure())
    assert [point.parameters["generation"] for point in points] == [0, 1, 2, 3, 4]
    assert points[3].values[0] < 0.7 * points[0].values[0]


def test_a_file_that_is_none_of_video_views_is_refused(tmp_path: Path):
    path = tmp_path / "0.txt"
    path.write_text("a\tb\tc\td\te\tmany\n")
    with pytest.raises(DataError, match=r"0.txt, line 1: column 6 holds 'many', not a count of views"):
        rap.from_file(path)
    path.write_text("nothing\n")
    with pytest.raises(DataError, match="has no line of 6 tab-separated columns"):
        rap.from_file(path)
