"""PanJoin: the stream join that Spark refuses. Exact, indexed, equi and non-equi, over count and time windows."""

from panjoin import index
from panjoin.window import CountWindow, MixedWindow, TimeWindow

__version__ = "0.1.0"

__all__ = ["CountWindow", "MixedWindow", "TimeWindow", "__version__", "index"]
