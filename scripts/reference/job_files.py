"""The page of job files, from the pydantic models that check them: every table, its keys, what they mean."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from panjoin.job import model
from panjoin.job.settings import ALLOWED
from panjoin.job.template import FILES
from scripts.reference.table import table

_HEAD = f"""# Job files

A job file describes a whole pipeline: `panjoin run job.toml` runs it. This page is made from the models that check job
files (`python -m scripts.reference`). Files are TOML, or YAML with the same tables and keys (without tags). Everything
that is wrong with a file is told at once, with its line, before Spark starts. Paths are seen from the file's
directory and stay inside it, unless the command line allows another place (`--allow-path`).

`panjoin init` writes this one, with a little data:

```toml
{FILES.strip()}
```

Of the tables, {", ".join(f"`{name}`" for name in model.NEEDED)} are needed; `run` and `spark` are not.
`name` is the query's: letters, digits, `_` and `-`, at most 64 of them.
"""

_NAMES = {
    model.Count: "whole number, at least 1",
    model.Duration: "length of time",
    model.Columns: "columns",
    model.Format: "name",
    model.Name: "name",
    model.Options: "table",
    str: "text",
    bool: "true or false",
    int: "whole number",
    type(None): "",
}


def page() -> str:
    """The page."""
    lines = [_HEAD, "## `[left]` and `[right]`: where the tuples come from", ""]
    lines += ["Every source has these keys, and those of its `format`.", "", *_keys(model.Source), ""]
    lines += _kinds(model.SOURCES, model.AnySource, model.Source)
    lines += ["## `[join]`", "", *_introduced(model.Join)]
    lines += ["## `[window]`", "", *_introduced(model.Window)]
    lines += ["A window may be different for each side, also by time on one and by count on the other:", ""]
    lines += ["```toml", "[window]", "time = { left = '1 hour' }", "count = { right = 1000 }", "on = 'ts'", "```", ""]
    lines += ["## `[sink]`: where the rows go", "", "Every sink has these keys, and those of its `format`.", ""]
    lines += [*_keys(model.Sink), "", *_kinds(model.SINKS, model.AnySink, model.Sink)]
    lines += ["## `[run]`", "", *_introduced(model.Run)]
    lines += [
        "## `[spark]`",
        "",
        "Settings of the session, with or without `spark.` in front. A file may give these:",
        "",
    ]
    lines += [", ".join(f"`{name}`" for name in ALLOWED) + ".", ""]
    lines += ["Any other needs `--allow-conf` on the command line: some settings of Spark run code, or write anywhere."]
    return "\n".join(lines) + "\n"


def _kinds(kinds: dict[str, Any], other: Any, base: Any) -> list[str]:
    lines = []
    for kind in dict.fromkeys([*kinds.values(), other]):
        formats = [f"`{name}`" for name, each in kinds.items() if each is kind] or ["any other"]
        lines += [f"### {', '.join(formats)}", "", *_introduced(kind, base)]
    return lines


def _introduced(kind: Any, base: Any = model.Table) -> list[str]:
    rows = _keys(kind, base)
    return [_sentence(kind.__doc__), "", *([*rows, ""] if len(rows) > 2 else [])]


def _sentence(text: str) -> str:
    return " ".join(text.split())


def _keys(kind: Any, base: Any = model.Table) -> list[str]:
    hints = get_type_hints(kind, include_extras=True)
    rows = []
    for name, field in kind.model_fields.items():
        if name in base.model_fields:
            continue
        default = (
            "needed" if field.is_required() else "" if field.default in (None, {}) else f"`{_literal(field.default)}`"
        )
        rows.append([f"`{field.alias or name}`", _named(hints[name]), default, field.description or ""])
    return table(("key", "value", "unless given", "meaning"), rows)


def _literal(value: Any) -> str:
    """As TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)


def _named(hint: Any) -> str:
    for known, name in _NAMES.items():
        if hint == known:
            return name
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inside)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(filter(None, map(_named, inside))))
    if origin is Annotated:
        return _named(inside[0])
    if origin is list:
        return "list"
    if origin is dict:
        return "table"
    return "table for each side" if issubclass(hint, model.Table) else hint.__name__
