"""The demo does the work that it says it does."""

import dataclasses
import re
from collections.abc import Iterable

import numpy as np
import pytest
from typer.testing import CliRunner

from panjoin.cli import demo
from panjoin.cli.app import app, main
from panjoin.cli.demo import MINUTE, Answer, Ticks

SMALL = ["demo", "--tuples", "3000", "--batch", "700"]


def ticks(*rows: tuple[str, int, int]) -> Ticks:
    """(symbol, price, microseconds)."""
    symbol, price, ts = zip(*rows, strict=True)
    return Ticks(np.array(symbol), np.array(price), np.array(ts))


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


def test_the_demo_joins_and_finds_its_answer_equal_to_the_nested_loop_s() -> None:
    output = run(*SMALL)
    assert "the two answers are equal, pair by pair" in output
    (pairs,) = set(re.findall(r"([\d,]+) pairs", output))
    assert int(pairs.replace(",", "")) > 1000
    assert re.search(r"panjoin .* [\d,]+ tuples/s", output)


def test_some_tuples_come_too_late_and_both_answers_count_them() -> None:
    (late,) = set(re.findall(r"([\d,]+) tuples came too late", run("demo", "--tuples", "20000")))
    assert int(late) > 0


def test_the_same_seed_gives_the_same_streams_and_another_one_others() -> None:
    pairs = [re.findall(r"([\d,]+) pairs", run(*SMALL, "--seed", seed)) for seed in ("1", "1", "2")]
    assert pairs[0] == pairs[1] != pairs[2]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda answer: dataclasses.replace(answer, pairs=answer.pairs[1:]),
        lambda answer: dataclasses.replace(answer, late=answer.late + 1),
    ],
    ids=["a pair", "a late tuple"],
)
def test_the_demo_fails_when_the_join_s_answer_differs_in(monkeypatch: pytest.MonkeyPatch, spoil) -> None:
    join = demo.join
    monkeypatch.setattr(demo, "join", lambda *arguments: spoil(join(*arguments)))
    result = CliRunner().invoke(app, SMALL)
    assert result.exit_code == 1
    assert "the two answers differ" in result.output


# ---- its nested loop ----


def pairs_of(answer: Answer) -> list[list[int]]:
    return answer.pairs.tolist()


def test_its_nested_loop_wants_equal_symbols_near_prices_and_near_times() -> None:
    orders = ticks(("A", 100, 60 * MINUTE), ("B", 100, 60 * MINUTE))
    ten = demo.WINDOW * MINUTE
    quotes = ticks(
        ("A", 105, 60 * MINUTE + ten), ("A", 106, 60 * MINUTE), ("A", 95, 60 * MINUTE - ten), ("A", 94, 60 * MINUTE),
        ("A", 100, 60 * MINUTE + ten + 1), ("A", 100, 60 * MINUTE - ten - 1), ("B", 100, 60 * MINUTE), ("C", 100, 0),
    )  # fmt: skip
    assert pairs_of(demo.nested_loop(orders, quotes, batch=8)) == [[0, 0], [0, 2], [1, 6]]


def test_its_nested_loop_leaves_out_what_is_older_than_the_watermark_when_it_comes() -> None:
    def stream(minutes: Iterable[float]) -> Ticks:
        return ticks(*(("A", 100, int(minute * MINUTE)) for minute in minutes))

    orders = stream([20, 22, 19, 19])  # after the second batches the watermark is 21 - 1
    quotes = stream([20, 21, 20, 19.99])
    answer = demo.nested_loop(orders, quotes, batch=1)
    assert answer.late == 3
    assert pairs_of(answer) == [[order, quote] for order in (0, 1) for quote in (0, 1, 2)]


def test_the_streams_are_skewed_and_out_of_order_and_some_tuples_are_very_late() -> None:
    random = np.random.default_rng(5)
    stream = demo.trade(random, demo.listed_prices(random), 20_000)
    counts = np.sort(np.unique(stream.symbol, return_counts=True)[1])[::-1]
    assert counts[0] > 20 * counts[len(counts) // 2]
    behind = np.maximum.accumulate(stream.ts) - stream.ts
    assert 0.5 < np.mean(behind > 0) < 1
    assert behind.max() > 5 * MINUTE


def test_an_unknown_structure_is_one_line_for_the_user(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["panjoin", "demo", "--index", "nothing"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("error: no index structure is called 'nothing'")
