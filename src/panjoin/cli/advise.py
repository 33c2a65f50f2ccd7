"""`panjoin advise`: which structure, subwindow, workers and memory a join needs, why, and what speed to expect.

--calibrate first measures what the structures cost on this machine (about half a minute) and keeps that; joins with
index="auto" go by it from then on, and so does this command.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from panjoin.errors import ParameterError

if TYPE_CHECKING:
    from panjoin.advice import Advice, Situation
    from panjoin.calibration import Calibration

EMITS = ("rows", "counts", "ranges", "aggregates")
KEYS = {"unknown": None, "stable": 0.0, "drifting": 1.0}
WINDOW = "1000000"


def advise(
    *,
    window: Annotated[str, typer.Option(help='Tuples ("1000000") or a time ("10 minutes", with rates).')] = WINDOW,
    rate: Annotated[float | None, typer.Option(help="Tuples per second and side.")] = None,
    left_rate: Annotated[float | None, typer.Option(help="The same, of the left side.")] = None,
    right_rate: Annotated[float | None, typer.Option(help="The same, of the right side.")] = None,
    batch: Annotated[int | None, typer.Option(help="Tuples per batch, when that is given.")] = None,
    matches: Annotated[float | None, typer.Option(help="Pairs per tuple, over the whole window (1).")] = None,
    keys: Annotated[str, typer.Option(help="How keys move over time: stable, drifting or unknown.")] = "unknown",
    sample: Annotated[Path | None, typer.Option(help="A file to learn matches and drift from.")] = None,
    column: Annotated[str | None, typer.Option(help="The key's column in the sample.")] = None,
    band: Annotated[tuple[float, float], typer.Option(help="left - right lies in it (times: microseconds).")] = (0, 0),
    payload: Annotated[int, typer.Option(help="Bytes of other columns per tuple.")] = 0,
    emit: Annotated[str, typer.Option(help="Form of result: rows, counts, ranges or aggregates.")] = "rows",
    cores: Annotated[int | None, typer.Option(help="Cores to plan for (those of this machine).")] = None,
    calibrate: Annotated[bool, typer.Option("--calibrate", help="Measure this machine first.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
) -> None:
    """Recommend structure, subwindow, partitions, workers and memory for a join, and say why."""
    from panjoin import advice, calibration  # noqa: PLC0415
    from panjoin.bench.machine import cores as cores_here  # noqa: PLC0415

    if emit not in EMITS:
        raise ParameterError(f"emit must be one of {', '.join(EMITS)}, not {emit!r}")
    rates = _rates(rate, left_rate, right_rate)
    windows, timed = _windows(window, rates)
    found, drift, learned = _sampled(sample, column, band, max(windows.values()), matches, keys)
    situation = advice.Situation(
        windows=windows,
        rates=rates,
        batch=batch,
        matches=found,
        drift=drift,
        pairs=emit == "rows",
        sorted_only=emit in ("ranges", "aggregates"),
        payload=payload,
        timed=timed,
        cores=cores if cores is not None else cores_here(),
    )
    costs = _measured(quiet=as_json) if calibrate else calibration.load() or calibration.built_in()
    advised = advice.advise(situation, costs)
    if as_json:
        typer.echo(json.dumps(advice.as_json(advised) | {"matches": found, "drift": drift, "day": costs.day}, indent=2))
    else:
        for line in (*learned, *_lines(situation, advised, costs)):
            typer.echo(line)


def _rates(rate: float | None, left: float | None, right: float | None) -> dict[str, float] | None:
    left, right = (rate if own is None else own for own in (left, right))
    if left is None and right is None:
        return None
    if left is None or right is None:
        raise ParameterError("one side has a rate and the other has none; give --rate, or --left-rate and --right-rate")
    return {"left": left, "right": right}


def _windows(window: str, rates: dict[str, float] | None) -> tuple[dict[str, int], bool]:
    from panjoin.durations import microseconds_of  # noqa: PLC0415

    plain = window.replace("_", "").replace(",", "")
    if plain.lstrip("-").isdigit():
        return dict.fromkeys(("left", "right"), int(plain)), False
    seconds = microseconds_of(window, "window") / 1e6
    if rates is None:
        raise ParameterError(f"a window of {window!r} holds as many tuples as come in it; give --rate as well")
    return {side: max(1, round(rate * seconds)) for side, rate in rates.items()}, True


def _sampled(
    sample: Path | None, column: str | None, band: tuple[float, float], window: int, matches: float | None, keys: str
) -> tuple[float, float | None, list[str]]:
    """(matches per tuple, drift, what to tell): the user's word counts more than a sample."""
    if keys not in KEYS:
        raise ParameterError(f"keys must be one of {', '.join(KEYS)}, not {keys!r}")
    if band[0] > band[1]:
        raise ParameterError(f"a band goes from the smaller to the larger number, not from {band[0]:g} to {band[1]:g}")
    if sample is None:
        return 1.0 if matches is None else matches, KEYS[keys], []
    if column is None:
        raise ParameterError("a sample needs --column, the name of the key's column in it")
    from panjoin.cli.sample import read  # noqa: PLC0415

    seen = read(sample, column, band)
    found, drift = (
        seen.matching * window if matches is None else matches,
        seen.drift if keys == "unknown" else KEYS[keys],
    )
    told = f"{seen.rows:,} values; a tuple finds {seen.matching * window:,.3g} in the window, drift {seen.drift:.2f}"
    return found, drift, [f"{'sample':11} {told}"]


def _measured(*, quiet: bool) -> Calibration:
    from dataclasses import replace  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415

    from panjoin.bench.calibrate import calibrate  # noqa: PLC0415

    console = Console(stderr=True, highlight=False, quiet=quiet)
    with console.status("measuring") as status:
        costs = calibrate(tell=lambda what: status.update(f"measuring {what}"))
    path = costs.save()
    console.print(f"measured, and kept in {path}")
    return replace(costs, source=str(path))


def _lines(situation: Situation, advised: Advice, costs: Calibration) -> list[str]:
    told: list[tuple[str, str, str]] = []
    left, right = advised.sides["left"], advised.sides["right"]
    for name, side in [("both sides", left)] if left == right else [("left", left), ("right", right)]:
        told += [
            ("", "", ""),
            (f"{name}:", "", ""),
            ("structure", side.structure, side.why),
            ("subwindow", f"{side.subwindow:,}", f"tuples; a window of {side.window:,} is up to {side.subwindows}"),
            ("partitions", f"{side.partitions:,}", f"{side.subwindow // side.partitions:,} tuples each"),
        ]
    told = told[1:]
    told += [
        ("", "", ""),
        ("batch", f"{advised.batch:,}", advised.why_batch),
        ("workers", f"{advised.workers}", advised.why_workers),
        ("memory", size(advised.memory_bytes), f"both windows, {situation.payload} bytes of other columns per tuple"),
        (
            "throughput",
            f"{advised.throughput:,.0f}",
            f"tuples/s of both sides; {advised.throughput_one:,.0f} with one worker",
        ),
        ("latency", f"{advised.batch_seconds * 1e3:,.3g} ms", "from a full batch to its answer"),
    ]
    if advised.load is not None:
        told.append(("load", f"{advised.load:.0%}", "of that throughput is needed for the rates"))
    how = "built-in numbers; measure this machine with --calibrate" if advised.source == "built in" else advised.source
    told.append(("costs", costs.day, how))
    return [f"{name:11} {value:>14}  {why}".rstrip() for name, value, why in told]


def size(count: int) -> str:
    """Bytes, for people."""
    value, units = float(count), ["B", "KB", "MB", "GB", "TB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:,.3g} {units[0]}"
