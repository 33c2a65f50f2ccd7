"""What the page shows: written by the thread that watches the query, read by those that serve.

    moment(m) ──> history, total ┐
    say("done", "...") ──────────┼──> told(after=17): the micro-batches behind 17, total, state
    note("pairs", "552,210") ────┘

Invariant: what is told is plain values that JSON can carry, and the total counts every micro-batch, also those that are
no longer kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from threading import Lock
from typing import Any, Literal

from panjoin.job.history import History
from panjoin.job.moments import Moment
from panjoin.job.totals import total_of

State = Literal["running", "done", "stopped", "failed"]

#: Characters of pictures of chains in one answer: with 40 subwindows, those of 1,000 micro-batches would take 10 MB.
#: Older micro-batches keep their numbers and lose the picture.
PICTURES = 2_000_000


class Board:
    """Of one run of one job."""

    def __init__(
        self,
        title: str,
        facts: Mapping[str, str] | None = None,
        plan: str = "",
        history: History | None = None,
        pictures: int = PICTURES,
    ) -> None:
        self._title, self._facts, self._plan, self._pictures = title, dict(facts or {}), plan, pictures
        self._history = History() if history is None else history
        self._total = total_of(self._history.since())
        self._state: State = "running"
        self._said = ""
        self._lock = Lock()

    @property
    def title(self) -> str:
        """Of the page."""
        return self._title

    @property
    def state(self) -> State:
        """How far it is."""
        return self._state

    def moment(self, moment: Moment) -> None:
        """A micro-batch is done."""
        with self._lock:
            self._history.add(moment)
            self._total = self._total.plus(moment)

    def note(self, name: str, text: str) -> None:
        """One more fact beside the condition and the window."""
        with self._lock:
            self._facts[name] = text

    def say(self, state: State, said: str = "") -> None:
        """How far it is, and a sentence with it."""
        with self._lock:
            self._state, self._said = state, said

    def told(self, after: int = -1) -> dict[str, Any]:
        """All that there is to show, of the micro-batches only those behind `after`."""
        with self._lock:
            moments = self._history.since(after)
            total, state, said, facts = self._total, self._state, self._said, dict(self._facts)
        return {
            "title": self._title,
            "facts": facts,
            "plan": self._plan,
            "state": state,
            "said": said,
            "total": asdict(total) | {"rate": total.rate},
            "moments": self._plain(moments),
        }

    def _plain(self, moments: list[Moment]) -> list[dict[str, Any]]:
        """The newest ones with their chains; `None` for those of older ones, when they would be too many."""
        room, plain = self._pictures, []
        for moment in reversed(moments):
            one = moment.as_json()
            room -= len(json.dumps(one["chains"])) if room > 0 else 0
            plain.append(one if room > 0 or moment is moments[-1] else one | {"chains": None})
        return plain[::-1]
