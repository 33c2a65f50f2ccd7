"""The form `emit="ranges"`: the paper's records, made correct (paper, BI-Sort).

    side  probe  subwindow  version  id_start  id_end  not    live_from  tuple
    left      7          3       12       120     480  false       NULL   NULL    main array positions 120 .. 479
    left      7          4        5        10      11  false      40200   NULL    ... without numbers below 40,200
    left      7          4        5      NULL    NULL  NULL        NULL  41007    one stored tuple, by arrival number

A record names positions in the main array of one subwindow at one version, because every merge shifts them; `not`
means all positions but these. Tuples that wait in a buffer have no position, and where candidates must be checked one
by one (time filter, verification) matches are scattered: both are listed as single tuples. What the paper calls the
filter of the oldest subwindow travels in the record, as `live_from`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panjoin.chain.batch import Batch
from panjoin.chain.match import Match
from panjoin.engine.forms import Form

Array = npt.NDArray[Any]


class Ranges(Form):
    """Range records, and single tuples where there is no range."""

    name = "ranges"
    schema = pa.schema(
        [
            pa.field("side", pa.string(), nullable=False),
            pa.field("probe", pa.int64(), nullable=False),
            pa.field("subwindow", pa.int64(), nullable=False),
            pa.field("version", pa.int64(), nullable=False),
            pa.field("id_start", pa.int64()),
            pa.field("id_end", pa.int64()),
            pa.field("not", pa.bool_()),
            pa.field("live_from", pa.int64()),
            pa.field("tuple", pa.int64()),
        ]
    )

    def answer(self, batch: Batch, matches: Sequence[Match]) -> list[pa.Table]:
        """Records of a worker's subwindows."""
        tables = []
        for match in matches:
            if match.checks or match.subwindow.index.name != "bi-sort":
                for positions, ids in match.pairs():
                    tables.append(self._singles(match, positions, match.subwindow.numbers(ids)))
                continue
            for positions, _, probe in match.probes:
                records = probe.ranges()
                some = records.start < records.end if not records.negate else probe.counts > 0
                tables.append(self._ranges(match, positions[some], records, some))
                numbers = match.subwindow.numbers(records.pending_ids)
                alive = slice(None) if match.live_from is None else numbers >= match.live_from
                tables.append(self._singles(match, positions[records.pending_probe_no][alive], numbers[alive]))
        return tables

    def combine(self, batch: Batch, parts: Sequence[Any]) -> pa.Table:
        """All of them."""
        return pa.concat_tables([self.schema.empty_table(), *(table for part in parts for table in part)])

    def matches(self, part: Any) -> int:
        """Positions in ranges, and single tuples; of a negated record the positions that it leaves out."""
        held = 0
        for table in part:
            within = pc.sum(pc.subtract(table["id_end"], table["id_start"])).as_py()
            held += (within or 0) + table.num_rows - table["tuple"].null_count
        return held

    def _ranges(self, match: Match, positions: Array, records: Any, some: Array) -> pa.Table:
        size = len(positions)
        return self._table(
            match,
            positions,
            pa.array(records.start[some], pa.int64()),
            pa.array(records.end[some], pa.int64()),
            pa.repeat(pa.scalar(records.negate), size),
            pa.repeat(pa.scalar(match.live_from, pa.int64()), size),
            pa.nulls(size, pa.int64()),
        )

    def _singles(self, match: Match, positions: Array, numbers: Array) -> pa.Table:
        size, nothing = len(positions), pa.nulls(len(positions), pa.int64())
        return self._table(match, positions, nothing, nothing, pa.nulls(size, pa.bool_()), nothing, pa.array(numbers))

    def _table(self, match: Match, positions: Array, *columns: pa.Array) -> pa.Table:
        size, subwindow = len(positions), match.subwindow
        same = [
            pa.repeat(pa.scalar(match.batch.side), size),
            pa.array(match.batch.arrival_numbers(positions)),
            pa.repeat(pa.scalar(subwindow.number, pa.int64()), size),
            pa.repeat(pa.scalar(subwindow.index.version, pa.int64()), size),
        ]
        return pa.table([*same, *columns], schema=self.schema)
