"""Preprocessing: from rows in arrival order to a batch that indexes and probes can use (paper, Step 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panjoin.chain.batch import NO_TIME, Batch
from panjoin.engine.spec import JoinSpec
from panjoin.expression import Side
from panjoin.kernels.sort import sort_by_key

Array = npt.NDArray[Any]

_WHOLE_NUMBERS = {np.dtype(np.int32): pa.int32(), np.dtype(np.int64): pa.int64()}


def preprocess(
    spec: JoinSpec,
    side: Side,
    rows: pa.RecordBatch,
    first_no: int,
    times: Array | None,
    numbers: Array | None = None,
    end_no: int | None = None,
) -> Batch:
    """Encode the keys, sort them, and compute where each tuple's matches lie on the opposite side."""
    keys, valid = spec.keys.encode(side, rows)
    if times is not None and (times == NO_TIME).any():
        valid = (times != NO_TIME) if valid is None else valid & (times != NO_TIME)
    if valid is None or valid.all():
        keys, order = sort_by_key(keys)
    else:
        positions = np.flatnonzero(valid).astype(np.int32)
        keys, order = sort_by_key(keys[positions])
        order = positions[order]
    ascending = _in_key_order(spec, side, rows, keys, order)
    return Batch(
        side=side,
        first_no=first_no,
        size=rows.num_rows,
        keys=keys,
        order=order,
        bounds=tuple(spec.keys.bounds(side, ascending)),
        rows=rows.select(list(spec.sides[side].columns)) if spec.sides[side].columns else None,
        times=times,
        numbers=numbers,
        end_no=end_no,
    )


def _in_key_order(spec: JoinSpec, side: Side, rows: pa.RecordBatch, keys: Array, order: Array) -> pa.RecordBatch:
    """The key columns of the tuples, in the order of their keys."""
    condition = spec.condition
    parts = [*condition.equalities, *([] if condition.band is None else [condition.band])]
    names = list(dict.fromkeys(getattr(part, side) for part in parts))
    if spec.keys.unconverted and rows.schema.field(names[0]).type == _WHOLE_NUMBERS.get(keys.dtype):
        return pa.RecordBatch.from_arrays([pa.array(keys)], names)  # a column of whole numbers is its own key: no copy
    return rows.select(names).take(pa.array(order)) if names else rows.slice(0, len(order))
