"""Columns of values that break joins, and condition texts over every mixture of their types.

Row k of `TABLE` holds the k-th value of every column (NULL where a column has fewer), so the cross product of the
table with itself meets every pair of values. Columns `x...` hold the extremes of their types, where Spark's own sums
overflow and raise; the other whole numbers keep so far from the ends that Spark can add and subtract them.
"""

import datetime as dt
from decimal import Decimal
from itertools import product

import numpy as np
import pyarrow as pa

INF, NAN = float("inf"), float("nan")
MAX64, MAX32 = float(np.finfo(np.float64).max), float(np.finfo(np.float32).max)
OTHER_NAN = float(np.array([0xFFF8_0000_0000_BEEF], np.uint64).view(np.float64)[0])
DAY = dt.datetime(2020, 1, 1)


def utc(*parts):
    return dt.datetime(*parts, tzinfo=dt.UTC)


VALUES = {
    "i8": (pa.int8(), [-50, -6, -5, -1, 0, 1, 3, 5, 50]),
    "i32": (pa.int32(), [-(2**29), -6, -5, -1, 0, 1, 3, 5, 2**24 + 1, 2**29]),
    "i64": (pa.int64(), [-(2**61), -5, -1, 0, 1, 4, 5, 2**24 + 1, 2**53 - 1, 2**53, 2**53 + 1, 2**61]),
    "x8": (pa.int8(), [-128, -127, -1, 0, 1, 126, 127]),
    "x32": (pa.int32(), [-(2**31), -(2**31) + 1, -1, 0, 1, 2**31 - 2, 2**31 - 1]),
    "x64": (pa.int64(), [-(2**63), -(2**63) + 1, -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 513, 2**63 - 2, 2**63 - 1]),
    "f32": (pa.float32(), [-INF, -MAX32, -1.0, -1e-45, -0.0, 0.0, 1e-45, 0.1, 1.0, 5.0, 16777216.0, MAX32, INF, NAN]),
    "f64": (
        pa.float64(),
        [-INF, -MAX64, -5.0, -5e-324, -0.0, 0.0, 5e-324, 4.4e-16, 0.1, 0.3, 1.0, 2.5, 5.0, 5.1, 2.0 ** 53, 2.0 ** 63, MAX64, INF, NAN, OTHER_NAN],
    ),
    "d9": (pa.decimal128(9, 2), list(map(Decimal, ["-9999999.99", "-1", "0", "0.01", "0.10", "5", "9999999.99"]))),
    "d18": (pa.decimal128(18, 4), list(map(Decimal, ["-99999999999999.9999", "-1", "0", "0.1", "5", "5.0001"]))),
    "d38": (pa.decimal128(38, 5), list(map(Decimal, ["-1" + "0" * 30, "0", "0.00001", "0.1", "5", "1" + "0" * 30]))),
    "day": (
        pa.date32(),
        [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2020, 1, 6), dt.date(9999, 12, 31)],
    ),
    "ts": (
        pa.timestamp("us", "UTC"),
        [utc(1, 1, 1), utc(2020, 1, 1), utc(2020, 1, 1, 0, 0, 0, 1), utc(2020, 1, 1, 0, 10), utc(2020, 1, 2), utc(2020, 1, 6), utc(9999, 12, 31, 23, 59, 59, 999999)],
    ),
    "ntz": (pa.timestamp("us"), [DAY.replace(year=1), DAY, DAY + dt.timedelta(minutes=10), DAY + dt.timedelta(5)]),
    "s": (pa.string(), ["", "a", "b", "ab", "a\0", "é"]),
    "bin": (pa.binary(), [b"", b"a", b"b"]),
    "flag": (pa.bool_(), [False, True]),
}  # fmt: skip

_LENGTH = max(len(values) for _, values in VALUES.values()) + 1
TABLE = pa.table(
    {name: pa.array([*values, *[None] * (_LENGTH - len(values))], kind) for name, (kind, values) in VALUES.items()}
)
SCHEMA = TABLE.schema

NUMBERS = ("i32", "i64", "f32", "f64", "d9", "d18")
EXTREMES = ("x8", "x32", "x64", "f32", "f64", "d9")
TIMES = ("day", "ts", "ntz")

BARE = ("left.{a} = right.{b}", "left.{a} != right.{b}", "left.{a} < right.{b}", "left.{a} >= right.{b}")
SHIFTED = (
    "left.{a} BETWEEN right.{b} - 5 AND right.{b} + 5",
    "left.{a} - right.{b} BETWEEN -5 AND 5",
    "abs(left.{a} - right.{b}) <= 0.1",
    "abs(left.{a} - right.{b}) > 5",
    "left.{a} + 3 > right.{b}",
    "5 <= left.{a} - right.{b}",
    "-left.{a} < -right.{b} + 1D",
    "left.{a} - right.{b} < 3",
    "NOT (left.{a} - right.{b} = 1)",
    "left.{a} - 0.1D - 1 <= right.{b} - 0.3D",
    "left.{a} BETWEEN right.{b} - 5 AND right.{b} OR left.{a} BETWEEN right.{b} - 1 AND right.{b} + 5",
    "left.{a} = right.{b} + 5 OR left.{a} = right.{b} - 5 OR left.{a} = right.{b}",
    "left.{a} BETWEEN right.{b} + 5 AND right.{b} - 5",
)
#: Sums that pass the largest double, and the NaN that follows.
OVERFLOWING = (
    "left.{a} + 1e308 - (right.{b} + 1e308) <= 3",
    "3 - (left.{a} - 1e308 - (right.{b} - 1e308)) >= 3",
    "left.{a} - right.{b} > -1e308",
)
SPANS = (
    "left.{a} BETWEEN right.{b} - INTERVAL 5 DAYS AND right.{b} + INTERVAL '1 day'",
    "left.{a} - right.{b} BETWEEN INTERVAL '-10' MINUTES AND INTERVAL 5 DAYS",
    "left.{a} BETWEEN right.{b} - INTERVAL 5 DAYS AND right.{b}",
    "left.{a} > right.{b} OR left.{a} < right.{b} - INTERVAL 10 MINUTES",
    "abs(left.{a} - right.{b}) <= INTERVAL 10 MINUTES",
    "left.{a} - right.{b} > INTERVAL '1 00:00:00.5' DAY TO SECOND",
    "left.{a} + INTERVAL 0 SECONDS <= right.{b} - INTERVAL 1 MICROSECOND",
    "left.{a} BETWEEN right.{b} - INTERVAL '23:59:59.999999' HOUR TO SECOND AND right.{b} + INTERVAL 24 HOURS",
    "left.{a} + INTERVAL 24 HOURS = right.{b} + INTERVAL 1 DAY",
    "left.{a} - INTERVAL '1 day 1 hour' != INTERVAL 10 MINUTES + right.{b} - INTERVAL 1 DAY",
)
#: Equality and band together, several columns, and what stays residual.
TOGETHER = (
    "left.i32 = right.i32 AND left.f64 BETWEEN right.f64 - 5 AND right.f64 + 5",
    "left.i32 = right.i64 AND left.i64 BETWEEN right.i32 - 5 AND right.i32 + 5",
    "left.i8 = right.i8 AND left.i32 - right.i32 BETWEEN -5 AND 5",
    "left.s = right.s AND left.ts BETWEEN right.ts - INTERVAL 10 MINUTES AND right.ts + INTERVAL 10 MINUTES",
    "left.s = right.s AND left.i64 < right.i64 - 1",
    "left.flag = right.flag AND left.f64 != right.f64",
    "left.flag = right.flag AND (left.f64 - right.f64 BETWEEN -5 AND 0 OR left.f64 - right.f64 BETWEEN -1 AND 5)",
    "left.flag = right.flag AND (left.i64 - right.i64 BETWEEN -5 AND 0 OR left.i64 - right.i64 BETWEEN 3 AND 5)",
    "left.f64 = right.f64 AND left.i64 = right.i64",
    "left.i8 = right.i8 AND left.flag = right.flag",
    "left.s = right.s AND left.f32 = right.f32 AND left.day = right.day",
    "left.x64 = right.d9 AND left.s = right.s",
    "left.d38 = right.d38",
    "left.d38 - 0.1 < right.d38",
    "left.d38 = right.f64",
    "left.s = right.s",
    "left.s != right.s",
    "left.bin = right.bin",
    "left.flag < right.flag",
    "left.s = right.s AND left.ts BETWEEN right.ts AND right.ntz",
    "left.day + 5 >= right.day",
    "left.day - 1 < right.ts",
    "left.i32 <=> right.i32",
    "left.f64 <=> right.f64 AND left.i32 = right.i32",
    "left.i32 IS DISTINCT FROM right.i64",
    "left.s IS NULL AND right.s IS NULL",
    "left.i32 = right.i32 AND left.f64 IS NOT NULL",
    "left.i32 = right.i32 AND NOT (left.f64 > 1 AND right.f64 > 1)",
    "left.i32 + right.i32 > 3",
    "left.flag AND right.flag",
    "left.flag OR NOT right.flag",
    "left.flag IS TRUE AND right.flag IS NOT TRUE",
    "left.i32 IN (1, 5, right.i8)",
    "left.i32 NOT IN (1, 5, right.i8)",
    "left.s IN ('a', 'b') AND left.i32 < right.i32",
    # IN brings all its values to one type (here double, where 2^53 + 1 is 2^53), BETWEEN types each comparison apart.
    "left.i64 IN (right.i64, 0.5D)",
    "left.i64 NOT IN (right.i64, 0.5D)",
    "left.i64 IN (right.i64, right.i64 - 1, right.f32)",
    "left.i64 IN (right.i64, right.i64 + 1, 1e0)",
    "left.i64 IN (right.i64 - 1, right.i64 + 1, right.i64)",
    "left.i64 NOT IN (right.i64, right.i64 - 3, NULL)",
    "left.i64 NOT IN (right.i64, right.i64 - 3D)",
    "left.i64 NOT IN (right.i64, left.f64)",
    "left.x64 IN (right.x64, right.d9)",
    "left.x64 = right.x64 AND left.x64 IN (right.x64, 0.1F)",
    "abs(left.i64 - right.i64) IN (1, 9007199254740993D)",
    "left.f32 IN (right.f32 + 0.1F, 0.1)",
    "left.d9 IN (right.f32, 0.1)",
    "left.day IN (right.day, right.ts)",
    "right.ts IN (left.day + INTERVAL 10 MINUTES, left.ntz)",
    "left.i64 BETWEEN right.i64 AND right.f64",
    "left.i64 BETWEEN right.f32 AND right.i64 + 1",
    "left.x64 NOT BETWEEN right.x64 AND right.f64",
    "left.i64 BETWEEN right.i64 - 1 AND right.i64 + 0.5D",
    "left.i32 = right.i32 OR left.s = right.s",
    "left.i32 = right.i32 AND NULL",
    "left.i32 < right.i32 OR NULL",
    "left.i32 = right.i32 AND left.i8 = NULL",
    "left.i32 = right.i32 AND 1 = 1 AND 2.0 = 2",
    "abs(left.i32 - right.i32) <= abs(left.i8)",
    "left.f32 = right.f32 AND left.f32 > 0.1",
    "left.f32 - 0.1F < right.f32",
    "left.f32 > right.f64 + 0.1F",
    "left.i64 <= right.i64 + 1.5BD",
    "left.d9 - right.d18 < 1e2BD",
    "left.d38 < 12345678901234567890123456789.01234 AND right.i8 = 0",
)


def texts():
    """Every condition that Spark can evaluate on the table without an error."""
    forms = [form.format(a=a, b=b) for a, b in product(NUMBERS, NUMBERS) for form in BARE + SHIFTED]
    forms += [form.format(a=a, b=b) for a, b in product(EXTREMES, EXTREMES) for form in BARE]
    forms += [form.format(a=a, b=b) for a, b in product(("f32", "f64"), repeat=2) for form in OVERFLOWING]
    forms += [form.format(a=a, b=b) for a, b in product(TIMES, TIMES) for form in BARE + SPANS]
    return [*dict.fromkeys([*forms, *TOGETHER])]


def every_pair(table=TABLE):
    """The cross product: (left rows, right rows) of equal length."""
    count = table.num_rows
    return table.take(np.repeat(np.arange(count), count)), table.take(np.tile(np.arange(count), count))
