"""Every runtime, with every index, on every predicate and window that it accepts, gives what the nested loop gives."""

from collections import Counter

import pytest

from tests import registry
from tests.oracle import nested
from tests.oracle.question import HOWS

_PREDICATES, _WINDOWS = list(registry.PREDICATES), list(registry.WINDOWS)


def _hows(predicate: str, window: str) -> tuple[str, str]:
    """Inner, and one other join type, so that every predicate and every window meets all of them."""
    return "inner", HOWS[1 + (_PREDICATES.index(predicate) + _WINDOWS.index(window)) % (len(HOWS) - 1)]


@pytest.mark.parametrize("window", _WINDOWS)
@pytest.mark.parametrize("predicate", _PREDICATES)
@pytest.mark.parametrize(("runtime", "index"), registry.contestants(), ids=lambda part: getattr(part, "name", part))
def test_every_contestant_answers_as_the_nested_loop(runtime, index, predicate, window):
    for how in _hows(predicate, window):
        if runtime.accepts(predicate, window, how):
            question = registry.question(predicate, window, how)
            assert runtime.run(question, index) == nested.join(question), question


@pytest.mark.parametrize("window", _WINDOWS)
@pytest.mark.parametrize("predicate", _PREDICATES)
def test_every_combination_has_pairs_and_nearly_every_one_has_unmatched_tuples_too(predicate, window):
    pairs = nested.join(registry.question(predicate, window))
    both = nested.join(registry.question(predicate, window, "full"))
    assert pairs
    assert both != pairs or window == "everything" or predicate == "unequal"


def test_windows_with_lateness_drop_some_tuples_but_not_most():
    for window in ("seconds_one_sided_late", "time_and_count"):
        seen = nested.look(registry.question("equal", window))
        assert 0 < len(seen.late) < len(seen.sights) / 4


def test_all_join_types_meet_every_window_and_every_predicate():
    for window in _WINDOWS:
        assert {how for predicate in _PREDICATES for how in _hows(predicate, window)} == set(HOWS)
    for predicate in _PREDICATES:
        assert {how for window in _WINDOWS for how in _hows(predicate, window)} == set(HOWS)


def test_the_oracles_are_registered_by_their_own_file():
    assert {"nested", "duckdb"} <= set(registry.runtimes())


def test_two_runtimes_cannot_share_a_name():
    with pytest.raises(ValueError, match="already called 'nested'"):
        registry.runtime("nested")(lambda _question, _index: Counter())


def test_the_same_arguments_give_the_same_question_and_another_seed_another_one():
    one, same, other = (registry.question("band", "seconds", seed=seed) for seed in (1, 1, 2))
    assert (one.left, one.right, one.batches) == (same.left, same.right, same.batches)
    assert one.left != other.left


def test_an_unknown_join_type_is_refused():
    with pytest.raises(ValueError, match=r"how must be one of .*, not 'outer'"):
        registry.question("band", "seconds", "outer")
