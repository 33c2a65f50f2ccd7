"""Nasty values of every orderable type, as Arrow columns of one length."""

from decimal import Decimal

import numpy as np
import pyarrow as pa

I8, I16, I32, I64 = (np.iinfo(kind) for kind in (np.int8, np.int16, np.int32, np.int64))


def _around(limits):
    small = [-100, -2, -1, 0, 1, 2, 99]
    return [limits.min, limits.min + 1, *small, limits.max - 1, limits.max]


def _floats(kind):
    info = np.finfo(kind)
    positive = [info.smallest_subnormal, info.smallest_normal, info.eps, 0.5, 1.0, np.nextafter(kind(1), kind(2)), 1e30]
    positive = [kind(x) for x in [*positive, info.max, np.inf, 0.0]]
    bits = np.uint32 if kind is np.float32 else np.uint64
    quiet = np.array([np.nan], kind).view(bits)
    payloads = [quiet, quiet | bits(1234), quiet | bits(1 << (bits(0).itemsize * 8 - 1))]
    nans = np.concatenate(payloads).view(kind)
    return np.concatenate([np.array([*positive, *(-x for x in positive)], kind), nans])


def _decimals(precision, scale):
    top = 10**precision - 1
    unscaled = [-top, 1 - top, -10, -1, 0, 1, 9, 10, 11, top - 1, top]
    return pa.array([Decimal(x).scaleb(-scale) for x in unscaled], pa.decimal128(precision, scale))


def _stamps(kind):
    micros = [*_around(I64), 2**53 + 1, 2**53 + 2, 1_700_000_000_000_000]
    return pa.array(micros, pa.int64()).view(kind)


VALUES = {
    "bool": pa.array([False, True]),
    "byte": pa.array(_around(I8), pa.int8()),
    "short": pa.array(_around(I16), pa.int16()),
    "int": pa.array(_around(I32), pa.int32()),
    "long": pa.array([*_around(I64), 2**53, 2**53 + 1, -(2**53) - 1], pa.int64()),
    "float": pa.array(_floats(np.float32)),
    "double": pa.array(_floats(np.float64)),
    "date": pa.array([-719162, -1, 0, 1, 19000, 2932896], pa.int32()).view(pa.date32()),
    "timestamp": _stamps(pa.timestamp("us", "UTC")),
    "timestamp_ntz": _stamps(pa.timestamp("us")),
    "interval": _stamps(pa.duration("us")),
    "decimal_9_2": _decimals(9, 2),
    "decimal_9_0": _decimals(9, 0),
    "decimal_10_3": _decimals(10, 3),
    "decimal_18_4": _decimals(18, 4),
    "decimal_18_18": _decimals(18, 18),
}

#: How numpy sees the physical values of a type, for comparing what `decode` gives.
PHYSICAL = {
    "bool": np.bool_,
    "byte": np.int8,
    "short": np.int16,
    "int": np.int32,
    "long": np.int64,
    "float": np.float32,
    "double": np.float64,
    "date": np.int32,
    "timestamp": np.int64,
    "timestamp_ntz": np.int64,
    "interval": np.int64,
    "decimal_9_2": np.int32,
    "decimal_9_0": np.int32,
    "decimal_10_3": np.int64,
    "decimal_18_4": np.int64,
    "decimal_18_18": np.int64,
}


def table() -> pa.Table:
    """All columns at one length, values repeated in another order, a NULL at the end of each."""
    length = max(len(column) for column in VALUES.values()) + 5
    columns = {}
    for number, (name, column) in enumerate(VALUES.items()):
        rows = np.arange(length)
        rows = np.random.default_rng(number).permutation(rows) % len(column)
        shuffled = column.take(pa.array(rows))
        columns[name] = pa.concat_arrays([shuffled, pa.nulls(1, column.type)])
    return pa.table(columns)
