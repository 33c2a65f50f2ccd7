"""The house has one staircase: a module imports only from its own room and from the rooms above it.

`ROOMS` is the order of DESIGN, as one table; a module belongs to the room with the longest matching name. A new
module gets a line here, in the place where its imports let it stand, or this test fails.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"

ROOMS: tuple[tuple[str, ...], ...] = (
    # ---- what every room may use ----
    ("errors",),
    ("directories",),
    # the numba options, apart from the kernels: hashing in `keys` is compiled as well
    ("kernels.code_cache", "kernels.jit"),
    ("columns",),  # Arrow columns seen as arrays: conditions are evaluated on them, keys are made from them
    ("suggest", "durations"),
    # ---- what the user says ----
    ("expression", "zones", "kinds"),
    ("sqltext", "normal"),
    ("vectors",),
    ("typed",),
    ("evaluate",),
    ("binding",),
    ("predicate",),
    ("window",),
    ("aggregates",),
    ("options",),
    # ---- what arrives ----
    ("keypack", "keyhash"),
    ("keycodec",),
    ("keys",),
    ("keysearch",),
    ("wholeband", "writtenband"),
    ("equality", "edges"),
    ("bounds",),
    ("layouts",),
    ("records",),
    ("names",),
    # ---- one subwindow, then subwindows over time ----
    ("sizing",),
    ("kernels",),
    ("index",),
    ("chain",),
    # ---- the join ----
    ("calibration", "observation"),
    ("advisor",),
    ("advice",),
    ("engine",),
    ("",),  # panjoin/__init__.py, the public names: all that runs without Spark
    ("spark",),
    # ---- around it ----
    ("job",),  # a pipeline without code
    ("page",),  # a running job as a page, and as a report afterwards
    ("cli", "__main__"),
    ("bench",),
    ("fpga",),
)

#: Imports down the stairs that are right, from room to room; only inside functions, so that nothing is loaded early.
LAZY_EXCEPTIONS = {("cli", "bench"), ("cli", "fpga"), ("bench", "fpga")}


def test_every_module_imports_only_from_the_rooms_above_it() -> None:
    assert violations(SOURCE) == []


def violations(source: Path) -> list[str]:
    """One line for each import down the stairs, and for each module without a room."""
    files = {_module_name(path, source): path for path in sorted((source / "panjoin").rglob("*.py"))}
    known = {".".join(name.split(".")[:end]) for name in files for end in range(1, name.count(".") + 2)}
    found = []
    for module, path in files.items():
        here = _room(module)
        if here is None:
            found.append(f"{module} is in no room; give it a line in ROOMS")
            continue
        for line, imported, lazy in _imports(module, path, known):
            there = _room(imported)
            exempt = lazy and (module.split(".")[1:2] + imported.split(".")[1:2]) in map(list, LAZY_EXCEPTIONS)
            if there is not None and there > here and not exempt:
                found.append(f"{module}:{line} imports {imported}, which is further down")
    return found


def _module_name(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _room(module: str) -> int | None:
    """Number of the room whose name is the longest that `module` is, or lies in."""
    inside = module.removeprefix("panjoin").lstrip(".")
    best: tuple[int, int] | None = None
    for number, names in enumerate(ROOMS):
        for name in names:
            if inside == name or (name and inside.startswith(f"{name}.")):
                best = max(best or (-1, 0), (len(name), number))
    return None if best is None else best[1]


def _imports(module: str, path: Path, known: set[str]) -> Iterator[tuple[int, str, bool]]:
    """(line, imported module, is it inside a function) of all our own imports, wherever they stand."""
    tree = ast.parse(path.read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        for name in _names(node, package, known):
            if name.split(".")[0] == "panjoin":
                yield node.lineno, name, id(node) in inside


def _names(node: ast.AST, package: str, known: set[str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        start = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        base = ".".join([*start, *([node.module] if node.module else [])])
        # `from panjoin import index` means the module panjoin.index, `from panjoin import __version__` panjoin itself
        return [f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base for alias in node.names]
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in {"import_module", "__import__"} and isinstance(node.args[0].value, str):
            return [node.args[0].value]
    return []


# ---- the test of the test ----


def _house(source: Path, **modules: str) -> Path:
    for name, text in ({"__init__": "", "spark__java": "", "bench__figures": "", "errors": ""} | modules).items():
        path = (source / "panjoin" / name.replace("__", "/")) if name != "__init__" else source / "panjoin" / name
        path = path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return source


@pytest.mark.parametrize(
    "text",
    [
        "import panjoin.spark.java",
        "import panjoin.spark.java as java",
        "from panjoin.spark.java import use_java",
        "from panjoin.spark import java",
        "from ..spark import java",
        "from ..spark.java import use_java",
        "def f():\n    import panjoin.spark.java",
        "class A:\n    def f(self):\n        from panjoin.spark import java",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from panjoin.spark.java import Java",
        "from importlib import import_module\nimport_module('panjoin.spark.java')",
        "try:\n    from panjoin.spark import java\nexcept ImportError:\n    pass",
    ],
)
def test_a_lower_room_that_imports_an_upper_one_is_caught(tmp_path: Path, text: str) -> None:
    source = _house(tmp_path, index__contract=text)
    line = text.count("\n") + 1 if "except" not in text else 2
    assert violations(source) == [
        f"panjoin.index.contract:{line} imports panjoin.spark.java, which is further down",
    ]


def test_the_package_itself_counts_as_everything_that_runs_without_spark(tmp_path: Path) -> None:
    source = _house(tmp_path, engine__local="import panjoin as pj", spark__session="import panjoin as pj")
    assert violations(source) == ["panjoin.engine.local:1 imports panjoin, which is further down"]


def test_imports_up_the_stairs_and_inside_a_room_are_allowed(tmp_path: Path) -> None:
    source = _house(
        tmp_path,
        index__scan="import numpy\nfrom panjoin.errors import DataError\nfrom panjoin.index.llat import Llat",
        index__llat="from panjoin.index import scan",
        spark__session="from panjoin.spark.java import use_java\nfrom panjoin.index import scan",
    )
    assert violations(source) == []


def test_the_command_line_may_import_bench_inside_a_function_only(tmp_path: Path) -> None:
    source = _house(
        tmp_path,
        cli__lazy="def f():\n    from panjoin.bench import figures",
        cli__early="from panjoin.bench import figures",
    )
    assert violations(source) == ["panjoin.cli.early:1 imports panjoin.bench.figures, which is further down"]


def test_a_module_without_a_room_fails(tmp_path: Path) -> None:
    source = _house(tmp_path, helpers="")
    assert violations(source) == ["panjoin.helpers is in no room; give it a line in ROOMS"]


def test_the_compiler_options_stand_above_the_kernels(tmp_path: Path) -> None:
    source = _house(tmp_path, kernels__jit="", kernels__search="", keys="from panjoin.kernels import jit, search\n")
    assert violations(source) == ["panjoin.keys:1 imports panjoin.kernels.search, which is further down"]
