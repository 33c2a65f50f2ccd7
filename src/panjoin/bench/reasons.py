"""Why a claim of the paper does not hold here, where it does not: sentences made of the records it is judged by.

A reason names what was measured beside the ratio and what follows from it. It is asked for only when the claim has
failed, so it may count on some of its records, but not on all of them: what is missing is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from panjoin.bench.goals import Found
from panjoin.bench.tables import number, shown

Reason = Callable[[Found], str]

K = 1 << 10


def listed(found: Found, experiment: str, metric: str, over: str, unit: str, **where: object) -> str:
    """The medians one after another: "0.72 at 1K, 0.45 at 32K"."""
    return ", ".join(
        f"{number(value, unit)} at {shown(size)}"
        for size in found.sizes(experiment, metric, over, **where)
        for value in found.values(experiment, metric, **{over: size}, **where)
    )


def ratios(found: Found, experiment: str, above: dict[str, object], below: dict[str, object], over: str) -> str:
    """The same of a ratio of two throughputs."""
    seen = []
    for size in found.sizes(experiment, "throughput", over, **above):
        one = found.value(experiment, "throughput", **above, **{over: size})
        other = found.value(experiment, "throughput", **below, **{over: size})
        if one is not None and other is not None:
            seen.append(f"{number(one / other)} at {shown(size)}")
    return ", ".join(seen)


def microseconds(found: Found, experiment: str, end: Callable[[list[int]], int], **where: object) -> str:
    """Of one call with the smallest or the largest batch."""
    sizes = found.sizes(experiment, "throughput", "batch", **where)
    rates = found.values(experiment, "throughput", batch=end(sizes), **where) if sizes else []
    return number(end(sizes) / rates[0] * 1e6) if rates else "?"


def always(text: str) -> Reason:
    """A reason that needs no number but the claim's own."""
    return lambda _: text


# ---- structures ----


def rap_peak(found: Found) -> str:
    """Of rap_insert_1."""
    top = max(found.sizes("index.rap_insert_1", "throughput", "partitions"), default=0)
    seen = listed(found, "index.rap_insert_1", "throughput", "batch", "tuples/s", partitions=top)
    return f"the rate grows with the batch ({seen}); each tuple is written once, by one thread, to where its chain ends"


def rap_capacities(found: Found) -> str:
    """Of rap_insert_2."""
    batch = _nearest(found.sizes("index.rap_insert_2", "throughput", "batch"), 32 * K)
    seen = listed(found, "index.rap_insert_2", "throughput", "capacity", "tuples/s", batch=batch)
    return f"over N_sub: {seen}; the chains of a smaller subwindow are nearer to the caches"


def rap_adjust(_: Found) -> str:
    """Of rap_adjust."""
    return (
        "where few tuples fall into a partition, their number varies from subwindow to subwindow by chance alone, and "
        "no splitters follow that"
    )


def partition_phase(found: Found) -> str:
    """Of both phases."""
    seen = listed(found, "claims.partition", "partition phase of insertion", "batch", "share")
    return (
        f"of insertion it is {seen}: a batch with fewer tuples than there are partitions makes one search per tuple, "
        "and two stores are all that follows it; of probing for all pairs it is less"
    )


def sorted_leaves(found: Found) -> str:
    """Of claims.leaves."""
    seen = listed(found, "claims.leaves", "unsorted over sorted", "batch", "ratio")
    return (
        f"{seen}: the more tuples of a batch fall into one leaf, the less it costs to keep it in order, for all of "
        "them are merged in at once"
    )


def b_tree(operation: str) -> Reason:
    """Of wib_comp."""

    def why(found: Found) -> str:
        rates = found.values("index.wib_comp", "throughput of the B-tree", operation=operation)
        seen = f"{number(min(rates), 'tuples/s')} to {number(max(rates), 'tuples/s')} tuples/s" if rates else "?"
        return f"this B-tree, which is not Google's, does {seen} with the same sorted batches"

    return why


def wib_partitions(found: Found) -> str:
    """Of wib_insert_1."""
    batch = _nearest(found.sizes("index.wib_insert_1", "throughput", "batch"), 32 * K)
    seen = listed(found, "index.wib_insert_1", "throughput", "partitions", "tuples/s", batch=batch)
    return (
        f"over P: {seen}; with more leaves than tuples in a batch each tuple goes to a leaf, and so to a cache line, "
        "of its own; with few leaves many tuples of a batch are copied to one place"
    )


def wib_capacities(found: Found) -> str:
    """Of wib_insert_2."""
    batch = _nearest(found.sizes("index.wib_insert_2", "throughput", "batch"), 32 * K)
    seen = listed(found, "index.wib_insert_2", "throughput", "capacity", "tuples/s", batch=batch)
    return f"over N_sub: {seen}; with P fixed a smaller subwindow has smaller leaves, and more of them are cut"


def flat_below_the_buffer(found: Found) -> str:
    """Of bis_insert_1."""
    where = {
        "variant": "paper",
        "partitions": max(found.sizes("index.bis_insert_1", "throughput", "partitions") or [0]),
    }
    call = microseconds(found, "index.bis_insert_1", min, **where)
    seen = listed(found, "index.bis_insert_1", "throughput", "batch", "tuples/s", **where)
    return f"a call takes {call} µs with the smallest batch, the merges that it shares in among them, so {seen}"


def bis_partitions(found: Found) -> str:
    """Of bis_insert_1."""
    batch = _nearest(found.sizes("index.bis_insert_1", "throughput", "batch"), 32 * K)
    seen = listed(found, "index.bis_insert_1", "throughput", "partitions", "tuples/s", variant="paper", batch=batch)
    return f"over P: {seen}; a merge is so short here that taking P samples of what it made is a part of it"


def bis_selectivity(found: Found) -> str:
    """Of bis_probe_3."""
    top = max(found.sizes("index.bis_probe_3", "throughput", "partitions"), default=0)
    seen = listed(found, "index.bis_probe_3", "throughput", "selectivity", "tuples/s", form="counts", partitions=top)
    return (
        f"over S: {seen}; nothing between the two ends of a band is visited, but where it is wider than a partition "
        "both of its ends have to be fetched from memory"
    )


def bis_buffer(found: Found) -> str:
    """Of bis_buffer."""
    sizes = found.sizes("index.bis_buffer", "throughput", "buffer")
    if not sizes:
        return ""
    least, most = (microseconds(found, "index.bis_buffer", min, buffer=size) for size in (sizes[0], sizes[-1]))
    batch = found.sizes("index.bis_buffer", "throughput", "batch")[0]
    return (
        f"with batches of {shown(batch)} a call takes {least} µs where the buffer holds {shown(sizes[0])} and {most} "
        f"µs where it holds {shown(sizes[-1])}: merging a subwindow of 64K tuples is cheap beside the calls"
    )


def bis_capacities(found: Found) -> str:
    """Of bis_insert_2."""
    least = min(found.sizes("index.bis_insert_2", "throughput", "batch"), default=0)
    seen = listed(found, "index.bis_insert_2", "throughput", "capacity", "tuples/s", variant="paper", batch=least)
    return f"over N_sub: {seen}; a call costs the same whatever is merged"


def insertion_of_large_batches(found: Found) -> str:
    """Of com_insert."""
    top = max(found.sizes("index.com_insert", "throughput", "batch"), default=0)
    seen = ", ".join(
        f"{name} {number(rate, 'tuples/s')}"
        for name in ("bi-sort", "rap-table", "wib-tree")
        for rate in found.values("index.com_insert", "throughput", contestant=name, batch=top)
    )
    return f"with batches of {shown(top)}: {seen}; all three write in order then, and the memory is the bound"


def insertion_of_small_batches(found: Found) -> str:
    """Of com_insert."""
    least = microseconds(found, "index.rap_insert_1", min)
    return f"a call takes RaP-Table {least} µs with the smallest batch: what is merged is little beside it"


def pairs_of(above: str, below: str, because: str) -> Reason:
    """Of com_probe; `because` follows the ratios."""

    def form(name: str) -> dict[str, object]:
        return {"contestant": name, "form": "counts" if name == "bi-sort" else "pairs"}

    def why(found: Found) -> str:
        return f"over S: {ratios(found, 'index.com_probe', form(above), form(below), 'selectivity')}; {because}"

    return why


# ---- the system ----


def sorting(found: Found) -> str:
    """Of claims.sorting."""
    ours = listed(found, "claims.sorting", "throughput", "batch", "tuples/s", sorted="keys and positions")
    alone = listed(found, "claims.sorting", "throughput", "batch", "tuples/s", sorted="keys alone (np.sort)")
    return f"one thread: {ours} with the arrival positions that go along; np.sort on the keys alone: {alone}"


def mirror(found: Found) -> str:
    """Of claims.mirror."""
    rates = listed(found, "claims.mirror", "throughput", "mirror", "tuples/s")
    return f"{rates}; the manager merges every batch once more, on the two cores that the workers have"


def at_128m(found: Found) -> str:
    """Of sys_per_1."""
    seen = listed(found, "systems.sys_per_1", "throughput", "batch", "tuples/s", structure="bi-sort")
    return f"over the batch: {seen}; two cores, where the paper has 256"


def rap_over_wib(experiment: str, over: str, because: str, **where: object) -> Reason:
    """Of sys_per_1 and sys_per_2."""

    def why(found: Found) -> str:
        above, below = ({"structure": name, **where} for name in ("rap-table", "wib-tree"))
        return f"over {over}: {ratios(found, experiment, above, below, over)}; {because}"

    return why


def receiving(found: Found) -> str:
    """Of sys_per_3: how fast results went through the socket."""
    speeds = []
    for name in ("rap-table", "wib-tree"):
        rate, share, size = (
            found.at("systems.sys_per_3", metric, structure=name, S=max)
            for metric in ("throughput", "receiving", "result")
        )
        if rate and share and size:
            speeds.append(size * rate / share / 1e9)
    seen = f"{number(min(speeds))} to {number(max(speeds))}" if speeds else "?"
    return (
        f"making the pairs and sending them runs at {seen} GB/s through a local socket, and finding them takes the rest"
    )


def nested_loop(figure: int) -> Reason:
    """Of sys_com_1 and sys_com_2: how fast the nested loop is."""

    def why(found: Found) -> str:
        where = {"contestant": "splitjoin", "condition": "band", "S": min}
        rate = found.at(f"systems.sys_com_{figure}", "throughput", **where)
        window = max(found.sizes(f"systems.sys_com_{figure}", "throughput", "W", condition="band"), default=0)
        compared = number(rate * window, "tuples/s") if rate else "?"
        return f"SplitJoin compares {compared} pairs per second here: its loop is vectorised and blocked for the cache"

    return why


def predicted(found: Found) -> str:
    """Of sys_per_4."""
    seen = "; ".join(
        f"{name}: "
        + listed(
            found,
            "systems.sys_per_4",
            "throughput",
            "workers",
            "tuples/s",
            structure=name,
            placement="arrival",
            kind="predicted",
            S=1,
        )
        for name in ("bi-sort", "rap-table", "wib-tree")
    )
    return f"by the model, where S = 1 and over the workers, {seen}"


def _nearest(sizes: Iterable[int], wanted: int) -> int:
    return min(sizes, key=lambda size: abs(size - wanted), default=0)
