"""What a job will do, in words, before Spark starts: for `panjoin run --dry-run` and `panjoin explain`."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from panjoin.bounds import JoinKeys
from panjoin.job.check import SIDES, Job
from panjoin.job.ddl import spark_ddl
from panjoin.predicate import Condition
from panjoin.window import Window


def plan(job: Job) -> str:
    """Sources, join, sink and how it runs."""
    options, run = job.options, job.run
    lines = [f"job        {job.name}"]
    for side, source, schema in zip(SIDES, job.sources, job.schemas, strict=True):
        place = getattr(source, "path", None) or getattr(source, "topic", None) or ""
        kind = "stream" if source.streaming else "table"
        lines.append(f"{side:10} {source.format} {kind} {place}".rstrip())
        lines.append(f"{'':10} {'columns: told by Spark' if schema is None else spark_ddl(schema)}")
        if source.watermark is not None:
            lines.append(f"{'':10} watermark {source.watermark} behind the newest tuple")
    lines.append(f"join       {options.how}, gives {_emitted(job)}, index {options.index}")
    lines += explain(job.condition, job.window, *job.schemas)
    place = getattr(job.sink, "path", None) or getattr(job.sink, "topic", None) or ""
    lines.append(f"sink       {job.sink.format} {place}".rstrip())
    if job.streaming:
        lines += [f"trigger    {run.trigger}", f"checkpoint {run.checkpoint}"]
    return "\n".join(lines)


def facts(job: Job) -> dict[str, str]:
    """The plan's few lines for a page's head."""
    left, right = (
        " ".join(filter(None, (source.format, getattr(source, "path", None) or getattr(source, "topic", None))))
        for source in job.sources
    )
    place = getattr(job.sink, "path", None) or getattr(job.sink, "topic", None) or ""
    return {
        "left": left,
        "right": right,
        "condition": str(job.condition),
        "window": job.window.describe(),
        "join": f"{job.options.how}, gives {_emitted(job)}, index {job.options.index}",
        "sink": f"{job.sink.format} {place}".rstrip(),
    }


def _emitted(job: Job) -> str:
    if job.options.emit != "aggregates":
        return str(job.options.emit)
    return ", ".join(each.name for each in job.options.aggregates)


def explain(condition: Condition, window: Window, left: pa.Schema | None, right: pa.Schema | None) -> Iterator[str]:
    """What of the condition is indexed, and how far the window reaches."""
    yield from condition.explain().splitlines()
    if left is not None and right is not None:
        yield f"key        {JoinKeys(condition.bind(left, right)).describe()}"
    yield f"window     {window.describe()}"
