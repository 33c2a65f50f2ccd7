"""Pathway's interval_join, in an environment that has the package pathway; needs nothing of ours.

Configuration: PATHWAY_THREADS as many as cores, the static mode of the CSV connector (the whole input is one batch, its
fastest way), and number and sums of the pairs as one reduction. The whole run is timed, less the same run on a few rows
in a process before it; like Flink's, its rate is that of the whole stream.
"""

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any


def main() -> None:
    """Request in, one line of JSON out."""
    request = json.load(sys.stdin)
    os.environ["PATHWAY_THREADS"] = str(request["cores"])
    import pathway as pw  # noqa: PLC0415  (its threads are settled when it is imported)

    rows = pw.schema_from_types(id_=int, k=int, ms=int)
    begin = time.perf_counter()
    left, right = (
        pw.io.csv.read(str(Path(request["directory"]) / request["part"] / (side + ".csv")), schema=rows, mode="static")
        for side in ("left", "right")
    )
    window = request["window"]
    both = left.interval_join(right, left.ms, right.ms, pw.temporal.interval(-window, window), left.k == right.k)
    pairs = both.select(one=left.id_, other=right.id_)
    total = pairs.reduce(count=pw.reducers.count(), left=pw.reducers.sum(pairs.one), right=pw.reducers.sum(pairs.other))
    found = [0, 0, 0]

    def note(key: Any, row: Any, time: int, is_addition: bool) -> None:  # noqa: ARG001  (it calls by name)
        if is_addition:
            found[:] = [row["count"], row["left"], row["right"]]

    pw.io.subscribe(total, on_change=note)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    answer = {"found": found, "seconds": [time.perf_counter() - begin], "version": version("pathway")}
    sys.stdout.write("\n" + json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
