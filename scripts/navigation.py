"""A hook of mkdocs: what of the navigation is there.

Pages are written for readers of the repository first, and the site takes them as they are. Only a page of the
navigation that is made of records, and has not been made yet, is left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: Pages that are made of records: they come with the first report.
MADE_LATER = ("benchmarks.md", "hardware.md", "reliability.md")


def on_config(config: Any) -> Any:
    """Leave out of the navigation what has not been made."""
    config["nav"] = [_there(entry, Path(config["docs_dir"])) for entry in config["nav"]]
    return config


def _there(entry: dict[str, Any], docs: Path) -> dict[str, Any]:
    ((title, inside),) = entry.items()
    if isinstance(inside, str):
        return entry
    return {title: [each for each in inside if not _missing(each, docs)]}


def _missing(entry: dict[str, str], docs: Path) -> bool:
    (file,) = entry.values()
    return file in MADE_LATER and not (docs / file).exists()
