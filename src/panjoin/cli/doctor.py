"""`panjoin doctor`: what this machine has, and how to mend what it lacks; the checks are in `checks.py`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from panjoin.cli.checks import Finding, examine

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False
) -> None:
    """Say what PanJoin finds on this machine, and how to mend each thing that is wrong (exit code 1 if any fails)."""
    findings = examine()
    failed = any(finding.state == "fail" for finding in findings)
    if as_json:
        typer.echo(json.dumps({"ok": not failed, "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        _print(findings)
    raise typer.Exit(1 if failed else 0)


def _print(findings: list[Finding]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        line = Text.assemble((f"{finding.state:5}", _STYLES[finding.state]), f"{finding.name:{width}}  {finding.found}")
        console.print(line)
        if finding.remedy:
            console.print(Text(f"{'':5}{'':{width}}  mend: {finding.remedy}"))
    counts = {state: sum(finding.state == state for finding in findings) for state in _STYLES}
    console.print(Text(", ".join(f"{number} {state}" for state, number in counts.items())))
