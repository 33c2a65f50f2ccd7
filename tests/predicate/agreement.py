"""The promise of keys and bounds, checked on every pair of two batches against the condition evaluated in full."""

import numpy as np
import pyarrow as pa

from panjoin.bounds import JoinKeys
from panjoin.predicate import parse

SIDES = ("left", "right")


def assert_keys_agree(on, left, right, *, exact=None):
    """Each side probes the other through intervals of keys: each match once, and nothing else once verified."""
    bound = parse(on).bind(left.schema, right.schema)
    keys = JoinKeys(bound)
    if exact is not None:
        assert keys.exact is exact, keys.describe()
    n, m = left.num_rows, right.num_rows
    pairs = left.take(np.repeat(np.arange(n), m)), right.take(np.tile(np.arange(m), n))
    expected = bound.full(*pairs).reshape(n, m)
    for side, probing, stored in (("left", left, right), ("right", right, left)):
        found = candidates(keys, side, probing, stored)
        wanted = expected if side == "left" else expected.T
        matches = verified(keys, side, probing, stored, found)
        wrong = np.argwhere(matches != wanted)
        assert not len(wrong), (
            f"{on}: {side} {probing.slice(wrong[0][0], 1).to_pylist()} and {stored.slice(wrong[0][1], 1).to_pylist()} "
            f"match: {wanted[tuple(wrong[0])]}, but the keys say otherwise; {keys.describe()}"
        )
        if keys.exact and bound.rest is None:
            assert np.array_equal(found, wanted), f"{on}: exact keys give candidates that do not match"
    return keys


def candidates(keys, side, probing, stored):
    """Which stored tuples lie in the intervals of which probing ones, as an engine would ask."""
    own, valid = keys.encode(side, probing)
    assert own.dtype == keys.dtype
    picked = np.arange(probing.num_rows) if valid is None else np.flatnonzero(valid)
    picked = picked[np.argsort(own[picked], kind="stable")]
    other, known = keys.encode("right" if side == "left" else "left", stored)
    known = np.ones(len(other), bool) if known is None else known
    hits = np.zeros((len(picked), len(other)), np.int64)
    for low, high, rows in keys.bounds(side, probing.take(picked)):
        assert low.dtype == high.dtype == keys.dtype
        assert (low <= high).all()
        assert (low[1:] >= low[:-1]).all(), f"{side} low must ascend: {low}"
        assert (high[1:] >= high[:-1]).all(), f"{side} high must ascend: {high}"
        assert rows is None or (rows[1:] > rows[:-1]).all()
        hits[slice(None) if rows is None else rows] += (low[:, None] <= other) & (other <= high[:, None]) & known
    assert hits.max(initial=0) <= 1, "a pair lies in two intervals"
    found = np.zeros((probing.num_rows, len(other)), bool)
    found[picked] = (hits == 0) & known if keys.negate else hits == 1
    return found


def verified(keys, side, probing, stored, found):
    """The candidates that remain after verification."""
    mine, theirs = np.nonzero(found)
    rows = {side: probing.take(mine), "right" if side == "left" else "left": stored.take(theirs)}
    true = keys.verify(rows["left"], rows["right"])
    matches = found.copy()
    if true is not None:
        matches[mine, theirs] = true
    return matches


def column_pair(kind, left, right, name="x"):
    """Two tables of one column each."""
    return pa.table({name: pa.array(left, kind)}), pa.table({name: pa.array(right, kind)})
