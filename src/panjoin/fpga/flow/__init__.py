"""What happens to a design: Python ──> netlist ──> compiled simulation, or synthesis ──> placement and routing.

netlist     Amaranth to RTLIL, the text that every tool here starts from; its hash names the design
cxxrtl      RTLIL to C++ to a shared object: cycle-accurate runs of millions of cycles
verilator   the same netlist in another simulator: the second opinion
synthesis   RTLIL to ECP5 cells (yosys)
placement   cells to places and wires on the chip, once per seed (nextpnr)
reports     what the tools say, read
store       results by hash, in the cache directory
"""
