"""Plots of the report: one line per row of a table, the vertical axis logarithmic; SVG, and PNG if asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from panjoin.bench.tables import Table, number, shown

FORMATS = ("svg", "png")
#: What the horizontal axis counts, where its name does not say it.
AXES = {
    "batch": "batch (tuples)",
    "W": "W (tuples per window)",
    "S": "S (matches per probing tuple)",
    "selectivity": "S (matches per probing tuple)",
    "matches": "S (matches per probing tuple)",
    "generation": "generation (subwindow after subwindow)",
}


def plot(table: Table, title: str, path: Path, formats: Sequence[str] = FORMATS[:1]) -> None:
    """Write `path` with each of the endings; `path` has none."""
    import matplotlib as mpl  # noqa: PLC0415  (an extra of the benchmarks)

    mpl.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415
    from matplotlib.ticker import LogFormatter  # noqa: PLC0415

    class Numbers(LogFormatter):
        """Ticks as the tables have them; which of the small ones are labelled is matplotlib's choice."""

        def __call__(self, value: float, position: int | None = None) -> str:
            return number(value, table.unit) if super().__call__(value, position) else ""

    with mpl.rc_context(
        {"svg.hashsalt": "panjoin", "svg.fonttype": "none", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}
    ):
        figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
        colours, dashes = _distinct(table)
        ticks = _positions(table.columns)
        for row in table.rows:
            across = [(at, table.cells[row, column]) for at, column in zip(ticks, table.columns, strict=True)]
            seen = [(at, cell.median, cell.values) for at, cell in across if cell is not None and cell.median]
            if not seen:
                continue
            x, y = [at for at, _, _ in seen], [middle for _, middle, _ in seen]
            around = [[max(0.0, middle - min(values)) for _, middle, values in seen],
                      [max(0.0, max(values) - middle) for _, middle, values in seen]]  # fmt: skip
            label = ", ".join(shown(value) for value in row)
            axes.errorbar(x, y, yerr=around, label=label, marker="o", markersize=3, linewidth=1.2, capsize=2,
                          color=colours[row], linestyle=dashes[row])  # fmt: skip
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(Numbers())
        axes.yaxis.set_minor_formatter(Numbers(minor_thresholds=(1.5, 0.5)))
        axes.set_xticks(ticks, [shown(column) for column in table.columns])
        axes.set_xlabel(AXES.get(table.column, table.column))
        axes.set_ylabel(table.unit)
        axes.set_title(title)
        axes.legend(title=", ".join(table.row_names), loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=7)
        for ending in formats:
            metadata = {"Date": None} if ending == "svg" else {"Software": None}
            figure.savefig(path.with_name(f"{path.name}.{ending}"), dpi=100, metadata=metadata)
        pyplot.close(figure)


def _positions(columns: Sequence[object]) -> list[float]:
    """Columns stand at equal distances: they are powers, generations, or names."""
    return [float(at) for at in range(len(columns))]


def _distinct(table: Table) -> tuple[dict[tuple[object, ...], Any], dict[tuple[object, ...], str]]:
    """A colour for each first part of a row, a dash for each rest; or colours alone when rows have one part."""
    firsts = list(dict.fromkeys(row[0] for row in table.rows))
    rests = list(dict.fromkeys(row[1:] for row in table.rows))
    from matplotlib import colormaps  # noqa: PLC0415

    dashes = ("-", "--", ":", "-.")
    by_rest = len(rests) > len(dashes)
    place = {row: rests.index(row[1:]) if by_rest else firsts.index(row[0]) for row in table.rows}
    palette, size = ("tab10", 10) if max(place.values()) < 10 else ("tab20", 20)
    colour = {row: colormaps[palette](at % size) for row, at in place.items()}
    dash = {row: dashes[(firsts.index(row[0]) if by_rest else rests.index(row[1:])) % 4] for row in table.rows}
    return colour, dash
