"""What the tools made, kept by the hash of all that went into it.

    cache/fpga/synthesis-4f1c.../     netlist.json stat.json inputs.json
    cache/fpga/placement-90ab.../     report.json inputs.json

Invariant: a directory under its final name is complete. It is made under a temporary name and renamed at the end, so
a run that is stopped or dies leaves nothing that a later one could take for a result, and of two runs that make the
same thing at once one is kept. `inputs.json` says what went in, for people.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from panjoin.directories import cache_path, private_directory

INPUTS = "inputs.json"


def place(kind: str, inputs: Mapping[str, Any]) -> Path:
    """Where the result of these inputs lies, or would lie."""
    name = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:24]
    return cache_path() / "fpga" / f"{kind}-{name}"


def kept(kind: str, inputs: Mapping[str, Any], make: Callable[[Path], None], *, again: bool = False) -> Path:
    """The directory of the result; `make` fills an empty one when there is none yet, or when asked for `again`."""
    final = place(kind, inputs)
    if final.is_dir() and not again:
        return private_directory(final)
    root = private_directory(private_directory(cache_path()) / "fpga")
    work = Path(tempfile.mkdtemp(prefix=f".{kind}-", dir=root))  # mode 0700, as everything here
    try:
        make(work)
        (work / INPUTS).write_text(json.dumps(inputs, indent=1, sort_keys=True), encoding="utf-8")
        if again:
            shutil.rmtree(final, ignore_errors=True)
        try:
            work.rename(final)
        except OSError:
            if not final.is_dir():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return final
