"""A job file as text becomes tables, texts, numbers and booleans, with the line of every key; nothing else.

    [window]            ("window",) -> 1
    time = "1 minute"   ("window", "time") -> 2     and {"window": {"time": "1 minute"}}

TOML is read by Python's own parser, which knows no lines once it is done: `_toml_lines` finds them. YAML is read as a
tree of nodes and turned into values here: tags, which can make objects, and aliases, with which a small file becomes a
huge one, are refused. Keys stay as they are written: in YAML 1.1 the key `on` would be read as true.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

import yaml

from panjoin.job.problems import JobError, Path, Problem
from panjoin.suggest import choices

#: A pipeline takes a page; what is larger is some other file.
MOST_BYTES = 1 << 20
_SUFFIXES = (".toml", ".yaml", ".yml")
_MOST_DEEP = 20


@dataclass(frozen=True)
class Document:
    """The content of a job file."""

    file: str
    tree: dict[str, Any]
    lines: dict[Path, int]

    def error(self, problems: list[Problem]) -> JobError:
        """What to raise."""
        return JobError(self.file, [problem.located(self.lines) for problem in problems])


def read(file: File) -> Document:
    """The file's content; raises when it is not one table of plain values."""
    if file.suffix not in _SUFFIXES:
        raise JobError(str(file), [Problem((), f"a job file is TOML or YAML, by its name; {choices('', _SUFFIXES)}")])
    try:
        if file.stat().st_size > MOST_BYTES:
            raise JobError(str(file), [Problem((), f"has {file.stat().st_size} bytes; a job file has at most 1 MiB")])
        text = file.read_text("utf-8")
    except OSError as error:
        raise JobError(str(file), [Problem((), f"cannot be read: {error.strerror}")]) from error
    except UnicodeDecodeError as error:
        raise JobError(str(file), [Problem((), f"is not UTF-8 text: {error.reason} at byte {error.start}")]) from error
    return parsed(str(file), text, yaml_text=file.suffix != ".toml")


def parsed(file: str, text: str, *, yaml_text: bool) -> Document:
    """From its text."""
    return _from_yaml(file, text) if yaml_text else _from_toml(file, text)


# ---- TOML ----


def _from_toml(file: str, text: str) -> Document:
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        raise JobError(file, [Problem((), f"not TOML: {error}", int(at[1]) if at else None)]) from error
    except RecursionError as error:
        raise JobError(file, [Problem((), "is nested too deeply")]) from error
    return Document(file, tree, dict(_toml_lines(text)))


_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}=\n]|[^"\'#\[\]{}=\n]+',
    re.DOTALL,
)
_KEY = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'|[\w-]+')


def _toml_lines(text: str) -> Iterator[tuple[Path, int]]:
    """Headers and keys of a text that is known to be TOML; keys of an inline table are on the line where it begins."""
    table: Path = ()
    line, began, depth = 1, 1, 0
    before: str | None = ""  #: what stands in this statement before its first "="; None behind it
    for found in _TOKEN.finditer(text):
        part = found[0]
        if part == "\n" and depth == 0:
            header = (before or "").strip()
            if header.startswith("["):
                table = _keys(header.strip("[] "))
                yield table, began
            before, began = "", line + 1
        elif before is None:
            depth += (part in "[{") - (part in "]}")
        elif part == "=":
            yield table + _keys(before), began
            before = None
        elif not part.startswith("#"):
            before += part
        line += part.count("\n")
    if before is not None and before.strip().startswith("["):
        yield _keys(before.strip().strip("[] ")), began


def _keys(dotted: str) -> Path:
    return tuple(part[1:-1] if part[0] in "\"'" else part for part in _KEY.findall(dotted))


# ---- YAML ----

_PLAIN = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")}
#: Tags that a plain text gets without being asked: dates and merge keys are texts here.
_TEXTS = {f"tag:yaml.org,2002:{name}" for name in ("timestamp", "merge", "value")}


def _from_yaml(file: str, text: str) -> Document:
    problems: list[Problem] = []
    lines: dict[Path, int] = {}
    loader = None
    try:
        loader = yaml.SafeLoader(text)  # refuses control characters here and now
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                line = None if event.start_mark is None else event.start_mark.line + 1
                problems.append(Problem((), f"the alias *{event.anchor}: write the value again instead", line))
        node = None if problems else loader.get_single_node()
        tree = None if node is None else _value(loader, node, (), lines, problems)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        said = f"not YAML: {error.problem or error.context}"
        raise JobError(file, [Problem((), said, None if mark is None else mark.line + 1)]) from error
    except RecursionError as error:
        raise JobError(file, [Problem((), "is nested too deeply")]) from error
    except yaml.YAMLError as error:
        raise JobError(file, [Problem((), f"not YAML: {str(error).splitlines()[0]}")]) from error
    finally:
        if loader is not None:
            loader.dispose()
    if not problems and not isinstance(tree, dict):
        problems.append(Problem((), "a job file is a table of keys and values"))
    if problems:
        raise JobError(file, problems)
    assert isinstance(tree, dict)
    return Document(file, tree, lines)


def _value(
    loader: yaml.SafeLoader, node: yaml.Node, path: Path, lines: dict[Path, int], problems: list[Problem]
) -> Any:
    line = node.start_mark.line + 1
    if node.tag not in _PLAIN | _TEXTS:
        tag = node.tag.replace("tag:yaml.org,2002:", "!!")
        problems.append(Problem(path, f"the tag {tag} could make an object; a job file holds plain values only", line))
        return None
    if len(path) > _MOST_DEEP:
        problems.append(Problem(path[:3], "is nested too deeply", line))
        return None
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, each, path, lines, problems) for each in node.value]
    if not isinstance(node, yaml.MappingNode):
        return node.value if node.tag in _TEXTS else loader.construct_object(node)
    table: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            problems.append(Problem(path, "a key must be a plain text", key.start_mark.line + 1))
            continue
        inner = (*path, key.value)
        if key.value in table:
            problems.append(Problem(inner, "this key is there twice", key.start_mark.line + 1))
        lines[inner] = key.start_mark.line + 1
        table[key.value] = _value(loader, value, inner, lines, problems)
    return table
