"""What nobody may bring in unseen: pickles, code from text, SQL pasted together; and the audit tells clean from unknown."""

import ast
import json
import re
from pathlib import Path

import pytest

from tools.audit import concluded

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src" / "panjoin").rglob("*.py"))
#: Compiled kernels, in a directory that only we may enter: the one thing of ours that is code.
_UNPICKLES = {"kernels/code_cache.py"}
_PICKLES = {"pickle", "cPickle", "dill", "joblib", "marshal", "shelve", "cloudpickle"}
_READS = {"load", "loads", "Unpickler", "open"}
_SQL = {"sql", "expr", "selectExpr", "where", "filter"}


def calls(path: Path) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]


def unpickling(tree: ast.AST) -> list[int]:
    """Lines that read a pickle, by the module's name or by one imported from it."""
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[-1] in _PICKLES
        for alias in node.names
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _READS and isinstance(node.value, ast.Name):
            found += [node.lineno] if node.value.id in _PICKLES else []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names & _READS:
            found.append(node.lineno)
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            found += [node.value.lineno] if getattr(node.value, "value", True) else []
    return found


def test_nothing_of_ours_is_unpickled_but_compiled_kernels():
    found = {
        str(path.relative_to(ROOT / "src" / "panjoin")) for path in SOURCES if unpickling(ast.parse(path.read_text()))
    }
    assert found == _UNPICKLES


@pytest.mark.parametrize(
    "text",
    ["pickle.loads(b)", "from pickle import loads\nloads(b)", "np.load(f, allow_pickle=True)", "marshal.load(f)"],
)
def test_a_line_that_unpickles_is_found(text):
    assert unpickling(ast.parse(text))


def test_no_text_becomes_code():
    for path in SOURCES:
        names = {call.func.id for call in calls(path) if isinstance(call.func, ast.Name)}
        assert not names & {"eval", "exec", "compile"}, path
        for call in calls(path):
            assert not any(each.arg == "shell" and getattr(each.value, "value", True) for each in call.keywords), path


def pasted(call: ast.Call) -> bool:
    """Is SQL put together from texts, and not of numbers and constants alone?"""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name not in _SQL or not call.args:
        return False
    for argument in call.args:
        for node in ast.walk(argument):
            if isinstance(node, ast.FormattedValue) and not (
                isinstance(node.value, ast.Name) and node.value.id.isupper()
            ):
                return True
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod) and any(
                isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, node.right)
            ):  # fmt: skip
                return True
    return False


def test_no_condition_reaches_spark_as_pasted_sql():
    """Rooms that meet a user's text: Spark's and the jobs'."""
    for room in ("spark", "job"):
        for path in sorted((ROOT / "src" / "panjoin" / room).rglob("*.py")):
            assert not [call.lineno for call in calls(path) if pasted(call)], path
    assert pasted(calls_of('frame.where(f"x = {text}")')) and pasted(calls_of('sf.expr("x = " + text)'))
    assert not pasted(calls_of('frame.where("late")'))


def calls_of(text: str) -> ast.Call:
    return next(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))


# ---- the audit ----


def _said(*packages):
    return json.dumps({"dependencies": list(packages), "fixes": []})


GOOD = {"name": "a", "version": "1", "vulns": []}
BAD = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}
UNKNOWN = {"name": "c", "skip_reason": "Dependency not found on PyPI and could not be audited: c (1)"}


@pytest.mark.parametrize(
    ("out", "required", "code", "message"),
    [
        (_said(GOOD), True, 0, "no known vulnerability in 1 packages"),
        (_said(GOOD, BAD), False, 1, r"b 2: CVE-1 \(fixed in: 3\); raise it in constraints.txt"),
        (_said(GOOD, UNKNOWN), False, 0, "NOT AUDITED: .* 1 of 2 packages are not known to it"),
        (_said(GOOD, UNKNOWN), True, 1, "NOT AUDITED"),
        ("", False, 0, "NOT AUDITED: .*connection refused"),
        ("", True, 1, "NOT AUDITED"),
        (_said(BAD, UNKNOWN), False, 1, "CVE-1"),
    ],
)
def test_clean_vulnerable_and_unknown_are_three_things(out, required, code, message, capsys):
    assert concluded(out, "Traceback\nconnection refused", required=required) == code
    assert re.search(message, capsys.readouterr().out)


@pytest.mark.parametrize("file", ["constraints.txt", "tools/security.txt", "tools/fuzz.txt"])
def test_every_pin_is_exact(file):
    lines = [line.partition("#")[0].strip() for line in (ROOT / file).read_text().splitlines()]
    assert lines
    for line in filter(None, lines):
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line), line
