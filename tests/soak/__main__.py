"""`python -m tests.soak --minutes 30`: measures a peak, runs at 80% of it, and says whether anything has grown.

It runs for so many minutes and at least 1,000 micro-batches at that pace (`--batches`), writes what it saw into
`--directory`, judges it, keeps the record and renews docs/reliability.md (`--dry`: not). `--judge DIRECTORY` judges what an earlier
run has left. Exit code 1 when a row or a bound is not as it should be.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=20_000, help="of a side in a micro-batch")
    parser.add_argument("--share", type=float, default=0.8, help="of the peak")
    parser.add_argument("--peak", type=int, default=58, help="micro-batches flat out")
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--judge", type=Path, metavar="DIRECTORY")
    parser.add_argument("--dry", action="store_true", help="keep no record")
    asked = parser.parse_args()
    directory = asked.judge
    if directory is None:
        directory = asked.directory or Path(tempfile.mkdtemp(prefix="panjoin-soak-"))
        print(f"files are in {directory}", flush=True)  # noqa: T201
        _run(directory, asked)
    from tests.soak.verdict import concluded  # noqa: PLC0415  (judging needs none of the above)

    return concluded(directory, keep=not asked.dry)


def _run(directory: Path, asked: argparse.Namespace) -> None:
    from tests.soak.query import Soak  # noqa: PLC0415  (starts with Spark)

    began = time.monotonic()
    soak = Soak(directory, asked.rows)
    try:
        peak = soak.peak(asked.peak)
        print(f"peak {peak:,.0f} tuples/s, {soak.seconds_at_peak:.2f} s per micro-batch", flush=True)  # noqa: T201
        soak.paced(asked.share, lambda seconds, batches: seconds >= 60 * asked.minutes and batches >= asked.batches)
        soak.leave(share=asked.share, seconds=time.monotonic() - began)
    finally:
        soak.close()


if __name__ == "__main__":
    sys.exit(main())
