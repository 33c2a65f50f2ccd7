"""The one place for numba options.

`kernel` compiles a bare loop: no Python objects, the GIL released, results cached on disk. Kernels take
arrays (or a NamedTuple of arrays) and write into `out` arrays; they never raise for a user's mistake.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` without the GIL."""
    return cast(F, njit(nogil=True)(function))
