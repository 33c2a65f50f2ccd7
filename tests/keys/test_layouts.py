"""Every layout that Arrow has for one value gives the same key: slices, chunks, dictionaries, units, widths, NULLs."""

from datetime import time
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.columns import values
from panjoin.errors import DataError
from panjoin.keys import codec
from tests.keys import nasty

COLUMNS = nasty.VALUES | {
    "string": pa.array(["", "a", "IBM", "ünï", "x" * 31, "x" * 32, "x" * 33, "y" * 100, "IBM"]),
    "binary": pa.array([b"", b"\0", b"\0\0", b"abcdefgh", b"abcdefghijkl", bytes(range(256))]),
    "fixed": pa.array([b"abcd", b"efgh", b"\0\0\0\0"], pa.binary(4)),
}


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def with_nones(keys, valid):
    valid = np.ones(len(keys), bool) if valid is None else valid
    return [key if present else None for key, present in zip(keys.tolist(), valid.tolist(), strict=True)]


@pytest.mark.parametrize("name", COLUMNS)
def test_slices_chunks_dictionaries_and_nulls_do_not_change_keys(name):
    column = COLUMNS[name]
    subject = codec(column.type)
    whole, _ = subject.encode(column)

    for first in range(len(column) + 1):
        keys, valid = subject.encode(column.slice(first))
        np.testing.assert_array_equal(keys, whole[first:])
        assert valid is None

    gapped = pa.concat_arrays([column.slice(0, 1), pa.nulls(9, column.type), column.slice(1)])
    expected = [whole[0], *[None] * 9, *whole[1:]]
    for first in (0, 1, 3, 10):
        assert with_nones(*subject.encode(gapped.slice(first))) == expected[first:]

    chunks = pa.chunked_array([column.slice(0, 1), gapped.slice(1, 9), column.slice(1)])
    assert with_nones(*subject.encode(chunks)) == expected
    assert subject.encode(chunks)[0].dtype == subject.dtype
    keys, valid = subject.encode(pa.chunked_array([column]))
    np.testing.assert_array_equal(keys, whole)
    assert valid is None

    if name != "interval":  # Arrow has no dictionary of durations
        coded = gapped.dictionary_encode()
        assert codec(coded.type) is subject
        assert with_nones(*subject.encode(coded.slice(1))) == expected[1:]


@pytest.mark.parametrize("name", COLUMNS)
def test_empty_columns_and_columns_of_nulls_have_keys_too(name):
    kind = COLUMNS[name].type
    for array in (pa.array([], kind), pa.chunked_array([], kind), COLUMNS[name].slice(0, 0)):
        keys, valid = codec(kind).encode(array)
        assert (len(keys), keys.dtype, valid) == (0, codec(kind).dtype, None)
    keys, valid = codec(kind).encode(pa.nulls(3, kind))
    assert len(keys) == 3
    assert valid.tolist() == [False] * 3


def test_a_null_among_the_values_of_a_dictionary_is_a_null():
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1, 2], pa.int8()), pa.array(["a", None, "b"]))
    keys, valid = codec(coded.type).encode(coded)
    assert valid.tolist() == [True, False, False, False, True]
    expected, _ = codec(pa.string()).encode(pa.array(["a", "b"]))
    assert keys[valid].tolist() == expected.tolist()
    keys, valid = codec(coded.type).encode(
        pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), pa.array([], "string"))
    )
    assert valid.tolist() == [False]


@pytest.mark.parametrize("index", [2, 100, -1])
def test_indices_that_leave_the_dictionary_are_refused(index):
    coded = pa.DictionaryArray.from_arrays(pa.array([0, index], pa.int8()), pa.array([7, 8]), safe=False)
    with pytest.raises(
        DataError, match=f"column 'k': malformed Arrow data: index {index} into a dictionary of 2 values"
    ):
        codec(coded.type).encode(coded, "k")


def test_memory_that_ends_early_is_refused():
    class Short:
        """An array that claims three values and has two, which pyarrow itself will not make."""

        type, offset, null_count = pa.int64(), 0, 0

        def buffers(self):
            return [None, pa.py_buffer(bytes(16))]

        def __len__(self):
            return 3

    with pytest.raises(DataError, match="malformed Arrow data: 3 items of 8 bytes are said to be in 16 bytes"):
        values(Short(), np.int64)


@st.composite
def arrivals(draw):
    """A type of ours, physical values in its range, where they are valid, and how they are cut into chunks."""
    name = draw(st.sampled_from(["byte", "short", "int", "long", "date", "timestamp", "decimal_9_2", "decimal_18_4"]))
    kind = nasty.VALUES[name].type
    subject = codec(kind)
    numbers = draw(st.lists(st.integers(subject.lowest, subject.highest), max_size=20))
    mask = draw(st.lists(st.booleans(), min_size=len(numbers), max_size=len(numbers)))
    cuts = sorted(draw(st.lists(st.integers(0, len(numbers)), max_size=3)))
    if pa.types.is_decimal(kind):
        whole = pa.array([Decimal(n).scaleb(-kind.scale) for n in numbers], kind)
    else:
        whole = pa.array(np.array(numbers, subject.physical)).view(kind)
    array = pc.if_else(pa.array(mask, pa.bool_()), whole, pa.scalar(None, kind))
    ends = [0, *cuts, len(numbers)]
    chunks = [array.slice(a, b - a) for a, b in pairwise(ends)]
    return subject, numbers, mask, pa.chunked_array(chunks, kind)


@given(arrivals())
def test_whatever_arrives_in_whatever_pieces_keeps_its_values_and_order(arrival):
    subject, numbers, mask, column = arrival
    keys, valid = subject.encode(column)
    assert keys.dtype == subject.dtype
    assert (np.ones(len(keys), bool) if valid is None else valid).tolist() == mask
    kept = [number for number, present in zip(numbers, mask, strict=True) if present]
    encoded = keys if valid is None else keys[valid]
    assert subject.decode(encoded).tolist() == kept
    assert [kept[i] for i in np.argsort(encoded, kind="stable")] == sorted(kept)


def test_run_end_encoded_columns_are_read():
    runs = pc.run_end_encode(pa.array([5, 5, 5, None, 7]))
    keys, valid = codec(runs.type).encode(runs)
    assert keys[valid].tolist() == [5, 5, 5, 7]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, -5, 2**31 - 1], pa.int32()),
        pa.array([1, -5, 2**63 - 1], pa.int64()),
        pa.array([1, -5, 2**62], pa.int64()).view(pa.timestamp("us")),
        pa.array([1, None, 3], pa.int32()).view(pa.date32()),
    ],
)
def test_the_keys_of_whole_numbers_are_the_arrow_buffer_itself(column):
    for first in (0, 1):
        array = column.slice(first)
        keys, _ = codec(array.type).encode(array)
        assert address(keys) == array.buffers()[1].address + first * keys.dtype.itemsize
        assert not keys.flags.writeable


def test_unaligned_memory_is_copied_not_misread():
    memory = pa.py_buffer(b"\0" + np.array([7, -8], np.int64).tobytes()).slice(1)
    keys, _ = codec(pa.int64()).encode(pa.Array.from_buffers(pa.int64(), 2, [None, memory]))
    assert keys.tolist() == [7, -8]
    assert keys.flags.aligned


def test_timestamps_of_every_unit_become_microseconds():
    seconds = 1_772_366_401
    expected = [seconds * 1_000_000]
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "Europe/Berlin"):
            column = (
                pa.array([seconds], pa.timestamp("s"))
                .cast(pa.timestamp(unit))
                .cast(pa.int64())
                .cast(pa.timestamp(unit, zone))
            )
            assert codec(column.type).encode(column)[0].tolist() == expected
            assert codec(pa.timestamp("us")).encode(column)[0].tolist() == expected
    spans = pa.array([90], pa.duration("s"))
    assert codec(spans.type).encode(spans)[0].tolist() == [90_000_000]


def test_timestamps_that_are_not_whole_microseconds_are_refused_with_the_remedy():
    column = pa.array([1000, None, 1001], pa.timestamp("ns"))
    with pytest.raises(
        DataError, match=r"column 'ts': 1001 ns at row 2 is not a whole number of microseconds.*floor_temporal"
    ):
        codec(column.type).encode(column, "ts")
    rounded = pc.floor_temporal(column, unit="microsecond")
    keys, valid = codec(column.type).encode(rounded)
    assert keys[valid].tolist() == [1, 1]


def test_timestamps_that_overflow_microseconds_are_refused_but_not_under_a_null():
    far = 2**63 // 1_000_000
    with pytest.raises(DataError, match=f"^{far + 1} s at row 1 does not fit 64-bit microseconds"):
        codec(pa.timestamp("s")).encode(pa.array([0, far + 1], pa.timestamp("s")))
    hidden = pa.Array.from_buffers(
        pa.timestamp("s"), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(np.array([1, far + 1], np.int64).tobytes())]
    )
    keys, valid = codec(pa.timestamp("s")).encode(hidden)
    assert (keys[0], valid.tolist()) == (1_000_000, [True, False])


def test_dates_in_milliseconds_become_days_when_they_are_whole():
    day = 86_400_000
    column = pa.array([0, day, -day, None], pa.int64()).view(pa.date64())
    keys, valid = codec(pa.date64()).encode(column)
    assert keys[valid].tolist() == [0, 1, -1]
    assert keys.dtype == np.int32
    with pytest.raises(DataError, match=r"86400001 ms at row 0 is not a date .*cast the column to date32"):
        codec(pa.date64()).encode(pa.array([day + 1], pa.int64()).view(pa.date64()))


def test_times_of_day_become_nanoseconds():
    for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        column = pa.array([time(0, 0, 0), time(23, 59, 59), None], kind)
        keys, valid = codec(kind).encode(column)
        assert keys[valid].tolist() == [0, 86_399_000_000_000]
    with pytest.raises(DataError, match="86400 s at row 0 is not a time of day"):
        codec(pa.time32("s")).encode(pa.array([86_400], pa.int32()).view(pa.time32("s")))


@pytest.mark.parametrize("make", [pa.decimal32, pa.decimal64, pa.decimal128, pa.decimal256])
def test_decimals_of_every_width_have_the_same_keys(make):
    column = pa.array([Decimal("1.25"), None, Decimal("-9999999.99"), Decimal("0.01")], make(9, 2))
    keys, valid = codec(column.type).encode(column)
    assert keys[valid].tolist() == [125, -999999999, 1]
    assert keys.dtype == np.int32


@pytest.mark.parametrize(("kind", "low", "high"), [(pa.decimal128(5, 2), 100_000, 0), (pa.decimal128(18, 2), 5, 1)])
def test_decimals_with_more_digits_than_their_type_are_refused_but_not_under_a_null(kind, low, high):
    memory = pa.py_buffer(np.array([low, high, 7, 0], np.int64).tobytes())
    with pytest.raises(DataError, match=rf"{low} at row 0 \(unscaled\) has more digits than decimal128.*is damaged"):
        codec(kind).encode(pa.Array.from_buffers(kind, 2, [None, memory]))
    keys, valid = codec(kind).encode(pa.Array.from_buffers(kind, 2, [pa.py_buffer(b"\x02"), memory]))
    assert keys[valid].tolist() == [7]


def test_decimal64_is_checked_too():
    kind = pa.decimal64(12, 2)
    memory = pa.py_buffer(np.array([10**12, -(10**12) + 1], np.int64).tobytes())
    with pytest.raises(DataError, match="1000000000000 at row 0"):
        codec(kind).encode(pa.Array.from_buffers(kind, 2, [None, memory]))
    assert codec(kind).encode(pa.Array.from_buffers(kind, 1, [None, memory], offset=1))[0].tolist() == [1 - 10**12]


def test_columns_of_a_narrower_type_are_widened_as_spark_widens():
    long, double = codec(pa.int64()), codec(pa.float64())
    assert long.encode(pa.array([-1, None, 5], pa.int8()))[0][[0, 2]].tolist() == [-1, 5]
    assert double.decode(double.encode(pa.array([2**53 + 1, -3], pa.int64()))[0]).tolist() == [2.0**53, -3.0]
    wide = codec(pa.decimal128(18, 4))
    assert wide.encode(pa.array([Decimal("1.5")], pa.decimal128(5, 1)))[0].tolist() == [15_000]
    assert wide.encode(pa.array([Decimal("1.5")], pa.decimal256(5, 1)))[0].tolist() == [15_000]
    with pytest.raises(DataError, match=r"column 'x': int64 cannot be read as int32 \(.*\); cast the column first"):
        codec(pa.int32()).encode(pa.array([2**40]), "x")
    with pytest.raises(DataError, match="list<item: int64> cannot be read as int64"):
        long.encode(pa.array([[1]]))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            pa.decimal128(38, 20),
            r"decimal128\(38, 20\) cannot be a join key; keys hold 18 digits: cast it to DECIMAL\(18, 18\)",
        ),
        (pa.uint64(), "uint64 cannot be a join key; Spark has no unsigned type: cast it to int64"),
        (pa.float16(), "halffloat cannot be a join key; cast it to float32, which is exact"),
        (pa.null(), "null cannot be a join key; it holds nothing but NULL"),
        (pa.list_(pa.int32()), "cannot be a join key; join on one of its fields"),
        (pa.struct([("a", pa.int32())]), "cannot be a join key; join on one of its fields"),
        (pa.map_(pa.string(), pa.int32()), "cannot be a join key; join on one of its fields"),
        (pa.month_day_nano_interval(), "cannot be a join key; cast it to a number"),
    ],
)
def test_types_without_keys_are_refused_with_the_remedy(kind, message):
    with pytest.raises(DataError, match=message):
        codec(kind)
