"""The notebook shows what its cells give when they are run from top to bottom."""

import json
from pathlib import Path

from tests.house.notebook import code_cells, run

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "notebook.ipynb"


def test_every_cell_of_the_notebook_gives_what_it_shows(spark: object) -> None:
    notebook = json.loads(NOTEBOOK.read_text())
    assert run(notebook) == [cell["outputs"] for cell in code_cells(notebook)]


def test_its_cells_were_run_once_each_in_their_order() -> None:
    notebook = json.loads(NOTEBOOK.read_text())
    counts = [cell["execution_count"] for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))
    assert len(counts) > 5


def test_a_cell_is_shown_by_what_it_prints_and_by_its_last_value() -> None:
    cells = [["x = 1\n", "print(x)"], ["x + 1"], ["x"], [""], ["print('a')\n", "None"]]
    shown = run({"cells": [{"cell_type": "code", "source": source} for source in cells] + [{"cell_type": "markdown"}]})
    assert [[each["output_type"] for each in outputs] for outputs in shown] == [
        ["stream"], ["execute_result"], ["execute_result"], [], ["stream"],
    ]  # fmt: skip
    assert shown[1][0]["data"] == {"text/plain": ["2"]}
