"""The demo does the work that it says it does."""

import numpy as np
import pytest
from typer.testing import CliRunner

from panjoin.cli import demo
from panjoin.cli.app import app, main


def test_the_demo_joins_and_finds_its_answer_equal_to_the_nested_loop_s() -> None:
    result = CliRunner().invoke(app, ["demo", "--tuples", "3000", "--batch", "700"])
    assert result.exit_code == 0, result.output
    assert "the two answers are equal, pair by pair" in result.output


def test_the_demo_fails_when_a_pair_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    join = demo.join
    monkeypatch.setattr(demo, "join", lambda *arguments: join(*arguments)[1:])
    result = CliRunner().invoke(app, ["demo", "--tuples", "3000"])
    assert result.exit_code == 1
    assert "the two answers differ" in result.output


def test_its_nested_loop_is_one() -> None:
    orders, quotes = np.array([10, 20], np.int32), np.array([4, 5, 15, 26], np.int32)
    assert demo.nested_loop(orders, quotes).tolist() == [[0, 1], [0, 2], [1, 2]]


def test_an_unknown_structure_is_one_line_for_the_user(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["panjoin", "demo", "--index", "nothing"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("error: no index structure is called 'nothing'")
