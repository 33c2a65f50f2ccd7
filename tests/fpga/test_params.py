"""Parameters and designs: what cannot be built is refused before anything is elaborated, by name."""

from __future__ import annotations

from typing import Any

import pytest

from panjoin.errors import ParameterError
from panjoin.fpga.designs import design
from panjoin.fpga.params import PRESETS, Memory, Params, preset


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"mergers": 3}, "mergers must be a power of two, such as 4, not 3"),
        ({"probers": 0}, "probers must be a power of two, such as 1, not 0"),
        ({"mergers": 128}, "mergers must be between 1 and 64 here, not 128"),
        ({"partitions": 1000}, "partitions must be a power of two, such as 1024, not 1000"),
        ({"partitions": 1 << 21}, "partitions must be between 2 and 1048576 here, not 2097152"),
        ({"fifo_depth": 32}, "fifo_depth must be between 64 and 16384 here, not 32"),
        ({"out_depth": 16}, "out_depth must be between 64 and 16384 here, not 16"),
        ({"burst": 1}, "burst must be between 2 and 256 here, not 1"),
        ({"key_bits": 65}, "key_bits must be between 2 and 64 here, not 65"),
        ({"payload_bits": 1}, "payload_bits must be between 2 and 64 here, not 1"),
        ({"address_bits": 33}, "address_bits must be between 6 and 31 here, not 33"),
        ({"clock_hz": 200}, "clock_hz must be at least 1,000,000, not 200"),
    ],
)
def test_a_parameter_that_cannot_be_built_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Params(**wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"channels": 0}, "memory.channels must be at least 1, not 0"),
        ({"channels": 3}, "memory.channels must be a power of two, such as 4, not 3"),
        ({"latency_cycles": 0}, "memory.latency_cycles must be at least 1, not 0"),
    ],
)
def test_a_memory_that_cannot_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Memory(**wrong)


def test_unknown_names_are_answered_with_those_that_exist() -> None:
    with pytest.raises(ParameterError, match="no preset is called 'big'; there are 'ecp5-85', 'paper'"):
        preset("big")
    with pytest.raises(ParameterError, match="no design is called 'sorter'; there are 'merger-1', 'merger-8'"):
        design("sorter", "small")


def test_a_partition_has_room_for_one_turn_of_the_indexer() -> None:
    for params in PRESETS.values():
        assert params.smallest_partition >= params.turn
