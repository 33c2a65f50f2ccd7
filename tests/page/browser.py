"""The Chromium that looks at the page: found on this machine, never downloaded.

python -m tests.page.browser     says which, or how to get one; `make browser` installs it where apt-get can
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping

#: As Debian, Ubuntu, Fedora, Google and macOS name it.
NAMES = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
)  # fmt: skip
VARIABLE = "PANJOIN_CHROMIUM"
REMEDY = (
    f"the tests of the page need a Chromium, and none of {', '.join(NAMES[:5])} is here; run: make browser (which runs "
    f"apt-get install chromium), or install Chromium or Chrome in another way, or name its program with {VARIABLE}"
)


def chromium(
    environment: Mapping[str, str] = os.environ, which: Callable[[str], str | None] = shutil.which
) -> str:  # fmt: skip
    """Its program; raises with the remedy when there is none."""
    named = environment.get(VARIABLE)
    found = [which(name) for name in ([named] if named else NAMES)]
    for each in found:
        if each is not None:
            return each
    raise FileNotFoundError(f"{VARIABLE} names {named!r}, which is no program; {REMEDY}" if named else REMEDY)


if __name__ == "__main__":
    try:
        print(chromium())  # noqa: T201  (what it is run for)
    except FileNotFoundError as missing:
        sys.exit(str(missing))
