"""Calibrations with numbers that a reader can follow."""

from panjoin.calibration import Calibration, Cost


def calibration(large_batch: int = 1024, match_ns: float = 11.0) -> Calibration:
    """BI-Sort costs more than the others in batches below `large_batch`; a pair costs 1 ns there, `match_ns` elsewhere."""
    costs = [
        Cost(structure, 4096, batch, 100.0, 10.0 if structure != "bi-sort" or batch >= large_batch else 20.0)
        for structure in ("bi-sort", "rap-table", "wib-tree")
        for batch in (1, large_batch - 1, large_batch)
    ]
    others = {"bi-sort": 1.0, "rap-table": match_ns, "wib-tree": match_ns}
    in_bytes = {"bi-sort": 8.0, "rap-table": 20.0, "wib-tree": 20.0}
    return Calibration("here", "2026-01-05", tuple(costs), others, in_bytes, ((1, 1000.0), (1024, 10.0)), "by hand")
