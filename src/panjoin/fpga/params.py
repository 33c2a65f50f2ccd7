"""What can be chosen about the hardware, in one frozen dataclass, and the presets that have names.

Everything else follows from these numbers, so a design's hash is the hash of its parameters and of the sources. Wrong
values are refused here, before anything is elaborated, with the parameter's name, the value and the remedy.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

from panjoin.errors import ParameterError

#: Cycles that a rotating schedule takes at least for one turn: the partitioner's pipeline is this long.
SHORTEST_TURN = 8


@dataclass(frozen=True)
class Memory:
    """The board's memory. This is a model: no board is at hand. The preset is the paper's, two channels DDR3-1066."""

    channels: int = 2
    bytes_per_second: int = 8_528_000_000  #: of one channel: 1066 million transfers of 8 bytes
    beat_bytes: int = 64  #: the least that a channel moves: a burst of eight transfers
    latency_cycles: int = 40  #: from a command to its first word, in cycles of the design: 200 ns at 200 MHz
    queue: int = 16  #: commands that a channel takes ahead

    def __post_init__(self) -> None:
        for each in fields(self):
            if getattr(self, each.name) < 1:
                raise ParameterError(f"memory.{each.name} must be at least 1, not {getattr(self, each.name)}")
        _power_of_two("memory.channels", self.channels)
        _power_of_two("memory.queue", self.queue)


@dataclass(frozen=True)
class Params:
    """One design. Tuples have `key_bits` + `payload_bits`; depths and bursts count tuples."""

    mergers: int = 8
    probers: int = 8
    key_bits: int = 32
    payload_bits: int = 32
    fifo_depth: int = 512  #: of each input stream of a merger or prober, in block RAM
    out_depth: int = 64  #: of each output stream
    burst: int = 32  #: tuples that one memory command moves at most
    partitions: int = 1 << 15  #: entries of the index array (the paper's P)
    address_bits: int = 27  #: of a tuple's address in memory
    clock_hz: int = 200_000_000  #: of the design, for the memory model's share per cycle
    memory: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        for name in ("mergers", "probers", "fifo_depth", "out_depth", "burst", "partitions"):
            _power_of_two(name, getattr(self, name))
        _between("key_bits", self.key_bits, 2, 64)
        _between("payload_bits", self.payload_bits, 2, 64)
        _between("address_bits", self.address_bits, 6, min(self.payload_bits, self.key_bits, 31))
        _between("fifo_depth", self.fifo_depth, 2 * self.burst, 1 << 14)
        _between("out_depth", self.out_depth, 2 * self.burst, 1 << 14)
        _between("burst", self.burst, 2, 256)
        _between("partitions", self.partitions, 2, 1 << min(20, self.address_bits))
        _between("mergers", self.mergers, 1, 64)
        _between("probers", self.probers, 1, 64)
        if self.clock_hz < 1_000_000:
            raise ParameterError(f"clock_hz must be at least 1,000,000, not {self.clock_hz}")

    @property
    def ports(self) -> int:
        """Ways to memory: a merger and a prober share one, because a worker runs one command at a time."""
        return max(self.mergers, self.probers)

    @property
    def turn(self) -> int:
        """Cycles of one turn of the schedules that serve all ports: one slot each, and one for the cutter."""
        return max(self.ports + 1, SHORTEST_TURN)

    @property
    def word_bits(self) -> int:
        """Bits of a tuple in memory."""
        return self.key_bits + self.payload_bits

    @property
    def smallest_partition(self) -> int:
        """Tuples of a partition at least: the indexer writes one sample per port and turn. A power of two."""
        return 1 << (self.turn - 1).bit_length()

    def with_(self, **changes: object) -> Params:
        """The same with some parameters changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


def _power_of_two(name: str, value: int) -> None:
    if value < 1 or value & (value - 1):
        raise ParameterError(
            f"{name} must be a power of two, such as {1 << max(0, value - 1).bit_length()}, not {value}"
        )


def _between(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ParameterError(f"{name} must be between {least} and {most} here, not {value}")


# A channel takes 8 bursts ahead: by arithmetic enough to keep it busy, and half of what the cutter's words, which many
# steps wait for one after another, stand in line for with 16. The bandwidth with 8 has not been measured yet.
_BOARD = Memory(queue=8)

PRESETS: dict[str, Params] = {
    "ecp5-85": Params(memory=_BOARD),
    "paper": Params(partitions=1 << 16, memory=_BOARD),  # the index alone takes 128 of the 208 block RAMs of an ECP5-85
    "single": Params(mergers=1, probers=1),
    "small": Params(mergers=2, probers=2, fifo_depth=16, out_depth=8, burst=4, partitions=64, address_bits=13),
}


# Small sizes, many commands: what the index contract is played on. The memory answers soon, so tiny batches are quick.
_INDEX = Params(
    mergers=2, probers=2, fifo_depth=32, out_depth=16, burst=8, partitions=1 << 13, address_bits=20,
    memory=Memory(latency_cycles=4),
)  # fmt: skip
PRESETS |= {"index-int32": _INDEX, "index-int64": _INDEX.with_(key_bits=64)}


def preset(name: str) -> Params:
    """The parameters called `name`."""
    if name not in PRESETS:
        raise ParameterError(f"no preset is called {name!r}; there are {', '.join(map(repr, PRESETS))}")
    return PRESETS[name]
