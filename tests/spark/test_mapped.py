"""Files of arrays: what was put in comes out as views, and a file that is not as it was written is not read."""

import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panjoin.spark.mapped import Reader, Stored, UnusableError, unchanged, write

ROWS = pa.record_batch({"a b": pa.array([2**53 + 1, None, 3]), "": pa.array(["x", None, "z"])})
PARTS = {
    "keys": np.arange(7, dtype=np.int32),
    "none": np.empty(0, np.int64),
    "table": np.arange(6.0).reshape(2, 3),
    "every other": np.arange(10)[::2],
    "rows": ROWS,
}


def written(directory, parts=PARTS):
    return write(directory / "file", {"size": 3}, parts)


def test_arrays_rows_and_notes_come_back_and_cannot_be_written_to(tmp_path):
    notes, arrays, rows = Reader().open(tmp_path, written(tmp_path))
    assert notes == {"size": 3}
    assert rows.equals(ROWS)
    for name, array in arrays.items():
        assert np.array_equal(array, PARTS[name]) and array.dtype == PARTS[name].dtype
        assert not array.flags.writeable or array.size == 0
    assert set(arrays) == set(PARTS) - {"rows"}


def test_parts_begin_where_a_cache_line_does(tmp_path):
    _, arrays, rows = Reader().open(tmp_path, written(tmp_path))
    assert all(array.ctypes.data % 64 == 0 for array in arrays.values() if array.size)
    assert all(buffer.address % 8 == 0 for column in rows.columns for buffer in column.buffers() if buffer)


def test_views_outlive_the_name_of_the_file(tmp_path):
    stored = written(tmp_path)
    _, arrays, rows = Reader().open(tmp_path, stored)
    (tmp_path / stored.name).unlink()
    assert arrays["keys"].tolist() == list(range(7))
    assert rows.equals(ROWS)


def test_nothing_is_left_of_a_file_that_could_not_be_written(tmp_path):
    with pytest.raises(OSError, match="File name too long"):
        write(tmp_path / ("x" * 255), {}, PARTS)
    with pytest.raises(TypeError, match="not JSON serializable"):
        write(tmp_path / "file", {"size": object()}, PARTS)
    assert list(tmp_path.iterdir()) == []


def test_only_its_owner_may_read_it(tmp_path):
    assert (tmp_path / written(tmp_path).name).stat().st_mode & 0o777 == 0o600


def disguised(path, stored):
    """The same file with the time that was noted, as if the disk had changed it."""
    os.utime(path, ns=(stored.changed, stored.changed))
    return Stored.of(stored.name, path.stat())


@given(data=st.data())
def test_any_changed_byte_is_noticed_even_where_size_and_time_are_as_noted(data, tmp_path_factory):
    directory = tmp_path_factory.mktemp("damaged")
    stored = written(directory)
    path = directory / stored.name
    blob = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(blob) - 1))
    blob[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(blob)
    try:
        _, arrays, rows = Reader().open(directory, disguised(path, stored))
    except UnusableError:
        return
    # the byte stood between two parts
    assert rows.equals(ROWS)
    assert all(np.array_equal(array, PARTS[name]) for name, array in arrays.items())


@given(data=st.data())
def test_a_file_that_was_cut_is_refused_before_it_is_mapped(data, tmp_path_factory):
    directory = tmp_path_factory.mktemp("cut")
    stored = written(directory)
    path = directory / stored.name
    os.truncate(path, data.draw(st.integers(0, stored.size - 64)))  # what fills up the last part is not read
    assert not unchanged(directory, stored)
    with pytest.raises(UnusableError, match="is not as it was written"):
        Reader().open(directory, stored)
    with pytest.raises(UnusableError):
        Reader().open(directory, disguised(path, stored))


def test_a_missing_file_a_link_and_another_file_of_the_same_name_are_refused(tmp_path):
    stored = written(tmp_path)
    path = tmp_path / stored.name
    path.rename(tmp_path / "elsewhere")
    assert not unchanged(tmp_path, stored)
    with pytest.raises(UnusableError, match="No such file"):
        Reader().open(tmp_path, stored)
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnusableError, match="symbolic links"):
        Reader().open(tmp_path, stored)
    path.unlink()
    written(tmp_path)
    with pytest.raises(UnusableError, match="is not as it was written"):
        Reader().open(tmp_path, stored)


def test_checksums_are_verified_once_per_process(tmp_path):
    stored = written(tmp_path)
    path = tmp_path / stored.name
    known, other = Reader(), Reader()
    known.open(tmp_path, stored)
    blob = bytearray(path.read_bytes())
    blob[-1 - len(blob) % 64] ^= 1
    blob[blob.index(PARTS["keys"].tobytes())] ^= 1
    with path.open("r+b") as file:
        file.write(blob)
    same = disguised(path, stored)
    assert same == stored
    assert known.open(tmp_path, stored).arrays["keys"][0] == 1
    with pytest.raises(UnusableError, match="keys in file has not the checksum"):
        other.open(tmp_path, stored)
