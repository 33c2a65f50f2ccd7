"""The remedy for a name that nothing has: the nearest one that exists, and all that exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def choices(name: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: "there are 'a', 'b'; did you mean 'a'?"."""
    known = list(known)
    near = get_close_matches(str(name).casefold(), [choice.casefold() for choice in known], n=1)
    listed = f"there {'is' if len(known) == 1 else 'are'} {', '.join(map(repr, known))}" if known else "there are none"
    if not near:
        return listed
    meant = next(choice for choice in known if choice.casefold() == near[0])
    return f"{listed}; did you mean {meant!r}?"
