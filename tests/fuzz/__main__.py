"""`python -m tests.fuzz [TARGET ...] --seconds 60`: coverage-guided fuzzing (atheris) of each target, for so long.

Inputs that reach something new are added to `tests/fuzz/corpus/TARGET`, with `--keep`; one that breaks a rule lies in
`tests/fuzz/findings/TARGET-...` afterwards, and the exit code is 1. Both are replayed by `make test` (`kept.py`), which
needs no atheris.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: Instrumented, so that a new branch in them counts. Kernels are not: numba reads bytecode.
_FOLLOWED = (
    "panjoin.sqltext", "panjoin.expression", "panjoin.normal", "panjoin.predicate", "panjoin.binding", "panjoin.job",
    "panjoin.spark.chunk", "panjoin.spark.state", "panjoin.records", "panjoin.layouts", "panjoin.columns", "panjoin.keys",
    "panjoin.durations", "tomllib", "yaml",
)  # fmt: skip


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--keep", action="store_true", help="add what reaches something new to the corpus")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked, rest = parser.parse_known_args()
    if asked.one is not None:
        _fuzz(asked.one, rest)
    failed = 0
    for target in asked.targets or sorted(path.name for path in (HERE / "corpus").iterdir()):
        with tempfile.TemporaryDirectory() as fresh:
            corpus = HERE / "corpus" / target
            places = [str(corpus)] if asked.keep else [fresh, str(corpus)]
            command = [sys.executable, "-m", "tests.fuzz", "--one", target, *places]
            command += [f"-artifact_prefix={HERE / 'findings'}/{target}-", f"-max_total_time={asked.seconds}"]
            command += ["-max_len=2048", "-timeout=30", "-rss_limit_mb=4096", "-print_final_stats=1", "-verbosity=1"]
            print(f"{target}: {asked.seconds} s", flush=True)  # noqa: T201
            failed += subprocess.run(command, cwd=ROOT, check=False).returncode != 0
    return 1 if failed else 0


def _fuzz(target: str, arguments: list[str]) -> None:
    """In a process of its own: atheris ends it."""
    try:
        import atheris  # noqa: PLC0415  (an extra of its own)
    except ImportError:
        sys.exit("atheris is not installed; run make fuzz, or pip install 'panjoin[fuzz]'")
    with atheris.instrument_imports(include=list(_FOLLOWED)):
        from tests.fuzz.targets import TARGETS  # noqa: PLC0415  (its imports are instrumented)
    atheris.Setup([sys.argv[0], *arguments], TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
