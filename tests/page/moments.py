"""Micro-batches and boards made up for the page."""

from panjoin.job.moments import Moment
from panjoin.page.board import Board
from panjoin.spark.metrics import SubwindowProgress

NOON = 1_767_614_400_000_000  # 2026-01-05 12:00 UTC, in microseconds
MINUTE = 60_000_000

#: What a browser would run if it were read as markup, in each of the places where that could happen.
HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&lt;b&gt;${licence}\u2028<!--"


def subwindow(side: str, number: int, **changed) -> SubwindowProgress:
    values = {
        "structure": "rap-table", "size": 75, "late": 0, "capacity": 100, "sealed": True,
        "oldest": NOON + number * MINUTE, "newest": NOON + number * MINUTE + 14 * MINUTE + 24_000_000, "balance": 1.5, "bytes": 640,
        "partitions": (100, 150, 50), "worker": 0,
    }  # fmt: skip
    return SubwindowProgress(side=side, number=number, **{**values, **changed})


def moment(batch: int, **changed) -> Moment:
    """With a left subwindow for each micro-batch so far, up to four, and one right subwindow."""
    left = tuple(subwindow("left", each, sealed=each < batch) for each in range(max(0, batch - 3), batch + 1))
    values = {
        "batch": batch, "at": NOON / 1e6 + batch, "seconds": 2.0, "left": 30, "right": 20, "pairs": 100 + batch,
        "rows": 100 + batch, "late": 3, "split": {"spark": 1.0, "probe": 0.5, "insert": 0.3, "state": 0.2},
        "watermark": NOON + batch * MINUTE, "state_bytes": 1_500, "resident_bytes": 2_500_000,
        "chains": {"left": left, "right": (subwindow("right", 7, structure="bi-sort", balance=None, partitions=()),)},
    }  # fmt: skip
    return Moment(**{**values, **changed})


def board(batches: int = 0, **settings) -> Board:
    made = Board("orders-meet-quotes", {"condition": "left.x < right.x"}, "the plan", **settings)
    for batch in range(batches):
        made.moment(moment(batch))
    return made
