"""The processor as a runtime, without a JVM: both placements, windows forgotten and tasks killed at random."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from tests.oracle.question import Answer, Question
from tests.registry import WINDOWS, runtime
from tests.spark.fake_spark import FakeSpark
from tests.spark.questions import answer_of, micro_batches, plan_of

FAR = 1 << 42  #: milliseconds: a watermark that everything is behind


def _accepts(_predicate: str, window: str, how: str) -> bool:
    """Lateness is the DataFrames' in Spark; streams have no end there, so only time hands out the last unmatched."""
    timed = WINDOWS[window].ts is not None
    return WINDOWS[window].lateness is None and (how in ("inner", "left_semi") or (timed and window == "seconds"))


@runtime("spark-arrival", indexes=("bi-sort",), accepts=_accepts)
def _arrival(question: Question, index: str | None) -> Answer:
    return _answer(question, workers=_some(question), placement="arrival", index=index)


@runtime("spark-key", indexes=("bi-sort",), accepts=_accepts)
def _key(question: Question, index: str | None) -> Answer:
    return _answer(question, workers=_some(question), placement="key", index=index)


def _some(question: Question) -> int:
    """1, 2 or 3 workers, by the question."""
    return 1 + crc32(f"{question.on} {question.window} {question.how}".encode()) % 3


def _answer(question: Question, **options: Any) -> Answer:
    spark = FakeSpark(plan_of(question, **options), forget=0.3, die=0.2)
    rows = []
    for left, right in micro_batches(question):
        cut = left.num_rows // 2
        rows += spark.micro_batch([left.slice(0, cut), left.slice(cut)], [right])
    return answer_of(rows + spark.micro_batch([], [], FAR))
