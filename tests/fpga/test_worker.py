"""The whole worker in compiled simulation, against sorted lists: every command, sizes around every edge, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from panjoin.errors import ParameterError
from panjoin.fpga.machine import Machine, region, room
from panjoin.fpga.params import preset
from panjoin.fpga.worker import BATCH, BUFFER, HIGH, LOW, MAIN, Op
from panjoin.index import create

pytestmark = pytest.mark.slow  # the worker is compiled once, which takes a minute or two

PARAMS = preset("index-int32")
INFO = np.iinfo(np.int32)


@pytest.fixture(scope="module")
def machine() -> Any:
    machine = Machine(PARAMS)
    yield machine
    machine.close()


def batch(rng: np.random.Generator, size: int, first: int) -> tuple[Any, Any]:
    """Ascending keys with ids from `first` on: few or many different ones, extremes among them."""
    kind = rng.integers(4)
    keys = [
        np.full(size, rng.choice([INFO.min, 0, INFO.max])),
        rng.integers(-3, 4, size),
        rng.integers(INFO.min, INFO.max, size, endpoint=True),
        rng.choice([INFO.min, INFO.min + 1, -1, 0, 1, INFO.max - 1, INFO.max], size),
    ][kind]
    order = np.argsort(keys, kind="stable")
    return keys[order].astype(np.int32), first + order


def merged(older: tuple[Any, Any], newer: tuple[Any, Any]) -> tuple[Any, Any]:
    keys, ids = (np.concatenate([a, b]) for a, b in zip(older, newer, strict=True))
    order = np.argsort(keys, kind="stable")
    return keys[order], ids[order]


def part(machine: Machine, name: str, first: int) -> tuple[Any, Any]:
    return machine.get(region(PARAMS, first + machine.state(f"{name}_side")), machine.state(f"{name}_size"))


@pytest.mark.parametrize("seed", range(12))
def test_the_worker_holds_and_finds_what_sorted_lists_hold_and_find(machine: Machine, seed: int) -> None:
    rng = np.random.default_rng(seed)
    buffer, bits = int(rng.choice([1, 8, 100])), int(rng.choice([4, 5, 9]))
    machine.command(op=Op.CREATE, count=6_000, buffer=buffer, partition_bits=bits)
    empty = np.empty(0, np.int32), np.empty(0, np.int64)
    main, waiting, arrived = empty, empty, 0
    for _ in range(8):
        size = int(rng.choice([0, 1, 2, 7, buffer - 1, buffer, buffer + 1, 64, 500, 1_500]))
        size = min(size, 6_000 - arrived)
        new = batch(rng, size, arrived)
        arrived += size
        machine.put(region(PARAMS, BATCH), *new)
        machine.command(op=Op.INSERT, count=size)
        waiting = merged(waiting, new)
        if size and not (size <= buffer and len(waiting[0]) < buffer):
            main, waiting = merged(main, waiting), empty
        for mine, its in zip(
            (*main, *waiting), (*part(machine, "main", MAIN), *part(machine, "buffer", BUFFER)), strict=True
        ):
            assert (mine == its).all()

        asked, numbers = batch(rng, int(rng.choice([1, 3, 40, 900])), 0)
        low, high = [(0, 1), (-5, 11), (-(2**32), 1), (0, 2**32), (7, 3)][rng.integers(5)]
        machine.put(region(PARAMS, BATCH), asked, numbers)
        machine.command(op=Op.PROBE, count=len(asked), low=low, high=high)
        for keys, offset in ((main[0], 0), (waiting[0], room(PARAMS) // 2)):
            if not len(keys):
                continue
            for moved, number in ((low, LOW), (high, HIGH)):
                bounds = asked.astype(np.int64) + moved
                at = region(PARAMS, number) + offset
                assert (machine.positions(at, len(asked)) == np.searchsorted(keys.astype(np.int64), bounds)).all()
                assert (machine.memory[at : at + len(asked)]["payload"] == numbers).all()
    machine.command(op=Op.SEAL)
    assert (part(machine, "main", MAIN)[1] == merged(main, waiting)[1]).all()
    assert machine.state("buffer_size") == 0
    machine.command(op=Op.EXPIRE)
    assert (machine.state("main_size"), machine.state("buffer_size")) == (0, 0)


@pytest.mark.parametrize(
    "command",
    [
        {"op": Op.CREATE, "count": room(PARAMS) + 1, "partition_bits": 9},
        {"op": Op.CREATE, "count": PARAMS.partitions * 16 + 1, "partition_bits": 4},
        {"op": Op.CREATE, "count": 100, "partition_bits": PARAMS.smallest_partition.bit_length() - 2},
        {"op": Op.CREATE, "count": 100, "partition_bits": PARAMS.address_bits},
        {"op": Op.INSERT, "count": 91},
        {"op": Op.PROBE, "count": room(PARAMS) // 2 + 1},
    ],
)
def test_a_command_that_does_not_fit_is_refused_and_changes_nothing(machine: Machine, command: dict[str, Any]) -> None:
    machine.command(op=Op.CREATE, count=100, buffer=1, partition_bits=4)
    machine.put(region(PARAMS, BATCH), np.arange(10, dtype=np.int32), np.arange(10))
    machine.command(op=Op.INSERT, count=10)
    with pytest.raises(ParameterError, match="the simulated worker refuses"):
        machine.command(**command)
    assert (machine.state("main_size"), machine.state("version")) == (10, 1)
    assert part(machine, "main", MAIN)[1].tolist() == list(range(10))
    machine.command(op=Op.INSERT, count=90)


def test_nothing_can_be_inserted_after_expiry_until_create(machine: Machine) -> None:
    machine.command(op=Op.EXPIRE)
    for op in (Op.INSERT, Op.PROBE):
        with pytest.raises(ParameterError, match="the simulated worker refuses"):
            machine.command(op=op, count=1)


@pytest.mark.parametrize("buffer", [1, 7, 64])
def test_records_are_those_of_bi_sort_in_software(buffer: int) -> None:
    rng = np.random.default_rng(buffer)
    theirs = create("bi-sort", capacity=2_000, partitions=50, buffer=buffer, middle=0)
    ours = create("bi-sort-rtl", capacity=2_000, partitions=50, buffer=buffer)
    arrived = 0
    for size in (3, 1, 60, 5, 400, 64, 63, 1, 1_000, 7):
        keys = rng.integers(-300, 300, size).astype(np.int32)
        low, high = (np.sort(rng.integers(-320, 320, 150).astype(np.int32)) for _ in "lh")
        answers = []
        for index in (theirs, ours):
            index.insert(keys, np.arange(arrived, arrived + size))
            answers.append([index.probe(low, high, negate=negate) for negate in (False, True)])
        arrived += size
        for one, other in zip(*answers, strict=True):
            assert (one.counts == other.counts).all()
            for field, mine, its in zip(one.ranges()._fields, one.ranges(), other.ranges(), strict=True):
                assert np.array_equal(mine, its), field
    for index in (theirs, ours):
        index.seal()
    assert (theirs.sorted_ids == ours.sorted_ids).all()
    assert theirs.version == ours.version


def test_a_large_capacity_is_sent_to_the_software() -> None:
    with pytest.raises(
        ParameterError, match=r"capacity must be at most 131072 for bi-sort-rtl, not 131073: .* 'bi-sort'"
    ):
        create("bi-sort-rtl", capacity=131_073)


def test_a_batch_that_does_not_ascend_goes_in_complete_and_the_worker_goes_on(machine: Machine) -> None:
    rng = np.random.default_rng(8)
    machine.command(op=Op.CREATE, count=2_000, buffer=1, partition_bits=4)
    keys = rng.integers(-50, 50, 1_200).astype(np.int32)
    for at in (0, 700):
        half = keys[at : at + 700]
        machine.put(region(PARAMS, BATCH), half, np.arange(at, at + len(half)))
        machine.command(op=Op.INSERT, count=len(half))
    assert sorted(part(machine, "main", MAIN)[1]) == list(range(1_200))
    machine.command(op=Op.PROBE, count=500, low=0, high=1)  # its positions mean nothing; it ends
    machine.command(op=Op.CREATE, count=100, buffer=1, partition_bits=4)
    machine.put(region(PARAMS, BATCH), np.arange(10, dtype=np.int32), np.arange(10))
    machine.command(op=Op.INSERT, count=10)
    assert part(machine, "main", MAIN)[0].tolist() == list(range(10))


@pytest.mark.parametrize(("capacity", "size"), [(5, 5), (16, 3), (17, 17), (1_000, 999)])
def test_partitions_may_be_more_than_tuples_and_need_not_divide_them(
    machine: Machine, capacity: int, size: int
) -> None:
    keys = np.arange(0, 3 * size, 3, dtype=np.int32)
    machine.command(op=Op.CREATE, count=capacity, buffer=1, partition_bits=4)
    machine.put(region(PARAMS, BATCH), keys, np.arange(size))
    machine.command(op=Op.INSERT, count=size)
    asked = np.array([INFO.min, -1, 0, 1, 3 * size - 3, 3 * size - 2, INFO.max], dtype=np.int32)
    machine.put(region(PARAMS, BATCH), asked, np.arange(len(asked)))
    machine.command(op=Op.PROBE, count=len(asked), low=0, high=1)
    for moved, place in ((0, LOW), (1, HIGH)):
        expected = np.searchsorted(keys, asked.astype(np.int64) + moved)
        assert machine.positions(region(PARAMS, place), len(asked)).tolist() == expected.tolist()
