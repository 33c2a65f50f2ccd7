"""The partitioners: which partition does a bound lie in? A rebounding search on the index array, for all ports at once.

    index   2   7  17  23  31  40          the partitions' first keys, in block RAM
            0   1   2   3   4   5
    bound 24 after a bound in partition 0 that was at most 7:
            forward    from 1: 1+1 -> 17 < 24, 2+2 -> 31 >= 24        the step doubles until a sample is not smaller
            backward           2+1 -> 23 < 24                         then it halves
            answer     partition 3, and 31 as the limit: bounds up to it lie in the same partition

All ports share one datapath that turns like a barrel: in each clock another port's search makes one step, so a turn of
the barrel hides the way through memory and comparator, and with N ports there are N searches under way. A search of g
partitions takes 2 log2(g) + 1 turns. The answer is the last partition whose first key is smaller than the bound (0 if
none is), where the bound's position is, or at whose end it is.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.params import Params
from panjoin.fpga.ram import Ram


class Partitioner(wiring.Component):
    """A port asks by changing its bit of `ask`; its bound then stays until `answered` bit u, when start, count and
    limit are its answer. `fresh` bit u: a new batch, search from the first partition.
    """

    def __init__(self, params: Params) -> None:
        self._params = params
        bits = params.key_bits + 1
        super().__init__(
            {
                "slot": In(range(params.turn)),
                "ask": In(params.ports),
                "fresh": In(params.ports),
                "bounds": In(data.ArrayLayout(bits, params.ports)),
                "answered": Out(params.ports),
                "start": Out(params.address_bits),
                "count": Out(params.address_bits),
                "limit": Out(bits),
                "partition_bits": In(5),
                "partition_size": In(params.address_bits + 1),
                "size": In(params.address_bits),
                "samples": In(range(params.partitions + 1)),
                "write": In(1),
                "write_at": In(range(params.partitions)),
                "write_data": In(params.key_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Seven stages: state, place, memory, comparison, decision; five more for the answer's tuples."""
        del platform
        m = Module()
        p = self._params
        width = len(self.samples) + 1
        state = data.StructLayout(
            {"lo": width, "step": width, "limit": p.key_bits + 1, "backward": 1, "busy": 1, "asked": 1}
        )
        m.submodules.index = index = Ram(p.key_bits, p.partitions)
        slots = 1 << (p.turn - 1).bit_length()
        m.submodules.states = states = memory.Memory(
            shape=state, depth=slots, init=[], attrs={"no_rw_check": 1, "ram_style": "distributed"}
        )
        back, front = states.write_port(), states.read_port(domain="comb")
        m.d.comb += [
            index.write.eq(self.write),
            index.write_at.eq(self.write_at),
            index.write_data.eq(self.write_data),
            index.read.eq(1),
            index.take.eq(1),
            front.addr.eq(self.slot),
        ]
        # 0: the state of this slot's search, and what its port asks
        ports = range(p.turn)
        asks = Array(self.ask[u] if u < p.ports else 0 for u in ports)
        freshes = Array(self.fresh[u] if u < p.ports else 0 for u in ports)
        bounds = Array(self.bounds[u] if u < p.ports else 0 for u in ports)
        now: dict[str, Any] = {
            "slot": Signal(range(slots)), "state": Signal(state), "bound": Signal(p.key_bits + 1),
            "ask": Signal(), "fresh": Signal(),
        }  # fmt: skip
        m.d.sync += [
            now["slot"].eq(self.slot),
            now["state"].eq(front.data),
            now["bound"].eq(bounds[self.slot]),
            now["ask"].eq(asks[self.slot]),
            now["fresh"].eq(freshes[self.slot]),
        ]
        # 1: where to look; a new search starts one behind the partition of the last answer
        begin = Signal()
        placed = self._carry(m, now, "placed")
        at = Signal(width)
        m.d.comb += begin.eq((now["ask"] ^ now["state"].asked) & ~now["state"].busy)
        with m.If(begin):
            m.d.sync += [
                placed["state"].lo.eq(Mux(now["fresh"], 0, now["state"].lo + 1)),
                placed["state"].step.eq(1),
                placed["state"].busy.eq(1),
                placed["state"].asked.eq(now["ask"]),
                placed["state"].backward.eq(0),
                at.eq(Mux(now["fresh"], 1, now["state"].lo + 2)),
            ]
        with m.Else():
            m.d.sync += at.eq(now["state"].lo + now["state"].step)
        m.d.comb += index.read_at.eq(at)
        # 2 to 4: memory, and a register behind it, because its blocks lie far apart
        stage = placed
        inside = Signal(name="inside")
        m.d.sync += inside.eq(at < self.samples)
        for name in ("latched", "read", "gathered"):
            stage = self._carry(m, stage, name)
            if name != "latched":
                later = Signal(name=f"inside_{name}")
                m.d.sync += later.eq(inside)
                inside = later
        first_key = Signal(p.key_bits)
        m.d.sync += first_key.eq(index.data)
        # 5: comparison, as the borrow of a subtraction
        compared = self._carry(m, stage, "compared")
        less, sample = Signal(), Signal(p.key_bits + 1)
        difference = Signal(p.key_bits + 2)
        m.d.comb += difference.eq(Cat(first_key, 0) - stage["bound"])
        m.d.sync += [
            less.eq(difference[-1] & inside),
            sample.eq(Mux(inside, first_key, 1 << p.key_bits)),
        ]
        # 6: the next state
        new, old = Signal(state), compared["state"]
        found = Signal()
        m.d.comb += new.eq(old)
        with m.If(old.busy):
            with m.If(less):
                m.d.comb += new.lo.eq(old.lo + old.step)
            with m.Else():
                m.d.comb += new.limit.eq(sample)
            with m.If(less & ~old.backward):
                m.d.comb += new.step.eq(old.step << 1)
            with m.Else():
                m.d.comb += [new.step.eq(old.step >> 1), new.backward.eq(1)]
                with m.If(old.step == 1):
                    m.d.comb += [new.busy.eq(0), found.eq(1)]
        m.d.comb += [back.addr.eq(compared["slot"]), back.data.eq(new), back.en.eq(1)]
        # 7 to 11: the answer's tuples
        answer = {"slot": compared["slot"], "valid": found, "limit": new.limit}
        for name in ("chosen", "coarse", "shifted", "measured", "compared_ends"):
            later_answer = {key: Signal.like(each, name=f"{name}_{key}") for key, each in answer.items()}
            m.d.sync += [later_answer[key].eq(each) for key, each in answer.items()]
            answer = later_answer
        chosen, coarse, start = Signal(width), Signal(p.address_bits), Signal(p.address_bits)
        start_measured, start_compared = Signal(p.address_bits), Signal(p.address_bits)
        rest, rest_compared = Signal(p.address_bits), Signal(p.address_bits)
        behind, is_last = Signal(p.address_bits + 1), Signal()
        m.d.sync += [
            chosen.eq(new.lo),
            coarse.eq(chosen << Cat(Const(0, 3), self.partition_bits[3:])),
            start.eq(coarse << self.partition_bits[:3]),
            start_measured.eq(start),
            behind.eq(start + self.partition_size),
            rest.eq(self.size - start),
            start_compared.eq(start_measured),
            rest_compared.eq(rest),
            is_last.eq(behind > self.size),
            self.start.eq(start_compared),
            self.count.eq(Mux(is_last, rest_compared, self.partition_size)),
            self.limit.eq(answer["limit"]),
        ]
        for u in range(p.ports):
            m.d.sync += self.answered[u].eq(answer["valid"] & (answer["slot"] == u))
        return m

    def _carry(self, m: Module, before: dict[str, Any], name: str) -> dict[str, Any]:
        """The same signals one stage later."""
        after = {key: Signal.like(each, name=f"{name}_{key}") for key, each in before.items()}
        m.d.sync += [after[key].eq(each) for key, each in before.items()]
        return after
