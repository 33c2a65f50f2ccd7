r"""The gate level: a design as the cells of ECP5 that synthesis made of it, and yet a netlist that can be simulated.

    Amaranth ──> RTLIL ──────────────────────────────────> compiled simulation ─┐
                   └──> yosys: LUT4, TRELLIS_FF, DP16KD ──> models of the cells ┴──> same words in the same clocks?

What cells do is said by yosys' own models of them (`cells_sim.v`), and of block RAM by the model below, which is
written from Lattice's description of the primitive (FPGA-TN-02204) and not from `block.py`. So a run at this level
tests what synthesis made of the design, and how `block.py` sets up the blocks.

`flipped` inverts the truth table of one look-up table: the control, a circuit that must not pass.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from panjoin.errors import ParameterError
from panjoin.fpga.flow import store, tools
from panjoin.fpga.flow.netlist import TOP, Netlist

GATES = "gates.il"
_TABLE = re.compile(r"(?<=parameter \\INIT 16')[01]{16}")


def gates(design: Netlist, *, module: str = TOP, flipped: int | None = None) -> Netlist:
    """The same design with `module`, and what is in it, as cells; the design is one for `Ecp5`.

    `flipped` is the number of the look-up table that is spoilt.
    """
    inputs: dict[str, Any] = {"design": design.hash, "module": module, "flipped": flipped, "model": _BLOCK}

    def make(directory: Path) -> None:
        (directory / "design.il").write_text(design.text, encoding="utf-8")
        (directory / "block.v").write_text(_BLOCK, encoding="utf-8")
        tools.yosys(
            f"read_rtlil design.il; synth_ecp5 -top {module}; setattr -mod -unset top {module}; "
            f"select {module}; write_rtlil -selected cells.il",
            directory,
        )
        if flipped is not None:
            cells = directory / "cells.il"
            cells.write_text(_flip(cells.read_text(encoding="utf-8"), flipped), encoding="utf-8")
        whole = "" if module == TOP else f"read_rtlil design.il; delete {module}; "
        tools.yosys(
            f"{whole}read_rtlil cells.il; read_verilog -DNO_INCLUDES +/ecp5/cells_sim.v; delete DP16KD; "
            f"read_verilog block.v; hierarchy -top {TOP}; proc; flatten; opt_clean; write_rtlil {GATES}",
            directory,
        )
        for name in ("design.il", "cells.il", "block.v"):
            (directory / name).unlink()

    directory = store.kept("gates", inputs | {"versions": tools.versions()}, make)
    return Netlist((directory / GATES).read_text(encoding="utf-8"))


def _flip(cells: str, number: int) -> str:
    tables = list(_TABLE.finditer(cells))
    if not 0 <= number < len(tables):
        raise ParameterError(f"flipped must be between 0 and {len(tables) - 1}, the look-up tables here, not {number}")
    found = tables[number]
    inverted = found[0].translate(str.maketrans("01", "10"))
    return cells[: found.start()] + inverted + cells[found.end() :]


def _lines(name: str, count: int) -> str:
    return ", ".join(f"{name}{at}" for at in reversed(range(count)))


#: A DP16KD of which side A writes and side B reads, both with the same width; the output register is `OUTREG`.
_BLOCK = f"""\
module DP16KD(
    input {_lines("DIA", 18)}, {_lines("DIB", 18)}, {_lines("ADA", 14)}, {_lines("ADB", 14)},
    input CEA, OCEA, CLKA, WEA, RSTA, {_lines("CSA", 3)}, CEB, OCEB, CLKB, WEB, RSTB, {_lines("CSB", 3)},
    output {_lines("DOA", 18)}, {_lines("DOB", 18)}
);
    parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18, REGMODE_A = "NOREG", REGMODE_B = "NOREG";
    parameter RESETMODE = "SYNC", ASYNC_RESET_RELEASE = "SYNC", WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL";
    parameter CSDECODE_A = "0b000", CSDECODE_B = "0b000", GSR = "AUTO";
    localparam SHIFT = DATA_WIDTH_B == 36 ? 5 : DATA_WIDTH_B == 18 ? 4 : DATA_WIDTH_B == 9 ? 3 :
                       DATA_WIDTH_B == 4 ? 2 : DATA_WIDTH_B == 2 ? 1 : 0;
    reg [DATA_WIDTH_B-1:0] words [(16384 >> SHIFT)-1:0];
    wire [35:0] given = {{{_lines("DIB", 18)}, {_lines("DIA", 18)}}};
    wire [13:0] at_a = {{{_lines("ADA", 14)}}}, at_b = {{{_lines("ADB", 14)}}};
    wire bytes = DATA_WIDTH_A == 36 ? &at_a[3:0] : DATA_WIDTH_A == 18 ? &at_a[1:0] : 1'b1;
    always @(posedge CLKA)
        if (CEA & WEA & bytes) words[at_a >> SHIFT] <= given[DATA_WIDTH_A-1:0];
    reg [DATA_WIDTH_B-1:0] latch = 0;
    reg [35:0] register = 0;
    always @(posedge CLKB) begin
        if (CEB & ~WEB) latch <= words[at_b >> SHIFT];
        if (OCEB) register[17:0] <= DATA_WIDTH_B == 36 ? latch[17:0] : latch;
        if (DATA_WIDTH_B == 36 ? OCEA : 1'b0) register[35:18] <= latch >> 18;
    end
    wire [35:0] out = REGMODE_B == "OUTREG" ? register : latch;
    assign {{{_lines("DOA", 18)}}} = DATA_WIDTH_B == 36 ? out[17:0] : 18'b0;
    assign {{{_lines("DOB", 18)}}} = DATA_WIDTH_B == 36 ? out[35:18] : out[17:0];
endmodule
"""
