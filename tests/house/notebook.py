"""A notebook without Jupyter: its code cells run one after another, and what they give is what the file shows.

    cell ──> what it prints                    output "stream"
         └─> the value of its last expression  output "execute_result", as repr

`python -m tests.house.notebook docs/notebook.ipynb` runs a notebook and writes the outputs into it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def run(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of all code cells, in one session."""
    session: dict[str, Any] = {"__name__": "__main__"}
    return [_outputs(number, cell, session) for number, cell in enumerate(code_cells(notebook), 1)]


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells that run."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _outputs(number: int, cell: dict[str, Any], session: dict[str, Any]) -> list[dict[str, Any]]:
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), session)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), session)
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    written = json.loads(path.read_text())
    for number, (cell, outputs) in enumerate(zip(code_cells(written), run(written), strict=True), 1):
        cell.update(outputs=outputs, execution_count=number)
    path.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n")
