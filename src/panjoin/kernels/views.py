"""One compiled version per kernel, whoever owns the memory.

numba compiles a kernel anew for a read-only array (Arrow buffers, memory maps). Passing every input as a read-only
view makes the two the same, so that a probe of a mapped index or of an Arrow column does not compile again for seconds.
"""

from typing import Any

import numpy.typing as npt


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view of the same memory that cannot be written through."""
    view = array.view()
    view.flags.writeable = False
    return view
