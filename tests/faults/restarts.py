"""What a query may change when it is started again from its checkpoint: the table in docs/operations.md, row by row.

A row says what is changed, and what must come of it:

    accepted    rows are those of the oracle, as if nothing had been changed
    refused     a StateError that names what it was, what it is and the remedy; nothing is written, and with what it had
                before, the query goes on as if nobody had tried
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from panjoin.errors import StateError
from panjoin.predicate import parse
from panjoin.spark.plan import JoinPlan
from panjoin.spark.residence import Residence
from panjoin.window import CountWindow, TimeWindow
from tests.faults.catalogue import Class
from tests.faults.records import ROOT, Tally
from tests.faults.simulated import Simulated
from tests.faults.trial import SHAPES, Shape
from tests.spark.questions import NO, with_plan

DOCUMENT = ROOT / "docs" / "operations.md"
BEGIN, END = "<!-- restarts: made by python -m tests.faults.restarts -->", "<!-- end of restarts -->"

BAND = SHAPES[0]
BY_KEY = Shape("equal", "last_7_and_20", "inner", {"workers": 2, "placement": "key"})
BY_TIME = Shape("band", "seconds", "inner", {"workers": 2, "placement": "arrival"})
COUNTING = SHAPES[-1]

Same = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True)
class Row:
    """A parameter, changed in the middle of a stream."""

    parameter: str
    change: Callable[[JoinPlan], JoinPlan]
    refused: str | None = None  #: None: accepted; else what the message must say
    remark: str = ""
    shape: Shape = BAND

    @property
    def verdict(self) -> str:
        """As the table says it."""
        return "accepted" if self.refused is None else "refused"


def _condition(text: str) -> Callable[[JoinPlan], JoinPlan]:
    return lambda plan: replace(plan, condition=parse(text))


def _window(window: Any) -> Callable[[JoinPlan], JoinPlan]:
    return lambda plan: replace(plan, window=window)


def _options(**options: Any) -> Callable[[JoinPlan], JoinPlan]:
    return lambda plan: with_plan(plan, **options)


def _columns(change: Callable[[pa.Schema], pa.Schema]) -> Callable[[JoinPlan], JoinPlan]:
    return lambda plan: replace(plan, schemas=(change(plan.schemas[0]), change(plan.schemas[1])))


def _wider(schema: pa.Schema) -> pa.Schema:
    return schema.set(0, pa.field(schema.names[0], pa.int64()))


def _backwards(schema: pa.Schema) -> pa.Schema:
    return pa.schema(list(reversed(list(schema))))


def _numbered(schema: pa.Schema) -> pa.Schema:
    return schema.append(pa.field(NO, pa.int64()))


def _one_more(schema: pa.Schema) -> pa.Schema:
    return schema.append(pa.field("note", pa.string()))


def _replanned(**options: Any) -> Callable[[JoinPlan], JoinPlan]:
    """With the columns that the new options need."""

    def change(plan: JoinPlan) -> JoinPlan:
        everything = replace(plan.options, **options)
        return replace(
            JoinPlan.of(plan.condition, plan.window, plan.schemas, everything, plan.name), residence=plan.residence
        )

    return change


ROWS = (
    Row("`on`: a bound (eps)", _condition("left.x BETWEEN right.x - 6 AND right.x + 5"), "condition was .* and is now", "windows would hold what the old condition needed"),
    Row("`on`: another column", _condition("left.x = right.x"), "condition was .* and is now"),
    Row("`on`: the same, spelled with other spaces or letters", _condition("LEFT.x   between RIGHT.x - 5 and RIGHT.x + 5"), None, "compared is what has been understood"),
    Row("`window`: its size", _window(CountWindow(left=7, right=21)), "window was .* and is now"),
    Row("`window`: its length in time", _window(TimeWindow("5 seconds", on="ts")), "window was .* and is now", shape=BY_TIME),
    Row("`window`: count instead of time", _window(CountWindow(9)), "window was .* and is now", shape=BY_TIME),
    Row("`how`", _options(how="left", workers=1), "how was 'inner' and is now 'left'", "marks of what has found a partner are kept for outer joins only"),
    Row("`workers`", _options(workers=3), "workers was 2 and is now 3", "also when it was left out, and the machine has another number of cores: write it down"),
    Row("`placement`", _options(placement="key"), "placement was 'arrival' and is now 'key'", shape=BAND),
    Row("`index`", _options(index="wib-tree"), None, "the next subwindows have the new structure, those that are made again as well"),
    Row("`partitions` (the paper's P)", _options(partitions=5)),
    Row("`subwindow` (the paper's N_sub)", _options(subwindow=5), None, "from the next subwindow on"),
    Row("`emit`: from rows to counts", _replanned(emit="counts"), None, "arrival placement, or a count window; counts begin with the tuples that come", shape=BAND),
    Row("`emit`: from counts to rows", lambda plan: _replanned(emit="rows")(_columns(_numbered)(plan)), "do not keep column", "columns that nobody asked for are not in the state", shape=COUNTING),
    Row("`emit`: from rows to counts, by key and time", _replanned(emit="counts"), "the tuples in it have no numbers", shape=Shape("equal", "seconds", "inner", {"workers": 2, "placement": "key"})),
    Row("`suffixes`", _options(suffixes=("_left", "_right")), None, "columns of the result have other names; what the sink says to that is another matter"),
    Row("`name`", lambda plan: replace(plan, name="another name"), None),
    Row("`resident`, `resident_limit`", lambda plan: replace(plan, residence=Residence(limit=1 << 30)), None, "windows are made again in the new place"),
    Row("type of a column", _columns(_wider), "was int32 and is now int64", "of a key or of any other that the join reads"),
    Row("order of columns", _columns(_backwards), None, "they are known by their names"),
    Row("a column more", _columns(_one_more), "do not keep column 'note'", 'with `emit="rows"`; columns that the join does not read may come and go'),
    Row("`spark.sql.session.timeZone`", _options(timezone="Europe/Berlin"), None, "where the condition does not depend on it"),
)  # fmt: skip

#: What needs a real Spark, or other data; each has a test of its own (tests/faults, tests/spark/test_session_settings.py).
ELSEWHERE = (
    ("`spark.sql.session.timeZone`, date beside timestamp", "refused", "where the condition compares a timestamp with a date, or with a time that has no zone"),
    ("`spark.sql.shuffle.partitions`", "kept", "Spark goes on with the number that the checkpoint has, whatever the session says"),
    ("delay of `withWatermark`", "accepted", "from the next micro-batch on; the watermark never goes back"),
    ("files or offsets per micro-batch", "accepted", "a count window sees micro-batches, so later matches follow the new ones"),
    ("another version of panjoin", "accepted", "every blob has a format version: formats of released versions are read (golden checkpoints in the tests), newer ones are refused by name"),
)  # fmt: skip


def case(row: Row, seed: int, tally: Tally) -> None:
    """Half of a stream, the change, the other half."""
    query = Simulated(row.shape, seed)
    query.feed(query.half)
    query.changed(row.change)
    undetected = 0
    if row.refused is not None:
        before = list(query.rows)
        try:
            query.feed(query.half + 1, _filled(query.spark.plan))
            undetected = 1
        except StateError as error:
            said = str(error)
            undetected = int(
                re.search(row.refused, said) is None or "or start with a new checkpointLocation" not in said
            )
        query.rows, query.processed = before, query.half
        query.as_before()
    if undetected:
        tally.case(seed, f"{row.parameter} is not refused as it should be", undetected=1)
        return
    if query.spark.plan.options.emit == "counts" and row.shape.options.get("emit") != "counts":
        _judge_counts(query, seed, tally, row)
        return
    query.feed(change=_filled(query.spark.plan))
    tally.judge(query.expected, query.found, seed, row.parameter)


def _judge_counts(query: Simulated, seed: int, tally: Tally, row: Row) -> None:
    """Rows before the change, counts after it."""
    rows, query.rows = query.found, []
    query.feed()
    query.counted = True
    counts = {key: found for *key_, found in query.found for key in [tuple(key_)]}
    expected = {(side, no): count for side, no, count in query.expected}
    first = {
        side: sum(size for each, size in query.question.batches[: 2 * query.half] if each == side)
        for side in ("left", "right")
    }
    later = {key: count for key, count in expected.items() if key[1] >= first[key[0]]}
    tally.judge(
        {(*key, count): 1 for key, count in later.items()},
        {(*key, count): 1 for key, count in counts.items()},
        seed,
        row.parameter,
    )
    assert rows, "nothing came out before the change"


def _filled(plan: JoinPlan) -> Same:
    """Tables with the columns and types of this plan."""
    schema = plan.schemas[0]

    def change(table: pa.Table) -> pa.Table:
        for field in schema:
            if field.name not in table.column_names:
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        return (
            table.select(schema.names).cast(schema)
            if set(schema.names) != set(table.column_names) or schema != table.schema
            else table
        )

    return change


def all_rows(directory: Path, seeds: range) -> Tally:
    """Every row with every seed."""
    tally = Tally()
    for seed in seeds:
        for row in ROWS:
            case(row, seed, tally)
    return tally


CLASSES = (
    Class(
        "restarts",
        "restart with other parameters",
        "In the middle of a stream the query is started again with one parameter changed: what docs/operations.md calls "
        "accepted gives the rows of the oracle, what it calls refused is refused by name and goes on with what it had.",
        all_rows,
        4,
    ),
)


def table() -> str:
    """Markdown."""
    lines = ["| changed | on restart | |", "|---|---|---|"]
    lines += [f"| {row.parameter} | {row.verdict} | {row.remark} |" for row in ROWS]
    lines += [f"| {parameter} | {verdict} | {remark} |" for parameter, verdict, remark in ELSEWHERE]
    return "\n".join(lines)


def write() -> None:
    """Put the table into its place."""
    before, _, rest = DOCUMENT.read_text().partition(BEGIN)
    DOCUMENT.write_text(f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    write()
