"""PanJoin: the stream join that Spark refuses. Exact, indexed, equi and non-equi, over count and time windows."""

from panjoin import index
from panjoin.predicate import (
    Condition,
    band,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    not_equal,
)
from panjoin.window import CountWindow, MixedWindow, TimeWindow

__version__ = "0.1.0"

__all__ = [
    "Condition",
    "CountWindow",
    "MixedWindow",
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
