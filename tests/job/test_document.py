"""Text becomes plain values with the line of every key, and nothing but plain values."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from panjoin.job.document import MOST_BYTES, parsed, read
from panjoin.job.problems import JobError

TOML = '''\
name = "x" # = [not] a key
[left]
text = """two
lines = of [text]"""
options = { a = 1, b = [1,
  2] }   # a list may be broken

["odd name".'inner']
deep.er = 1
[last]
'''
YAML = """\
name: x
left:
  on: yes please
  day: 2026-01-05
  options: {a: 1, b: [1, 2]}
"""


def refused(text: str, *, yaml_text: bool = True) -> str:
    with pytest.raises(JobError) as error:
        parsed("job", text, yaml_text=yaml_text)
    return str(error.value)


def test_toml_keys_have_the_lines_on_which_they_begin():
    lines = parsed("job", TOML, yaml_text=False).lines
    assert {".".join(path): line for path, line in lines.items()} == {
        "name": 1, "left": 2, "left.text": 3, "left.options": 5,
        "odd name.inner": 8, "odd name.inner.deep.er": 9, "last": 10,
    }  # fmt: skip


def test_yaml_keys_have_the_lines_on_which_they_begin_and_stay_as_they_are_written():
    document = parsed("job", YAML, yaml_text=True)
    assert document.lines["left", "on"] == 3
    assert document.lines["left", "options", "b"] == 5
    assert document.tree["left"] == {"on": "yes please", "day": "2026-01-05", "options": {"a": 1, "b": [1, 2]}}


@given(st.lists(st.tuples(st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.text(max_size=20)), max_size=6))
def test_every_top_key_is_found_on_its_line_whatever_the_texts_hold(pairs):
    text, expected = "", {}
    for number, (key, value) in enumerate(dict(pairs).items()):
        expected[key,] = text.count("\n") + 1
        quoted = "".join(f"\\U{ord(c):08x}" if not 0xD800 <= ord(c) < 0xE000 else "?" for c in value)
        text += f'{key} = "{quoted}"\n' if number % 2 else f"{key} = '''\n[\"]={{#\n'''\n"
    assert parsed("job", text, yaml_text=False).lines == expected


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        ("!!python/object/apply:os.system ['echo bad']", "!!python/object/apply:os.system"),
        ("!!python/name:os.system", "!!python/name:os.system"),
        ("!Custom {a: 1}", "!Custom"),
        ("!!binary aGk=", "!!binary"),
        ("!!set {a, b}", "!!set"),
    ],
)
def test_yaml_tags_are_refused_and_nothing_is_made(tag, said):
    assert refused(f"name: x\nleft:\n  format: {tag}\n") == (
        f"job:3: left.format: the tag {said} could make an object; a job file holds plain values only"
    )


def test_yaml_aliases_are_refused_so_that_a_small_file_stays_small():
    bomb = "a: &a [x, x]\n" + "".join(f"{n}: &{n} [*{p}, *{p}]\n" for p, n in zip("abcdefg", "bcdefgh", strict=True))
    assert refused(bomb).splitlines()[0] == "job:2: the alias *a: write the value again instead"


def test_a_key_that_is_there_twice_is_told():
    assert refused("a: 1\nb: 2\na: 3\n") == "job:3: a: this key is there twice"
    assert "job:2: not TOML: " in refused("a = 1\na = 2\n", yaml_text=False)


def test_text_that_is_no_toml_or_yaml_is_told_with_its_line():
    assert refused("a = 1\nb = = 2\n", yaml_text=False).startswith("job:2: not TOML: ")
    assert refused("a: 1\nb: [1, 2\n").startswith("job:3: not YAML: ")
    assert refused("- a\n- b\n") == "job: a job file is a table of keys and values"
    assert refused("a: 1\n---\nb: 1\n").startswith("job:2: not YAML: ")
    assert "nested too deeply" in refused("a: " + "[" * 5000 + "]" * 5000)
    assert "nested too deeply" in refused("a = " + "[" * 5000 + "]" * 5000, yaml_text=False)


def test_a_file_that_cannot_be_a_job_is_told(tmp_path: Path):
    def told(name: str, content: bytes) -> str:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(JobError) as error:
            read(tmp_path / name)
        return str(error.value).removeprefix(f"{tmp_path}/")

    assert (
        told("job.json", b"{}")
        == "job.json: a job file is TOML or YAML, by its name; there are '.toml', '.yaml', '.yml'"
    )
    assert told("job.toml", b"\xff") == "job.toml: is not UTF-8 text: invalid start byte at byte 0"
    assert (
        told("big.yaml", b"#" * (MOST_BYTES + 1))
        == f"big.yaml: has {MOST_BYTES + 1} bytes; a job file has at most 1 MiB"
    )
    with pytest.raises(JobError, match=r"no\.toml: cannot be read: No such file"):
        read(tmp_path / "no.toml")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_plain_yaml_reads_as_it_was_written(value):
    text = yaml.safe_dump({"a": value}, allow_unicode=True)
    if "&" not in text:  # no aliases
        found = parsed("job", text, yaml_text=True).tree["a"]
        assert found == value
