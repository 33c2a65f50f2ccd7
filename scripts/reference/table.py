"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table; bars inside of cells are escaped."""
    body = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return [_row(head), _row(["---"] * len(head)), *map(_row, body)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
