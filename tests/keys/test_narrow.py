"""Narrowing and packing: monotone for every type and width, total at the ends, exact where the header says so."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.errors import ParameterError
from panjoin.keys import codec, pack

MIN, MAX = -(2**63), 2**63 - 1
WIDTHS = (16, 24, 32, 40, 48, 62)
TYPES = {
    "bool": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "decimal(18)": pa.decimal128(18, 4),
    "decimal(12)": pa.decimal128(12, 4),
    "uint32": pa.uint32(),
}


def powers(lowest, highest):
    """Every power of two and its neighbours, both signs, inside a range, and the range's ends."""
    around = {sign * 2**n + d for n in range(64) for d in (-1, 0, 1) for sign in (-1, 1)}
    return sorted({x for x in around if lowest <= x <= highest} | {lowest, highest})


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("name", TYPES)
def test_narrowing_is_monotone_and_fits_its_bits_at_all_powers_of_two(name, bits):
    subject = codec(TYPES[name])
    keys = np.array(powers(subject.lowest, subject.highest), subject.dtype)
    narrowed = subject.narrow(keys, bits)
    assert narrowed.dtype == np.int64
    assert (np.diff(narrowed) >= 0).all()
    assert narrowed[0] >= -(2 ** (bits - 1))
    assert narrowed[-1] < 2 ** (bits - 1)


@given(
    st.lists(st.integers(MIN, MAX), min_size=2),
    st.sampled_from(WIDTHS),
    st.sampled_from(["long", "timestamp", "double"]),
)
def test_narrowing_any_64_bit_keys_is_monotone(keys, bits, name):
    narrowed = codec(TYPES[name]).narrow(np.array(sorted(keys), np.int64), bits)
    assert (np.diff(narrowed) >= 0).all()


def test_keys_of_32_bits_pass_unchanged_when_there_is_room():
    for name in ("int", "date", "float", "bool"):
        subject = codec(TYPES[name])
        keys = np.array([subject.lowest, 0, 1, subject.highest], np.int32)
        assert subject.narrows_exactly(32)
        np.testing.assert_array_equal(subject.narrow(keys, 32), keys)
        np.testing.assert_array_equal(subject.narrow(keys, 40), keys)


@pytest.mark.parametrize(("bits", "mantissa"), [(40, 34), (32, 25)])
def test_longs_are_exact_below_the_mantissa_and_of_its_relative_precision_beyond(bits, mantissa):
    subject = codec(pa.int64())
    exact = np.arange(2 ** (mantissa + 1) - 1000, 2 ** (mantissa + 1), dtype=np.int64)
    for keys in (exact, -exact[::-1]):
        assert (np.diff(subject.narrow(keys, bits)) == 1).all()
    for x in (3 * 2**40, 5 * 2**50, 2**62 + 12345, MAX - 2**40):
        step = (x >> mantissa) + 1
        near = subject.narrow(np.array([x, min(x + step, MAX)], np.int64), bits)
        assert near[1] > near[0]


@pytest.mark.parametrize(
    ("year", "millis"),
    [(1958, 67), (1990, 67), (2000, 34), (2021, 8.4), (2026, 4.2), (2033, 4.2), (2038, 8.4), (2064, 34)],
)
def test_timestamps_of_40_bits_are_this_fine_in_this_year(year, millis):
    subject = codec(pa.timestamp("us"))
    start = np.datetime64(f"{year}-06-01", "us").astype(np.int64)
    near = subject.narrow(np.array([start, start + int(millis * 1000)]), 40)
    assert near[1] > near[0]


def test_timestamps_too_far_to_be_centred_share_the_lowest_code():
    subject = codec(pa.timestamp("us"))
    lowest, near, first = subject.narrow(np.array([MIN, MIN + 1, -(2**62)], np.int64), 40)
    assert lowest == near < first


def test_bands_are_narrowed_to_16_bits_at_least_and_62_at_most():
    keys = np.zeros(1, np.int64)
    with pytest.raises(ParameterError, match="bits must be between 16 and 62, not 15"):
        codec(pa.int64()).narrow(keys, 15)
    with pytest.raises(ParameterError, match="bits must be between 16 and 62, not 63"):
        pack(keys, keys, 63)


@given(
    st.lists(st.tuples(st.integers(-(2**23), 2**23 - 1), st.integers(-(2**39), 2**39 - 1)), min_size=2),
)
def test_composite_keys_order_by_code_then_band(pairs):
    pairs = [*pairs, (-(2**23), -(2**39)), (-(2**23), 2**39 - 1), (2**23 - 1, -(2**39)), (2**23 - 1, 2**39 - 1)]
    code, band = (np.array(part, np.int64) for part in zip(*pairs, strict=True))
    packed = pack(code, band, 40)
    by_key = sorted(range(len(pairs)), key=lambda i: packed[i])
    assert [pairs[i] for i in by_key] == sorted(pairs)
    assert len(set(packed.tolist())) == len(set(pairs))


def test_composite_keys_take_32_bit_codes_and_bands():
    low, high = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    code = np.array([low, low, -1, 0, 0, high, high], np.int32)
    band = np.array([low, high, 0, -1, 0, low, high], np.int32)
    packed = pack(code, band, 32)
    assert (np.diff(packed) > 0).all()
    assert packed[0] == MIN
    assert packed[-1] == MAX
