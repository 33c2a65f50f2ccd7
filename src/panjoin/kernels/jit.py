"""The one place for numba options.

`kernel` compiles a bare loop: no Python objects, the GIL released, results cached on disk. Kernels take
arrays (or a NamedTuple of arrays) and write into `out` arrays; they never raise for a user's mistake.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` without the GIL."""
    return njit(nogil=True)(function)  # type: ignore[no-any-return]
