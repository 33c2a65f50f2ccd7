"""What the tools print is read as numbers, or refused; nothing is taken for 0 that is not there."""

import json
from typing import Any

import pytest

from panjoin.errors import DamageError
from panjoin.fpga.flow import reports
from panjoin.fpga.flow.stages import Progress

STEP = {"from": {"cell": "a"}, "to": {"cell": "b"}}
REPORT: dict[str, Any] = {
    "critical_paths": [
        {"from": "posedge clk", "to": "<async>", "path": [STEP | {"type": "clk-to-q", "delay": 9.0}]},
        {
            "from": "posedge clk",
            "to": "posedge clk",
            "path": [
                STEP | {"type": "clk-to-q", "delay": 0.5},
                STEP | {"type": "routing", "delay": 1.5, "net": "wire"},
                STEP | {"type": "logic", "delay": 2.0},
            ],
        },
    ],
    "fmax": {"clk": {"achieved": 250.0, "constraint": 220}},
    "utilization": {
        "TRELLIS_COMB": {"used": 700, "available": 83640},
        "TRELLIS_FF": {"used": 900, "available": 83640},
        "DP16KD": {"used": 6, "available": 208},
        "MULT18X18D": {"used": 0, "available": 156},
    },
}


def changed(**changes: Any) -> str:
    return json.dumps(REPORT | changes)


def test_a_placement_is_cells_clock_and_the_slowest_path_between_registers() -> None:
    found = reports.placed(json.dumps(REPORT))
    assert found.used == {"COMB": 700, "FF": 900, "block RAM": 6, "DSP": 0}
    assert found.available == {"COMB": 83640, "FF": 83640, "block RAM": 208, "DSP": 156}
    assert found.mhz == 250.0
    assert [(step.kind, step.name) for step in found.path] == [("clk-to-q", "b"), ("routing", "wire"), ("logic", "b")]
    assert found.routing_share == 1.5 / 4.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"nextpnr's report cannot be read \(.*\); make it again with: panjoin fpga place --again"),
        ("{", "nextpnr's report cannot be read"),
        ("[]", "nextpnr's report misses something"),
        (changed(fmax={}), "a design here has one clock, and nextpnr's report tells of 0"),
        (changed(fmax=REPORT["fmax"] | {"other": {"achieved": 1}}), "a design here has one clock, .* tells of 2"),
        (changed(utilization={}), r"nextpnr's report misses something \(KeyError\('TRELLIS_COMB'\)\)"),
        (changed(critical_paths=[]), "nextpnr's report misses something"),
        (changed(fmax={"clk": {"achieved": "fast"}}), "nextpnr's report misses something"),
    ],
)
def test_a_report_of_another_form_is_refused(text: str, said: str) -> None:
    with pytest.raises(DamageError, match=said):
        reports.placed(text)


def test_cells_are_counted_in_look_up_tables_and_flip_flops() -> None:
    by_type = {"LUT4": 100, "CCU2C": 10, "TRELLIS_DPR16X4": 3, "TRELLIS_FF": 50, "DP16KD": 2, "PFUMX": 7}
    found = reports.cells(json.dumps({"design": {"num_cells_by_type": by_type}}))
    assert (found.lut, found.ff, found.block_ram, found.dsp) == (100 + 20 + 12, 50, 2, 0)


@pytest.mark.parametrize("text", ["{}", '{"design": {}}', '{"design": {"num_cells_by_type": {"LUT4": "many"}}}', "[1]"])
def test_statistics_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(DamageError, match="yosys' statistics have no cells by type"):
        reports.cells(text)


def test_progress_follows_the_lines_of_a_placement_and_never_goes_back() -> None:
    lines = """\
Info: Packing constants..
Info: Creating initial analytic placement for 69 cells, random placement wirelen = 8525.
Info: Running main analytical placer, max placement attempts per cell = 10000.
Info:     at iteration #1, type ALL: wirelen solved = 288, spread = 418, legal = 436; time = 0.14s
Info:     at iteration #9, type ALL: wirelen solved = 312, spread = 415, legal = 458; time = 0.04s
Info: Running simulated annealing placer for refinement.
Info:   at iteration #1: temp = 0.000000, timing cost = 17, wirelen = 423
Info: Routing globals...
Info: Routing 226 arcs.
Info:        100 |       30        70 |   30   70 |       126|       0.41       0.41|
Info:        299 |       70        219 |   70   219 |         0|       0.61       1.02|
Info: Routing complete.
Info: Program finished normally."""
    progress = Progress()
    seen = [(progress.stage, progress.fraction)]
    for line in lines.splitlines():
        progress.hear(line)
        seen.append((progress.stage, progress.fraction))
    stages = list(dict.fromkeys(stage for stage, _ in seen))
    assert stages == ["synthesis", "packing", "placing", "refining", "routing", "timing", "done"]
    fractions = [fraction for _, fraction in seen]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0.0 and fractions[-1] == 1.0
    assert len(set(fractions)) > 8
    progress.hear("Info: Packing constants..")
    assert progress.fraction == 1.0
