"""Lengths of time as users write them, in whole microseconds: "10 minutes", "1 hour 30 minutes", a timedelta.

    "1.5 hours"  ->  5_400_000_000  ->  "1 hour 30 minutes"

Invariant: exact or refused. Months and years have no fixed length; a bare number has no unit; neither is guessed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from panjoin.errors import ParameterError

LONGEST = 2**63 - 1  #: about 292,000 years; event times are 64-bit microseconds

#: Event times stay within this many microseconds of 1970, so that no difference of two overflows.
FARTHEST = 1 << 61

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_UNITS = {
    Fraction(1, 1000): ("nanosecond", "nanoseconds", "ns"),
    Fraction(1): ("microsecond", "microseconds", "us", "µs"),
    Fraction(1_000): ("millisecond", "milliseconds", "ms"),
    Fraction(1_000_000): ("second", "seconds", "sec", "secs", "s"),
    Fraction(60_000_000): ("minute", "minutes", "min", "mins"),
    Fraction(3_600_000_000): ("hour", "hours", "hr", "hrs", "h"),
    Fraction(86_400_000_000): ("day", "days", "d"),
    Fraction(604_800_000_000): ("week", "weeks", "w"),
}
_MICROS = {name: size for size, names in _UNITS.items() for name in names}
_NOT_FIXED = ("month", "months", "mon", "mons", "mo", "quarter", "quarters", "year", "years", "yr", "yrs", "y")
_PART = re.compile(r"\s*([+-]?)\s*(\d+(?:\.\d*)?|\.\d+)\s*([^\W\d_]*)\s*")
_EXAMPLE = "write for example '10 minutes', '1.5 hours', '250 ms', or give a datetime.timedelta"


class Micros(int):
    """A length of time that has been read already; unlike a bare number it has a unit."""


def microseconds_of(duration: Any, what: str) -> Micros:
    """A duration in microseconds; `what` is the option that messages name."""
    if isinstance(duration, Micros):
        return duration
    if isinstance(duration, str):
        exact = _from_text(duration, what)
    elif isinstance(duration, timedelta):  # pandas' has nanoseconds besides
        exact = Fraction(duration // timedelta(microseconds=1)) + Fraction(getattr(duration, "nanoseconds", 0), 1000)
    elif isinstance(duration, np.timedelta64):
        exact = _from_numpy(duration, what)
    else:
        raise ParameterError(f"{what} is {duration!r}, which has no unit; {_EXAMPLE}")
    if exact < 0:
        raise ParameterError(f"{what} must not be negative: {duration!r}; both sides have a length of their own")
    if exact.denominator != 1:
        raise ParameterError(f"{what} is {duration!r}, which is not a whole number of microseconds; round it")
    if exact > LONGEST:
        raise ParameterError(
            f"{what} is {duration!r}, which does not fit 64-bit microseconds; use at most 292000 years"
        )
    return Micros(exact)


def spelled(micros: int) -> str:
    """A duration as text that `microseconds_of` reads back."""
    parts = []
    for size, names in sorted(_UNITS.items(), reverse=True):
        if size < 1 or names[0] == "week":
            continue
        count, micros = divmod(micros, int(size))
        if count:
            parts.append(f"{count} {names[0] if count == 1 else names[1]}")
    return " ".join(parts) or "0 seconds"


def _from_text(text: str, what: str) -> Fraction:
    rest = re.sub(r"^\s*interval\b", "", text, flags=re.IGNORECASE)
    total, at = Fraction(0), 0
    while at < len(rest) or at == 0:
        part = _PART.match(rest, at)
        if part is None:
            raise ParameterError(f"{what} is {text!r}, which is not a duration; {_EXAMPLE}")
        sign, number, unit = part.groups()
        total += Fraction(number) * _size(unit, text, what) * (-1 if sign == "-" else 1)
        at = part.end()
    return total


def _size(unit: str, text: str, what: str) -> Fraction:
    if not unit:
        raise ParameterError(f"{what} is {text!r}, which has no unit; {_EXAMPLE}")
    if unit.lower() in _NOT_FIXED:
        raise ParameterError(f"{what} is {text!r}, but months and years differ in length; use days, such as '30 days'")
    if unit == "m":
        raise ParameterError(f"{what} is {text!r}, where 'm' could be minutes or months; write 'min', or use days")
    if unit.lower() not in _MICROS:
        raise ParameterError(f"{what} is {text!r}, and {unit!r} is no unit of time; {_EXAMPLE}")
    return _MICROS[unit.lower()]


def _from_numpy(duration: np.timedelta64, what: str) -> Fraction:
    unit, step = np.datetime_data(duration.dtype)
    if np.isnat(duration):
        raise ParameterError(f"{what} is NaT, which is no duration; {_EXAMPLE}")
    if unit in ("Y", "M"):
        raise ParameterError(f"{what} is {duration!r}, but months and years differ in length; use days")
    names = {"W": "w", "D": "d", "h": "h", "m": "min", "s": "s", "ms": "ms", "us": "us", "ns": "ns"}
    if unit not in names:
        raise ParameterError(f"{what} is {duration!r}, which is not in microseconds; {_EXAMPLE}")
    return int(duration.astype(np.int64)) * step * _MICROS[names[unit]]


def instant(moment: Any) -> int:
    """A point in event time, in microseconds since 1970: a datetime (UTC when it has no zone), or the number itself."""
    if isinstance(moment, (int, np.integer)) and not isinstance(moment, bool):
        if abs(int(moment)) > FARTHEST:
            raise ParameterError(f"{moment} us is more than 73,000 years from 1970; give microseconds, not nanoseconds")
        return int(moment)
    if isinstance(moment, datetime) and moment == moment:  # noqa: PLR0124  (pandas' NaT is a datetime, unequal to itself)
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(microseconds=1)
    if isinstance(moment, np.datetime64) and not np.isnat(moment):
        return int(moment.astype("datetime64[us]").astype(np.int64))
    raise ParameterError(f"{moment!r} is no point in time; give a datetime, or whole microseconds since 1970")
