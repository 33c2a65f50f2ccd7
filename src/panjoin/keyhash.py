"""A stable 64-bit hash, for values that are compared for equality alone and for several columns at once.

The algorithm is xxHash64 (Collet's XXH64) over the bytes, little-endian, with seed 42: the very numbers that Spark's
`xxhash64(column)` gives for strings, binaries and longs, on any machine. They end up in durable state, so they never
change; a test pins golden values.

    value       |  stripes of 32 bytes, four lanes  |  words of 8  |  one of 4  |  single bytes  |  -> avalanche
    "IBM"                                                                          I, B, M

Invariants: equal bytes give equal hashes; malformed offsets are refused, never followed. Unequal bytes may collide
(at 64 bits once in about 10^19 pairs; at 24 bits in every 16 million), so whoever compares by hash verifies on the
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numba import config, types
from numba.extending import intrinsic

from panjoin.columns import Array, frozen, values, view
from panjoin.errors import DataError, ParameterError
from panjoin.kernels.jit import kernel

SEED = 42

_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)


def hash_bytes(array: pa.Array, seed: int = SEED) -> Array:
    """64-bit hashes of a string or binary array of any layout; a NULL gets some hash, to be masked by validity."""
    data, offsets = _bytes_and_offsets(array)
    out = np.empty(len(array), np.int64)
    if _hash_spans(data, offsets, np.uint64(seed), out.view(np.uint64)):
        raise DataError(
            f"malformed Arrow data: offsets of a {array.type} column descend, or leave its {len(data)} bytes; "
            f"batch.validate(full=True) says where"
        )
    return out


def combine(keys: Sequence[Array]) -> Array:
    """One 64-bit hash per tuple over the keys of several columns (or of one), in their order.

    Each column is hashed with the previous hash as seed, which is how Spark chains `xxhash64(a, b)`.
    """
    if not keys:
        raise ParameterError("combine needs at least one column of keys")
    out = np.full(len(keys[0]), SEED, np.int64)
    for column in keys:
        if len(column) != len(out):
            raise ParameterError(f"columns to combine must have one length, not {len(out)} and {len(column)}")
        _chain(frozen(np.ascontiguousarray(column, np.int64)).view(np.uint64), out.view(np.uint64))
    return out


def hash32(hashes: Array) -> Array:
    """The top 32 bits, signed."""
    return hashes >> np.int64(32)


def hash24(hashes: Array) -> Array:
    """The top 24 bits, signed: the code beside a 40-bit band key."""
    return hashes >> np.int64(40)


def _bytes_and_offsets(array: pa.Array) -> tuple[Array, Array]:
    """The value bytes and the len + 1 offsets into them."""
    kind = array.type
    if pa.types.is_fixed_size_binary(kind):
        width, count = kind.byte_width, len(array)
        return values(array, f"V{width}").view(np.uint8) if width else _no_bytes(), _frozen_range(count, width)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        array = array.cast(pa.large_binary())
        kind = array.type
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    _, offsets_memory, data_memory = array.buffers()
    if offsets_memory is None or len(array) == 0:
        return _no_bytes(), _frozen_range(len(array), 0)
    offsets = view(offsets_memory, np.int64 if wide else np.int32, len(array) + 1, array.offset)
    data = _no_bytes() if data_memory is None else view(data_memory, np.uint8, data_memory.size)
    return data, frozen(offsets.astype(np.int64, copy=False))


def _no_bytes() -> Array:
    return frozen(np.zeros(1, np.uint8))


def _frozen_range(count: int, width: int) -> Array:
    return frozen(np.arange(count + 1, dtype=np.int64) * width)


# ---- kernels. Every number is uint64: one int64 among them would turn the arithmetic into float64 ----


def _load(number: Any) -> Any:
    """A function of kernels: `number` (uint64, uint32) from byte `at` on, by one unaligned load, not by byte shifts."""

    def typed(typingctx: Any, data: Any, at: Any) -> Any:  # noqa: ARG001  (numba gives both)
        return types.uint64(data, types.uint64), generate

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        start = builder.gep(array.data, [args[1]])
        pointer = builder.bitcast(start, context.get_value_type(number).as_pointer())
        return context.cast(builder, builder.load(pointer, align=1), number, types.uint64)

    def plain(data: Array, at: Any) -> Any:  # when the compiler is off
        return np.uint64(int.from_bytes(data[int(at) : int(at) + number.bitwidth // 8].tobytes(), "little"))

    off = config.DISABLE_JIT  # type: ignore[attr-defined]  # numba sets it from the environment
    return plain if off else intrinsic(typed)


_word = _load(types.uint64)
_half = _load(types.uint32)


@kernel
def _rotate(x: Any, by: Any) -> Any:
    return (x << np.uint64(by)) | (x >> np.uint64(64 - by))


@kernel
def _round(lane: Any, word: Any) -> Any:
    return _rotate(lane + word * _P2, 31) * _P1


@kernel
def _merge(h: Any, lane: Any) -> Any:
    return (h ^ _round(np.uint64(0), lane)) * _P1 + _P4


@kernel
def _avalanche(h: Any) -> Any:
    h = (h ^ (h >> np.uint64(33))) * _P2
    h = (h ^ (h >> np.uint64(29))) * _P3
    return h ^ (h >> np.uint64(32))


@kernel
def _hash_span(data: Array, at: Any, end: Any, seed: Any) -> Any:
    length = end - at
    if length >= np.uint64(32):
        a, b, c, d = seed + _P1 + _P2, seed + _P2, seed, seed - _P1
        while end - at >= np.uint64(32):
            a = _round(a, _word(data, at))
            b = _round(b, _word(data, at + np.uint64(8)))
            c = _round(c, _word(data, at + np.uint64(16)))
            d = _round(d, _word(data, at + np.uint64(24)))
            at += np.uint64(32)
        h = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
        h = _merge(_merge(_merge(_merge(h, a), b), c), d)
    else:
        h = seed + _P5
    h += length
    while end - at >= np.uint64(8):
        h = _rotate(h ^ _round(np.uint64(0), _word(data, at)), 27) * _P1 + _P4
        at += np.uint64(8)
    if end - at >= np.uint64(4):
        h = _rotate(h ^ (_half(data, at) * _P1), 23) * _P2 + _P3
        at += np.uint64(4)
    while at < end:
        h = _rotate(h ^ (np.uint64(data[at]) * _P5), 11) * _P1
        at += np.uint64(1)
    return _avalanche(h)


@kernel
def _hash_spans(data: Array, offsets: Array, seed: Any, out: Array) -> int:
    """Hash data[offsets[i]:offsets[i + 1]]; how many of these do not lie in the data, and were left alone."""
    outside = 0
    for i in range(len(out)):
        at, end = offsets[i], offsets[i + 1]
        if 0 <= at <= end <= len(data):
            out[i] = _hash_span(data, np.uint64(at), np.uint64(end), seed)
        else:
            outside += 1
    return outside


@kernel
def _chain(words: Array, out: Array) -> None:
    for i in range(len(out)):
        h = out[i] + _P5 + np.uint64(8)
        out[i] = _avalanche(_rotate(h ^ _round(np.uint64(0), words[i]), 27) * _P1 + _P4)
