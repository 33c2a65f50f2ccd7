"""Two keys in one: the equality code in the high bits of an int64, the band key, narrowed, in the low bits.

    composite int64     | code: 64 - b bits, signed      | band: b bits, offset so that it sorts unsigned |

    pack(code=3, band=-1, b=40)   ->  3 * 2^40 + (2^39 - 1)
    probe "k = 3 AND band BETWEEN -5 AND 5"  ->  [pack(3, narrow(-5)), pack(3, narrow(5))]: one interval per tuple

Narrowing is monotone but not strict: x <= y implies narrow(x) <= narrow(y). So an interval of narrowed bounds holds
every true match, and perhaps a few more, which are verified on the real values.

How 64-bit keys are narrowed:
- floats: the order key is sign, exponent, mantissa; the top b bits are a shorter float (b = 40: 28 bits of mantissa).
- whole numbers, decimals: a float of our own with a k-bit mantissa (`mantissa_bits`): exact below 2^(k+1), relative
  precision 2^-k beyond. b = 40 gives k = 34; b = 32 gives k = 25.
- timestamps: the same around 2030 instead of around 1970. At b = 40 the step is 8 ms or less from 2021 to 2038, 33 ms
  or less from 1994 to 2065, and 66 ms as far as 1958 and 2101, where a plain shift of the +-1141 years about the epoch
  would cost 66 ms everywhere and clamp the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from panjoin.columns import Array, frozen
from panjoin.errors import ParameterError
from panjoin.kernels.jit import kernel

FEWEST_BITS, MOST_BITS = 16, 62

#: 2030-01-01 00:00 UTC in microseconds: the middle of the years that streams will be about.
TIME_CENTRE = 1_893_456_000_000_000


def pack(code: Array, band_key: Array, band_bits: int) -> Array:
    """Composite keys whose order is (code, band_key). Both must fit their bits, as `narrow` and `hash24` see to."""
    check_bits(band_bits)
    packed = np.left_shift(code, band_bits, dtype=np.int64)
    packed += band_key
    packed += np.int64(1) << (band_bits - 1)
    return packed


def check_bits(bits: int) -> None:
    """Refuse a number of band bits that cannot work."""
    if not FEWEST_BITS <= bits <= MOST_BITS:
        raise ParameterError(f"bits must be between {FEWEST_BITS} and {MOST_BITS}, not {bits}")


def fits(lowest: int, highest: int, bits: int) -> bool:
    """True when all keys of a range already are `bits`-bit numbers."""
    return -(1 << (bits - 1)) <= lowest and highest < 1 << (bits - 1)


def mantissa_bits(highest: int, bits: int) -> int:
    """The longest mantissa with which all of 0..highest gets codes below 2^(bits - 1).

    A number of n bits gets exponent e = n - (k + 1) and code (e << k) + (x >> e), below (e + 2) << k.
    """
    length = highest.bit_length()
    return max(k for k in range(bits - 1) if (max(length - k - 1, 0) + 2) << k <= 1 << (bits - 1))


def narrow_float(keys: Array, bits: int) -> Array:
    """The top bits of a float's order key."""
    return keys.astype(np.int64) >> (keys.dtype.itemsize * 8 - bits)


def narrow_whole(keys: Array, highest: int, bits: int, centre: int = 0) -> Array:
    """Whole numbers in -highest-1..highest as short floats around `centre`."""
    out = np.empty(len(keys), np.int64)
    _narrow(frozen(np.ascontiguousarray(keys, np.int64)), np.int64(centre), np.int64(mantissa_bits(highest, bits)), out)
    return out


@kernel
def _narrow(keys: Array, centre: Any, k: Any, out: Array) -> None:
    lowest = np.int64(-(2**63)) + centre  # below it, keys - centre would wrap around: all share one code
    for i in range(len(keys)):
        x = max(keys[i], lowest) - centre
        y = ~x if x < 0 else x
        e = np.int64(0)
        rest = y >> (k + np.int64(1))
        for step in (32, 16, 8, 4, 2, 1):  # bit length of rest, in six steps
            if rest >= np.int64(1) << np.int64(step):
                rest >>= np.int64(step)
                e += np.int64(step)
        e += rest  # rest is now 0 or 1
        code = (e << k) + (y >> e)
        out[i] = ~code if x < 0 else code
