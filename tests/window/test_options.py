"""Options: every spelling that is taken, every contradiction that is refused, with the remedy."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from panjoin.aggregates import Aggregate
from panjoin.errors import ParameterError
from panjoin.options import HOWS, Options
from panjoin.window import CountWindow, Extent, MixedWindow, TimeWindow

TIMED = TimeWindow("1 hour", on="ts")


def test_without_a_word_the_engine_chooses():
    options = Options()
    assert (options.how, options.index, options.emit, options.placement) == ("inner", "auto", "rows", "auto")
    assert options.suffixes == ("_left", "_right")
    assert options == Options.of({})


@pytest.mark.parametrize(
    ("how", "spellings"),
    [
        ("inner", ["inner", "INNER"]),
        ("left", ["left", "leftouter", "left_outer", "LEFT OUTER", "left-outer"]),
        ("right", ["right", "rightouter", "right_outer"]),
        ("full", ["full", "outer", "fullouter", "full_outer"]),
        ("left_semi", ["left_semi", "semi", "leftsemi", "LeftSemi"]),
        ("left_anti", ["left_anti", "anti", "leftanti"]),
    ],
)
def test_join_types_have_all_the_spellings_of_spark(how, spellings):
    assert how in HOWS
    assert {Options(how=spelling).how for spelling in spellings} == {how}


def test_subwindows_are_in_tuples_or_in_time():
    assert Options(subwindow=np.int32(5)).subwindow == Extent(tuples=5)
    assert Options(subwindow="5 minutes").subwindow == Extent(micros=300_000_000)
    assert Options(subwindow=timedelta(seconds=1)).subwindow == Extent(micros=1_000_000)


def test_lengths_of_time_become_microseconds():
    options = Options(batch_time="50 ms", idle_timeout=timedelta(minutes=1), max_advance="1 day")
    assert (options.batch_time, options.idle_timeout, options.max_advance) == (50_000, 60_000_000, 86_400_000_000)


def test_aggregates_are_a_list_or_a_single_one():
    assert Options(emit=["count", "sum(price)"]).aggregates == (Aggregate("count"), Aggregate("sum", "price"))
    for single in ("sum(price)", Aggregate("sum", "price"), ("sum(price)",)):
        options = Options(emit=single)
        assert (options.emit, options.aggregates) == ("aggregates", (Aggregate("sum", "price"),))


def test_options_can_be_replaced_one_by_one():
    options = Options(emit=["count"], batch_time="1 s", subwindow="1 min", index="bi-sort", suffixes=["", "_r"])
    other = replace(options, workers=3)
    assert other.workers == 3
    assert replace(other, workers=None) == options
    with pytest.raises(AttributeError, match="cannot assign to field 'workers'"):
        options.workers = 4


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"how": "lefty"}, "how='lefty' is no join type; there are 'inner', 'left',.*; did you mean 'left'"),
        ({"how": None}, "how=None is no join type"),
        ({"how": "cross"}, "how='cross' has no condition to join by; use how='inner'"),
        ({"how": "right_semi"}, "how='right_semi' does not exist; swap the two streams and use 'left_semi'"),
        ({"index": None}, "index must be 'auto' or the name of a structure, not None"),
        ({"subwindow": 0}, "subwindow must be at least 1, not 0"),
        ({"subwindow": "0 s"}, "subwindow must be longer than nothing, not '0 s'; leave it out"),
        ({"subwindow": 2.5}, "subwindow must be a whole number, not 2.5"),
        ({"subwindow": "1 month"}, "subwindow is '1 month', but months and years differ in length"),
        ({"partitions": 0}, "partitions must be at least 1, not 0"),
        ({"partitions": True}, "partitions must be a whole number, not True"),
        ({"workers": -1}, "workers must be at least 1, not -1"),
        ({"workers": "2"}, "workers must be a whole number, not '2'"),
        ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
        ({"batch_time": 50}, "batch_time is 50, which has no unit"),
        ({"batch_time": "0 s"}, "batch_time must be longer than nothing, not '0 s'"),
        ({"idle_timeout": "-1 s"}, "idle_timeout must not be negative"),
        ({"max_advance": "soon"}, "max_advance is 'soon', which is not a duration"),
        (
            {"emit": "row"},
            "emit='row' is no form of result; there are 'rows', 'ranges', 'counts', 'total'; did you mean 'rows'",
        ),
        ({"emit": "count"}, r"did you mean 'counts'\?; for aggregates give a list, such as emit=\['count', 'sum"),
        ({"emit": "aggregates"}, r"aggregates are asked for by a list: emit=\['count', 'sum\(price\)'\]"),
        ({"aggregates": (Aggregate("count"),)}, "aggregates are asked for by a list: emit="),
        ({"emit": []}, "emit is an empty list of aggregates"),
        ({"emit": ["rows", "count"]}, "'rows' is a form of result of its own, not one of a list; use emit='rows'"),
        ({"emit": 5}, "emit must be 'rows', 'ranges', 'counts', 'total' or a list of aggregates, not 5"),
        (
            {"emit": "counts", "how": "left"},
            "emit='counts' is for inner joins, not for how='left'.*use emit='rows', or",
        ),
        ({"emit": ["count"], "how": "anti"}, "emit='aggregates' is for inner joins, not for how='left_anti'"),
        ({"emit": "ranges", "how": "full"}, "emit='ranges' is for inner joins, not for how='full'"),
        (
            {"emit": "ranges", "index": "scan"},
            "emit='ranges' needs an index .*, which 'scan' is not; use index='bi-sort'",
        ),
        ({"suffixes": "_l"}, r"suffixes must be two texts, such as \('_left', '_right'\), not '_l'"),
        ({"suffixes": ("_l", None)}, "suffixes must be two texts"),
        ({"suffixes": ("_l",)}, "suffixes must be two texts"),
        ({"suffixes": ("_l", "_l")}, "suffixes must differ, or they tell nothing apart; not"),
        (
            {"placement": "keys"},
            "placement='keys' does not exist; there are 'auto', 'arrival', 'key'; did you mean 'key'",
        ),
        ({"batchsize": 5}, "no option is called 'batchsize'; there are .*; did you mean 'batch_size'"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_remedy(knobs, message):
    with pytest.raises(ParameterError, match=message):
        Options.of(knobs)


def test_ranges_are_an_answer_of_the_sorted_index():
    assert Options(emit="ranges").index == "auto"
    assert Options(emit="ranges", index="bi-sort").emit == "ranges"


def test_names_of_structures_are_checked_against_those_that_exist():
    Options(index="rap-table").check_index(["bi-sort", "rap-table"])
    Options().check_index([])
    with pytest.raises(
        ParameterError, match="called 'rap_table'; there are 'auto', 'bi-sort', 'rap-table'; did you mean"
    ):
        Options(index="rap_table").check_index(["bi-sort", "rap-table"])


@pytest.mark.parametrize("window", [5, "10 minutes", None, CountWindow])
def test_what_is_no_window_is_refused(window):
    with pytest.raises(ParameterError, match=r"window must be a CountWindow.*, not .*; write for example CountWindow"):
        Options().check_window(window)


def test_knobs_are_checked_against_the_window():
    Options(subwindow="5 minutes", idle_timeout="1 s", max_advance="1 s").check_window(TIMED)
    Options(subwindow=5).check_window(TIMED)
    mixed = MixedWindow(left=CountWindow(5), right=TIMED)
    Options(idle_timeout="1 s").check_window(mixed)
    for window in (CountWindow(5), mixed):
        with pytest.raises(
            ParameterError, match="subwindow is 5 minutes, but the window counts tuples; give the subwindow"
        ):
            Options(subwindow="5 minutes").check_window(window)
    with pytest.raises(
        ParameterError, match=r"max_advance is about event time, which CountWindow\(left=5, right=5\) has"
    ):
        Options(max_advance="1 s").check_window(CountWindow(5))
