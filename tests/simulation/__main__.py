"""`python -m tests.simulation [--from SEED] COUNT`: so many simulated runs; prints seeds that fail, exit code 1 if any."""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from tests.simulation.world import Report, simulate


def main() -> int:
    """Run them all; a failing seed does not stop the others."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1000)
    parser.add_argument("--from", dest="first", type=int, default=0)
    asked = parser.parse_args()
    began, reports, failed = time.perf_counter(), list[Report](), list[int]()
    for seed in range(asked.first, asked.first + asked.count):
        try:
            reports.append(simulate(seed))
        except Exception:  # noqa: BLE001  (whatever it is, the other seeds are run)
            failed.append(seed)
            print(f"seed {seed} fails:\n{traceback.format_exc()}", flush=True)
    totals = {
        name: sum(getattr(report, name) for report in reports) for name in ("pairs", "crashes", "repeated", "takeovers")
    }
    told = ", ".join(f"{count:,} {name}" for name, count in totals.items())
    print(f"{len(reports):,} of {asked.count:,} seeds are right in {time.perf_counter() - began:.0f} s: {told}")
    if failed:
        print(f"wrong: {failed}; repeat one with: python -m tests.simulation --from SEED 1")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
