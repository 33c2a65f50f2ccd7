"""What the fuzzer has kept, replayed; and what it has found, said in words."""

import json

import pytest

from panjoin.errors import DamageError
from panjoin.spark.chunk import HEADER, framed
from panjoin.spark.state import Header
from tests.fuzz.kept import HERE, kept, replay
from tests.fuzz.targets import TARGETS


def test_everything_that_was_kept_gives_a_value_or_an_error_of_ours(tmp_path):
    tally = replay(tmp_path, range(2))
    assert tally.clean, tally.failed
    assert {path.parent.name for path in (HERE / "corpus").glob("*/*")} == set(TARGETS)


@pytest.mark.parametrize("target", TARGETS)
def test_each_target_has_a_corpus(target):
    assert len(kept(target)) >= 10


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b'{"parameters": {}, "more": 1}',
        b'{"version": 1}',
        b"\xff",
        b'{"parameters": 5}',
        b"[" * 5000,
    ],
)
def test_a_header_with_a_right_checksum_that_is_none_is_damage(body):
    with pytest.raises(
        DamageError, match=r"the header of the join in the state is damaged: its checksum is right, but"
    ):
        Header.of(framed(HEADER, body))


def test_a_header_comes_back():
    header = Header({"on": "left.k = right.k"}, version=3)
    assert Header.of(header.to_bytes()) == header
    assert json.loads(bytes(header.to_bytes())[20:])["version"] == 3
