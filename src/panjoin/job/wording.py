"""Pydantic's findings in the words of a job file: the key, what was expected there, and what was written instead."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from panjoin.job.model import Table, Window
from panjoin.job.problems import Path, Problem
from panjoin.suggest import choices
from panjoin.window import SIDES


def told(error: ValidationError, kind: type[Table], table: dict[str, Any], path: Path) -> list[Problem]:
    """Pydantic's findings in our words; of the branches of a union only what says most."""
    found_at: dict[Path, list[tuple[str, str]]] = {}
    for found in error.errors(include_url=False):
        at = _keys_of(found["loc"], table, missing=found["type"] == "missing")
        found_at.setdefault((*path, *at), []).append((found["type"], _message(found, kind, at)))
    problems = []
    for at, messages in found_at.items():
        own = [message for sort, message in messages if sort in ("value_error", "extra_forbidden")]
        wanted = list(dict.fromkeys(own or [message for _, message in messages]))
        problems.append(Problem(at, "; or ".join(wanted)))
    # Under a union pydantic also tells the outer key that none of its forms fits: the inner finding says it better.
    return [p for p in problems if not any(q.path[: len(p.path)] == p.path and q.path != p.path for q in problems)]


def _keys_of(location: tuple[Any, ...], table: Any, *, missing: bool) -> Path:
    """The part of pydantic's location that is keys of the file: the rest names branches of unions."""
    keys = []
    for number, part in enumerate(location):
        last = number == len(location) - 1
        if isinstance(table, dict) and part in table:
            keys.append(str(part))
            table = table[part]
        elif isinstance(table, list) and isinstance(part, int):
            table = None
        elif missing and last and isinstance(table, dict):
            keys.append(str(part))
    return tuple(keys)


def _message(found: Any, kind: type[Table], at: Path) -> str:
    given = found.get("input")
    match found["type"]:
        case "extra_forbidden":
            known = _known_keys(kind, at[:-1])
            return f"unknown key; {choices(at[-1] if at else '', known)}"
        case "missing":
            field = next((f for n, f in kind.model_fields.items() if at and at[-1] in (n, f.alias)), None)
            return "is missing" + (f"; {field.description}" if field is not None and field.description else "")
        case "value_error":
            return str(found["ctx"]["error"])
        case "literal_error":
            return f"must be {found['ctx']['expected']}, not {given!r}"
        case sort:
            wanted = _WANTED.get(sort, found["msg"][0].lower() + found["msg"][1:])
            if sort == "greater_than_equal":
                wanted = f"must be at least {found['ctx']['ge']}"
            if sort == "less_than_equal":
                wanted = f"must be at most {found['ctx']['le']}"
            return f"{wanted}, not {given!r}"


_WANTED = {
    "string_type": "must be a text in quotes",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "too_short": "must be a list of two",
    "too_long": "must be a list of two",
}


def _known_keys(kind: type[Table], inner: Path) -> list[str]:
    """Keys of the model, or of one further in."""
    if inner and kind is Window:
        return list(SIDES)
    return [field.alias or name for name, field in kind.model_fields.items()]
