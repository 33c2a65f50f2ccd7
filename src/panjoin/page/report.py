"""The page saved as one file that needs no server, no network and nothing of ours: a report of the run."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from panjoin.errors import ParameterError
from panjoin.page.board import Board
from panjoin.page.document import MARK, document


def check_place(file: Path) -> None:
    """Raises when no report can be written there, or when something else would be lost; before the job starts."""
    if not file.parent.is_dir():
        raise ParameterError(f"--report {file}: there is no directory {file.parent}; make it, or name another")
    if not os.access(file.parent, os.W_OK):
        raise ParameterError(f"--report {file}: {file.parent} cannot be written to; name another directory")
    if file.is_dir():
        raise ParameterError(f"--report {file} is a directory; name a file in it, such as {file / 'report.html'}")
    if file.exists() and not _ours(file):
        raise ParameterError(f"--report {file} is there, and no report of PanJoin; name another file")


def save(board: Board, file: Path) -> None:
    """Write it, all at once: whoever opens the file meanwhile sees the old one or the new one."""
    check_place(file)
    beside = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        with beside.open("x", encoding="utf-8") as written:
            written.write(document(board.told(), live=False))
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def _ours(file: Path) -> bool:
    with file.open("rb") as there:
        return there.read(len(MARK)) == MARK.encode()
