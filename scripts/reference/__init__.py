"""Pages of docs/ that are made from code: what there is to say is said there, once, and read from there.

    typer app          ──> docs/cli.md
    pydantic models    ──> docs/job-files.md
    public docstrings  ──> docs/api.md

`make docs` writes them. A test compares them with what would be written now, so a change of the code that forgets
them is seen.
"""

from __future__ import annotations

from pathlib import Path

from scripts.reference import api, command_line, job_files

DOCS = Path(__file__).resolve().parents[2] / "docs"


def pages() -> dict[Path, str]:
    """What each page must hold."""
    return {
        DOCS / "api.md": api.page(),
        DOCS / "cli.md": command_line.page(),
        DOCS / "job-files.md": job_files.page(),
    }
