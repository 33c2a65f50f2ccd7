"""A few cases of each class of inputs and of load; `python -m tests.faults` has the rest."""

import pytest

from tests.faults import hard, metamorphic

CLASSES = {each.name: each for module in (hard, metamorphic) for each in module.CLASSES}
QUICK = ("keys that only increase", "a million by a million equal keys", "a clock that jumps to 2038 and back")


@pytest.mark.parametrize("name", QUICK)
def test_nothing_is_lost_under(name, tmp_path):
    tally = CLASSES[name].run(tmp_path, range(1))
    assert tally.clean, tally.failed


def test_a_stream_in_another_form_gives_the_same(tmp_path):
    tally = metamorphic.metamorphic(tmp_path, range(1, 2))
    assert tally.clean, tally.failed
    assert tally.cases >= 25


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CLASSES if name not in QUICK])
def test_nothing_is_lost_or_invented_under(name, tmp_path):
    tally = CLASSES[name].run(tmp_path / "files", range(1))
    assert tally.clean, tally.failed
