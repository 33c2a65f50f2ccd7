"""What happens to a design: Python ──> netlist ──> compiled simulation, or synthesis ──> placement and routing.

netlist     Amaranth to RTLIL, the text that every tool here starts from; its hash names the design
cxxrtl      RTLIL to C++ to a shared object: cycle-accurate runs of millions of cycles
verilator   the same netlist in another simulator: the second opinion (opinion)
play        words into streams and out of them, for millions of clocks; steady: units at full speed; work: the worker
synthesis   RTLIL to ECP5 cells (yosys)
gates       these cells as a netlist that can be simulated
placement   cells to places and wires on the chip, once per seed (nextpnr)
reports     what the tools say, read
store       results by hash, in the cache directory
"""
