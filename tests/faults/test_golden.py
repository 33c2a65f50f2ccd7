"""Golden states: every format has some, and they are read by code that can be wrong."""

import json
import zipfile

import pytest

from panjoin.errors import DamageError
from panjoin.spark import chunk
from panjoin.spark.chunk import FORMAT
from tests.faults import golden
from tests.faults.golden import GOLDEN, SPARK
from tests.faults.records import Tally


def test_every_format_up_to_that_of_the_code_has_a_state_per_join_and_a_checkpoint_of_sparks():
    assert golden.formats() == list(range(1, FORMAT + 1))
    for number in golden.formats():
        names = {path.name for path in (GOLDEN / f"format-{number}").iterdir()}
        assert names == {SPARK, *golden.names()}


def test_every_blob_in_them_says_the_format_that_its_directory_is_named_after():
    for number in golden.formats():
        for name in golden.names():
            with zipfile.ZipFile(GOLDEN / f"format-{number}" / name) as archive:
                handles = json.loads(archive.read("state.json"))["handles"]
            blobs = [each["header"] for each in handles] + [blob for each in handles for *_, blob in each["chunks"]]
            assert len(blobs) > 4
            assert {int.from_bytes(golden._bytes(blob)[4:6], "little") for blob in blobs} == {number}


@pytest.mark.parametrize("name", golden.names())
def test_what_is_written_today_is_gone_on_with(name, tmp_path):
    golden.written(golden.SHAPES[golden.names().index(name)], tmp_path / name)
    tally = Tally()
    golden.replayed(tmp_path / name, 0, tally)
    assert tally.clean, tally.failed


def test_a_newer_format_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(chunk, "FORMAT", FORMAT + 1)
    path = GOLDEN / f"format-{FORMAT}" / golden.names()[0]
    with pytest.raises(DamageError, match=f"it has format {FORMAT}, this version of panjoin reads format {FORMAT + 1}"):
        golden.replayed(path, 0, Tally())
