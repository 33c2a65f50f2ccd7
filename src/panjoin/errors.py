"""Every exception that PanJoin raises on purpose.

Each is raised at the door (never inside a compiled kernel), names the offending value, and says the remedy.
All derive from `PanJoinError`; those that mean "you passed a bad value" are `ValueError` as well, so that
callers who do not know us can still catch them.
"""


class PanJoinError(Exception):
    """Base of all errors that this package raises on purpose; each message names the value and the remedy."""


class ParameterError(PanJoinError, ValueError):
    """An option or argument has a value that cannot be used."""


class ConditionError(PanJoinError, ValueError):
    """A join condition is not understood, or does not fit the columns; the message quotes the fragment."""


class DataError(PanJoinError, ValueError):
    """Arriving data does not fit: wrong type, schema, order or column."""


class StateError(PanJoinError, RuntimeError):
    """A call that the object's present state does not allow, such as inserting after seal."""


class DamageError(PanJoinError, RuntimeError):
    """Stored bytes of ours (state, resident files) are damaged or of another format."""


class SpaceError(PanJoinError, RuntimeError):
    """A directory of ours has no room left for what must lie there."""
