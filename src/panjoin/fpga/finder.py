"""Between boundary generator and prober: sends for each partition that a bound lies in, once, before the bound.

    bounds  3   5   8  24       limit of partition 0 is 7, of 1 is 17, of 3 is 31
            │   │   │   │
    jobs    0       1   3       a bound up to the limit lies in the partition at hand and passes in one clock;
                                another one waits here for the partitioner's answer

At the end of the batch the job `end` goes out and the end word passes.
"""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from panjoin.fpga.params import Params
from panjoin.fpga.words import word_layout


def job_layout(params: Params) -> data.StructLayout:
    """So many tuples from this position; or the end of the slice."""
    return data.StructLayout({"start": params.address_bits, "count": params.address_bits, "end": 1})


def found_layout(params: Params) -> data.StructLayout:
    """A job, and the limit up to which bounds lie in this partition."""
    return data.StructLayout({"job": job_layout(params), "limit": params.key_bits + 1})


class Finder(wiring.Component):
    """See the head of this file. `ask`, `fresh`, `bound`, `answered`, `found`, `limit` face the partitioner."""

    def __init__(self, params: Params) -> None:
        self._params = params
        bound = word_layout(params.key_bits + 1, params.payload_bits)
        super().__init__(
            {
                "i": In(stream.Signature(bound)),
                "o": Out(stream.Signature(bound)),
                "jobs": Out(stream.Signature(found_layout(params))),
                "ask": Out(1),
                "fresh": Out(1),
                "bound": Out(params.key_bits + 1),
                "answered": In(1),
                "start": In(params.address_bits),
                "count": In(params.address_bits),
                "limit": In(params.key_bits + 1),
            }
        )
        self._bound = bound

    def elaborate(self, platform: object) -> Module:
        """One word waits here; `beyond` says that it lies behind the limit."""
        del platform
        m = Module()
        bits = self._params.key_bits + 1
        word, valid, beyond, fresh = Signal(self._bound), Signal(), Signal(), Signal(init=1)
        limit, job, job_valid = Signal(bits), Signal(job_layout(self._params)), Signal()
        leaves, behind = Signal(), Signal()
        difference = Signal(bits + 1)
        m.d.comb += [
            self.jobs.valid.eq(job_valid),
            self.jobs.payload.job.eq(job),
            self.jobs.payload.limit.eq(limit),
            self.o.payload.eq(word),
            self.o.valid.eq(valid & ~beyond & ~job_valid),
            leaves.eq(self.o.valid & self.o.ready),
            self.i.ready.eq(~valid | leaves),
            difference.eq(limit - self.i.payload.key),
            behind.eq(self.i.valid & ~self.i.payload.end & (fresh | difference[-1])),
            self.bound.eq(word.key),
            self.fresh.eq(fresh),
        ]
        with m.If(self.jobs.ready):
            m.d.sync += job_valid.eq(0)
        with m.If(self.i.ready):
            m.d.sync += [
                word.eq(self.i.payload),
                valid.eq(self.i.valid),
                beyond.eq(behind),
                self.ask.eq(self.ask ^ behind),
            ]
            with m.If(self.i.valid & self.i.payload.end):
                m.d.sync += [job.end.eq(1), job_valid.eq(1), fresh.eq(1)]
        with m.If(self.answered):
            m.d.sync += [
                limit.eq(self.limit),
                job.start.eq(self.start),
                job.count.eq(self.count),
                job.end.eq(0),
                job_valid.eq(1),
                beyond.eq(0),
                fresh.eq(0),
            ]
        return m
