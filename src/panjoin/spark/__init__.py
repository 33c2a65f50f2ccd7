"""PanJoin inside Spark Structured Streaming.

The public names are loaded when they are first asked for: `python -m panjoin.spark.java` and the doctor, which look for
Java, must not wait for Spark and the compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from panjoin.spark.operator import stream_join
    from panjoin.spark.session_builder import session

__all__ = ["session", "stream_join"]

_HOMES = {"session": "panjoin.spark.session_builder", "stream_join": "panjoin.spark.operator"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
