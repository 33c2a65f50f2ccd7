"""The page of the public names, from their signatures and docstrings.

Docstrings are Markdown as they stand: drawings are indented, code is in backticks, examples begin with `>>>`. Fields of
dataclasses are described by the comment `#:` behind them or above them.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from importlib import import_module
from typing import Any

from scripts.reference.table import table

_HEAD = """# Public names

This page is made from the docstrings (`python -m scripts.reference`); the examples in it are run by the tests. What the
names mean together is told by [What is a match](semantics.md), the [Spark guide](spark.md) and
[Operations](operations.md).
"""


@dataclass(frozen=True)
class Name:
    """One public name, and which of its members are for users; those of a class that users do not make are all said."""

    name: str
    members: tuple[str, ...] = ()
    made: bool = True  #: whether users make objects of the class: then its signature is shown


@dataclass(frozen=True)
class Module:
    """One module, and how it is introduced."""

    name: str
    text: str
    names: tuple[Name, ...]


_JOIN = ("push", "advance", "finish", "flush", "stream", "stats", "explain", "resolve", "close")
_RESULT = ("count", "to_arrow", "batches", "pairs", "late", "ranges")
_CONDITION = ("explain", "equalities", "band", "residual", "scans")
_INDEX = ("insert", "probe", "seal", "memory_bytes", "check", "arrays", "open")
_PROGRESS = (
    "tuples", "late", "quarantined", "pairs", "rows", "selectivity", "watermark", "bytes_resident", "bytes_state",
    "chain", "structures", "seconds",
)  # fmt: skip
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "band")
_ERRORS = ("PanJoinError", "ParameterError", "ConditionError", "DataError", "StateError", "DamageError")

MODULES = (
    Module(
        "panjoin",
        "`import panjoin as pj`: the join in one process.",
        (
            Name("StreamJoin", _JOIN),
            Name("Result", _RESULT, made=False),
            *map(Name, ("CountWindow", "TimeWindow", "MixedWindow")),
            *map(Name, _COMPARISONS),
            Name("Condition", _CONDITION, made=False),
            Name("Aggregate", ("parse",)),
            *map(Name, _ERRORS),
        ),
    ),
    Module(
        "panjoin.options",
        "What `StreamJoin` takes beside condition and window; `stream_join` and job files take most of it.",
        (Name("Options", made=False),),
    ),
    Module(
        "panjoin.index",
        "The structures alone: one subwindow each, on keys that are int32 or int64.",
        (
            Name("create"),
            Name("Index", _INDEX, made=False),
            Name("Probe", ("counts", "total", "pairs", "chunks", "ranges"), made=False),
            Name("names"),
            Name("register"),
        ),
    ),
    Module(
        "panjoin.spark",
        "The join inside Spark Structured Streaming.",
        (Name("stream_join"), Name("session")),
    ),
    Module(
        "panjoin.spark.packed",
        "Files in and out of a join without rows in between.",
        (
            *map(Name, ("read", "write", "unpack")),
            Name("PackedSource", ("withWatermark", "schema", "columns"), made=False),
        ),
    ),
    Module(
        "panjoin.spark.metrics",
        "What a running query tells of itself.",
        (
            *map(Name, ("read", "last", "progress_of")),
            Name("Progress", _PROGRESS, made=False),
            Name("WorkerProgress", made=False),
            Name("SubwindowProgress", ("fill",), made=False),
        ),
    ),
    Module(
        "panjoin.spark.listener",
        "The history of all joins of a session.",
        (Name("Watch", ("joins", "history")), Name("Watched", made=False)),
    ),
    Module(
        "panjoin.spark.exporter",
        "A Prometheus endpoint; needs the extra `metrics`.",
        (Name("serve"), Name("Exporter", ("close",), made=False)),
    ),
)


def page() -> str:
    """The page."""
    lines = [_HEAD]
    for module in MODULES:
        lines += [f"## `{module.name}`", "", module.text, ""]
        home = import_module(module.name)
        for name in module.names:
            lines += _entry(name, getattr(home, name.name))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _entry(name: Name, value: Any) -> list[str]:
    lines = [f"### `{name.name}`", ""]
    if not inspect.isclass(value):
        return [*lines, *_signature(name.name, _definition(value)), *_text(value)]
    if issubclass(value, Exception):
        bases = " and a ".join(f"`{base.__name__}`" for base in value.__bases__)
        return [*lines, *_text(value), *([f"It is a {bases}.", ""] if value.__bases__ != (Exception,) else [])]
    tree = _definition(value)
    methods = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    if name.made and "__init__" in methods:
        lines += _signature(name.name, methods["__init__"], gives=False)
    lines += _text(value)
    if is_dataclass(value) and "__init__" not in methods:
        lines += _fields(value)
    if "__init__" in methods and (told := ast.get_docstring(methods["__init__"])):
        lines += [*_fenced(told), ""]
    for member in name.members:
        each = inspect.getattr_static(value, member, None)
        lines += [f"#### `{name.name}.{member}`", ""]
        if member in methods and not isinstance(each, property) and not hasattr(each, "func"):
            lines += _signature(member, methods[member])
        lines += _text(each) if member in methods else _attribute(value, member)
    return lines


def _definition(value: Any) -> Any:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(value))).body
    return tree


def _signature(name: str, function: ast.FunctionDef, *, gives: bool = True) -> list[str]:
    arguments = function.args
    for group in (arguments.posonlyargs, arguments.args):
        if group and group[0].arg in ("self", "cls"):
            del group[0]
            break
    told = f" -> {ast.unparse(function.returns)}" if gives and function.returns is not None else ""
    text = f"{name}({_plain(ast.unparse(arguments))}){_plain(told)}"
    if len(text) > 100:
        parts = "".join(f"    {part},\n" for part in _split(_plain(ast.unparse(arguments))))
        text = f"{name}(\n{parts}){_plain(told)}"
    return ["```py", text, "```", ""]


def _plain(text: str) -> str:
    """`x: int = 1` instead of `x: int=1`; types that are quoted without their quotes."""
    text = re.sub(r"(?<=[\w\]'])=(?=[\w'\"(\[-])", " = ", text)
    return re.sub(r"(?<=: )'([\w\[\], |.]+)'", r"\1", text)


def _split(inside: str) -> list[str]:
    """Parameters: at commas outside of brackets and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for at, letter in enumerate(inside):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(inside[start:at].strip())
            start = at + 1
    return [*parts, inside[start:].strip()]


def _text(value: Any) -> list[str]:
    value = value.func if hasattr(value, "func") else value
    return [*_fenced(inspect.getdoc(value) or ""), ""]


def _fenced(held: str) -> list[str]:
    """A docstring with its examples in fences; what is indented in it stays a drawing."""
    lines, fenced = [], False
    for line in held.splitlines():
        if line.startswith(">>> ") and not fenced:
            lines.append("```pycon")
            fenced = True
        if fenced and not line.strip():
            lines.append("```")
            fenced = False
        lines.append(line)
    return [*lines, "```"] if fenced else lines


def _attribute(value: Any, member: str) -> list[str]:
    return [_comments(value).get(member, ""), ""]


def _fields(value: Any) -> list[str]:
    comments = _comments(value)
    rows: list[Sequence[str]] = []
    for each in _definition(value).body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.target.id[0] != "_":
            given = "" if each.value is None or isinstance(each.value, ast.Call) else f"`{ast.unparse(each.value)}`"
            name = each.target.id
            rows.append([f"`{name}`", f"`{ast.unparse(each.annotation)}`", given, comments.get(name, "")])
    head = ("field", "type", "unless given", "")
    if not any(row[2] for row in rows):
        head, rows = ("field", "type", ""), [[name, kind, text] for name, kind, _, text in rows]
    return [*table(head, rows), ""]


def _comments(value: Any) -> dict[str, str]:
    """The comments `#:` behind names, or on lines of their own above them."""
    found: dict[str, str] = {}
    above: list[str] = []
    for line in inspect.getsource(value).splitlines():
        alone, named = re.match(r"\s+#: (.*)$", line), re.match(r"\s+(?:self\.)?(\w+)(?:: | = ).*?(?:#: (.*))?$", line)
        if alone:
            above.append(alone[1])
            continue
        if named and (above or named[2]):
            found[named[1]] = " ".join([*above, *([named[2]] if named[2] else [])])
        above = []
    return found
