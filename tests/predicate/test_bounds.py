"""Keys and intervals of keys: for all pairs of values, the key lies in an interval exactly when the condition holds."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.bounds import JoinKeys, disjoint
from panjoin.predicate import band, equal, less, not_equal, parse
from tests.predicate.agreement import assert_keys_agree, candidates, column_pair
from tests.predicate.nasty import TABLE, VALUES, texts

EVERYTHING = texts()
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_keys_agree_with_the_condition_on_every_pair_of_nasty_values(part):
    for text in EVERYTHING[part::PARTS]:
        bound = parse(text).bind(TABLE.schema, TABLE.schema)
        assert_keys_agree(text, TABLE.select(bound.columns("left")), TABLE.select(bound.columns("right")))


# ---- whole numbers at the ends of their types, against Python's own integers ----

EDGES = {kind: np.iinfo(kind.to_pandas_dtype()) for kind in (pa.int8(), pa.int32(), pa.int64())}


@pytest.mark.parametrize("kind", EDGES, ids=str)
@pytest.mark.parametrize("eps", [0, 1, "max"])
def test_a_band_at_the_ends_of_the_type_is_no_bound(kind, eps):
    low, high = int(EDGES[kind].min), int(EDGES[kind].max)
    values, eps = [low, low + 1, -1, 0, 1, high - 1, high], high if eps == "max" else eps
    left, right = column_pair(kind, values, values)
    keys = JoinKeys(band("x", -eps, eps).bind(left.schema, right.schema))
    expected = np.array([[abs(a - b) <= eps for b in values] for a in values])
    assert keys.exact
    assert np.array_equal(candidates(keys, "left", left, right), expected)
    assert np.array_equal(candidates(keys, "right", right, left), expected.T)


@pytest.mark.parametrize("kind", EDGES, ids=str)
def test_one_sided_bounds_at_the_ends_of_the_type_match_nothing_beyond(kind):
    low, high = int(EDGES[kind].min), int(EDGES[kind].max)
    values = [low, low + 1, -1, 0, 1, high - 1, high]
    left, right = column_pair(kind, values, values)
    for text, holds in (
        ("left.x < right.x", lambda a, b: a < b),
        ("left.x - 1 >= right.x", lambda a, b: a - 1 >= b),
        ("left.x > right.x + 3000000000", lambda a, b: a > b + 3_000_000_000),
        ("left.x + 99999999999999999999 > right.x", lambda a, b: True),
        ("left.x - 18446744073709551615 = right.x", lambda a, b: a - 2**64 + 1 == b),
        ("left.x != right.x - 1", lambda a, b: a != b - 1),
    ):
        keys = JoinKeys(parse(text).bind(left.schema, right.schema))
        expected = np.array([[holds(a, b) for b in values] for a in values])
        assert np.array_equal(candidates(keys, "left", left, right), expected), text
        assert np.array_equal(candidates(keys, "right", right, left), expected.T), text


# ---- the property, on values that Hypothesis chooses ----

FLOATS = st.floats(width=64) | st.sampled_from([v for v in VALUES["f64"][1] if v is not None])
COLUMNS = {
    "i32": (pa.int32(), st.integers(-(2**31), 2**31 - 1) | st.integers(-10, 10)),
    "i64": (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.integers(-10, 10)),
    "f32": (pa.float32(), st.floats(width=32) | st.floats(-10, 10, width=32)),
    "f64": (pa.float64(), FLOATS | st.floats(-10, 10)),
    "d9": (pa.decimal128(9, 2), st.decimals(-9999999, 9999999, places=2)),
    "ts": (pa.timestamp("us"), st.integers(-(2**55), 2**55) | st.integers(-10, 10)),
}
OFFSETS = (
    st.integers(-10, 10).map(str)
    | st.floats(-1e4, 1e4).map(lambda x: f"{x!r}D")
    | st.sampled_from(["0.1", "2147483648", "1e300", "5e-324", "9007199254740993", "-0.3"])
)
FORMS = st.sampled_from(
    [
        "left.{a} >= right.{b} + {c}",
        "left.{a} - right.{b} < {c}",
        "left.{a} - {c} != right.{b} - {d}",
        "left.{a} BETWEEN right.{b} + {c} AND right.{b} + {d}",
        "left.{a} - right.{b} BETWEEN {c} AND {d} OR left.{a} = right.{b} + {c}",
        "abs({c} - left.{a} + right.{b}) > {d}",
        "left.k = right.k AND left.{a} BETWEEN right.{b} - {c} AND right.{b} + {d}",
        "left.s = right.s AND (left.{a} <= right.{b} - {c} OR left.{a} - right.{b} > {d})",
    ]
)
NUMERIC = st.sampled_from(["i32", "i64", "f32", "f64", "d9"])


def some(strategy):
    return st.lists(st.none() | strategy, min_size=1, max_size=8)


@st.composite
def batches(draw, a, b):
    """Two tables: a nasty column each, and small columns to be equal on."""
    count_left, count_right = draw(st.tuples(st.integers(1, 8), st.integers(1, 8)))
    result = []
    for name, count in ((a, count_left), (b, count_right)):
        kind, strategy = COLUMNS[name]
        result.append(
            pa.table(
                {
                    name: pa.array(draw(st.lists(st.none() | strategy, min_size=count, max_size=count)), kind),
                    "k": pa.array(
                        draw(st.lists(st.sampled_from([1, 2, None]), min_size=count, max_size=count)), pa.int16()
                    ),
                    "s": pa.array(draw(st.lists(st.sampled_from("pq"), min_size=count, max_size=count))),
                }
            )
        )
    return result


@given(st.data(), NUMERIC, NUMERIC, FORMS, OFFSETS, OFFSETS)
def test_keys_agree_with_the_condition_on_any_numbers(data, a, b, form, c, d):
    left, right = data.draw(batches(a, b))
    assert_keys_agree(form.format(a=a, b=b, c=f"({c})", d=f"({d})"), left, right)


@given(st.data(), st.integers(-20, 20), st.integers(0, 2**56))
def test_keys_agree_with_the_condition_on_any_times(data, low, wide):
    left, right = data.draw(batches("ts", "ts"))
    near = band("ts", dt.timedelta(microseconds=low), dt.timedelta(microseconds=low + 5))
    far = band("ts", dt.timedelta(microseconds=-wide), dt.timedelta(microseconds=wide))
    for condition in (near, far, equal("k") & near, equal("s") & far, equal("s") & near, near | far):
        assert_keys_agree(condition, left, right)


# ---- layout of keys ----

SMALL = pa.schema(
    [
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("h", pa.int16()),
        ("f", pa.float32()),
        ("g", pa.float64()),
        ("b", pa.bool_()),
        ("s", pa.string()),
        ("t", pa.timestamp("us")),
        ("d", pa.date32()),
        ("n", pa.decimal128(30, 2)),
    ]
)


@pytest.mark.parametrize(
    ("on", "dtype", "exact"),
    [
        ("left.i = right.i", np.int32, True),
        ("left.i = right.l", np.int64, True),
        ("left.i < right.i + 3", np.int32, True),
        ("left.i < right.l", np.int64, True),
        ("left.f < right.f", np.int32, True),
        ("left.f < right.f + 1", np.int32, True),
        ("left.i = right.g", np.int64, True),
        ("left.i = right.i AND left.f < right.f", np.int64, True),
        ("left.h = right.h AND left.i < right.i", np.int64, True),
        ("left.b = right.b AND left.h = right.h", np.int32, True),
        ("left.i = right.i AND left.d = right.d", np.int64, True),
        ("left.i = right.i AND left.l = right.l", np.int32, False),
        ("left.s = right.s", np.int32, False),
        ("left.s = right.s AND left.i < right.i", np.int64, False),
        ("left.i = right.i AND left.t <= right.t", np.int64, False),
        ("left.n = right.n", np.int32, False),
        ("left.n < right.n", np.int32, True),
    ],
)
def test_keys_are_narrow_where_that_suffices_and_exact_where_they_fit(on, dtype, exact):
    keys = JoinKeys(parse(on).bind(SMALL, SMALL))
    assert (keys.dtype, keys.exact) == (np.dtype(dtype), exact)


def test_unequal_columns_are_the_complement_of_one_interval():
    left, right = column_pair(pa.float64(), [0.0, 1.0, float("nan"), None], [-0.0, float("nan"), None])
    keys = assert_keys_agree(not_equal("x"), left, right, exact=True)
    assert keys.negate
    assert keys.describe() == "int64 key: all but equality left.x = right.x (64 bits, exact)"


def test_unequal_strings_are_scanned_because_hashes_hide_differences():
    left, right = column_pair(pa.string(), ["a", "b", None], ["a", None])
    assert assert_keys_agree(not_equal("x"), left, right).scans


def test_overlapping_and_touching_bands_of_whole_numbers_are_one_interval():
    left, right = column_pair(pa.int32(), [1, 2], [3, 4])
    keys = JoinKeys((band("x", -5, 0) | band("x", -2, 3) | band("x", 4, 6)).bind(left.schema, right.schema))
    ((low, high, rows),) = keys.bounds("right", right)
    assert (low.tolist(), high.tolist(), rows) == ([-2, -1], [9, 10], None)


def test_the_other_side_sees_the_inverted_band():
    left, right = column_pair(pa.int32(), [0, 100], [0, 100])
    keys = JoinKeys(band("x", -5, 10).bind(left.schema, right.schema))
    assert [b.low.tolist() + b.high.tolist() for b in keys.bounds("right", right)] == [[-5, 95, 10, 110]]
    assert [b.low.tolist() + b.high.tolist() for b in keys.bounds("left", left)] == [[-10, 90, 5, 105]]


def test_tuples_without_an_interval_are_left_out_so_that_bounds_ascend():
    low, high = -(2**63), 2**63 - 1
    left, right = column_pair(pa.int64(), [low, 0, high], [low, 0, high])
    keys = JoinKeys(less("x").bind(left.schema, right.schema))
    ((lows, highs, rows),) = keys.bounds("right", right)
    assert (lows.tolist(), highs.tolist(), rows.tolist()) == ([low, low], [-1, high - 1], [1, 2])


def test_null_tuples_have_no_key_and_no_interval():
    left, right = column_pair(pa.int32(), [None, 7], [None, None])
    keys = JoinKeys(equal("x").bind(left.schema, right.schema))
    assert keys.encode("left", left)[1].tolist() == [False, True]
    assert keys.bounds("left", left)[0].rows.tolist() == [1]
    assert keys.bounds("right", right) == []


def test_a_condition_without_index_tries_every_pair_null_ones_too():
    left, right = column_pair(pa.int32(), [None, 1], [None, 2])
    keys = assert_keys_agree("left.x <=> right.x", left, right)
    assert keys.scans
    assert keys.encode("left", left)[1] is None
    assert keys.describe() == "scan: no part of the condition can be indexed, every pair is tried"


def test_empty_batches_have_no_bounds():
    empty = pa.table({"x": pa.array([], pa.float64()), "k": pa.array([], pa.string())})
    for on in (
        "left.x < right.x",
        "left.k = right.k",
        "left.k = right.k AND left.x < right.x + 1",
        "left.x <=> right.x",
    ):
        keys = JoinKeys(parse(on).bind(empty.schema, empty.schema))
        assert keys.bounds("left", empty) == []
        assert len(keys.encode("right", empty)[0]) == 0


def test_chunked_columns_and_plain_mappings_are_read_like_batches():
    left = pa.table({"x": pa.chunked_array([[1, 2], [3]], pa.int32())})
    keys = JoinKeys(equal("x").bind(left.schema, left.schema))
    assert keys.encode("left", left)[0].tolist() == [1, 2, 3]
    assert keys.encode("left", {"x": pa.array([4], pa.int32())})[0].tolist() == [4]


def test_intervals_that_change_places_are_still_disjoint():
    far = np.iinfo(np.int64).max
    spans = [
        (np.array([5, 5]), np.array([9, 9])),
        (np.array([2, far]), np.array([6, -far])),
        (np.array([7, 9]), np.array([7, far])),
    ]
    result = [[(int(a), int(b)) for a, b in zip(low, high, strict=True) if a <= b] for low, high in disjoint(spans)]
    assert result == [[(2, 6), (5, 9)], [(7, 9)], [(10, far)]]


def test_decimal_of_another_scale_is_compared_exactly():
    left = pa.table({"x": pa.array([Decimal("0.10"), Decimal("0.11")], pa.decimal128(5, 2))})
    right = pa.table({"x": pa.array([Decimal("0.1000"), Decimal("0.1001")], pa.decimal128(18, 4))})
    assert_keys_agree("left.x = right.x", left, right)
    assert_keys_agree("left.x <= right.x", left, right, exact=True)
