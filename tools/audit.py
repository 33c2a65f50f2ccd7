"""`python tools/audit.py [--required]`: pip-audit over constraints.txt, told apart from a service that was not reached.

pip-audit skips what its service does not know and calls that clean; an index mirror knows nothing of vulnerabilities.
Here, clean means that every package was looked up. Without a service it is said and let pass, unless `--required`.
"""

# ruff: noqa: T201  (a command of the house: what it prints is what it is for)

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_SECONDS = 20


def main() -> int:
    """0: clean, or nobody to ask; 1: vulnerable, or nobody to ask though an answer is required."""
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--requirement",
        str(ROOT / "constraints.txt"),
        "--no-deps",
        "--disable-pip",
    ]
    command += ["--format", "json", "--progress-spinner", "off", "--timeout", str(_SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return concluded(done.stdout, done.stderr, required="--required" in sys.argv[1:])


def concluded(out: str, err: str, *, required: bool) -> int:
    """What pip-audit has said, in a line or two."""
    try:
        packages = json.loads(out)["dependencies"]
    except (ValueError, KeyError):
        return _unknown(err.strip().splitlines()[-1] if err.strip() else "no answer", required)
    bad = [each for each in packages if each.get("vulns")]
    for each in bad:
        for found in each["vulns"]:
            fixed = ", ".join(found.get("fix_versions") or ["none yet"])
            print(f"{each['name']} {each['version']}: {found['id']} (fixed in: {fixed}); raise it in constraints.txt")
    unknown = [each for each in packages if "skip_reason" in each]
    if bad:
        return 1
    if unknown:
        return _unknown(f"{len(unknown)} of {len(packages)} packages are not known to it", required)
    print(f"no known vulnerability in {len(packages)} packages")
    return 0


def _unknown(reason: str, required: bool) -> int:
    print(
        f"NOT AUDITED: the vulnerability service of pip-audit (pypi.org) gave no answer: {reason}. "
        f"Run `make audit` where it can be reached."
    )
    return int(required)


if __name__ == "__main__":
    sys.exit(main())
