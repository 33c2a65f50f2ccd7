"""Examples in documents and docstrings: found, run, and compared with what is shown below them.

    ```python      runs, one namespace per document; what follows >>> is compared
    ```console     what follows $ runs where the document's examples write; what it prints is compared

`...` stands for anything; spaces and line ends do not count. What is found to differ is given back as text.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from unittest import mock

from panjoin.cli.app import main

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(document: Path, *languages: str) -> list[str]:
    """What a document shows in fences of these languages."""
    return [code for _, code in fences(document, *languages)]


def fences(document: Path, *languages: str) -> list[tuple[str, str]]:
    """The same, with the language before each."""
    pattern = rf"^```({'|'.join(languages)})\n(.*?)^```"
    return re.findall(pattern, document.read_text(), flags=re.DOTALL | re.MULTILINE)


def run_all(document: Path, place: Path) -> list[str]:
    """Every example of a document, from its head to its end."""
    told: list[str] = []
    session: dict[str, object] = {"__name__": "__main__"}
    for number, (language, code) in enumerate(fences(document, "python", "console")):
        name = f"{document.name}[{number}]"
        if language == "console":
            told += _told_otherwise(code, place)
        elif code.startswith(">>>"):
            session = _compared(code, session, name, told)
        else:
            exec(compile(code, name, "exec"), session)
    return told


def doctests(module: Path, source: Path) -> list[str]:
    """Every example in the docstrings of a module."""
    name = ".".join(module.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for example in doctest.DocTestFinder(exclude_empty=True).find(import_module(name), name):
        runner.run(example, out=told.append)
    assert runner.tries > 0, f"{name} shows examples that are not found"
    return told


def _compared(code: str, session: dict[str, object], name: str, told: list[str]) -> dict[str, object]:
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    example = doctest.DocTestParser().get_doctest(code, session, name, name, 0)
    runner.run(example, out=told.append, clear_globs=False)
    return example.globs


def _told_otherwise(code: str, place: Path) -> Iterator[str]:
    for command, expected in _commands(code):
        printed = _program(command) if command.startswith("panjoin ") else _shell(command, place)
        if not doctest.OutputChecker().check_output(expected, printed, FLAGS):
            yield f"$ {command}\nexpected:\n{expected}\nprinted:\n{printed}"


def _commands(code: str) -> list[tuple[str, str]]:
    pieces = re.split(r"^\$ ", code, flags=re.MULTILINE)
    assert pieces[0] == "", f"a console begins with a command: {code!r}"
    found = []
    for piece in pieces[1:]:
        command, _, expected = piece.replace("\\\n", " ").partition("\n")
        found.append((command, expected))
    return found


def _program(command: str) -> str:
    """`panjoin ...` in this process, beside the Spark that runs here."""
    printed = io.StringIO()
    with (
        mock.patch.object(sys, "argv", shlex.split(command)),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        contextlib.suppress(SystemExit),
    ):
        main()
    return printed.getvalue()


def _shell(command: str, place: Path) -> str:
    answer = subprocess.run(["bash", "-c", command], cwd=place, capture_output=True, text=True, check=False)
    return answer.stdout + answer.stderr
