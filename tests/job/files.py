"""Job files to start from: one that is right, and a way to change a line of it."""

from pathlib import Path
from textwrap import dedent

from panjoin.job.check import Job, checked
from panjoin.job.document import parsed
from panjoin.job.places import Places
from panjoin.job.problems import JobError

RIGHT = dedent(
    """\
    name = "job"
    [left]
    format = "csv"
    path = "orders"
    schema = "ts timestamp, k string, x int"
    watermark = "1 minute"
    [right]
    format = "csv"
    path = "quotes"
    schema = "ts timestamp, k string, x int"
    watermark = "1 minute"
    [join]
    on = "left.k = right.k AND left.x BETWEEN right.x - 5 AND right.x + 5"
    [window]
    time = "10 minutes"
    on = "ts"
    [sink]
    format = "parquet"
    path = "out"
    """
)
HOME = Path("/home/somebody/jobs")


def changed(**lines: str) -> str:
    """RIGHT with lines exchanged: `left__path='path = 5'` for that line of a table, or a new one at its end."""
    table, found, done = "", [], set()
    for line in RIGHT.splitlines():
        if line.startswith("["):
            found += _new(lines, table, done)
            table = line.strip("[]")
        key = f"{table}__{line.partition(' =')[0]}".lstrip("_")
        done.add(key)
        found.append(lines.get(key, line))
    found += _new(lines, table, done)
    extra = [line for key, line in lines.items() if key.startswith("more")]
    return "\n".join([*found, *extra]) + "\n"


def _new(lines: dict[str, str], table: str, done: set[str]) -> list[str]:
    mine = {key: line for key, line in lines.items() if key.rpartition("__")[0] == table and key not in done}
    done.update(mine)
    return [line for key, line in mine.items() if not key.startswith("more")]


def job(text: str, *, home: Path = HOME, allowed: tuple[str, ...] = (), **options: bool) -> Job:
    """Of a TOML text."""
    return checked(parsed("job.toml", text, yaml_text=False), Places(home, allowed), **options)


def problems(text: str, **options) -> list[str]:
    """All that is wrong with it, a line each."""
    try:
        job(text, **options)
    except JobError as error:
        return str(error).splitlines()
    return []
