"""The processor as a runtime, without a JVM: two workers, windows forgotten and tasks killed at random."""

from __future__ import annotations

from tests.oracle.question import Answer, Question
from tests.registry import WINDOWS, runtime
from tests.spark.fake_spark import FakeSpark
from tests.spark.questions import answer_of, micro_batches, plan_of

FAR = 1 << 42  #: milliseconds: a watermark that everything is behind


def _accepts(_predicate: str, window: str, how: str) -> bool:
    """Lateness is the DataFrames' in Spark; streams have no end there, so only time hands out the last unmatched."""
    timed = WINDOWS[window].ts is not None
    return WINDOWS[window].lateness is None and (how in ("inner", "left_semi") or (timed and window == "seconds"))


@runtime("spark-processor", indexes=("bi-sort",), accepts=_accepts)
def _processor(question: Question, index: str | None) -> Answer:
    spark = FakeSpark(plan_of(question, index=index), forget=0.3, die=0.2)
    rows = []
    for left, right in micro_batches(question):
        cut = left.num_rows // 2
        rows += spark.micro_batch([left.slice(0, cut), left.slice(cut)], [right])
    return answer_of(rows + spark.micro_batch([], [], FAR))
