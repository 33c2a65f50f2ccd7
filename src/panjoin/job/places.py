"""Which files a job may reach: those in its own directory, and in places that the command line names.

    job at /home/me/jobs/a.toml          "data/in"          /home/me/jobs/data/in
                                         "../secret"        refused
                                         "/etc", "file:/x"  refused, unless --allow-path /etc
                                         "s3a://bucket/in"  refused, unless --allow-path s3a://bucket

Invariant: a place that is returned lies, with all symbolic links followed, in one of the allowed ones. Job files are
passed around like data; the command line is typed by whoever answers for the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from panjoin.errors import ParameterError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
#: Braces and brackets of Hadoop's globs can hide two dots: {a,..}/x, [.].
_UP = re.compile(r"\.\.|\[\.\]|\\\.")


@dataclass(frozen=True)
class Places:
    """The directory of the job file, and what else is allowed."""

    home: Path
    allowed: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, file: Path, allowed: Iterable[str] = ()) -> Places:
        """For a job file."""
        return cls(file.resolve().parent, tuple(allowed))

    def resolved(self, written: str) -> str:
        """An absolute path, or a URI as it is; raises for what lies elsewhere."""
        if not written.strip() or "\0" in written:
            raise ParameterError(f"{written!r} is no path; name a directory, such as 'data/orders'")
        if _UP.search(unquote(written)):
            raise ParameterError(f"{written!r} goes up with '..'; name the place itself")
        plain, scheme = written, _SCHEME.match(written)
        if scheme is not None and scheme[1].lower() != "file":
            if any(_inside_uri(written, root) for root in self.allowed):
                return written
            raise self._refused(written)
        if scheme is not None:
            plain = re.sub(r"^/+(?=/)", "", unquote(written[scheme.end() :]))
        path = (self.home / plain).resolve()
        local = [self.home, *(Path(root).resolve() for root in self.allowed if not _SCHEME.match(root))]
        if any(path.is_relative_to(root) for root in local):
            return str(path)
        raise self._refused(written)

    def looked_through(self, value: str) -> str:
        """An option's value: when it is a local path it is confined like one; else it is nobody's business here."""
        if value.startswith(("/", "~", "\\", "../")) or value == ".." or value.lower().startswith("file:"):
            return self.resolved(value)
        return value

    def _refused(self, written: str) -> ParameterError:
        return ParameterError(
            f"{written!r} lies outside of the job's directory {self.home}; "
            f"move it there, or allow the place on the command line: --allow-path PLACE"
        )


def _inside_uri(written: str, root: str) -> bool:
    return written == root or written.startswith(root.rstrip("/") + "/")
