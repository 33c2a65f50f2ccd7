"""One subwindow, three ways and a nested loop; the same verbs in each (`contract.py`)."""

from panjoin.index.contract import Index, Probe, create, names, register

__all__ = ["Index", "Probe", "create", "names", "register"]
