"""Parameters that change between two starts of a query: every row of the table in docs/operations.md."""

import pytest

from tests.faults import restarts
from tests.faults.records import Tally
from tests.faults.restarts import ROWS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.parameter} is {row.verdict}")
def test_a_restart_with(row):
    tally = Tally()
    restarts.case(row, 0, tally)
    assert tally.cases == 1
    assert tally.failed == []


def test_the_document_shows_the_table_of_these_rows():
    assert restarts.table() in restarts.DOCUMENT.read_text()
