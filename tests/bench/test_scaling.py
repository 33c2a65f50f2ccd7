"""The model: its fit finds what data were made of, never a negative cost, and its shape is what its parts say."""

from __future__ import annotations

import numpy as np
import pytest

from panjoin.bench.scaling import Fit, Node, _terms

SIZES = [(float(size), float(batch)) for size in (1 << 16, 1 << 20, 1 << 23) for batch in (1 << 10, 1 << 15, 1 << 20)]


def made_of(*coefficients: float) -> Fit:
    points = [(n, b, float(np.dot(_terms(n, b, 1024), coefficients))) for n, b in SIZES]
    return Fit.of(points, 1024)


def test_a_fit_finds_the_coefficients_that_data_were_made_of() -> None:
    fit = made_of(20_000, 3, 2, 0.5, 0.01)
    assert fit.coefficients == pytest.approx([20_000, 3, 2, 0.5, 0.01], rel=1e-3)
    assert fit.error < 1e-6
    assert fit.ns(1 << 30, 1 << 23) == pytest.approx(np.dot(_terms(1 << 30, 1 << 23, 1024), fit.coefficients))


def test_a_term_that_would_be_negative_is_left_out() -> None:
    fit = made_of(0, 50, -1, 0, 0)
    assert (fit.coefficients >= 0).all()
    assert 0 < fit.error < 1


def test_by_arrival_the_network_grows_with_the_workers_and_by_key_it_does_not() -> None:
    node = Node(made_of(0, 10, 0, 0, 0), made_of(0, 5, 0, 0, 0), 4.0, 9.0)
    arrival = [node.seconds(workers, "arrival", 1 << 30, 1 << 23, 1e9) for workers in (2, 4)]
    key = [node.seconds(workers, "key", 1 << 30, 1 << 23, 1e9) for workers in (2, 4)]
    assert arrival[1]["network"] == 2 * arrival[0]["network"] == 4 * 8 * (1 << 23) / 1e9
    assert key[1]["network"] == key[0]["network"]
    assert arrival[1]["worker"] == pytest.approx(arrival[0]["worker"]) == pytest.approx(15e-9 * (1 << 23))
    assert key[1]["worker"] == pytest.approx(key[0]["worker"] / 2)
    assert {parts["manager"] for parts in (*arrival, *key)} == {4e-9 * (1 << 23)}
    assert node.memory(4, 1 << 30) == 2 * (1 << 28) * 9.0
