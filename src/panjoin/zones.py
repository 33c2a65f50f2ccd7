"""The session time zone, as far as conditions care: does its clock ever change, and if not, how far is it from UTC.

Where it never changes, Spark's timestamp arithmetic is arithmetic on microseconds. Where it does, differences of
timestamps and steps of whole days follow the local clock, and conditions that use them are refused.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from panjoin.errors import ConditionError

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")
_FIXED = ("UTC", "GMT", "UT", "Z", "UCT", "Zulu", "Universal", "Greenwich")


class Zone(NamedTuple):
    """A session time zone."""

    name: str
    fixed: bool
    offset_micros: int = 0  #: east of UTC, for fixed zones


def zone(name: str) -> Zone:
    """The zone of a name such as "UTC", "+02:00" or "Europe/Berlin"."""
    if name in _FIXED or name.removeprefix("Etc/") in _FIXED:
        return Zone(name, True)
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        seconds = int(offset[2]) * 3600 + int(offset[3] or 0) * 60 + int(offset[4] or 0)
        return Zone(name, True, (-1 if offset[1] == "-" else 1) * seconds * 1_000_000)
    try:
        found = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConditionError(
            f"the time zone {name!r} is not known; use a name such as 'UTC' or 'Europe/Berlin'"
        ) from None
    if name.startswith("Etc/"):
        shift = found.utcoffset(dt.datetime(2000, 1, 1))  # noqa: DTZ001  (a wall clock, of the zone asked)
        assert shift is not None
        return Zone(name, True, round(shift.total_seconds() * 1_000_000))
    return Zone(name, False)
