"""Checkpoints as each format of the state has written them, kept here and gone on with by the code of today.

    golden/format-1/<join>.zip       one worker's state after half of a stream, per join of SHAPES: blobs as they were put
        question.json                what was asked; left.arrow, right.arrow: the tuples
        state.json                   what the state holds (base64), and the rows that had come out
    golden/format-1/spark.zip        a whole checkpoint of Spark's, its sources and its sink, in the middle of a stream

`python -m tests.faults.golden` writes those of the format that the code has now. A released format's are never written
again: they are what users have.
"""

from __future__ import annotations

import base64
import io
import json
import os
import sys
import zipfile
from pathlib import Path

import pyarrow as pa

from panjoin.spark.chunk import FORMAT
from tests.faults.catalogue import Class
from tests.faults.points import Fault
from tests.faults.records import Tally
from tests.faults.simulated import Simulated
from tests.faults.trial import OLD, SHAPES, Case, Shape, Trial
from tests.oracle.question import Count, Question, Time, Window

GOLDEN = Path(__file__).parent / "golden"
WINDOW = {"Window": Window, "Count": Count, "Time": Time}
SPARK = "spark.zip"
#: Where a checkpoint of Spark's was written; its logs name files by their whole path.
_THERE = b"/panjoin-golden/"
_NAMING = ("checkpoint/sources/", "checkpoint/state/0/_metadata/")
_AT = (1980, 1, 1, 0, 0, 0)
_SEED = 3


def formats() -> list[int]:
    """All that there are."""
    return sorted(int(path.name.partition("-")[2]) for path in GOLDEN.glob("format-*"))


# ---- states without Spark ----


def written(shape: Shape, to: Path) -> None:
    """The state after half of a stream."""
    query = Simulated(shape, _SEED)
    query.feed(query.half)
    question = query.question
    asked = {
        "shape": shape._asdict(),
        "batches": question.batches,
        "on": question.on,
        "window": repr(question.window),
        "how": question.how,
        "half": query.half,
    }
    state = {
        "rows": query.rows,
        "handles": [
            {
                "header": _text(handle.values["header"][0]),
                "chunks": [[*key, _text(value[0])] for key, value in sorted(handle.maps["chunks"].items())],
                "timers": sorted(handle.timers),
            }
            for handle in query.spark.handles
        ],
    }
    files = {"question.json": json.dumps(asked).encode(), "state.json": json.dumps(state, default=str).encode()}
    files |= {f"{side}.arrow": _ipc(getattr(question, side)) for side in ("left", "right")}
    _zip(to, files)


def replayed(path: Path, seed: int, tally: Tally) -> None:
    """The rest of the stream, by processes that have nothing but this state."""
    with zipfile.ZipFile(path) as archive:
        asked, state = (json.loads(archive.read(name)) for name in ("question.json", "state.json"))
        tables = [pa.ipc.open_stream(archive.read(f"{side}.arrow")).read_all() for side in ("left", "right")]
    batches = tuple((side, size) for side, size in asked["batches"])
    question = Question(*tables, batches, asked["on"], eval(asked["window"], WINDOW), asked["how"])
    query = Simulated(Shape(**asked["shape"]), question=question)
    query.rows, query.processed = state["rows"], asked["half"]
    for handle, kept in zip(query.spark.handles, state["handles"], strict=True):
        handle.values["header"] = (_bytes(kept["header"]),)
        handle.maps["chunks"] = {tuple(key): (_bytes(blob),) for *key, blob in kept["chunks"]}
        handle.timers.update(kept["timers"])
    query.feed()
    tally.judge(query.expected, query.found, seed, path.name)


def _text(blob: bytes) -> str:
    return base64.b64encode(blob).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


def _ipc(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _zip(to: Path, files: dict[str, bytes]) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _AT), content, zipfile.ZIP_DEFLATED)


# ---- a checkpoint of Spark's ----


def _case(*faults: Fault) -> Case:
    """What is in spark.zip: full, by event time, with marks, timers and two workers."""
    return Case(_SEED, faults, shape=SHAPES[1], sink="batches", size=40, batch=10)


def written_by_spark(directory: Path, to: Path) -> None:
    """Two micro-batches, and a driver that is killed before the third has committed."""
    case = _case(Fault("sink written", 2, "driver"))
    trial = Trial(directory, master="local[2]")
    place = trial.add(case)
    try:
        assert trial.start().wait() != 0, "nobody has killed the driver"
    finally:
        trial.end()
    kept = (path for path in sorted(place.rglob("*")) if path.is_file() and path.suffix != ".crc")
    here = f"{place}/".encode()
    files = {str(path.relative_to(place)): path.read_bytes() for path in kept if path.name != "query.json"}
    _zip(to, {name: _moved(name, content, here, _THERE) for name, content in files.items()})


def replayed_by_spark(directory: Path, path: Path, seed: int, tally: Tally) -> None:
    """The query is started again from the checkpoint, in another place, and comes to its end."""
    trial, case = Trial(directory, master="local[2]"), _case()
    place = trial.add(case)
    here = f"{place}/".encode()
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(_moved(name, archive.read(name), _THERE, here))
            if target.suffix == ".parquet" and target.parent.name in ("left", "right"):
                when = OLD + int(target.stem)
                os.utime(target, (when, when))
    trial.run(lives=1)
    trial.judge(tally)
    assert tally.seeds[-1] == case.seed
    tally.seeds[-1] = seed


def _moved(name: str, content: bytes, there: bytes, here: bytes) -> bytes:
    """Spark's logs of a source name its files, and its notes on the state that of the schema, by their whole paths."""
    return content.replace(there, here) if name.startswith(_NAMING) else content


# ---- classes and command ----


def golden_states(directory: Path, seeds: range) -> Tally:
    """All states of all formats; a seed is one of them."""
    files = [path for number in formats() for path in sorted((GOLDEN / f"format-{number}").glob("*.zip"))]
    states = [path for path in files if path.name != SPARK]
    tally = Tally()
    for seed in seeds:
        replayed(states[seed % len(states)], seed, tally)
    return tally


def golden_checkpoints(directory: Path, seeds: range) -> Tally:
    """Spark's checkpoint of each format."""
    tally = Tally()
    for seed in seeds:
        number = formats()[seed % len(formats())]
        replayed_by_spark(directory / f"{seed}", GOLDEN / f"format-{number}" / SPARK, seed, tally)
    return tally


CLASSES = (
    Class(
        "restarts",
        "golden states of each format",
        "The state of a worker in the middle of a stream, as each format has written it, for counts and times, marks, timers "
        "and late buffers; today's code goes on with it, and all rows are those of the oracle.",
        golden_states,
        len(SHAPES),
    ),
    Class(
        "restarts",
        "golden checkpoints of each format",
        "A whole checkpoint of a killed driver, as each format has written it: the query is started again from it in another "
        "place, and its rows with those that had come out are those of the oracle.",
        golden_checkpoints,
        1,
    ),
)


def names() -> list[str]:
    """Of the states, one per join."""
    return [f"{at}-{shape.predicate}-{shape.window}-{shape.how}.zip" for at, shape in enumerate(SHAPES)]


def main(directory: Path) -> None:
    """Write those of the format of now."""
    to = GOLDEN / f"format-{FORMAT}"
    for shape, name in zip(SHAPES, names(), strict=True):
        written(shape, to / name)
    written_by_spark(directory, to / SPARK)
    print(f"{to}: {sum(path.stat().st_size for path in to.iterdir()):,} bytes in {len(list(to.iterdir()))} files")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        main(Path(place) / "golden")
    sys.exit()
