"""What must hold for any bytes: a value, or an error of ours that says what is wrong; nothing else, and no crash.

condition    text of a join condition      what it prints reads back as the same condition
job          text of a job file            a job whose paths are confined, or a JobError
state        header, chunk or marks        raw, and behind a right checksum
arrow        columns of buffers            checked by the door (`validate=True`), then joined and read
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from panjoin.chain.batch import LEFT
from panjoin.engine.stream_join import StreamJoin
from panjoin.errors import PanJoinError
from panjoin.job.check import checked
from panjoin.job.document import parsed
from panjoin.job.places import Places
from panjoin.predicate import parse
from panjoin.spark.chunk import CHUNK, HEADER, MARKS, Chunk, framed, marks_of
from panjoin.spark.state import Header
from panjoin.window import CountWindow

_COLUMNS = pa.schema(
    {
        "k": pa.int32(),
        "x": pa.int64(),
        "p": pa.float64(),
        "s": pa.string(),
        "q": pa.decimal128(18, 2),
        "d": pa.date32(),
        "ts": pa.timestamp("us", "UTC"),
        "n": pa.timestamp("us"),
        "b": pa.bool_(),
    }
)
_HOME = Path("/home/somebody/jobs")


def condition(data: bytes) -> None:
    """As SQL text."""
    text = data[:1000].decode("utf-8", "replace")
    try:
        found = parse(text)
    except PanJoinError:
        return
    found.explain()
    again = parse(str(found))
    assert str(again) == str(found), f"{found} reads back as {again}"
    try:
        found.bind(_COLUMNS, _COLUMNS)
    except PanJoinError:
        return


def job(data: bytes) -> None:
    """As TOML or YAML, by the first byte."""
    text = data[1:4000].decode("utf-8", "replace")
    try:
        made = checked(parsed("job", text, yaml_text=data[:1] == b"y"), Places(_HOME))
    except PanJoinError:
        return
    for source in made.sources:
        if source.path is not None:
            assert Path(source.path).is_relative_to(_HOME), source.path


def state(data: bytes) -> None:
    """The first byte says which of them, and whether its checksum is right."""
    if not data:
        return
    which, body = data[0] % 6, data[1:]
    kind = (HEADER, CHUNK, MARKS)[which // 2]
    blob = framed(kind, body) if which % 2 else body
    try:
        if kind == HEADER:
            Header.of(blob)
        elif kind == MARKS:
            assert len(marks_of(blob, 13, "marks")) == 13
        else:
            chunk = Chunk.of(blob, pa.schema({"k": pa.int32(), "s": pa.string()}), "a chunk")
            chunk.rows.validate(full=True)
            assert chunk.numbers is None or len(chunk.numbers) == chunk.rows.num_rows
    except (PanJoinError, pa.ArrowInvalid):
        return


_TYPES: tuple[Any, ...] = (
    pa.int32(), pa.float64(), pa.string(), pa.binary(), pa.large_string(), pa.string_view(), pa.bool_(),
    pa.dictionary(pa.int8(), pa.string()), pa.decimal128(18, 2), pa.timestamp("us"), pa.list_(pa.int32()), pa.date32(),
)  # fmt: skip


def arrow(data: bytes) -> None:
    """Type, length, offset, bytes of each buffer; or, when the first byte is odd, an IPC stream."""
    if len(data) < 8:
        return
    try:
        batch = _streamed(data[1:]) if data[0] % 2 else _built(data)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, StopIteration, NotImplementedError, OSError):
        return  # pyarrow itself does not take it
    if batch.num_rows > 10_000 or batch.num_columns == 0:
        return
    name = batch.schema.names[0]
    try:
        with StreamJoin(on=f"left.`{name}` = right.`{name}`", window=CountWindow(5), validate=True) as join:
            join.push(LEFT, batch)
            result = join.push("right", batch)
            left, right = result.pairs()
            assert len(left) == len(right) == result.count
            result.to_arrow().validate(full=True)
    except PanJoinError:
        return


def _streamed(data: bytes) -> pa.RecordBatch:
    with pa.ipc.open_stream(data) as stream:
        return stream.read_next_batch()


def _built(data: bytes) -> pa.RecordBatch:
    kind = _TYPES[data[1] % len(_TYPES)]
    length, offset, cut = data[2] % 20, data[3] % 4, data[4]
    body = data[5:]
    nulls, rest = body[: cut % 5], body[cut % 5 :]
    split = (length + offset + 1) * (8 if kind == pa.large_string() else 4)
    padded = [
        pa.py_buffer(bytes(np.frombuffer(piece.ljust(-(-max(len(piece), 1) // 64) * 64, b"\0"), np.uint8)))
        for piece in (nulls, rest[:split], rest[split:])
    ]
    valid = padded[0] if nulls else None
    if pa.types.is_dictionary(kind):
        indices = pa.Array.from_buffers(pa.int8(), length, [valid, padded[1]], offset=offset)
        column = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
    elif pa.types.is_list(kind):
        column = pa.Array.from_buffers(
            kind, length, [valid, padded[1]], offset=offset, children=[pa.array([1, 2, 3], pa.int32())]
        )
    else:
        binary = pa.types.is_string(kind) or pa.types.is_binary(kind) or kind in (pa.large_string(), pa.string_view())
        column = pa.Array.from_buffers(
            kind, length, [valid, padded[1], *([padded[2]] if binary else [])], offset=offset
        )
    return pa.RecordBatch.from_arrays([column], names=["k"])


TARGETS: dict[str, Callable[[bytes], None]] = {"condition": condition, "job": job, "state": state, "arrow": arrow}
