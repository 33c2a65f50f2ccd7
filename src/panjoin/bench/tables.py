"""Records laid out as a table: rows and columns are values of parameters, cells are measurements or reasons for none.

                     batch 1K        32K         1M          parameters that are the same in all cells
bi-sort, W = 64K      1.2M ±2%    14.0M ±1%   skipped [1]    stand beside the table
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from panjoin.bench.experiment import View
from panjoin.bench.records import Record

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Table:
    """One view of an experiment's records."""

    row_names: tuple[str, ...]
    column: str
    unit: str
    rows: Sequence[Row]
    columns: Sequence[Any]
    cells: dict[tuple[Row, Any], Record | None]
    reasons: Sequence[str]  #: of skipped cells, numbered from 1

    def text(self, row: Row, column: Any) -> str:
        """What stands in a cell."""
        cell = self.cells[row, column]
        if cell is None:
            return "-"
        if cell.median is None:
            return f"skipped [{self.reasons.index(cell.skipped) + 1}]"
        return number(cell.median, cell.unit) + ("" if cell.spread is None else f" ±{50 * cell.spread:.0f}%")


def table(view: View, records: Iterable[Record]) -> Table | None:
    """The view of these records; None when there are none of its metric."""
    chosen = [each for each in records if _fits(view, each)]
    measured = [each for each in chosen if each.metric == view.metric and each.median is not None]
    if not measured:
        return None
    columns = ordered(each.parameters.get(view.column, "") for each in measured)
    skipped = [each for each in chosen if each.skipped]
    columns = ordered([*columns, *(each.parameters[view.column] for each in skipped if view.column in each.parameters)])
    cells: dict[tuple[Row, Any], Record | None] = {}
    for each in skipped:
        row = _row(view, each)
        for column in [each.parameters[view.column]] if view.column in each.parameters else columns:
            cells[row, column] = each
    for each in measured:
        at = (_row(view, each), each.parameters.get(view.column, ""))
        there = cells.get(at)
        assert there is None or there.median is None, f"two records in one cell of {view.title!r}: {at}"
        cells[at] = each
    rows = sorted(dict.fromkeys(row for row, _ in cells), key=lambda row: _rank(row, chosen, view))
    cells = {(row, column): cells.get((row, column)) for row in rows for column in columns}
    reasons = dict.fromkeys(cell.skipped for cell in cells.values() if cell is not None and cell.median is None)
    return Table(view.rows, view.column, measured[0].unit, rows, columns, cells, list(reasons))


def ordered(values: Iterable[Any]) -> list[Any]:
    """Each once: numbers ascending, anything else in order of appearance."""
    distinct = list(dict.fromkeys(values))
    return sorted(distinct) if all(isinstance(value, (int, float)) for value in distinct) else distinct


def shown(value: Any) -> str:
    """A parameter: whole numbers of 1024 or more in K and M as in the paper (K = 1024)."""
    if isinstance(value, int) and value >= 1 << 10:
        for size, letter in ((1 << 20, "M"), (1 << 10, "K")):
            if value % size == 0:
                return f"{value // size}{letter}"
    return str(value)


def number(value: float, unit: str = "") -> str:
    """A measured number with three digits; thousands in K, M, G (powers of ten) where there is a rate."""
    if unit.endswith("/s"):
        for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
            if value >= size:
                return f"{_three(value / size)}{letter}"
    return _three(value)


def _three(value: float) -> str:
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 or value == 0 else f"{value:.2g}"


def _fits(view: View, each: Record) -> bool:
    if not all(each.parameters.get(name) == value for name, value in view.where.items()):
        return False
    return each.metric == view.metric or (bool(each.skipped) and all(name in each.parameters for name in view.rows))


def _row(view: View, each: Record) -> Row:
    return tuple(each.parameters.get(name, "") for name in view.rows)


def _rank(row: Row, chosen: Sequence[Record], view: View) -> list[Hashable]:
    """Rows by the order of their parts, as columns are."""
    return [ordered(_row(view, each)[at] for each in chosen).index(part) for at, part in enumerate(row)]
