"""Copying and filling a stretch of an array, fast for one tuple and for many.

The positions are unsigned: for signed ones numba tests whether they are negative, inside the loop, and LLVM then uses
no vectors. Per copy of 1 / 8 / 128 int32, in a loop over many copies: 4 / 4 / 11 ns. What loses: the same with signed
positions 4 / 11 / 70; `out[a:b] = source[c:d]` 26 / 27 / 50 (it tests for overlap, and may allocate).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from panjoin.kernels.jit import kernel

Array = npt.NDArray[Any]


@kernel
def copy(source: Array, begin: Any, end: Any, out: Array, at: Any) -> Any:
    """out[at:] = source[begin:end]; returns the end of the output. The stretches must not overlap."""
    shift = np.uint64(at) - np.uint64(begin)
    for k in range(np.uint64(begin), np.uint64(end)):
        out[k + shift] = source[k]
    return at + end - begin


@kernel
def fill(out: Array, begin: Any, end: Any, value: Any) -> None:
    """out[begin:end] = value."""
    for k in range(np.uint64(begin), np.uint64(end)):
        out[k] = value
