"""PanJoin: the stream join that Spark refuses. Exact, indexed, equi and non-equi, over count and time windows."""

from panjoin import index
from panjoin.aggregates import Aggregate
from panjoin.engine.result import Result
from panjoin.engine.stream_join import StreamJoin
from panjoin.errors import (
    ConditionError,
    DamageError,
    DataError,
    PanJoinError,
    ParameterError,
    StateError,
)
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
