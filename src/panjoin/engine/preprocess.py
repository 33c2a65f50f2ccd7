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
    needed = list(spec.condition.columns(side))
    ascending = rows.select(needed).take(pa.array(order)) if needed else rows.slice(0, len(order))
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
