"""Sixteen keys at a time: what numba has no words for, as five LLVM operations.

    keys    3  5  5  8  9 12 ...        sixteen neighbours from a position on, one cache line of int32
    < 8     1  1  1  0  0  0 ...        one vector comparison
    count   3                           one population count: how far a search may step

A scalar loop over the same lane was seen to become a chain of branches or a horizontal sum at four times the cost.
`prefetch` starts a cache miss without waiting for it; probing an 8M array in batches of 32K is three times faster
with it. `move` is memmove: correct when source and destination overlap.

Every operation reads positions at .. at + 15 whatever the length of the array: callers pad their arrays by `LANE`
and keep in the padding what cannot disturb the count. LLVM lowers the vectors to whatever the processor has.
With the JIT switched off (NUMBA_DISABLE_JIT=1) plain numpy stands in, so results can be compared.
"""

from collections.abc import Callable
from typing import Any

import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

Array = npt.NDArray[Any]

#: Neighbours looked at together, and how many elements of padding every searched or merged array carries.
LANE = 16


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, at: Any, kind: Any) -> Any:
    """Address of array[at], as a pointer to `kind`."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), kind.as_pointer())


def _lane(context: Any, array_type: Any) -> tuple[Any, int]:
    """The vector type of one lane of such an array, and the alignment that may be assumed."""
    element = context.get_value_type(array_type.dtype)
    return ir.VectorType(element, LANE), element.width // 8


def _intrinsic(builder: Any, kind: Any, name: str) -> Any:
    """An operation that LLVM knows by name."""
    return cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]


def _counter(comparison: str) -> Any:
    @intrinsic
    def count(typing_context: Any, keys: Any, at: Any, bound: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lane, align = _lane(context, keys)
            keys_here = builder.load(_pointer(context, builder, keys, arguments[0], arguments[1], lane), align=align)
            undefined, i32 = ir.Constant(lane, ir.Undefined), ir.IntType(32)
            bounds = builder.shuffle_vector(
                builder.insert_element(undefined, arguments[2], i32(0)),
                undefined,
                ir.Constant(ir.VectorType(i32, LANE), [0] * LANE),
            )
            hits = builder.bitcast(builder.icmp_signed(comparison, keys_here, bounds), ir.IntType(LANE))
            return builder.zext(builder.ctpop(hits), ir.IntType(64))

        return types.int64(keys, types.int64, keys.dtype), generate

    return count


@intrinsic
def _copy_lane(typing_context: Any, target: Any, to: Any, source: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lane, align = _lane(context, target)
        value = builder.load(_pointer(context, builder, source, arguments[2], arguments[3], lane), align=align)
        builder.store(value, _pointer(context, builder, target, arguments[0], arguments[1], lane), align=align)
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64), generate


@intrinsic
def _prefetch(typing_context: Any, keys: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, i32 = ir.IntType(8), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), i32, i32, i32])
        function = _intrinsic(builder, kind, "llvm.prefetch.p0")
        where = _pointer(context, builder, keys, arguments[0], arguments[1], byte)
        builder.call(function, [where, i32(0), i32(3), i32(1)])  # for reading, keep in all caches, data
        return context.get_dummy_value()

    return types.void(keys, types.int64), generate


@intrinsic
def _move(typing_context: Any, target: Any, to: Any, source: Any, at: Any, length: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, i64, bit = ir.IntType(8), ir.IntType(64), ir.IntType(1)
        kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), byte.as_pointer(), i64, bit])
        function = _intrinsic(builder, kind, "llvm.memmove.p0.p0.i64")
        to_pointer = _pointer(context, builder, target, arguments[0], arguments[1], byte)
        at_pointer = _pointer(context, builder, source, arguments[2], arguments[3], byte)
        size = builder.mul(arguments[4], i64(context.get_value_type(target.dtype).width // 8))
        builder.call(function, [to_pointer, at_pointer, size, bit(0)])
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64, types.int64), generate


def _plain_smaller(keys: Array, at: int, bound: Any) -> int:
    return int((keys[at : at + LANE] < bound).sum())


def _plain_not_larger(keys: Array, at: int, bound: Any) -> int:
    return int((keys[at : at + LANE] <= bound).sum())


def _plain_copy_lane(target: Array, to: int, source: Array, at: int) -> None:
    target[to : to + LANE] = source[at : at + LANE].copy()


def _plain_prefetch(keys: Array, at: int) -> None:
    pass


def _plain_move(target: Array, to: int, source: Array, at: int, length: int) -> None:
    target[to : to + length] = source[at : at + length].copy()


def _of(compiled: Any, plain: Callable[..., Any]) -> Any:
    return plain if config.DISABLE_JIT else compiled  # type: ignore[attr-defined]


#: smaller(keys, at, bound): how many of keys[at : at + LANE] are < bound
smaller: Callable[[Array, int, Any], int] = _of(_counter("<"), _plain_smaller)
#: not_larger(keys, at, bound): how many of keys[at : at + LANE] are <= bound
not_larger: Callable[[Array, int, Any], int] = _of(_counter("<="), _plain_not_larger)
#: copy_lane(target, to, source, at): one load, then one store; the two may overlap
copy_lane: Callable[[Array, int, Array, int], None] = _of(_copy_lane, _plain_copy_lane)
#: prefetch(keys, at): start to fetch the cache line of keys[at], which may lie outside of the array
prefetch: Callable[[Array, int], None] = _of(_prefetch, _plain_prefetch)
#: move(target, to, source, at, length): memmove
move: Callable[[Array, int, Array, int, int], None] = _of(_move, _plain_move)
