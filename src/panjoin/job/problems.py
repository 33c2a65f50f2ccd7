"""What is wrong with a job file: every problem at once, each with its place.

job.toml:12: join.on: the left side has no column 'prize'; there are 'price', 'ts'; did you mean 'price'?
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from panjoin.errors import PanJoinError

#: Keys from the top of the file down, such as ("window", "on").
Path = tuple[str, ...]


@dataclass(frozen=True)
class Problem:
    """One thing to mend."""

    path: Path
    message: str
    line: int | None = None  #: given when the key path says nothing, as for text that is not TOML

    def located(self, lines: Mapping[Path, int]) -> Problem:
        """With the line of its key, or of the nearest table around it."""
        if self.line is not None:
            return self
        inner = (self.path[:end] for end in range(len(self.path), 0, -1))
        return Problem(self.path, self.message, next((lines[path] for path in inner if path in lines), None))

    def said(self, file: str) -> str:
        """One line."""
        place = file if self.line is None else f"{file}:{self.line}"
        return f"{place}: {'.'.join(self.path)}: {self.message}" if self.path else f"{place}: {self.message}"


class JobError(PanJoinError, ValueError):
    """A job file cannot be used; `problems` are all that were found."""

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        self.file = file
        self.problems = sorted(problems, key=lambda problem: problem.line or 0)
        super().__init__("\n".join(problem.said(file) for problem in self.problems))
