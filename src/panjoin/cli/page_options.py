"""The options of the page, the same for every command that has one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

Ui = Annotated[bool, typer.Option("--ui", help="Serve a page with live charts while it runs; the address is printed.")]
UiHost = Annotated[
    str,
    typer.Option("--ui-host", help="Address of this machine to serve it on; others than loopback reach the network."),
]
UiPort = Annotated[int, typer.Option("--ui-port", min=0, max=65535, help="Port to serve it on; 0 takes a free one.")]
Report = Annotated[Path | None, typer.Option("--report", help="Save the same page at the end, as one HTML file.")]

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class PageOptions:
    """What was asked for."""

    ui: bool
    host: str
    port: int
    report: Path | None

    @property
    def wanted(self) -> bool:
        """Is there anything to show it on?"""
        return self.ui or self.report is not None
