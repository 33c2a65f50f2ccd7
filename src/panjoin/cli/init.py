"""`panjoin init`: a commented job file that runs as it is, and a little data for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panjoin.errors import ParameterError

_ORDERS = """ts,symbol,price
2026-01-05T09:30:00Z,ACME,1000
2026-01-05T09:31:00Z,ACME,1012
2026-01-05T09:33:30Z,BOLT,250
2026-01-05T09:52:00Z,ACME,1004
"""
_QUOTES = """ts,symbol,price
2026-01-05T09:29:10Z,ACME,998
2026-01-05T09:32:00Z,ACME,1015
2026-01-05T09:34:00Z,BOLT,249
2026-01-05T09:41:00Z,BOLT,262
2026-01-05T09:50:00Z,ACME,1001
"""


def init(
    directory: Annotated[Path, typer.Argument(help="Where to write; made when it is not there.")] = Path(),
    *,
    rate: Annotated[bool, typer.Option("--rate", help="An endless made-up stream instead of files.")] = False,
) -> None:
    """Write a commented job file that runs as it is."""
    from panjoin.job.template import FILES, RATE  # noqa: PLC0415

    texts = {"job.toml": RATE} if rate else {"job.toml": FILES, "orders/1.csv": _ORDERS, "quotes/1.csv": _QUOTES}
    for name in texts:
        if (directory / name).exists():
            raise ParameterError(f"{directory / name} is there already; name another directory: panjoin init DIRECTORY")
    for name, text in texts.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        typer.echo(f"wrote {path}")
    typer.echo(f"now: panjoin run {directory / 'job.toml'}")
