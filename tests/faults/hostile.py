"""What somebody else may put in our way: directories that are not ours alone, job files and conditions that want out.

Undetected is what was taken: a directory that another could write to, a path outside of the job's directory, SQL of a
condition that went on, an object that was made from stored bytes.
"""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa

from panjoin.directories import private_directory
from panjoin.errors import ConditionError, DamageError, PanJoinError, ParameterError
from panjoin.job.check import checked
from panjoin.job.document import parsed
from panjoin.job.places import Places
from panjoin.job.problems import JobError
from panjoin.predicate import parse
from panjoin.spark.chunk import CHUNK, HEADER, Chunk, framed
from panjoin.spark.state import Header
from tests.faults.catalogue import Class
from tests.faults.records import Tally
from tests.job.files import changed

# ---- directories ----


def directories(directory: Path, seeds: range) -> Tally:
    """Each bit that lets others in, links, files, other owners: of the directory itself, or of ours above it."""
    tally = Tally()
    for seed in seeds:
        place = directory / str(seed)
        place.mkdir(parents=True)
        kind, refused = seed % 4, False
        own = place / "panjoin"
        if kind == 0:
            own.mkdir()
            own.chmod(0o700 | 1 << (seed // 4 % 6))
        elif kind == 1:
            (place / "elsewhere").mkdir(mode=0o700)
            own.symlink_to(place / "elsewhere")
        elif kind == 2:
            own.write_text("a file")
        else:
            own.mkdir(mode=0o700)
        other = patch("os.getuid", return_value=os.getuid() + 1) if kind == 3 else patch.dict(os.environ)
        try:
            with other:
                private_directory(own, writable=seed % 3 > 0)
        except ParameterError:
            refused = True
        tally.case(seed, f"kind {kind}", undetected=int(not refused))
    return tally


# ---- paths ----

_ATOMS = (
    "..", "..", ".", "/", "/", "//", "%2e%2e", "%2E.", "file:", "file://", "FILE:", "link", "data", "{a,..}", "[.][.]", "\\.\\.",
    "~", "etc", "a b", "%2f", "s3a://b", "hdfs:", "*", "\\", "out", "é", "\t",
)  # fmt: skip
_KEYS: tuple[Callable[[str], str], ...] = (
    lambda path: changed(left__path=f"path = {path}"),
    lambda path: changed(sink__path=f"path = {path}"),
    lambda path: changed(more=f"[run]\ncheckpoint = {path}"),
    lambda path: changed(more=f"[run]\nresident = {path}"),
)


def paths(directory: Path, seeds: range) -> Tally:
    """Pieces of paths put together at random, as each path of a job; a link in the job's directory leads out of it."""
    tally, home = Tally(), directory / "jobs"
    home.mkdir(parents=True)
    (home / "link").symlink_to(directory)
    for seed in seeds:
        rng = random.Random(seed)
        written = "".join(rng.choice(_ATOMS) for _ in range(rng.randint(1, 7)))
        quoted = '"' + written.replace("\\", "\\\\").replace("\t", "\\t") + '"'
        text = _KEYS[seed % len(_KEYS)](quoted)
        try:
            made = checked(parsed("job.toml", text, yaml_text=False), Places.of(home / "job.toml"))
        except JobError:
            tally.case(seed)
            continue
        reached = [*(source.path for source in made.sources), made.sink.path, made.run.checkpoint, made.run.resident]
        out = [path for path in reached if path is not None and not _inside(path, home)]
        tally.case(seed, f"{written!r} reaches {out}", undetected=len(out))
    return tally


def _inside(path: str, home: Path) -> bool:
    return Path(path).resolve().is_relative_to(home.resolve()) and ".." not in Path(path).parts


# ---- conditions ----

_SQL = (
    "{c}) OR (1 = 1", "{c}; DROP TABLE t", "{c} -- ", "{c} /* */ UNION SELECT 1", "{c} AND EXISTS (SELECT 1)", "left.k IN (SELECT k FROM t)",
    "java_method('java.lang.Runtime', 'exec') = right.k AND left.k = 1", "reflect('java.lang.System', 'exit', left.k) = right.k",
    "{c} AND input_file_name() = 'x'", "{c} AND raise_error('x')", "left.k = right.k AND ${{system:user.home}} = 'x'", "{c} AND current_user() = 'root'",
    "left.k = (SELECT max(k) FROM right)", "{c} WINDOW w AS ()", "CASE WHEN {c} THEN 1 END = left.k", "{c} AND session_user = left.s",
    "transform(left.a, x -> x) = right.a", "{c} LATERAL VIEW explode(right.a) t", "{c} AND left.k = :p", "{c} AND @@version = left.k",
    "cast(left.k AS string) = right.s", "{c} AND assert_true(left.x > 0) IS NULL", "left.k = try_reflect('a', 'b', right.k)",
)  # fmt: skip
_NAMES = ("a` = 1 OR `b", "k); DROP TABLE t; --", "a.b", "k -- ", "'; --", "left", "x\nUNION", "${k}", "*", "1 = 1")


def conditions(directory: Path, seeds: range) -> Tally:
    """SQL that Spark would run is refused; SQL in a name is a name, and nothing else."""
    tally = Tally()
    for seed in seeds:
        rng = random.Random(seed)
        plain = rng.choice(("left.k = right.k", "left.x BETWEEN right.x - 5 AND right.x + 5", "left.k != right.k"))
        text, meant = (
            _SQL[seed % len(_SQL)].format(c=plain),
            str(parse(plain)).lower(),
        )  # a comment behind it changes nothing
        for padded in (text, text.upper(), f" {text} ", text.replace(" ", "\n")):
            try:
                found = str(parse(padded))
            except ConditionError:
                found = ""
            tally.case(seed, f"{padded!r} is taken as {found!r}", undetected=int(found.lower() not in ("", meant)))
        name = rng.choice(_NAMES)
        quoted = name.replace("`", "``")
        columns = pa.schema({name: pa.int32()})
        bound = parse(f"left.`{quoted}` = right.`{quoted}`").bind(columns, columns)
        again = str(parse(f"left.`{quoted}` = right.`{quoted}`"))
        tally.case(seed, f"{name!r}: {again}", undetected=int(bound is None or str(parse(again)) != again))
    return tally


# ---- stored bytes ----


class Bomb:
    """Whoever unpickles it leaves a file behind."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (self.path, "w")


def objects(directory: Path, seeds: range) -> Tally:
    """Pickled objects in the place of a state's blobs, and tags that make objects in job files."""
    tally = Tally()
    for seed in seeds:
        mark = directory / f"went off {seed}"
        directory.mkdir(parents=True, exist_ok=True)
        bomb = pickle.dumps(Bomb(str(mark)), protocol=seed % 6)
        yaml_text = f"name: !!python/object/apply:builtins.open ['{mark}', 'w']\n"
        attempts: tuple[Callable[[], object], ...] = (
            lambda blob=bomb: Header.of(blob),
            lambda blob=bomb: Header.of(framed(HEADER, blob)),
            lambda blob=bomb: Chunk.of(framed(CHUNK, blob), pa.schema({"k": pa.int32()}), "a chunk"),
            lambda text=yaml_text: parsed("job.yaml", text, yaml_text=True),
        )
        attempt = attempts[seed % len(attempts)]
        try:
            attempt()
            taken = True
        except (DamageError, JobError):
            taken = False
        except PanJoinError:
            taken = True
        tally.case(seed, f"attempt {seed % len(attempts)}", undetected=int(taken or mark.exists()))
    return tally


CLASSES = (
    Class(
        "security",
        "directories that are not ours alone",
        "Others may read, write or enter, it is a link or a file, or belongs to somebody else: refused before anything is read or "
        "written there.",
        directories,
        48,
    ),
    Class(
        "security",
        "paths of job files that lead out",
        "Random pieces of paths (dots, globs, schemes, escapes, links) as each path of a job: refused, or inside of the job's "
        "directory with all links followed.",
        paths,
        4000,
    ),
    Class(
        "security",
        "SQL in conditions and names",
        "What Spark would run (functions that call Java, subqueries, statements behind a condition) is refused by the parser; SQL in a "
        "column's name is a name.",
        conditions,
        460,
    ),
    Class(
        "security",
        "objects in stored bytes",
        "Pickled objects in the place of headers and chunks, also behind a right checksum, and YAML tags that make objects: an error, and "
        "nothing was made.",
        objects,
        48,
    ),
)
