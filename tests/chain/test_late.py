"""Where late tuples go: beside the old subwindow whose time they have, as long as there is room."""

import numpy as np

from panjoin.chain.batch import NO_TIME
from panjoin.chain.late import route

OLD = [(0, 10, 5), (8, 20, 2), (21, 30, 5)]


def routed(*times: int, newest_from: int = 31) -> dict[int, list[int]]:
    return {place: positions.tolist() for place, positions in route(np.array(times, np.int64), newest_from, OLD)}


def test_a_tuple_in_order_stays_with_the_newest():
    assert routed(31, 40) == {}


def test_a_late_tuple_goes_beside_the_youngest_subwindow_that_spans_its_time():
    assert routed(9, 3, 25) == {2: [2], 1: [0], 0: [1]}


def test_what_finds_no_room_tries_an_older_one_and_then_stays_with_the_newest():
    assert routed(9, 9, 9, 15, 15) == {1: [0, 1], 0: [2]}


def test_a_tuple_between_subwindows_or_without_a_time_stays_with_the_newest():
    assert routed(-1, NO_TIME) == {}
