"""How large a subwindow is and how many partitions it has, when nobody says: one place for the rules of thumb.

    window of 8M tuples    ──/ PIECES──>  subwindows of 1M  ──/ TUPLES_PER_PARTITION──>  8,192 partitions

A subwindow that is too small costs probes (each tuple probes all of them); one that is too large keeps expired tuples
too long, for they leave whole.
"""

from __future__ import annotations

#: A window is cut into this many subwindows: one in eight is what expiring whole subwindows keeps too long.
PIECES = 8
#: Default bounds of a subwindow: smaller ones cost more in probes than expiring late saves; past 32M ids get long.
SMALLEST, LARGEST = 4096, 1 << 25
#: A partition of 128 keys is scanned in the time of a cache miss to find it; the paper has at most 64K.
TUPLES_PER_PARTITION, MOST_PARTITIONS = 128, 65536

#: Batches below this size do not leave the calling thread: handing a job to another thread and back costs about 50 us,
#: as much as probing thousands of tuples.
TUPLES_WORTH_A_THREAD = 4096


def subwindow_of(window: int) -> int:
    """Tuples in a subwindow of a window of `window` tuples."""
    return max(1, min(LARGEST, max(-(-window // PIECES), min(window, SMALLEST))))


def partitions_of(capacity: int) -> int:
    """Partitions of a subwindow of `capacity` tuples."""
    return max(1, min(MOST_PARTITIONS, capacity // TUPLES_PER_PARTITION))
