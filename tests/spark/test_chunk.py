"""Stored bytes: what was put in comes out, and damage is named."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.errors import DamageError
from panjoin.spark.chunk import CHUNK, HEADER, Chunk, framed, marks_of, marks_to_bytes, unframed
from panjoin.spark.state import Header

ROWS = pa.record_batch({"a b": pa.array([2**53 + 1, None, 3]), "": pa.array(["x", None, "z"])})


def test_rows_numbers_and_lateness_come_back():
    for numbers in (None, np.array([5, 7, 2**40])):
        for late in (False, True):
            back = Chunk.of(Chunk(ROWS, 5, numbers, late).to_bytes(), ROWS.schema, "it")
            assert back.rows.equals(ROWS)
            assert (back.first_no, back.late) == (5, late)
            assert (back.numbers is None) if numbers is None else np.array_equal(back.numbers, numbers)


def test_a_chunk_with_more_columns_than_needed_gives_those_that_are():
    assert Chunk.of(Chunk(ROWS, 0).to_bytes(), ROWS.select([""]).schema, "it").rows.equals(ROWS.select([""]))


def test_a_chunk_without_a_needed_column_is_damaged():
    with pytest.raises(DamageError, match=r"part 3 .* does not read as Arrow: 'price'"):
        Chunk.of(Chunk(ROWS, 0).to_bytes(), pa.schema([("price", pa.int64())]), "part 3")


@given(st.data())
def test_any_changed_byte_is_noticed(data):
    blob = bytearray(Chunk(ROWS, 5).to_bytes())
    at = data.draw(st.integers(0, len(blob) - 1))
    blob[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(
        DamageError, match=r"part 0 of left subwindow 2 in the state is damaged: .* Restore the checkpoint"
    ):
        Chunk.of(blob, ROWS.schema, "part 0 of left subwindow 2")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda blob: None, "it is missing"),
        (lambda blob: b"", "it has 0 bytes, less than the 20 of a frame"),
        (lambda blob: b"GIF8" + blob[4:], "begins with b'GIF8' instead of b'PJST'"),
        (lambda blob: blob[:4] + b"\x09" + blob[5:], "it has format 9, this version of panjoin reads format 1"),
        (lambda blob: framed(HEADER, b""), "it is of kind 1 instead of 2"),
        (lambda blob: blob[:-1], "should have 3 bytes behind the frame and has 2"),
        (lambda blob: blob + b"!", "should have 3 bytes behind the frame and has 4"),
        (lambda blob: blob[:-1] + b"!", "its checksum is"),
    ],
)
def test_damage_is_said(change, message):
    with pytest.raises(DamageError, match=message):
        unframed(change(framed(CHUNK, b"abc")), CHUNK, "it")


def test_marks_come_back_whatever_their_number():
    for size in (0, 1, 7, 8, 9, 17):
        marks = np.arange(size) % 3 == 0
        assert np.array_equal(marks_of(marks_to_bytes(marks), size, "marks"), marks)
    with pytest.raises(DamageError, match="marks for 8 tuples instead of 9"):
        marks_of(marks_to_bytes(np.ones(8, bool)), 9, "marks")


def test_a_header_comes_back_and_every_version_has_its_own_stamp():
    header = Header({"how": "inner"}).next(arrived={"left": 3, "right": 0})
    assert Header.of(header.to_bytes()) == header
    after = header.next()
    assert (after.version, after.lineage) == (2, header.lineage)
    assert len({"", header.stamp, after.stamp}) == 3
