"""The page of the command line, from the typer app: every command with its arguments and options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

from typer.main import get_command

from panjoin.cli.app import app
from panjoin.cli.codes import TOLD
from scripts.reference.table import table

_HEAD = f"""# Commands

This page is made from the program (`python -m scripts.reference`); `panjoin COMMAND --help` says the same.

{TOLD}
"""


def page() -> str:
    """The page."""
    lines = [_HEAD]
    for name, command in _commands("panjoin", get_command(app)):
        lines += _section(name, command)
    return "\n".join(lines).rstrip() + "\n"


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield name, command
        return
    for inner, each in sorted(command.commands.items()):
        yield from _commands(f"{name} {inner}", each)


def _section(name: str, command: Any) -> list[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and each.name != "help"]
    words = [each.metavar or each.name.upper() for each in arguments]
    usage = " ".join(
        [name, *(word if each.required else f"[{word}]" for word, each in zip(words, arguments, strict=True))]
    )
    lines = [
        f"## `{name}`",
        "",
        _told(command.help),
        "",
        "```text",
        f"{usage} [OPTIONS]" if options else usage,
        "```",
        "",
    ]
    rows = [[f"`{word}`", each.help or "", _default(each)] for word, each in zip(words, arguments, strict=True)]
    hints = get_type_hints(inspect.unwrap(command.callback))
    rows += [[_spelled(each, hints[each.name]), each.help or "", _default(each)] for each in options]
    return lines + ([*table(("", "what", "unless given"), rows), ""] if rows else [])


def _told(text: str) -> str:
    """The docstring; the exit codes are at the head of the page."""
    return " ".join(text.replace(TOLD, "").split())


def _spelled(option: Any, kind: Any) -> str:
    value = "" if option.is_flag else f" {option.metavar or _word(kind)}" * option.nargs
    many = ", also several times" if option.multiple else ""
    return f"`{option.opts[0]}{value}`{many}"


def _word(kind: Any) -> str:
    inside = [each for each in get_args(kind) if each is not type(None)]
    if inside:
        return _word(inside[0])
    return {int: "N", float: "X", Path: "PATH"}.get(kind, "TEXT")


def _default(parameter: Any) -> str:
    value = parameter.default() if callable(parameter.default) else parameter.default
    if parameter.required:
        return "needed"
    if value is None or value is False or value == []:
        return ""
    return str(value) if isinstance(value, Path) else f"`{value}`"
