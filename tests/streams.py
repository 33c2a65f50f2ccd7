"""Seeded data of any size: the distributions of the strategies, for tests past every threshold and for benchmarks.

`streams(kind, n, seed)` gives `n` int32 or int64 keys; the same arguments give the same keys on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[Any]


def _uniform(rng: np.random.Generator, n: int, info: Any) -> Keys:
    return rng.integers(info.min, info.max, n, endpoint=True, dtype=info.dtype)


def _normal(rng: np.random.Generator, n: int, _info: Any) -> Keys:
    return np.rint(rng.normal(0.0, 2.0**24, n))


def _zipf(rng: np.random.Generator, n: int, _info: Any) -> Keys:
    """Rank i with weight 1/i; ranks are spread over the number line, so that neighbours differ in weight."""
    weight = np.cumsum(1.0 / np.arange(1, n + 1))
    ranks = np.searchsorted(weight, rng.random(n) * (weight[-1] if n else 0.0))
    return (ranks * 2_654_435_761) % 2**31


def _constant(_rng: np.random.Generator, n: int, _info: Any) -> Keys:
    return np.full(n, 42)


def _increasing(rng: np.random.Generator, n: int, _info: Any) -> Keys:
    return np.cumsum(rng.integers(0, 3, n))


def _decreasing(rng: np.random.Generator, n: int, info: Any) -> Keys:
    return -_increasing(rng, n, info)


def _duplicates(rng: np.random.Generator, n: int, _info: Any) -> Keys:
    return rng.integers(-8, 8, n, endpoint=True)


def _extremes(rng: np.random.Generator, n: int, info: Any) -> Keys:
    traps = np.array([info.min, info.min + 1, -1, 0, 1, info.max - 1, info.max], info.dtype)
    return traps[rng.integers(0, len(traps), n)]


def _drifting(rng: np.random.Generator, n: int, _info: Any) -> Keys:
    """A narrow band of values that moves on."""
    return np.arange(n) * 4 + rng.integers(-1_000, 1_000, n)


KINDS: dict[str, Callable[[np.random.Generator, int, Any], Keys]] = {
    "uniform": _uniform,
    "normal": _normal,
    "zipf": _zipf,
    "constant": _constant,
    "increasing": _increasing,
    "decreasing": _decreasing,
    "duplicates": _duplicates,
    "extremes": _extremes,
    "drifting": _drifting,
}


def streams(kind: str, n: int, seed: int, dtype: Any = np.int32) -> Keys:
    """`n` keys of one of KINDS; values past the type's ends (long increasing streams) stop there."""
    info = np.iinfo(dtype)
    keys = KINDS[kind](np.random.default_rng([seed, *kind.encode()]), n, info)
    return np.clip(keys, info.min, info.max).astype(dtype)
