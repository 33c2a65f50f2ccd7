"""The columns of the joined result: both sides' columns, with suffixes where a name is on both.

    left  | id | price | ts |           result of suffixes=("_left", "_right")
    right | id | qty   | ts |    ->     | id_left | price | ts_left | id_right | qty | ts_right |

Invariant: all names of a result differ, or the join is refused before it starts. Any text is a name: spaces, dots,
backticks, leading underscores pass through; quoting is the business of whoever writes SQL.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from panjoin.errors import ParameterError
from panjoin.records import refuse_duplicates

SUFFIXES = ("_left", "_right")

#: Which sides' columns may be NULL though the input's may not, by join type.
_MADE_NULLABLE = {"inner": (), "left": ("right",), "right": ("left",), "full": ("left", "right")}
_LEFT_ONLY = ("left_semi", "left_anti")


def joined_names(
    left: pa.Schema, right: pa.Schema, suffixes: tuple[str, str] = SUFFIXES, *, case_sensitive: bool = True
) -> tuple[list[str], list[str]]:
    """The result's names of the left side's columns, and of the right side's.

    Spark by default takes `Price` and `price` for one name: `case_sensitive=False` does as well.
    """

    def same(name: str) -> str:
        return name if case_sensitive else name.casefold()

    for schema, side in ((left, "left"), (right, "right")):
        refuse_duplicates(schema.names, side, case_sensitive=case_sensitive)
    both = {same(name) for name in left.names} & {same(name) for name in right.names}
    sides = [
        [name + suffix if same(name) in both else name for name in schema.names]
        for schema, suffix in zip((left, right), suffixes, strict=True)
    ]
    times = Counter(same(name) for names in sides for name in names)
    for names, schema, suffix in zip(sides, (left, right), suffixes, strict=True):
        for name, original in zip(names, schema.names, strict=True):
            if times[same(name)] > 1 and same(original) in both:
                raise ParameterError(
                    f"column {original!r} is on both sides, and the suffix {suffix!r} makes it {name!r}, which another "
                    f"column of the result has as well; choose other suffixes, such as suffixes=('_l', '_r')"
                )
    return sides[0], sides[1]


def joined_schema(
    left: pa.Schema,
    right: pa.Schema,
    how: str = "inner",
    suffixes: tuple[str, str] = SUFFIXES,
    *,
    case_sensitive: bool = True,
) -> pa.Schema:
    """The result's schema: the left columns, then the right ones; what an outer join may leave empty is nullable."""
    if how in _LEFT_ONLY:
        refuse_duplicates(left.names, "left", case_sensitive=case_sensitive)
        return pa.schema(list(left))
    names = joined_names(left, right, suffixes, case_sensitive=case_sensitive)
    fields = []
    for side, schema, renamed in (("left", left, names[0]), ("right", right, names[1])):
        for field, name in zip(schema, renamed, strict=True):
            fields.append(field.with_name(name).with_nullable(field.nullable or side in _MADE_NULLABLE[how]))
    return pa.schema(fields)
