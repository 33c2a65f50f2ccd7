"""Where a measurement was taken: the machine, the code, and the packages that could change a number."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "numba", "pyarrow", "pyspark", "duckdb", "polars", "BTrees")
_SOURCE = Path(__file__).resolve().parents[1]


@cache
def machine() -> dict[str, Any]:
    """Processor, cores that this process may use, memory."""
    return {
        "cpu": _processor(),
        "cores": cores(),
        "memory_gb": round(memory("MemTotal") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
    }


@cache
def versions() -> dict[str, str]:
    """Of Python, of this package and of those that its speed depends on."""
    from panjoin import __version__  # noqa: PLC0415  (a record is the only thing here that needs the whole package)

    return {"python": platform.python_version(), "panjoin": __version__} | {name: _version(name) for name in PACKAGES}


@cache
def commit() -> str:
    """The commit of the source that runs, with a + when files differ from it; "" outside a checkout."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--untracked-files=no", "--", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def cores() -> int:
    """Processors that this process may run on."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def load() -> float:
    """Mean number of runnable threads in the last minute; far above the cores, it speaks of a busy machine."""
    return round(os.getloadavg()[0], 1)


def memory(what: str = "MemAvailable") -> int:
    """Bytes of memory, that can be had now or in total ("MemTotal")."""
    table = Path("/proc/meminfo")
    if table.exists():
        for line in table.read_text().splitlines():
            name, _, rest = line.partition(":")
            if name == what:
                return int(rest.split()[0]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _processor() -> str:
    table = Path("/proc/cpuinfo")
    if table.exists():
        for line in table.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=_SOURCE, capture_output=True, text=True, check=True)  # noqa: S607
    return done.stdout.strip()
