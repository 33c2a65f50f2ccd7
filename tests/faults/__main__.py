"""`python -m tests.faults [CLASS ...]`: runs classes of faults and inputs, and makes the table in docs/reliability.md.

Without a class: all of them. `--list` says what there is, `--table` makes the table of the records that there are,
`--cases N` and `--from SEED` choose the seeds, `--dry` keeps no record. A class that ends with an error is one that has
failed, and the others are run. Exit code 1 when a count is not zero.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.faults import records
from tests.faults.catalogue import PARTS, Class, classes
from tests.faults.records import Record, Tally


def main() -> int:
    """See above."""
    known = classes()
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("classes", nargs="*", metavar="CLASS")
    parser.add_argument("--cases", type=int)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--dry", action="store_true")
    asked = parser.parse_args()
    unknown = [name for name in asked.classes if name not in known]
    if unknown:
        parser.error(f"there is no class {', '.join(unknown)}; --list says what there is")
    if asked.list:
        print("\n".join(f"{name:45} {each.cases:5} cases  {each.how}" for name, each in known.items()))
        return 0
    made = []
    if not asked.table:
        for name in asked.classes or known:
            made.append(_run(name, known[name], asked))
            if not asked.dry:
                made[-1].keep()
                records.write(parts=PARTS)
    elif not asked.dry:
        records.write(parts=PARTS)
    print(records.table(made or records.records(), PARTS))
    return 1 if any(record.failed for record in made) else 0


def _run(name: str, each: Class, asked: argparse.Namespace) -> Record:
    seeds = range(asked.first, asked.first + (asked.cases or each.cases))
    print(f"{each.name}: seeds {seeds.start} to {seeds.stop - 1}", flush=True)
    directory, began = Path(tempfile.mkdtemp(prefix="panjoin-faults-")), time.perf_counter()
    try:
        tally = each.run(directory, seeds)
    except Exception as error:  # noqa: BLE001  (whatever it is, the other classes are run)
        traceback.print_exc()
        tally = Tally()
        tally.case(seeds.start, f"the class itself ended with {error!r:.300}", undetected=1)
    record = Record.of(
        each.part,
        each.name,
        each.how,
        tally,
        command=f"python -m tests.faults {name}",
        seconds=time.perf_counter() - began,
    )
    for line in tally.failed:
        print(f"  {line}; files are in {directory}", flush=True)
    if not tally.failed:
        shutil.rmtree(directory, ignore_errors=True)
    return record


if __name__ == "__main__":
    sys.exit(main())
