"""Block RAM of ECP5 as it is: 18 Kbit, one side writes, the other reads through two registers of its own.

    width 65, depth 512    [36 x 512] [36 x 512]                   side by side
    width 32, depth 32K    [1 x 16K] x 32                          two banks, chosen behind the output register
                           [1 x 16K] x 32

The second register of the read side (OUTREG, enabled by `take`) is why this file exists: without it a word leaves the
block 4.3 ns after the clock, which alone is 86% of a period at 200 MHz, and yosys never uses it. So for the chip the
blocks are instantiated; everywhere else (simulation, proofs) `ram.py` says the same in four lines, and the gate-level
tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Array, Cat, ClockSignal, Const, Instance, Module, Signal, Value

#: Words -> width of one block; what a block holds is 18 Kbit in widths of 9 and more, 16 Kbit below.
_WIDTHS = {512: 36, 1024: 18, 2048: 9, 4096: 4, 8192: 2, 16384: 1}
_LONGEST = max(_WIDTHS)


class Ecp5:
    """The platform that designs are elaborated for when they go to the chip; None is any other use."""


def blocks(m: Module, ram: Any) -> None:
    """Fill `m` with the blocks of a `Ram`: its ports are write, write_at, write_data, read, read_at, take, data."""
    deep = next((words for words in _WIDTHS if words >= ram.depth), _LONGEST)
    wide = _WIDTHS[deep]
    banks = (ram.depth + deep - 1) // deep
    inside = (min(deep, ram.depth) - 1).bit_length()
    outputs = []
    read_at, take = ram.read_at[:inside], ram.take
    for bank in range(banks):
        mine = Value.cast(1) if banks == 1 else ram.write_at[inside:] == bank
        output = []
        for low in range(0, ram.width, wide):
            part = ram.write_data[low : low + wide]
            data = Signal(wide, name=f"data_{bank}_{low}")
            m.submodules[f"block_{bank}_{low}"] = Instance(
                "DP16KD",
                **_block(wide, ram.write & mine, ram.write_at[:inside], part, ram.read, read_at, take, data),
            )
            output.append(data[: len(part)])
        outputs.append(Cat(*output))
    if banks == 1:
        m.d.comb += ram.data.eq(outputs[0])
        return
    asked, given = (Signal(range(banks), name=name) for name in ("asked", "given"))
    with m.If(ram.read):
        m.d.sync += asked.eq(ram.read_at[inside:])
    with m.If(ram.take):
        m.d.sync += given.eq(asked)
    m.d.comb += ram.data.eq(Array(outputs)[given])


def _block(
    wide: int, write: Value, write_at: Value, write_data: Value, read: Value, read_at: Value, take: Value, data: Signal
) -> Mapping[str, Any]:
    """Parameters and pins of one block: side A writes, side B reads. 36 bits are both sides' 18 (A below, B above)."""
    shift = wide.bit_length() - 1 if wide < 9 else {9: 3, 18: 4, 36: 5}[wide]
    enables = {18: 0b11, 36: 0b1111}.get(wide, 0)  # of bytes, on the lowest address pins
    at_a, at_b = (_pins(Cat(Const(low, shift), at), 14) for low, at in ((enables, write_at), (0, read_at)))
    given = _pins(write_data, 36)
    return {
        "p_DATA_WIDTH_A": wide,
        "p_DATA_WIDTH_B": wide,
        "p_REGMODE_A": "OUTREG" if wide == 36 else "NOREG",
        "p_REGMODE_B": "OUTREG",
        "p_RESETMODE": "SYNC",
        "p_ASYNC_RESET_RELEASE": "SYNC",
        "p_WRITEMODE_A": "NORMAL",
        "p_WRITEMODE_B": "NORMAL",
        "p_CSDECODE_A": "0b000",
        "p_CSDECODE_B": "0b000",
        "p_GSR": "AUTO",
        **{f"i_{name}": 0 for side in "AB" for name in (f"RST{side}", *(f"CS{side}{at}" for at in range(3)))},
        "i_CLKA": ClockSignal("sync"),
        "i_CLKB": ClockSignal("sync"),
        "i_CEA": write,
        "i_WEA": 1,
        "i_OCEA": take if wide == 36 else 0,
        "i_CEB": read,
        "i_WEB": 0,
        "i_OCEB": take,
        **{f"i_ADA{at}": pin for at, pin in enumerate(at_a)},
        **{f"i_ADB{at}": pin for at, pin in enumerate(at_b)},
        **{f"i_DI{'AB'[at // 18]}{at % 18}": pin for at, pin in enumerate(given[: 36 if wide == 36 else 18])},
        **{f"o_DO{side}{at}": data[number] for number, side, at in _outputs(wide)},
    }


def _outputs(wide: int) -> list[tuple[int, str, int]]:
    """(bit of the word, side, pin of the side): a word of 36 leaves on both sides, others on the side that reads."""
    if wide == 36:
        return [(number, "AB"[number // 18], number % 18) for number in range(36)]
    return [(number, "B", number) for number in range(wide)]


def _pins(value: Value, count: int) -> list[Value]:
    value = Value.cast(value)
    assert len(value) <= count, value
    return [value[at] if at < len(value) else Const(0, 1) for at in range(count)]
