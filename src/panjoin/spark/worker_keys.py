"""The grouping keys of workers: values that Spark spreads one per shuffle partition, whatever their number.

Spark sends a row to partition pmod(murmur3(key), n). The hash of a 32-bit number is a bijection, so exactly one
number has the hash w; with it as its key, worker w sits in partition w modulo n, for every n:

    worker          0             1             2         partitions n = 3
    key         hash^-1(0)    hash^-1(1)    hash^-1(2)
    partition       0             1             2          n = 2:  0 1 0

Invariant: keys depend on the worker's number alone, so a query restarted with another number of shuffle partitions
still finds its state. (Keys searched for by trial for one n lose it; naive keys 0, 1, ... shared one partition of two.)
"""

from __future__ import annotations

_SEED = 42  #: of Spark's `hash` and of its HashPartitioning
_WORD = 0xFFFFFFFF
_C1, _C2, _C3 = 0xCC9E2D51, 0x1B873593, 0xE6546B64
_FINAL1, _FINAL2 = 0x85EBCA6B, 0xC2B2AE35
_BYTES_HASHED = 4


def worker_key(worker: int) -> int:
    """The 32-bit number whose Spark hash is `worker`."""
    h = _unfinish(worker & _WORD)
    h = (h - _C3) * _inverse(5) & _WORD
    mixed = _rotate(h, 32 - 13) ^ _SEED
    k = mixed * _inverse(_C2) & _WORD
    k = _rotate(k, 32 - 15) * _inverse(_C1) & _WORD
    return k - (1 << 32) if k >> 31 else k


def _unfinish(h: int) -> int:
    """Undo the last step, which also takes in the length."""
    h ^= h >> 16
    h = h * _inverse(_FINAL2) & _WORD
    h ^= (h >> 13) ^ (h >> 26)
    h = h * _inverse(_FINAL1) & _WORD
    return (h ^ (h >> 16)) ^ _BYTES_HASHED


def _rotate(x: int, by: int) -> int:
    return ((x << by) | (x >> (32 - by))) & _WORD


def _inverse(odd: int) -> int:
    """What undoes the multiplication by an odd number modulo 2^32."""
    return pow(odd, -1, 1 << 32)
