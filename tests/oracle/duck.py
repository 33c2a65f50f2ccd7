"""The second oracle: the same question as one SQL statement to DuckDB, windows included.

The three input tables hold the left rows, the right rows, and the batches (seq, side, size). Everything else, arrival
order, what each batch sees, the watermark and who is late, is computed in SQL, then joined:

    side table   no, its columns, seq (its batch), opposite (opposite tuples processed before that batch), ts, late
    join         left <HOW> JOIN right ON (condition) AND (window rule), late tuples left out

The condition text is translated token by token where DuckDB and Spark differ:

    <=>              IS NOT DISTINCT FROM
    integers         columns become HUGEINT, since the join's integer bounds do not overflow
    float32          columns become DOUBLE, since Spark (ANSI) computes float with anything else in double; a sum of two
                     float32 columns is computed in FLOAT, as in Spark
    date, timestamp  microseconds since 1970 as HUGEINT, because DuckDB's own types end in the year 294247, compare
                     intervals by months of 30 days, and have no abs(interval); whole numbers beside dates: days
    INTERVAL ...     its length in microseconds, by DuckDB's own interval arithmetic
    BETWEEN          two comparisons, since Spark types each apart (bigint with a bigint bound stays exact)
    literals         1.5D becomes a DOUBLE, 5L and 5Y lose their suffix, == becomes =

and refused (`UntranslatableError`) where a token-wise translation would guess: float literals (1.5F), two float32
columns added after another term, `!`. NaN and -0.0 agree: DuckDB, too, has NaN = NaN above all numbers.
"""

from __future__ import annotations

import re
from collections import Counter

import duckdb
import pyarrow as pa
from pyarrow import types

from tests.oracle.question import Answer, Count, Question, Window

_TOKEN = re.compile(
    r"""(?P<interval>INTERVAL\s+(?:'[^']*'(?:\s+(?:MICRO|MILLI)?(?:SECOND|MINUTE|HOUR|DAY|WEEK)S?\b)?
                                  |-?[\d.]+\s+\w+(?:\s+[\d.]+\s+\w+)*))
      | (?P<string>'[^']*')
      | (?P<column>(?:left|right)\s*\.\s*(?:`(?:[^`]|``)+`|\w+))
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:E[+-]?\d+)?(?:BD|[LSYDF])?(?![\w.]))
      | (?P<word>\w+) | (?P<sign><=>|<=|>=|<>|!=|==|\S)""",
    re.VERBOSE | re.IGNORECASE,
)
_DAY = 86_400_000_000
_JOINS = {
    "inner": "JOIN",
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "left_semi": "SEMI JOIN",
    "left_anti": "ANTI JOIN",
}


class UntranslatableError(Exception):
    """The condition is legal, but its SQL for DuckDB would be a guess."""


def join(question: Question, connection: duckdb.DuckDBPyConnection | None = None) -> Answer:
    """The whole output at the end of both streams, as a multiset of (left number, right number)."""
    connection = connection or duckdb.connect()
    batches = pa.table(
        {
            "seq": pa.array(range(len(question.batches)), pa.int64()),
            "side": pa.array([side for side, _ in question.batches], pa.string()),
            "size": pa.array([size for _, size in question.batches], pa.int64()),
        }
    )
    inputs = {"left_rows": question.left, "right_rows": question.right}
    connection.register("batches", batches)
    for name, table in inputs.items():
        connection.register(name, _plain(table))
    answer = connection.execute(statement(question)).fetchall()
    for name in ("batches", *inputs):
        connection.unregister(name)
    return Counter(answer)


def statement(question: Question) -> str:
    """The whole question as one SQL statement over left_rows, right_rows and batches."""
    window = question.window
    lateness = "NULL" if window.lateness is None else str(window.lateness)
    columns = "l.no, NULL" if question.how in ("left_semi", "left_anti") else "l.no, r.no"
    return f"""
WITH flow AS (
    SELECT seq, side, size, {_running("size", "left")} AS lefts, {_running("size", "right")} AS rights FROM batches),
numbered_left AS ({_numbered("left", window, question.left)}),
numbered_right AS ({_numbered("right", window, question.right)}),
times AS (
    SELECT seq, max(ts) FILTER (side = 'left') AS lts, max(ts) FILTER (side = 'right') AS rts
    FROM flow LEFT JOIN (SELECT seq, ts FROM numbered_left UNION ALL SELECT seq, ts FROM numbered_right) USING (seq)
    GROUP BY seq),
marks AS (
    SELECT seq, CASE WHEN {_greatest("lts")} IS NULL OR {_greatest("rts")} IS NULL THEN NULL
                     ELSE least({_greatest("lts")}, {_greatest("rts")}) - {lateness} END AS mark FROM times),
l AS (SELECT n.* FROM numbered_left n JOIN marks USING (seq) WHERE mark IS NULL OR ts IS NULL OR ts >= mark),
r AS (SELECT n.* FROM numbered_right n JOIN marks USING (seq) WHERE mark IS NULL OR ts IS NULL OR ts >= mark)
SELECT {columns} FROM l {_JOINS[question.how]} r
ON ({translate(question)}) AND {_in_window(window)}"""


def _running(column: str, side: str) -> str:
    """Sum over the batches before this one."""
    frame = "ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    return f"coalesce(sum(CASE side WHEN '{side}' THEN {column} END) OVER ({frame}), 0)"


def _greatest(column: str) -> str:
    """Maximum over the batches before this one."""
    return f"max({column}) OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"


def _numbered(side: str, window: Window, table: pa.Table) -> str:
    """The side's rows with number, batch, opposite tuples before that batch, and event time."""
    opposite = "rights" if side == "left" else "lefts"
    ts = "CAST(NULL AS HUGEINT)"
    if window.ts is not None:
        ts = f"row.{_position(table, window.ts[0 if side == 'left' else 1])}"
    return f"""
    SELECT row.*, flow.seq, flow.{opposite} AS opposite, {ts} AS ts FROM (SELECT {_columns(table)} FROM {side}_rows) row
    JOIN flow ON flow.side = '{side}' AND row.no >= flow.{side}s AND row.no < flow.{side}s + flow.size"""


def _in_window(window: Window) -> str:
    """The window rule over aliases l and r."""
    if not isinstance(window.left, Count) and not isinstance(window.right, Count):
        return f"""(l.ts <= r.ts AND r.ts - l.ts <= {window.left.length}
                 OR r.ts < l.ts AND l.ts - r.ts <= {window.right.length})"""
    rules = []
    for rule, older, newer in ((window.left, "l", "r"), (window.right, "r", "l")):
        if isinstance(rule, Count):
            within = f"{older}.no >= {newer}.opposite - {rule.size}"
        else:
            within = f"{newer}.ts - {older}.ts <= {rule.length}"
        rules.append(f"{older}.seq < {newer}.seq AND {within}")
    timed = not (isinstance(window.left, Count) and isinstance(window.right, Count))
    both_timed = " AND l.ts IS NOT NULL AND r.ts IS NOT NULL" if timed else ""
    return f"({' OR '.join(rules)}){both_timed}"


# ---- tables and condition ----


def _plain(table: pa.Table) -> pa.Table:
    """The arrival number and columns c0, c1, ...; dates as days and timestamps as microseconds."""
    columns = [pa.array(range(table.num_rows), pa.int64())]
    for column in table.columns:
        if types.is_date(column.type):
            columns.append(column.cast(pa.date32()).cast(pa.int32()))
        elif types.is_timestamp(column.type):
            columns.append(column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()))
        else:
            columns.append(column)
    return pa.table(columns, names=["no", *(f"c{at}" for at in range(table.num_columns))])


def _columns(table: pa.Table) -> str:
    """The columns in the types in which DuckDB computes as Spark does."""
    texts = []
    for at, field in enumerate(table.schema):
        if types.is_date(field.type):
            texts.append(f"CAST(c{at} AS HUGEINT) * {_DAY} AS c{at}")
        elif types.is_timestamp(field.type) or types.is_integer(field.type):
            texts.append(f"CAST(c{at} AS HUGEINT) AS c{at}")
        elif types.is_float32(field.type):
            texts.append(f"CAST(c{at} AS DOUBLE) AS c{at}")
        else:
            texts.append(f"c{at}")
    return ", ".join(["no", *texts])


def _position(table: pa.Table, name: str) -> str:
    exact = [at for at, known in enumerate(table.column_names) if known == name]
    found = exact or [at for at, known in enumerate(table.column_names) if known.lower() == name.lower()]
    if len(found) != 1:
        raise UntranslatableError(f"{len(found)} columns are called {name!r}")
    return f"c{found[0]}"


def translate(question: Question) -> str:
    """The condition over the aliases l and r."""
    pieces = list[tuple[str, str]]()  # (what it is, its SQL)
    for found in _TOKEN.finditer(question.on):
        what, text = found.lastgroup or "", found.group()
        if what == "column":
            side, _, name = (part.strip() for part in text.partition("."))
            table = question.left if side.lower() == "left" else question.right
            at = _position(table, name[1:-1].replace("``", "`") if name.startswith("`") else name)
            pieces.append((_what(table.column(int(at[1:])).type), f"{side.lower()[0]}.{at}"))
        elif what == "number":
            pieces.append(("number", _number(text)))
        elif what == "interval":
            pieces.append(("interval", _interval(text)))
        elif text == "!":
            raise UntranslatableError("'!' binds differently in DuckDB")
        else:
            pieces.append((what, {"<=>": "IS NOT DISTINCT FROM", "==": "="}.get(text, text)))
    return " ".join(_two_comparisons(_sums(pieces)))


def _what(type_: pa.DataType) -> str:
    return "float32" if types.is_float32(type_) else "date" if types.is_date(type_) else "column"


def _sums(pieces: list[tuple[str, str]]) -> list[str]:
    """Whole numbers beside dates become days; float32 beside float32 is computed in FLOAT."""
    texts = [text for _, text in pieces]
    for at in range(1, len(pieces) - 1):
        (a, _), (_, sign), (b, _) = pieces[at - 1 : at + 2]
        if sign not in ("+", "-"):
            continue
        if (a, b) == ("date", "number"):
            texts[at + 1] = f"({texts[at + 1]} * {_DAY})"
        elif (a, b) == ("number", "date"):
            texts[at - 1] = f"({texts[at - 1]} * {_DAY})"
        elif (a, b) == ("float32", "float32"):
            if at > 1 and pieces[at - 2][1] in ("+", "-"):
                raise UntranslatableError("a sum of float32 columns that follows another term")
            texts[at - 1] = f"CAST(CAST({texts[at - 1]} AS FLOAT)"
            texts[at + 1] = f"CAST({texts[at + 1]} AS FLOAT) AS DOUBLE)"
    return texts


def _two_comparisons(texts: list[str]) -> list[str]:
    """a BETWEEN b AND c as a >= b AND a <= c: DuckDB would bring all three to one type, Spark types them in pairs."""
    words = [text.upper() for text in texts]
    if "BETWEEN" not in words:
        return texts
    at = words.index("BETWEEN")
    negated = at > 0 and words[at - 1] == "NOT"
    first = at - negated
    start = first - _operand(list(reversed(words[:first])), opening=")", closing="(")
    middle = at + 1 + _operand(words[at + 1 :], opening="(", closing=")")
    end = middle + 1 + _operand(words[middle + 1 :], opening="(", closing=")")
    value, low, high = (
        " ".join(part) for part in (texts[start:first], texts[at + 1 : middle], texts[middle + 1 : end])
    )
    rewritten = f"({'NOT ' * negated}(({value}) >= ({low}) AND ({value}) <= ({high})))"
    return _two_comparisons([*texts[:start], rewritten, *texts[end:]])


def _operand(words: list[str], opening: str, closing: str) -> int:
    """How many words belong to the sum that starts here."""
    depth = 0
    for at, word in enumerate(words):
        if depth == 0 and word in ("AND", "OR", "NOT", closing):
            return at
        depth += (word == opening) - (word == closing)
    return len(words)


def _number(text: str) -> str:
    digits = re.sub(r"(?:BD|[LSYDF])$", "", text, flags=re.IGNORECASE)
    suffix = text[len(digits) :].upper()
    if suffix == "F":
        raise UntranslatableError(f"{text}: what a float32 literal does depends on what it is added to")
    return f"CAST({digits} AS DOUBLE)" if suffix == "D" else digits


def _interval(text: str) -> str:
    body = text[len("INTERVAL") :].strip()
    if body.startswith("-"):
        return f"(-{_interval('INTERVAL ' + body[1:])})"
    if not body.startswith("'") and len(body.split()) > 2:
        body = f"'{body}'"
    return f"epoch_us(INTERVAL {body})"
