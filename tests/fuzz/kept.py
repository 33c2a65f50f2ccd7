"""All inputs that the fuzzer has kept, replayed as they are and changed a little, without the fuzzer."""

from __future__ import annotations

import random
from pathlib import Path

from tests.faults.catalogue import Class
from tests.faults.records import Tally
from tests.fuzz.targets import TARGETS

HERE = Path(__file__).parent


def kept(target: str) -> list[Path]:
    """Corpus and findings."""
    return sorted([*(HERE / "corpus" / target).iterdir(), *(HERE / "findings").glob(f"{target}-*")])


def replay(directory: Path, seeds: range) -> Tally:
    """Each file as it is with seed 0, and with a few bytes changed, cut or doubled with others."""
    tally = Tally()
    for name, target in TARGETS.items():
        for path in kept(name):
            for seed in seeds:
                data = changed(path.read_bytes(), seed)
                try:
                    target(data)
                    tally.case(seed)
                except Exception as error:  # noqa: BLE001  (whatever it is, it is a finding)
                    tally.case(seed, f"{name} {path.name}: {type(error).__name__}: {error}", undetected=1)
    return tally


def changed(data: bytes, seed: int) -> bytes:
    """By the seed; 0 leaves it as it is."""
    if seed == 0 or not data:
        return data
    rng = random.Random(seed)
    bytes_ = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(bytes_) + 1)
        deed = rng.randrange(3)
        if deed == 0:
            bytes_[at:at] = rng.randbytes(rng.randint(1, 4))
        elif deed == 1:
            del bytes_[at : at + rng.randint(1, 8)]
        else:
            bytes_[at : at + 1] = bytes([rng.randrange(256)])
    return bytes(bytes_)


CLASSES = (
    Class(
        "inputs",
        "bytes kept by the fuzzer",
        "Conditions, job files, blobs of the state and Arrow buffers that a coverage-guided fuzzer has found worth keeping, as they are "
        "and with bytes changed: a value, or an error of ours; anything else is undetected.",
        replay,
        30,
    ),
)
