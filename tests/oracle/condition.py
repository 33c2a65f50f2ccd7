"""The text of an ON condition as a Python function of two rows, by Spark's rules, written for plainness.

A recursive-descent parser that compiles as it reads: every method returns a piece (kind, function); see values.py.

    disjunction  := conjunction (OR conjunction)*
    conjunction  := negation (AND negation)*
    negation     := (NOT | !) negation | predicate
    predicate    := sum [ comparison sum | [NOT] BETWEEN sum AND sum | [NOT] IN (sum, ...) | IS [NOT] NULL ]
    sum          := factor ((+ | -) factor)*
    factor       := (+ | -) factor | ( disjunction ) | abs ( sum ) | atom
    atom         := left.column | right.column | number | 'string' | TRUE | FALSE | NULL | INTERVAL ...
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from tests.oracle.values import (
    DAY,
    NUMBERS,
    Function,
    NotUnderstoodError,
    Piece,
    add,
    both,
    comparison,
    either,
    magnitude,
    membership,
    negation,
    to_float32,
)

Columns = Mapping[str, tuple[int, str]]  #: name -> (position in the row, kind)

_TOKEN = re.compile(
    r"""\s*(?: (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:BD|[LSYDF])?(?![\w.]))
             | (?P<string>'(?:[^'\\]|\\.)*')
             | (?P<quoted>`(?:[^`]|``)+`)
             | (?P<word>[A-Za-z_]\w*)
             | (?P<sign><=>|<=|>=|<>|!=|==|[-+<>=!().,]) )""",
    re.VERBOSE | re.IGNORECASE,
)
_MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": DAY,
    "week": 7 * DAY,
}


def compile_condition(text: str, left: Columns, right: Columns) -> Function:
    """A function of (left row, right row) that gives True, False or None."""
    parser = _Parser(text, {"left": left, "right": right})
    kind, function = parser.disjunction()
    if parser.word or kind not in ("boolean", "null"):
        raise NotUnderstoodError(f"{text!r}: not a condition, or something follows it at {parser.word!r}")
    return function


def _constant(kind: str, value: Any) -> Piece:
    return kind, lambda _left, _right: value


# ---- the text ----


class _Parser:
    """One look ahead: `word` is the current token as written, lower case unless quoted; '' at the end."""

    def __init__(self, text: str, columns: Mapping[str, Columns]) -> None:
        self.text, self.columns, self.tokens = text, columns, list[tuple[str, str]]()
        at = 0
        text = text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None or found.lastgroup is None:
                raise NotUnderstoodError(f"{text!r}: cannot read {text[at:]!r}")
            self.tokens.append((found.lastgroup, found.group(found.lastgroup)))
            at = found.end()
        self.tokens.append(("end", ""))
        self.at = 0

    @property
    def group(self) -> str:
        return self.tokens[self.at][0]

    @property
    def word(self) -> str:
        group, text = self.tokens[self.at]
        return text.lower() if group in ("word", "number") else text

    def take(self, *words: str) -> str:
        """The current token when it is one of `words`, which is then passed; else ''."""
        word = self.word
        if self.group not in ("word", "sign") or word not in words:
            return ""
        self.at += 1
        return word

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise NotUnderstoodError(f"{self.text!r}: expected {word!r}, not {self.word!r}")

    def next(self) -> tuple[str, str]:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def truth(self, piece: Piece) -> Function:
        if piece[0] not in ("boolean", "null"):
            raise NotUnderstoodError(f"{self.text!r}: {piece[0]} where a condition is needed")
        return piece[1]

    def disjunction(self) -> Piece:
        piece = self.conjunction()
        while self.take("or"):
            piece = "boolean", either(self.truth(piece), self.truth(self.conjunction()))
        return piece

    def conjunction(self) -> Piece:
        piece = self.negation()
        while self.take("and"):
            piece = "boolean", both(self.truth(piece), self.truth(self.negation()))
        return piece

    def negation(self) -> Piece:
        if self.take("not", "!"):
            return "boolean", negation(self.truth(self.negation()))
        return self.predicate()

    def predicate(self) -> Piece:
        a = self.sum()
        sign = self.take("<=>", "<=", ">=", "<>", "!=", "==", "<", ">", "=")
        if sign:
            return comparison(sign, a, self.sum())
        if self.take("is"):
            negated = bool(self.take("not"))
            self.expect("null")
            return "boolean", lambda left, right: (a[1](left, right) is None) != negated
        negated = self.take("not")
        if self.take("between"):
            low = self.sum()
            self.expect("and")
            function = both(comparison(">=", a, low)[1], comparison("<=", a, self.sum())[1])
        elif self.take("in"):
            self.expect("(")
            others = [self.sum()]
            while self.take(","):
                others.append(self.sum())
            self.expect(")")
            function = membership(a, others)[1]
        elif negated:
            raise NotUnderstoodError(f"{self.text!r}: NOT before {self.word!r}")
        else:
            return a
        return "boolean", negation(function) if negated else function

    def sum(self) -> Piece:
        piece = self.factor()
        while sign := self.take("+", "-"):
            piece = add(sign, piece, self.factor())
        return piece

    def factor(self) -> Piece:
        if self.take("+"):
            return self.factor()
        if self.take("-"):
            kind, function = self.factor()
            if kind not in (*NUMBERS, "interval", "null"):
                raise NotUnderstoodError(f"{self.text!r}: minus {kind}")
            return kind, lambda left, right: None if (v := function(left, right)) is None else -v
        if self.take("("):
            piece = self.disjunction()
            self.expect(")")
            return piece
        if self.take("abs"):
            self.expect("(")
            kind, function = self.sum()
            self.expect(")")
            if kind not in (*NUMBERS, "interval", "null"):
                raise NotUnderstoodError(f"{self.text!r}: abs of {kind}")
            return kind, lambda left, right: None if (v := function(left, right)) is None else magnitude(v)
        return self.atom()

    def atom(self) -> Piece:
        group, text = self.next()
        word = text.lower()
        if group == "number":
            return _number(word)
        if group == "string":
            return _constant("string", _unquote(text))
        if group == "word" and word in ("left", "right"):
            self.expect(".")
            return self.column(word)
        if group == "word" and word in ("true", "false"):
            return _constant("boolean", word == "true")
        if group == "word" and word == "null":
            return _constant("null", None)
        if group == "word" and word == "interval":
            return _constant("interval", self.interval())
        raise NotUnderstoodError(f"{self.text!r}: {text!r} is not a value")

    def column(self, side: str) -> Piece:
        group, text = self.next()
        if group not in ("word", "quoted"):
            raise NotUnderstoodError(f"{self.text!r}: {side}.{text!r}")
        name = text[1:-1].replace("``", "`") if group == "quoted" else text
        columns = self.columns[side]
        names = [name] if name in columns else [known for known in columns if known.lower() == name.lower()]
        if len(names) != 1:
            raise NotUnderstoodError(f"{self.text!r}: {len(names)} columns are called {side}.{name}")
        at, kind = columns[names[0]]
        if side == "left":
            return kind, lambda left, _right: left[at]
        return kind, lambda _left, right: right[at]

    def interval(self) -> int:
        """INTERVAL 5 SECONDS, INTERVAL '5' SECOND, INTERVAL '1 day 2 hours', INTERVAL 1 HOUR 30 MINUTES."""
        amounts = list[tuple[str, str]]()
        if self.group == "string":
            words = _unquote(self.next()[1]).split()
            if len(words) == 1:
                amounts.append((words[0], self.next()[1]))
            else:
                amounts += zip(words[::2], words[1::2], strict=True)
        else:
            while self.group == "number" or (
                self.word == "-" and self.tokens[self.at + 1][0] == "number" and not amounts
            ):
                sign = self.take("-")
                amounts.append((sign + self.next()[1], self.next()[1]))
        total = Decimal(0)
        for amount, unit in amounts:
            name = unit.lower().removesuffix("s")
            if name not in _MICROSECONDS:
                raise NotUnderstoodError(f"{self.text!r}: INTERVAL of {unit!r}")
            total += Decimal(amount) * _MICROSECONDS[name]
        if not amounts or total != int(total):
            raise NotUnderstoodError(f"{self.text!r}: INTERVAL of {amounts}")
        return int(total)


def _number(word: str) -> Piece:
    digits = word.rstrip("lsydfb") if not word.endswith("bd") else word[:-2]
    suffix = word[len(digits) :]
    if suffix == "f":
        return _constant("float", to_float32(float(digits)))
    if suffix == "d" or ("e" in digits and suffix != "bd"):
        return _constant("double", float(digits))
    if suffix == "bd" or "." in digits:
        return _constant("exact", Decimal(digits))
    return _constant("exact", int(digits))


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])
