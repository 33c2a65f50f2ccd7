"""The file of costs: kept for this machine, never trusted when damaged, and what follows from its numbers."""

import json
from dataclasses import asdict, replace

import pytest

from panjoin import calibration as calibrations
from panjoin.calibration import Cost, built_in, calibration_path, known, load, this_machine
from panjoin.errors import StateError
from tests.advisor.costs import calibration


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PANJOIN_CACHE_DIR", str(tmp_path / "cache"))


def mine():
    return replace(calibration(), machine=this_machine())


def test_the_built_in_numbers_are_of_every_structure_and_positive():
    costs = built_in()
    for structure in ("bi-sort", "rap-table", "wib-tree"):
        assert costs.tuple_ns(structure, 1 << 20, 1000, 1) > 0
    assert costs.other_ns(1) > costs.other_ns(10_000) > 0


@pytest.mark.usefixtures("own_cache")
def test_what_is_saved_is_loaded_and_nobody_else_can_write_there():
    path = mine().save()
    found = load()
    assert found is not None
    assert found.source == str(path)
    assert replace(found, source="by hand").__dict__ == mine().__dict__
    assert known().source == str(path)
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.usefixtures("own_cache")
def test_without_a_file_the_built_in_numbers_hold():
    assert load() is None
    assert known().source == "built in"


@pytest.mark.usefixtures("own_cache")
def test_costs_of_another_machine_are_not_ours():
    replace(mine(), machine="elsewhere x86_64").save()
    assert load() is None


DAMAGES = {
    "cut": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "no object": lambda text: "[1, 2]",
    "other format": lambda text: text.replace('"format": 1', '"format": 2'),
    "a structure is missing": lambda text: text.replace("wib-tree", "wob-tree"),
    "not positive": lambda text: text.replace("100.0", "-100.0"),
    "no number": lambda text: text.replace("100.0", '"much"'),
    "a cost too many": lambda text: text.replace('"batch": 1,', '"batch": 1, "price": 3,'),
    "bytes": lambda text: "\udc80\x00",
}


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_a_named_error_to_those_who_ask_and_a_warning_to_a_join(damage):
    path = mine().save()
    path.write_bytes(damage(path.read_text()).encode(errors="surrogateescape"))
    with pytest.raises(
        StateError, match=r"calibration.json is damaged .*remove it, or make it again with: panjoin advise"
    ):
        load()
    with pytest.warns(UserWarning, match="is damaged .*built-in numbers are used meanwhile"):
        assert known().source == "built in"


@pytest.mark.usefixtures("own_cache")
def test_a_file_where_others_can_write_is_not_read():
    path = mine().save()
    path.parent.chmod(0o777)
    with pytest.warns(UserWarning, match="has mode 777, so others can enter it"):
        assert known().source == "built in"


def test_between_measured_points_costs_are_in_between_and_beyond_them_the_nearest():
    costs = replace(
        calibration(), costs=tuple(Cost("scan", size, size, size, 2 * size) for size in (16, 256)), push_ns=((4, 8.0),)
    )
    assert costs.insert_ns("scan", 64, 1) == pytest.approx(64)
    assert costs.probe_ns("scan", 1, 1) == pytest.approx(32)
    assert costs.insert_ns("scan", 10**9, 10**9) == pytest.approx(256)
    assert costs.other_ns(10**6) == pytest.approx(8)


def test_thresholds_are_where_costs_cross():
    costs = calibration(large_batch=1024, match_ns=11.0)
    assert costs.large_batch(4096, "rap-table") == 1024
    assert costs.large_selectivity(4096, 10, "rap-table") == pytest.approx((20 - 10) / (11 - 1))
    assert costs.large_selectivity(4096, 5000, "rap-table") == 0
    assert calibration(match_ns=1.0).large_selectivity(4096, 10, "rap-table") is None


def test_no_threshold_when_sorting_never_pays():
    costs = replace(
        calibration(),
        costs=tuple(Cost(name, 8, 1, 1, 2 if name == "bi-sort" else 1) for name in ("bi-sort", "rap-table")),
    )
    assert costs.large_batch(8, "rap-table") is None


def test_a_calibration_is_plain_json():
    assert json.loads(json.dumps(asdict(calibration())))["machine"] == "here"
    assert calibration_path().name == calibrations.FILE
