"""The registry: names, and what is said about a name that nobody registered."""

import pytest

from panjoin.errors import ParameterError
from panjoin.index import create
from panjoin.index.contract import names


def test_an_unknown_structure_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(ParameterError, match="no index structure is called 'b-tree'; there are 'bi-sort', 'rap-table'"):
        create("b-tree", capacity=4)


def test_our_four_structures_come_first() -> None:
    assert names()[:4] == ["bi-sort", "rap-table", "wib-tree", "scan"]
