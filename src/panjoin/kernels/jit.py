"""The one place for numba options.

`kernel` compiles a bare loop on its first call: no Python objects, the GIL released, the code kept on disk for the next
process (`code_cache.py`). Kernels take arrays (or a NamedTuple of arrays) and write into `out` arrays; they never raise
for a user's mistake. With NUMBA_DISABLE_JIT=1 they stay plain Python, with equal results.

Reference counts are compiled out: the caller holds the arrays, and a kernel that would allocate, or return an array, is
refused by numba. Counting is atomic, and reading an array out of a NamedTuple counts up and down: a step down a tree
took 57 ns with counts and takes 8 without.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numba.core.dispatcher import Dispatcher

from panjoin.kernels.code_cache import CodeCache

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` without the GIL, and keep the result."""
    return _compiled(function)


def inlined(function: F) -> F:
    """A kernel that becomes part of its callers, for steps of a few nanoseconds.

    A NamedTuple of arrays is passed to a called kernel number by number, about eight per array: finding that a tuple
    belongs to the same leaf of a tree as the one before it took 9 ns with calls, and takes 5 without.
    """
    return _compiled(function, forceinline=True)


def _compiled(function: F, **options: Any) -> F:
    compiled: Any = njit(nogil=True, _nrt=False, **options)(function)  # type: ignore[call-overload]  # its types leave _nrt out
    if not isinstance(compiled, Dispatcher):  # the compiler is off
        return np.errstate(over="ignore")(function)  # compiled integers wrap around silently; numpy's warn
    if function.__module__.partition(".")[0] == "panjoin":
        cached: Any = compiled
        cached._cache = CodeCache(cast(FunctionType, function))  # noqa: SLF001  (where enable_caching puts numba's)
    return cast(F, compiled)
