"""What every index over one subwindow can do, and the door where its arguments are checked.

An index holds up to `capacity` tuples, each an int32 or int64 `key` and a 32-bit `id` (the tuple's arrival number
inside its subwindow). Life of an index:

    create ──> insert* (probe*) ──> seal ──> probe*            a sealed index never changes again
                  │                                             (cheap checkpoints, sharing by memory map)
                  └─ batches: ascending keys; others are sorted, stably, at the door

A probe asks for one inclusive interval [low, high] of keys per probing tuple; the intervals come in ascending order
of both ends, an interval with low > high is empty. Equality is [v, v]; "not equal" is [v, v] with `negate`; several
bands are several probes. The answer is given by need:

    probe.counts    matches per probing tuple              int64[n]
    probe.pairs()   every match, exact-size output         (probe_no int32[m], ids int32[m])
    probe.chunks(k) the same in pieces of about k pairs, in bounded memory
    probe.ranges()  the paper's records; only of structures that keep their tuples sorted (BI-Sort)

Invariants: every inserted tuple is found by exactly the intervals that contain its key; `counts[i]` equals the number
of pairs with probe_no i; a refused call leaves the index as it was. Structures implement the underscored verbs; this
file alone checks arguments, so kernels need not.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from panjoin.errors import DataError, ParameterError, StateError
from panjoin.sizing import partitions_of

Array = npt.NDArray[Any]

#: Below this many probing tuples a second thread costs more than it brings (paper, Analytical Evaluation).
MIN_TUPLES_PER_PROBE_WITH_THREADS = 128
#: Ids and positions are int32.
MOST_TUPLES = (1 << 31) - 1


class Probe(ABC):
    """The answer to one probe: counts at once, pairs and ranges when asked for.

    It is valid until the index is changed by the next insert.
    """

    negated = False  #: whether the answer is the complement of the intervals; set by `Index.probe`

    def __init__(self, counts: Array) -> None:
        self.counts = counts  #: matches per probing tuple, int64

    @cached_property
    def total(self) -> int:
        """Number of pairs."""
        return int(self.counts.sum(dtype=np.int64))

    def pairs(self) -> tuple[Array, Array]:
        """All matches as (probe_no, ids), ordered by probe_no."""
        return self._cut(0, len(self.counts), self.total)

    def chunks(self, max_pairs: int) -> Iterator[tuple[Array, Array]]:
        """The pairs in pieces of at most `max_pairs`, except that one probing tuple's matches stay together."""
        if max_pairs < 1:
            raise ParameterError(f"max_pairs must be at least 1, not {max_pairs}")
        ends = np.cumsum(self.counts, dtype=np.int64)
        first, done = 0, 0
        while done < (int(ends[-1]) if len(ends) else 0):
            last = max(int(np.searchsorted(ends, done + max_pairs, side="right")), first + 1)
            size = int(ends[last - 1]) - done
            if size:
                yield self._cut(first, last, size)
            first, done = last, done + size

    def ranges(self) -> Any:
        """Range records; refused by structures that do not keep their tuples sorted."""
        raise StateError("only a bi-sort index answers with ranges; ask for .pairs() or .counts, or create 'bi-sort'")

    def _cut(self, first: int, last: int, size: int) -> tuple[Array, Array]:
        probe_no, ids = np.empty(size, np.int32), np.empty(size, np.int32)
        if size:
            self._emit(first, last, probe_no, ids)
        return probe_no, ids

    @abstractmethod
    def _emit(self, first: int, last: int, probe_no: Array, ids: Array) -> None:
        """Write the pairs of probing tuples [first, last) into the two arrays, which have the exact size."""


class Index(ABC):
    """One subwindow's index: filled, sealed, and probed before and after; a sealed one never changes again.

    It holds up to `capacity` tuples, each an int32 or int64 key and a 32-bit id. A refused call leaves it as it was.
    """

    name: ClassVar[str]

    def __init__(self, *, capacity: int, partitions: int, dtype: Any, threads: int = 1) -> None:
        capacity = whole("capacity", capacity)
        if capacity < 1:
            raise ParameterError(f"capacity must be at least 1, not {capacity}")
        if capacity > MOST_TUPLES:
            raise ParameterError(f"capacity must be below 2^31, not {capacity}: an id has 32 bits; use more subwindows")
        partitions, threads = whole("partitions", partitions), whole("threads", threads)
        if not 1 <= partitions <= capacity:
            raise ParameterError(f"partitions must be between 1 and the capacity {capacity}, not {partitions}")
        if threads < 1:
            raise ParameterError(f"threads must be at least 1, not {threads}")
        self.capacity, self.partitions, self.threads = capacity, partitions, threads
        self.dtype = _key_type(dtype)
        self.size = 0
        self.sealed = False
        self.version = 0  #: changes whenever positions inside the index change
        self.min_key: int | None = None
        self.max_key: int | None = None

    # ---- verbs ----

    def insert(self, keys: Any, ids: Any) -> None:
        """Add a batch of tuples. Keys that do not ascend are sorted first, stably."""
        keys, ids = self._keys_at_the_door(keys, "keys"), np.asarray(ids)
        if self.sealed:
            raise StateError(f"cannot insert {len(keys)} tuples: this {self.name} index is sealed; create a new one")
        if ids.shape != keys.shape:
            raise DataError(f"keys and ids must have the same length, not {len(keys)} and {ids.shape}")
        if len(ids) and (ids.dtype.kind not in "iu" or ids.min() < 0 or ids.max() > np.iinfo(np.int32).max):
            raise DataError(f"ids must be whole numbers in 0..2^31-1, not {ids.dtype} in {ids.min()}..{ids.max()}")
        if len(keys) > self.capacity - self.size:
            raise DataError(
                f"cannot insert {len(keys)} tuples: {self.size} of capacity {self.capacity} are taken; "
                f"insert at most {self.capacity - self.size}, then seal and create the next index"
            )
        if len(keys) == 0:
            return
        ids = ids.astype(np.int32, copy=False)
        if not is_ascending(keys):
            order = np.argsort(keys, kind="stable")
            keys, ids = keys[order], ids[order]
        self._insert(np.ascontiguousarray(keys), np.ascontiguousarray(ids))
        self.size += len(keys)
        self.min_key = int(keys[0]) if self.min_key is None else min(self.min_key, int(keys[0]))
        self.max_key = int(keys[-1]) if self.max_key is None else max(self.max_key, int(keys[-1]))

    def probe(self, low: Any, high: Any, *, negate: bool = False) -> Probe:
        """Find the tuples with low[i] <= key <= high[i] (or, with `negate`, all the others) for each i.

        `low` and `high` ascend, and both ends are inside; an interval with low > high is empty.
        """
        low, high = self._keys_at_the_door(low, "low"), self._keys_at_the_door(high, "high")
        if low.shape != high.shape:
            raise DataError(f"low and high must have the same length, not {len(low)} and {len(high)}")
        for name, bound in (("low", low), ("high", high)):
            if not is_ascending(bound):
                at = int(np.argmax(bound[1:] < bound[:-1]))
                raise DataError(
                    f"{name} must ascend, but {bound[at]} is followed by {bound[at + 1]} at {at + 1}; sort the batch"
                )
        probe = self._probe(np.ascontiguousarray(low), np.ascontiguousarray(high), negate)
        probe.negated = negate
        return probe

    def seal(self) -> None:
        """End insertion. Structures may rearrange themselves for probing. Sealing twice is harmless."""
        if not self.sealed:
            self._seal()
            self.sealed = True

    @property
    @abstractmethod
    def memory_bytes(self) -> int:
        """Bytes of all arrays held."""

    @property
    def sorted_ids(self) -> Array | None:
        """Ids in ascending order of their keys, where the structure keeps that order; positions in `ranges` are its."""
        return None

    @property
    def partition_sizes(self) -> Array | None:
        """Tuples per partition in key order, where values decide who goes where; for those who watch a query."""
        return None

    @abstractmethod
    def check(self) -> None:
        """Assert every invariant of the structure, dumping its state when one fails. For tests; may be slow."""

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """The sealed index as named arrays (views, not copies), from which `open` makes it again."""

    @classmethod
    @abstractmethod
    def open(cls, arrays: Mapping[str, Array]) -> Index:
        """A sealed index over the arrays that `arrays` gave, which may be read-only memory maps; nothing is copied."""

    # ---- what a structure implements; arguments are valid, contiguous, and of the index's dtype ----

    @abstractmethod
    def _insert(self, keys: Array, ids: Array) -> None:
        """`keys` ascend, at least one; they fit the capacity. `self.size` is still the old one."""

    @abstractmethod
    def _probe(self, low: Array, high: Array, negate: bool) -> Probe: ...

    def _seal(self) -> None:  # noqa: B027  (an optional step, not a forgotten one)
        pass

    def _keys_at_the_door(self, keys: Any, name: str) -> Array:
        keys = np.asarray(keys)
        if keys.ndim != 1:
            raise DataError(f"{name} must have one dimension, not {keys.ndim}")
        if keys.dtype != self.dtype and len(keys):
            raise DataError(
                f"{name} must be {self.dtype} like the index, not {keys.dtype}; convert with .astype(np.{self.dtype})"
            )
        as_index: Array = keys.astype(self.dtype, copy=False)
        return as_index


def is_ascending(keys: Array) -> bool:
    """True when no key is smaller than the one before it."""
    return bool((keys[1:] >= keys[:-1]).all())


def whole(name: str, value: Any) -> int:
    """A knob that counts something."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise ParameterError(f"{name} must be a whole number, not {value!r}")


def _key_type(dtype: Any) -> np.dtype[Any]:
    try:
        known: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise ParameterError(f"dtype must be int32 or int64, not {dtype!r}") from None
    if known not in (np.dtype(np.int32), np.dtype(np.int64)):
        raise ParameterError(f"dtype must be int32 or int64, not {known}; panjoin.keys maps other types to these")
    return known


# ---- the registry: our own structures by module, those of other packages by entry point ----

_STRUCTURES: dict[str, type[Index]] = {}
_OURS = {
    "bi-sort": "panjoin.index.bi_sort",
    "rap-table": "panjoin.index.rap_table",
    "wib-tree": "panjoin.index.wib_tree",
    "scan": "panjoin.index.scan",
}
_ENTRY_POINTS = "panjoin.index"


def register(structure: type[Index]) -> type[Index]:
    """Class decorator: make a structure known to `create` under its `name`."""
    _STRUCTURES[structure.name] = structure
    return structure


def names() -> list[str]:
    """All names that `create` takes."""
    return [*_OURS, *(point.name for point in entry_points(group=_ENTRY_POINTS) if point.name not in _OURS)]


def structure_class(name: str) -> type[Index]:
    """The class registered under `name`."""
    if name not in _STRUCTURES:
        if name in _OURS:
            import_module(_OURS[name])
        else:
            for point in entry_points(group=_ENTRY_POINTS, name=name):
                point.load()
    if name not in _STRUCTURES:
        raise ParameterError(f"no index structure is called {name!r}; there are {', '.join(map(repr, names()))}")
    return _STRUCTURES[name]


def create(
    name: str,
    *,
    capacity: int | None = None,
    partitions: int | None = None,
    dtype: Any = None,
    like: Index | None = None,
    **knobs: Any,
) -> Index:
    """A new, empty index of one subwindow, to be filled with `insert` and asked with `probe`.

    >>> import numpy as np
    >>> index = create("bi-sort", capacity=1000)
    >>> index.insert(np.array([12, 15, 27, 21], np.int32), ids=np.arange(4))
    >>> probe = index.probe(low=np.array([10, 20], np.int32), high=np.array([15, 20], np.int32))
    >>> probe.counts.tolist(), [numbers.tolist() for numbers in probe.pairs()]
    ([2, 0], [[0, 0], [0, 1]])

    `like` is the index of the preceding subwindow: what is not given is taken from it, and an adaptive structure
    (RaP-Table) learns its splitters from it. `knobs` are the structure's own (sigma, buffer, fanout, threads ...).
    """
    if like is not None and not isinstance(like, Index):
        raise ParameterError(f"like must be an index, such as that of the last subwindow, not {type(like).__name__}")
    if like is not None:
        capacity = like.capacity if capacity is None else capacity
        dtype = like.dtype if dtype is None else dtype
        if partitions is None:
            partitions = min(like.partitions, capacity)
    if capacity is None:
        raise ParameterError("capacity is needed: the number of tuples of one subwindow, such as capacity=1_000_000")
    capacity = whole("capacity", capacity)
    if partitions is None:
        partitions = partitions_of(capacity)
    if like is not None and like.name == name:
        knobs["like"] = like
    structure = structure_class(name)
    try:
        return structure(capacity=capacity, partitions=partitions, dtype=np.int32 if dtype is None else dtype, **knobs)
    except TypeError as error:
        if "unexpected keyword argument" in str(error):
            raise ParameterError(f"{name!r} has no such option: {error}") from None
        raise
