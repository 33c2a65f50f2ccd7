"""The hash is xxHash64 with seed 42, for ever: golden values, Spark's own function, every length, every layout."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.errors import DataError, ParameterError
from panjoin.keyhash import SEED
from panjoin.keys import codec, combine, hash24, hash32, hash_bytes

#: From Spark 4.3: SELECT xxhash64(text).
GOLDEN = {
    "": -7444071767201028348,
    "a": -8582455328737087284,
    "IBM": 6370163810284611798,
    "a stream join that Spark refuses, exact and indexed": -2453598830275090788,
}

TEXTS = ["", *("0123456789abcdefghijklmnopqrstuvwxyzäöü"[:n] for n in range(1, 40)), "x" * 64, "y" * 1000, "\0", "\0\0"]
#: Published vectors of XXH64 with seed 0: of nothing, of "a", of "abc".
PUBLISHED = {b"": 0xEF46DB3751D8E999, b"a": 0xD24EC4F1A98C6E5B, b"abc": 0x44BC2CF5AD770999}


def test_golden_values_never_change():
    assert SEED == 42
    assert hash_bytes(pa.array(list(GOLDEN))).tolist() == list(GOLDEN.values())
    assert combine([np.array([1, -1]), np.array([2, 2**62])]).tolist() == [-8198029865082835910, 6319948702575709646]


def test_seed_0_gives_the_published_values_of_xxh64():
    hashes = hash_bytes(pa.array(list(PUBLISHED)), seed=0).view(np.uint64)
    assert hashes.tolist() == list(PUBLISHED.values())


def test_strings_binaries_and_longs_hash_as_in_spark(spark):
    number = np.random.default_rng(7).integers(-(2**63), 2**63 - 1, len(TEXTS))
    second = number[::-1].copy()
    table = pa.table({"text": TEXTS, "bytes": [t.encode() for t in TEXTS], "a": number, "b": second})
    spark.createDataFrame(table).createOrReplaceTempView("hashed")
    rows = spark.sql(
        "select xxhash64(text) t, xxhash64(bytes) b, xxhash64(a) one, xxhash64(a, b) two from hashed"
    ).collect()
    assert sorted(row.t for row in rows) == sorted(hash_bytes(table["text"].chunk(0)).tolist())
    assert {row.b for row in rows} == set(hash_bytes(table["bytes"].chunk(0)).tolist())
    assert {row.one for row in rows} == set(combine([number]).tolist())
    assert {row.two for row in rows} == set(combine([number, second]).tolist())


@given(st.lists(st.one_of(st.binary(), st.none())), st.integers(0, 3))
def test_every_layout_of_the_same_bytes_has_the_same_hashes(items, first):
    plain = pa.array(items, pa.binary())
    expected, present = codec(pa.binary()).encode(plain)
    for kind in (pa.large_binary(), pa.binary_view()):
        keys, valid = codec(kind).encode(pa.array(items, kind).slice(first))
        valid = np.ones(len(keys), bool) if valid is None else valid
        mask = np.ones(len(items), bool) if present is None else present
        np.testing.assert_array_equal(keys[valid], expected[first:][mask[first:]])


def test_texts_of_every_layout_hash_as_their_bytes():
    expected = hash_bytes(pa.array([t.encode() for t in TEXTS]))
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        np.testing.assert_array_equal(hash_bytes(pa.array(TEXTS, kind)), expected)
    np.testing.assert_array_equal(hash_bytes(pa.array([b"abcd"], pa.binary(4))), hash_bytes(pa.array([b"abcd"])))
    assert len(hash_bytes(pa.array([b"", b""], pa.binary(0)))) == 2


def test_hashes_spread_over_their_top_bits():
    hashes = hash_bytes(pa.array([str(n) for n in range(1 << 16)]))
    assert len(np.unique(hashes)) == 1 << 16
    for top, bits in ((hash24(hashes), 24), (hash32(hashes), 32)):
        assert top.min() >= -(2 ** (bits - 1))
        assert top.max() < 2 ** (bits - 1)
        # n balls in m bins: n - n^2 / 2m distinct values are expected, with a deviation of about n / sqrt(2m)
        n, m = 1 << 16, 1 << bits
        assert len(np.unique(top)) > n - n * n / (2 * m) - 8 * n / np.sqrt(2 * m)
        assert np.bincount((top >> (bits - 4)) + 8, minlength=16).min() > n / 16 * 0.9


def test_several_columns_combine_in_their_order_and_at_one_length():
    a, b = np.arange(1000), np.arange(1000)[::-1].astype(np.int32)
    assert len(np.unique(combine([a, b]))) == 1000
    assert (combine([a, b]) != combine([b, a])).any()
    np.testing.assert_array_equal(combine([a, b]), combine([a, b.astype(np.int64)]))
    with pytest.raises(ParameterError, match="combine needs at least one column of keys"):
        combine([])
    with pytest.raises(ParameterError, match="columns to combine must have one length, not 1000 and 3"):
        combine([a, b[:3]])


@pytest.mark.parametrize("offsets", [[0, 1_000_000, 5], [0, 5, 4], [-3, 2, 5], [0, 5, 6]])
def test_offsets_that_leave_the_data_are_refused_and_not_followed(offsets):
    memory = [None, pa.py_buffer(np.array([0, *offsets, 5], np.int32).tobytes()), pa.py_buffer(b"hello")]
    array = pa.Array.from_buffers(pa.string(), len(offsets) + 1, memory)
    with pytest.raises(
        DataError, match="malformed Arrow data: offsets of a string column descend, or leave its 5 bytes"
    ):
        codec(pa.string()).encode(array)


def test_hashes_are_for_equality_alone_and_say_so():
    subject = codec(pa.string())
    assert not subject.exact
    assert not subject.orderable
    assert subject.dtype == np.int64
    keys, _ = subject.encode(pa.array(["a", "b"]))
    with pytest.raises(ParameterError, match="cannot decode 2 keys of string: they are hashes"):
        subject.decode(keys)
    with pytest.raises(
        ParameterError, match="cannot narrow 2 keys of string to 40 bits: hashes have no order; use hash24"
    ):
        subject.narrow(keys, 40)
    with pytest.raises(
        ParameterError, match=r"cannot hash 2 numpy values as string; call encode\(pa.array\(values\)\)"
    ):
        subject.keys_of(keys)


def test_with_the_compiler_off_every_key_and_hash_is_the_same():
    script = """
import numpy as np
import pyarrow as pa
from panjoin.keys import codec, combine
from tests.keys import nasty
for column in [*nasty.VALUES.values(), pa.array([chr(97 + n) * n for n in range(70)])]:
    subject = codec(column.type)
    keys, _ = subject.encode(column)
    print(keys.tolist(), combine([keys]).tolist())
    if subject.orderable:
        print(subject.narrow(keys, 40).tolist())
"""
    told = {}
    for off in ("0", "1"):
        environment = os.environ | {"NUMBA_DISABLE_JIT": off, "PYTHONPATH": ":".join(sys.path)}
        ran = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
        )
        told[off] = (ran.returncode, ran.stdout)
        assert ran.stderr == ""
    assert told["0"] == told["1"]
    assert len(told["0"][1]) > 1000
