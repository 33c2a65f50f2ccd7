"""BI-Sort in hardware: the paper's section "BI-Sort on FPGA", in Amaranth, with the open tools behind it.

The units stand in this folder, one per file: `params` says what can be chosen, `words` what streams carry, `designs`
knows every design by name; `flow/` takes them through simulation, synthesis, placement and routing. Needs the extra
`fpga`.
"""
