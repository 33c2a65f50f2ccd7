"""Compiled kernels on disk, so that only the first process compiles: one file per kernel and argument types.

numba has a cache of its own; this one replaces it because that one can hand out wrong code. It keeps an index that
maps argument types to numbered files, and when two processes start cold at once, both may name different code "file 1"
and the index ends up pointing at the other one's (numba#4807). It also does not notice that a *called* kernel in
another module has changed, nor that bounds checks are on. Here instead:

    kernel + types + fingerprint ──sha256──> ~/.cache/panjoin/kernels/search.gallop_lower-3f0c...e1.code
                                                       │
                                             sha256 of the rest │ argument types, machine code (pickled by numba)

Invariants: a file's name says everything that its code depends on, so processes that race for a name write equal code
and any winner is right; a file appears whole (written aside, then renamed) or not at all, and one that was damaged
later fails its checksum. The worst outcome is a lost file, which costs a compilation. The fingerprint holds the sources
of the kernel's module and of every module of ours that it imports, the constants and kernels it refers to, the
versions of Python, numba, llvmlite and numpy, the processor, and the numba options that change code.

A cache of code is as good as the right to run code: the directory must be ours alone (`directories.py`). If it is not,
or cannot be made, kernels are compiled in each process and one warning says how to mend that.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle  # nosec B403
import re
import sys
import time
import uuid
import warnings
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import numba
import numpy as np
from numba.core import config
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

from panjoin.directories import cache_path, private_directory
from panjoin.errors import ParameterError

_VERSIONS = (sys.version, getattr(sys, "abiflags", ""), numba.__version__, llvmlite.__version__, np.__version__)
_OPTIONS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX")
_IMPORTS = re.compile(
    rb"^[ \t]*(?:from\s+(panjoin[\w.]*)\s+import\s+(?:\(([^)]*)\)|([^(\n]*))|import\s+(panjoin[\w.]*))", re.MULTILINE
)
_dumps: Any = dumps  # numba is typed in part: these two are not
_rebuild: Any = CompileResult._rebuild  # noqa: SLF001
_STARTED_NS = time.time_ns()
#: Above this the files that were not used for longest are removed, down to half of it.
_MOST_BYTES = 512 << 20


class CodeCache(_Cache):
    """The cache of one kernel, in the place where its dispatcher looks for numba's own."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._enabled = True

    @property
    def cache_path(self) -> str | None:
        """The directory, or None when there is none that can be used."""
        place = directory()
        return None if place is None else str(place)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for these argument types, or None."""
        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        if path is None:
            return None
        try:
            with path.open("rb") as file:
                if os.fstat(file.fileno()).st_uid != os.getuid():
                    return None  # the directory was exchanged after we had looked at it
                data = file.read()
        except OSError:
            return None
        with contextlib.suppress(OSError):  # a cache that we may read but not change
            os.utime(path)  # what was used last is removed last
        digest, body = data[:32], data[32:]
        if hashlib.sha256(body).digest() != digest:
            return None  # damaged: it will be written again
        # written by us, in a directory that only we may enter
        types, payload = pickle.loads(body)  # noqa: S301  # nosec B301
        return _rebuild(target_context, *payload) if types == _types(sig) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel. A failure costs the next process a compilation, and nothing else."""
        path = self._path(sig, data.codegen)
        if path is None or data.library.has_dynamic_globals or any(not lifted.can_cache for lifted in data.lifted):
            return
        body = _dumps((_types(sig), data._reduce()))  # noqa: SLF001  (numba's own way to its caches)
        aside = path.with_name(f".{uuid.uuid4().hex}")
        try:
            aside.write_bytes(hashlib.sha256(body).digest() + body)
            aside.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                aside.unlink()
            _warn_once(f"cannot keep compiled kernels in {path.parent}: {error.strerror}; free it or {_ELSEWHERE}")
        else:
            _keep_small(path.parent)

    def enable(self) -> None:
        """Use the cache again."""
        self._enabled = True

    def disable(self) -> None:
        """Compile without the cache from now on."""
        self._enabled = False

    def flush(self) -> None:
        """Forget nothing: a file whose name fits is right, and others are not found."""

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        place = directory() if self._enabled else None
        sources = sources_digest(self._function.__module__) if place is not None else None
        if place is None or sources is None:
            return None
        options = [getattr(config, option, None) for option in _OPTIONS]
        told = (_VERSIONS, options, codegen.magic_tuple(), sources, fingerprint(self._function), str(_types(sig)))
        name = f"{self._function.__module__.rpartition('.')[2]}.{self._function.__name__}"
        return place / f"{name}-{hashlib.sha256(repr(told).encode()).hexdigest()[:40]}.code"


# ---- where ----

_ELSEWHERE = "name another place with PANJOIN_CACHE_DIR"


@cache
def directory() -> Path | None:
    """The directory of this process's compiled kernels; found out once, at the first compilation."""
    place = cache_path() / "kernels"
    try:
        private_directory(place.parent, writable=False)
        return private_directory(place, writable=False)
    except (ParameterError, OSError) as error:
        _warn_once(f"compiled kernels are not kept, so every process compiles them anew: {error}")
        return None


@cache
def _warn_once(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=2)


@cache
def _keep_small(place: Path) -> None:
    """Once per process that writes: remove what was not used for longest."""
    with contextlib.suppress(OSError):  # other processes tidy up as well
        files = sorted((path.stat().st_mtime_ns, path.stat().st_size, path) for path in place.iterdir())
        total = sum(size for _, size, _ in files)
        most = total if total <= _MOST_BYTES else _MOST_BYTES // 2
        for _, size, path in files:
            if total <= most:
                break
            path.unlink()
            total -= size


# ---- what code depends on ----


@cache
def sources_digest(module: str) -> str | None:
    """Digest of the module's source and of all modules of ours that it imports, directly or not.

    None when it cannot be told: no source, or a file that changed after this process had begun to import, so that the
    code in memory may be older than the file. Such kernels are not kept.
    """
    sources: dict[str, bytes] = {}
    waiting = [module]
    if module not in sys.modules:
        return None
    while waiting:
        name = waiting.pop()
        if name in sources or name not in sys.modules:  # the second: an imported name that is no module
            continue
        source = _source(sys.modules[name])
        if source is None:
            return None
        sources[name] = source
        for origin, several, some, whole in _IMPORTS.findall(source):
            waiting.append((origin or whole).decode())
            waiting += [f"{origin.decode()}.{part}" for part in re.findall(r"\w+", (several or some).decode())]
    digest = hashlib.sha256()
    for name in sorted(sources):
        digest.update(name.encode() + hashlib.sha256(sources[name]).digest())
    return digest.hexdigest()


def _source(module: ModuleType) -> bytes | None:
    loader: Any = getattr(module.__spec__, "loader", None)
    path = getattr(module, "__file__", None)
    if path is None or not hasattr(loader, "get_data"):
        return None
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # inside a zip file: its members do not change
        if Path(path).stat().st_mtime_ns > _STARTED_NS:
            return None
    with contextlib.suppress(OSError):
        return bytes(loader.get_data(path))
    return None


def fingerprint(function: FunctionType, seen: tuple[CodeType, ...] = ()) -> str:
    """What a function does beyond its source: bytecode, and the values of what it refers to, kernels included.

    The source alone does not tell apart the products of a factory, nor a constant that somebody has replaced.
    """
    code = function.__code__
    if code in seen:
        return "recursion"
    names = {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    cells = {name: cell.cell_contents for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)}
    parts = [code.co_code.hex(), code.co_name, str(code.co_names), str(code.co_firstlineno), str(function.__defaults__)]
    parts += [repr(constant) for constant in code.co_consts if not isinstance(constant, CodeType)]
    for name, value in (names | cells).items():
        if isinstance(value, Dispatcher):
            told = fingerprint(value.py_func, (*seen, code))
        elif isinstance(value, np.ndarray):
            told = f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
        elif isinstance(value, (type, ModuleType, FunctionType)):
            told = value.__name__
        else:
            told = repr(value)
        parts.append(f"{name}={told}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _types(sig: Any) -> tuple[Any, ...]:
    """Argument types; what the dispatcher passes is a tuple of them, or a whole signature when one was declared."""
    return tuple(sig) if isinstance(sig, tuple) else (*sig.args, sig.return_type)
