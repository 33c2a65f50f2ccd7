"""The page as one document: markup, style, charts, script and data in one file, and nothing loaded from elsewhere.

    index.html ── {title} {policy} ── style: uPlot.min.css, page.css ── data: JSON ── script: uPlot, page/*.js

The policy names each style and each script by its hash, so that a browser runs these and nothing else, whatever a name
of a column may hold. Data stands in an element that is never run, with every character escaped that could end it.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

_STYLES = ("uplot/uPlot.min.css", "parts/page.css")
_SCRIPTS = (
    "uplot/uPlot.iife.min.js", "parts/words.js", "parts/charts.js", "parts/chains.js", "parts/page.js",
)  # fmt: skip
#: How a document of ours begins; a file that begins otherwise is never written over.
MARK = "<!doctype html>\n<!-- PanJoin: "


def document(told: Mapping[str, Any], *, live: bool) -> str:
    """All of it. A live one asks its server for more; a report asks for nothing."""
    style, script = _joined(_STYLES), _joined(_SCRIPTS)
    return _template().substitute(
        title=html.escape(str(told["title"])),
        policy=html.escape(policy(live=live)),
        licence=_text("uplot/LICENSE").replace("--", "- -"),
        style=style,
        data=embedded({**told, "live": live}),
        script=script,
    )


def policy(*, live: bool) -> str:
    """The Content-Security-Policy of a document."""
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src {_hash(_joined(_STYLES))}",
            f"script-src {_hash(_joined(_SCRIPTS))}",
            "img-src data:",
            f"connect-src {chr(39)}{'self' if live else 'none'}{chr(39)}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def plain(value: Any) -> str:
    """JSON; a number that JSON does not have is a fault of ours."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def embedded(value: Any) -> str:
    """JSON that can stand inside of an HTML element: nothing in it ends the element or begins another."""
    return plain(value).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _joined(names: tuple[str, ...]) -> str:
    """Between newlines, as they stand in the document; a script that holds an end tag would be cut there."""
    text = "\n" + "\n".join(_text(name) for name in names) + "\n"
    assert "</script" not in text
    assert "</style" not in text
    return text


@cache
def _template() -> Template:
    return Template(_text("parts/index.html"))


@cache
def _text(name: str) -> str:
    return files("panjoin.page").joinpath(*name.split("/")).read_text(encoding="utf-8")
