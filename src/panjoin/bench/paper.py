"""What the paper's text says of each figure of the structures; the report puts it beside what we measure."""

from __future__ import annotations

#: What the paper's text (section Analytical Evaluation) says of each figure; its probes, and BI-Sort's insertion,
#: run on 8 threads.
PAPER = {
    "rap_insert_1": "a larger batch inserts faster, and fewer partitions do; about 100M tuples/s with batches of 8M.",
    "rap_insert_2": "a smaller subwindow has a slight, not a significant advantage.",
    "rap_probe_1": "smaller partitions probe faster, and so do smaller subwindows, whose partition table is smaller.",
    "rap_probe_2": "throughput falls as S grows; where S is small, more partitions are faster.",
    "rap_probe_3": "as for equality: a smaller S and a larger P are faster.",
    "rap_adjust": "fewer partitions take fewer iterations and end more balanced; under each distribution it converges "
    "in 3 iterations.",
    "wib_insert_1": "a larger batch inserts faster; P does not matter, since leaves are not sorted.",
    "wib_insert_2": "subwindows above 512K are slower, for their LLAT does not fit in the cache.",
    "wib_probe_1": "smaller partitions probe faster, as in a RaP-Table.",
    "wib_probe_2": "throughput falls where S is large; P above 16K is ideal.",
    "wib_probe_3": "as for equality.",
    "wib_comp": "3.5 to 4.5 times Google's B-tree on insertion, up to 2.8 times on equality and 1.3 on a band, more "
    "with larger batches.",
    "bis_insert_1": "the same for all batches below the buffer's 1K; P does not matter, for the index array is small.",
    "bis_insert_2": "a larger subwindow is considerably slower where batches are small, since merging into it is "
    "costly.",
    "bis_probe_1": "the size of a partition hardly matters, except with small batches.",
    "bis_probe_2": "S does not matter until a partition is smaller than S and two of them are probed; a larger P is "
    "faster.",
    "bis_probe_3": "S does not matter at all, for both ends of a band are always searched; a larger P is faster.",
    "bis_buffer": "a large buffer is 2 to 3 orders of magnitude faster than a small one.",
    "com_insert": "BI-Sort is ahead of the other two only with batches above 64K.",
    "com_probe": "below S = 1K RaP-Table is 1.7 to 2.4 times as fast as WiB+-Tree, BI-Sort 1.6 to 7 times as fast as "
    "RaP-Table; with a large S BI-Sort is 100 times as fast as the others.",
}
