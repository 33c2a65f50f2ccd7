"""What the streams carry: slices of ascending words, each slice closed by an end word.

    word     end | payload | key          key in the lowest bits, so that {end, key} compares as one number
    slice    (0, 4, 2) (0, 0, 3) (0, 1, 3) (1, 0, 0)         three tuples, then the end: its key and payload are 0

The end word compares as +infinity, because its end bit stands above the key. So a merger whose one input has run out
goes on with the other without a special case, and an empty slice is an end word alone. Keys are unsigned in the
hardware: a signed key comes with its sign bit flipped, which keeps the order.

Every stream is valid/ready (`amaranth.lib.stream`): a word moves in the cycles in which both are 1; once valid is 1 it
stays, and the word with it, until the word has moved.
"""

from __future__ import annotations

from amaranth.lib import data, stream


def word_layout(key_bits: int, payload_bits: int) -> data.StructLayout:
    """A tuple on its way, or the end of a slice."""
    return data.StructLayout({"key": key_bits, "payload": payload_bits, "end": 1})


def word_stream(key_bits: int, payload_bits: int) -> stream.Signature:
    """A stream of such words."""
    return stream.Signature(word_layout(key_bits, payload_bits))
