"""PanJoin: the stream join that Spark refuses. Exact, indexed, equi and non-equi, over count and time windows.

The public names are loaded when they are first asked for: the command line must answer, and the doctor must say what is
wrong, also where Arrow or the compiler cannot be imported.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from panjoin import index
    from panjoin.aggregates import Aggregate
    from panjoin.engine.result import Result
    from panjoin.engine.stream_join import StreamJoin
    from panjoin.errors import ConditionError, DamageError, DataError, PanJoinError, ParameterError, StateError
    from panjoin.predicate import Condition, band, equal, greater, greater_equal, less, less_equal, not_equal
    from panjoin.window import CountWindow, MixedWindow, TimeWindow

__version__ = "0.1.0"

__all__ = [
    "Aggregate",
    "Condition",
    "ConditionError",
    "CountWindow",
    "DamageError",
    "DataError",
    "MixedWindow",
    "PanJoinError",
    "ParameterError",
    "Result",
    "StateError",
    "StreamJoin",
    "TimeWindow",
    "__version__",
    "band",
    "equal",
    "greater",
    "greater_equal",
    "index",
    "less",
    "less_equal",
    "not_equal",
]

_NAMES = {
    "aggregates": ("Aggregate",),
    "engine.result": ("Result",),
    "engine.stream_join": ("StreamJoin",),
    "errors": ("ConditionError", "DamageError", "DataError", "PanJoinError", "ParameterError", "StateError"),
    "predicate": ("Condition", "band", "equal", "greater", "greater_equal", "less", "less_equal", "not_equal"),
    "window": ("CountWindow", "MixedWindow", "TimeWindow"),
}
_HOMES = {name: f"panjoin.{module}" for module, names in _NAMES.items() for name in names}

if not TYPE_CHECKING:  # a type checker knows the names above, and no others

    def __getattr__(name: str) -> Any:
        if name == "index":
            return import_module("panjoin.index")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = getattr(import_module(_HOMES[name]), name)  # found at once from now on
        return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
