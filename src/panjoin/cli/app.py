"""The program `panjoin`: one line here for each command, one file beside this one for what it does.

A command's file imports what is slow to import inside its functions, so that `panjoin --help` and `panjoin doctor`
answer at once, also on a machine where Spark or numba is broken.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from panjoin import __version__
from panjoin.cli.advise import advise
from panjoin.cli.bench import bench
from panjoin.cli.demo import demo
from panjoin.cli.doctor import doctor
from panjoin.cli.explain import explain
from panjoin.cli.fpga import fpga
from panjoin.cli.init import init
from panjoin.cli.run import run
from panjoin.errors import PanJoinError

app = typer.Typer(
    help="PanJoin: the stream join that Spark refuses.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(advise)
app.command()(demo)
app.command()(run)
app.command()(init)
app.command()(explain)
app.command()(doctor)
app.add_typer(bench, name="bench")
app.add_typer(fpga, name="fpga")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"panjoin {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the program; our own errors are one line for the user, not a traceback."""
    try:
        app()
    except PanJoinError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
