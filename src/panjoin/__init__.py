"""PanJoin: the stream join that Spark refuses. Exact, indexed, equi and non-equi, over count and time windows."""

from panjoin import index

__version__ = "0.1.0"

__all__ = ["__version__", "index"]
