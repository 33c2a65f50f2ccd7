"""Which of the next 32 keys lie in an interval, as the bits of one number.

    keys          7  3  9  5  1  8 ..      in [3, 8]:  1 1 0 1 0 1 ..   the first key is the lowest bit
    how many      ones(mask)               where       first(mask), then mask & (mask - 1) takes that one away

Two vector comparisons and no branch for each key; only matches cost more. `within` reads keys[at : at + WIDTH] whatever
the length of the array: callers pad their arrays by WIDTH and cut the mask to what is theirs (`low_bits`). With the
compiler off, plain numpy stands in.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.extending import intrinsic

from panjoin.kernels.jit import kernel

Array = npt.NDArray[Any]

#: Keys that one mask speaks of, and how many elements of padding a masked array carries.
WIDTH = 32


def _broadcast(builder: Any, vector: Any, value: Any) -> Any:
    undefined, i32 = ir.Constant(vector, ir.Undefined), ir.IntType(32)
    one = builder.insert_element(undefined, value, i32(0))
    return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(i32, WIDTH), [0] * WIDTH))


@intrinsic
def _within(typing_context: Any, keys: Any, at: Any, low: Any, high: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        element = context.get_value_type(keys.dtype)
        vector = ir.VectorType(element, WIDTH)
        data = context.make_array(keys)(context, builder, arguments[0]).data
        where = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
        here = builder.load(where, align=element.width // 8)
        not_below = builder.icmp_signed(">=", here, _broadcast(builder, vector, arguments[2]))
        not_above = builder.icmp_signed("<=", here, _broadcast(builder, vector, arguments[3]))
        mask = builder.bitcast(builder.and_(not_below, not_above), ir.IntType(WIDTH))
        return builder.zext(mask, ir.IntType(64))

    return types.uint64(keys, types.int64, keys.dtype, keys.dtype), generate


@intrinsic
def _ones(typing_context: Any, mask: Any) -> Any:
    return types.int64(types.uint64), lambda context, builder, signature, arguments: builder.ctpop(arguments[0])


@intrinsic
def _first(typing_context: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


def _plain_within(keys: Array, at: int, low: Any, high: Any) -> np.uint64:
    here = keys[at : at + WIDTH]
    bits = np.packbits((here >= low) & (here <= high), bitorder="little")
    return np.uint64(int.from_bytes(bits.tobytes(), "little"))


def _plain_first(mask: np.uint64) -> int:
    return (int(mask) & -int(mask)).bit_length() - 1


def _plain_ones(mask: np.uint64) -> int:
    return int(mask).bit_count()


def _of(compiled: Any, plain: Callable[..., Any]) -> Any:
    return plain if config.DISABLE_JIT else compiled  # type: ignore[attr-defined]


#: within(keys, at, low, high): the mask of keys[at : at + WIDTH]
within: Callable[[Array, Any, Any, Any], Any] = _of(_within, _plain_within)
#: ones(mask): how many bits are set
ones: Callable[[Any], int] = _of(_ones, _plain_ones)
#: first(mask): the number of the lowest set bit; some bit must be set
first: Callable[[Any], int] = _of(_first, _plain_first)


@kernel
def low_bits(count: Any) -> Any:
    """The mask of the first `count` keys, or of all when there are more than WIDTH."""
    return np.uint64(0xFFFFFFFF) >> np.uint64(WIDTH - count) if count < WIDTH else np.uint64(0xFFFFFFFF)
