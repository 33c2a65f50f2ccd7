"""The oracles as runtimes: the first two contestants, and the measure of all others."""

from __future__ import annotations

import atexit
from functools import cache

import duckdb

from tests.oracle import duck, nested
from tests.oracle.question import Answer, Question
from tests.registry import runtime


@runtime("nested")
def _nested(question: Question, _index: str | None) -> Answer:
    return nested.join(question)


@runtime("duckdb")
def _duckdb(question: Question, _index: str | None) -> Answer:
    return duck.join(question, connection())


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """One for all questions: opening it takes longer than most of them."""
    atexit.register(connection.cache_clear)  # or DuckDB's bindings complain of leaks, below the summary of the tests
    return duckdb.connect()
