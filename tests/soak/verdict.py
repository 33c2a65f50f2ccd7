"""What a soak has left, judged: rows against numpy, and everything that could grow against what may be.

rows        every pair of every micro-batch, each once            lost, duplicated, wrong
late rows   as many as were sent too late                         undetected
memory      slope over the steady part, per 1,000 micro-batches   of Python and of the JVM: at most GROWTH of its level
files       most that lay there, against what the window is       at most TIMES its bytes
latency     last third of the steady part beside its first        of processor time: at most DRIFT; of the clock as
                                                                  well, unless others had more of the machine meanwhile
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from tests.faults import records
from tests.faults.catalogue import PARTS
from tests.faults.records import DOCUMENT, RECORDS, Record, Tally
from tests.oracle.vector import differences
from tests.soak.stream import CYCLE, DELAY, WINDOW, Stream

GROWTH, DRIFT, TIMES = 0.05, 0.15, 4.0
ENOUGH = 12  #: looks, below which nothing can be said of growth
_SLACK = 16 << 20  #: bytes per 1,000 micro-batches that no slope is made of
NAME = "half an hour at 80% of the peak"
HOW = (
    "One query on real Spark, a case is a micro-batch: every pair is compared with numpy, late rows and silent sides included, one "
    "restart from the checkpoint; memory, files, state and latency must not grow (undetected: a bound that does not hold)."
)
BEGIN, END = "<!-- soak: made by python -m tests.soak -->", "<!-- end of soak -->"


class Finding(NamedTuple):
    """A bound, and what was measured."""

    what: str
    measured: str
    bound: str
    holds: bool


def concluded(directory: Path, *, keep: bool) -> int:
    """Judge, print, and keep the record; 1 when something is not as it should be."""
    seen = json.loads((directory / "seen.json").read_text())
    tally, found = judged(directory, seen)
    if len(seen["samples"]) < ENOUGH:
        print("too short to say whether something grows")  # noqa: T201
    print("\n".join(f"{'ok ' if each.holds else 'NO '} {each.what}: {each.measured} ({each.bound})" for each in found))  # noqa: T201
    print("\n".join(tally.failed))  # noqa: T201
    if keep:
        minutes = (seen["samples"][-1]["seconds"]) / 60
        record = Record.of(
            "load", NAME, HOW, tally, command=f"python -m tests.soak --minutes {minutes:.0f}", seconds=seen["took"]
        )
        Record(**{**record.__dict__, "commit": seen["commit"], "seeds": []}).keep()
        _kept(RECORDS / "soak" / "soak.json", seen, found)
        write()
        records.write(parts=PARTS)
    return int(bool(tally.failed))


def judged(directory: Path, seen: dict[str, Any]) -> tuple[Tally, list[Finding]]:
    """The counts of the table, and the bounds."""
    tally, stream, turns = Tally(), Stream(seen["rows"]), seen["turns"]
    batches = turns[-1]["batch"] + 1
    lost, duplicated, wrong = _rows(directory / "out", stream, batches)
    tally.case(0, "all pairs", lost=lost, duplicated=duplicated, wrong=wrong)
    tally.cases += len(turns) - 1
    found = bounds(seen) if len(seen["samples"]) >= ENOUGH else []
    for side in ("left", "right"):
        told, sent = sum(turn["late"][side] for turn in turns), stream.late(side, batches)
        found.append(
            Finding(f"late rows of the {side} side", f"{told:,} were counted", f"{sent:,} were sent", told == sent)
        )
    for finding in found:
        if not finding.holds:
            tally.undetected += 1
            tally.failed.append(f"{finding.what}: {finding.measured}, but {finding.bound}")
    return tally, found


def _rows(out: Path, stream: Stream, batches: int) -> tuple[int, int, int]:
    """Compared block by block, by the left tuple's micro-batch; a pair comes out up to a window later."""
    empty = np.empty((0, 2), np.int64)
    pieces = [np.load(path) if (path := out / f"{batch:06}.npy").exists() else empty for batch in range(batches)]
    found = np.concatenate(pieces)
    found = found[np.argsort(found[:, 0], kind="stable")]
    counts = {"lost": 0, "duplicated": 0, "wrong": 0}
    for first in range(0, batches, 2 * WINDOW):
        last = min(batches, first + 2 * WINDOW)
        here = slice(*np.searchsorted(found[:, 0], (first * stream.rows, last * stream.rows)))
        both = [
            np.sort(pairs[:, 0] * (1 << 31) + pairs[:, 1])
            for pairs in (stream.pairs(first, last, batches), found[here])
        ]
        for name, count in differences(*both).items():
            counts[name] += count
    return counts["lost"], counts["duplicated"], counts["wrong"]


# ---- bounds ----


def bounds(seen: dict[str, Any]) -> list[Finding]:
    """Of memory, files, state and latency, over the steady part: behind the first sixth of the paced micro-batches."""
    paced = [turn for turn in seen["turns"] if turn["batch"] >= seen["first"]]
    begin = paced[len(paced) // 6]["batch"]
    samples = [each for each in seen["samples"] if each["batch"] >= begin]
    turns = [turn for turn in paced if turn["batch"] >= begin]
    found = [
        _memory("memory of the Python processes", samples, "python"),
        _memory("live heap of the JVM", samples, "heap"),
    ]
    window = max(sum(turn["held"].values()) for turn in turns if turn["held"])
    sent = 2 * seen["rows"] * (WINDOW + DELAY + _longest_silence())
    found.append(
        Finding("tuples in the windows", f"{window:,} at most", f"at most {1.25 * sent:,.0f}", window <= 1.25 * sent)
    )
    bytes_ = _BYTES * window
    for name, most in (
        ("bytes of resident files", max(each["files"] for each in samples)),
        ("bytes of windows in the state", max(turn["bytes_state"] for turn in turns)),
        ("bytes of the checkpoint", max(each["checkpoint"] for each in samples)),
    ):
        found.append(Finding(name, f"{_mib(most)} at most", f"at most {_mib(TIMES * bytes_)}", most <= TIMES * bytes_))
    return found + _latency(seen, samples, turns)


_BYTES = 48  #: of a tuple: n, x and ts, its id, its key with another id, and the two validity bits


def _longest_silence() -> int:
    return 35  #: micro-batches of the other side that wait for a watermark that stands still


def _memory(what: str, samples: Sequence[dict[str, Any]], name: str) -> Finding:
    level = median(each[name] for each in samples)
    slope = 1000 * theil_sen([each["batch"] for each in samples], [each[name] for each in samples])
    most = max(_SLACK, GROWTH * level)
    measured = f"{slope / 2**20:+.1f} MiB per 1,000 micro-batches at {_mib(level)}"
    return Finding(what, measured, f"at most {_mib(most)}", slope <= most)


def _latency(seen: dict[str, Any], samples: Sequence[dict[str, Any]], turns: Sequence[dict[str, Any]]) -> list[Finding]:
    """Thirds are whole cycles of silence as nearly as may be, so that they hold the same work."""
    third = max(1, len(turns) // 3)
    third = third // CYCLE * CYCLE or third
    first, last = turns[:third], turns[-third:]
    clock = median(turn["seconds"] for turn in last) / median(turn["seconds"] for turn in first)
    cpu = [_rate(_during(samples, part), "cpu") for part in (first, last)]
    others = [_others(_during(samples, part)) for part in (first, last)]
    steps = [_steps(part) for part in (first, last)]
    shared = max(others) > 0.1
    return [
        Finding(
            "processor seconds per micro-batch",
            f"{cpu[0]:.2f} in the first third, {cpu[1]:.2f} in the last",
            f"at most {DRIFT:.0%} more",
            cpu[1] <= (1 + DRIFT) * cpu[0],
        ),
        Finding(
            "seconds per micro-batch",
            f"{steps[0][0]:.2f} in the first third, {steps[1][0]:.2f} in the last (99 of 100 below {steps[0][1]:.2f} and "
            f"{steps[1][1]:.2f})",
            f"at most {DRIFT:.0%} more; "
            + (
                f"not judged: others had {others[0]:.0%} of the machine in the first third and {others[1]:.0%} in the last"
                if shared
                else f"others had at most {max(others):.0%} of the machine"
            ),
            shared or clock <= 1 + DRIFT,
        ),
    ]


def _steps(turns: Sequence[dict[str, Any]]) -> tuple[float, float]:
    seconds = [turn["seconds"] for turn in turns]
    return median(seconds), float(np.quantile(seconds, 0.99))


def _during(samples: Sequence[dict[str, Any]], turns: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in samples if turns[0]["batch"] <= each["batch"] <= turns[-1]["batch"] + 1]


def _rate(samples: Sequence[dict[str, Any]], name: str) -> float:
    return float(samples[-1][name] - samples[0][name]) / (samples[-1]["batch"] - samples[0]["batch"])


def _others(samples: Sequence[dict[str, Any]]) -> float:
    """Their part of what the machine's processors could do."""
    from panjoin.bench.machine import cores  # noqa: PLC0415  (beside its only use)

    busy, own, time = (samples[-1][name] - samples[0][name] for name in ("machine", "cpu", "seconds"))
    return float(max(0.0, (busy - own) / (time * cores())))


def theil_sen(x: Sequence[float], y: Sequence[float]) -> float:
    """The median slope between any two points: a few that lie far off do not tilt it."""
    i, j = np.triu_indices(len(x), 1)
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    return float(np.median((ys[j] - ys[i]) / (xs[j] - xs[i])))


def _mib(count: float) -> str:
    return f"{count / 2**20:,.0f} MiB"


# ---- the record ----


def _kept(path: Path, seen: dict[str, Any], found: Sequence[Finding]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    turns = seen["turns"]
    told = {
        **{name: seen[name] for name in ("rows", "share", "seconds_at_peak", "interval", "took", "commit", "machine")},
        "micro_batches": len(turns) - seen["first"],
        "paced_seconds": seen["samples"][-1]["seconds"],
        "pairs": sum(turn["pairs"] for turn in turns),
        "findings": [finding._asdict() for finding in found],
        "samples": seen["samples"],
    }
    path.write_text(json.dumps(told) + "\n")


def table(told: dict[str, Any]) -> str:
    """Markdown."""
    peak = 2 * told["rows"] / told["seconds_at_peak"]
    pace = 2 * told["rows"] / told["interval"]
    head = (
        f"{told['paced_seconds'] / 60:.0f} minutes, {told['micro_batches']:,} micro-batches of {2 * told['rows']:,} tuples, "
        f"{told['pairs']:,} pairs; peak {peak:,.0f} tuples/s, paced at {pace:,.0f} ({told['share']:.0%}); "
        f"{told['machine']['cpu']}, {told['machine']['cores']} cores, commit {told['commit']}."
    )
    lines = [
        head,
        "",
        "| | measured | bound | holds |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {f['what']} | {f['measured']} | {f['bound']} | {'yes' if f['holds'] else '**no**'} |"
        for f in told["findings"]
    ]
    return "\n".join(lines)


def kept(directory: Path = RECORDS) -> list[dict[str, Any]]:
    """The soak of the record, if one has been run."""
    return [json.loads(path.read_text()) for path in (directory / "soak").glob("*.json")]


def write(document: Path = DOCUMENT, directory: Path = RECORDS) -> None:
    """Put the table into its place."""
    before, _, rest = document.read_text().partition(BEGIN)
    tables = "\n\n".join(map(table, kept(directory)))
    document.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{rest.partition(END)[2]}")
