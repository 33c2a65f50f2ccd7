"""Where PanJoin keeps files on this machine: two directories that nobody but their owner may enter.

    cache      $PANJOIN_CACHE_DIR, else $XDG_CACHE_HOME/panjoin, else ~/.cache/panjoin; without a usable home,
               panjoin-<uid>/cache in the temporary directory. Things that can be made again: compiled kernels, the
               Java wrapper.
    resident   $PANJOIN_RESIDENT_DIR, else panjoin-<uid>/resident in the temporary directory. Sealed subwindows as
               memory-mapped files; the truth is in Spark's state.

Invariant: a directory that `private_directory` returns is ours, is no symbolic link, and has mode 0700, so no other
user of the machine can place a file there that we would load. The environment is read when a function is called,
never at import.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from panjoin.errors import ParameterError

_OWNER_ONLY = 0o700


def cache_path() -> Path:
    """The cache directory's path; nothing is created."""
    if os.environ.get("PANJOIN_CACHE_DIR"):
        return Path(os.environ["PANJOIN_CACHE_DIR"]).absolute()
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]).absolute() / "panjoin"
    try:
        home = Path.home()
    except RuntimeError:  # no HOME, and a user id that the password file does not know (containers)
        return _temporary("cache")
    return home / ".cache" / "panjoin" if os.access(home, os.W_OK) else _temporary("cache")


def resident_path() -> Path:
    """The resident directory's path; nothing is created."""
    if os.environ.get("PANJOIN_RESIDENT_DIR"):
        return Path(os.environ["PANJOIN_RESIDENT_DIR"]).absolute()
    return _temporary("resident")


def private_directory(path: Path, *, writable: bool = True) -> Path:
    """`path` as a directory that is ours alone; created when missing, refused when it is not ours alone.

    One from which we only read what we wrote earlier need not be `writable`.
    """
    try:
        path.parent.mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
        path.mkdir(mode=_OWNER_ONLY, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"cannot make the directory {path}: {error.strerror}; {_OTHER_PLACE}") from error
    for place in (path, *_ours_above(path)):
        _refuse_unless_private(place, writable)
    return path


_OTHER_PLACE = "name another place with PANJOIN_CACHE_DIR or PANJOIN_RESIDENT_DIR"


def _refuse_unless_private(path: Path, writable: bool) -> None:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise ParameterError(f"{path} is a symbolic link; remove it, or {_OTHER_PLACE}")
    if not stat.S_ISDIR(status.st_mode):
        raise ParameterError(f"{path} is not a directory; remove it, or {_OTHER_PLACE}")
    if status.st_uid != os.getuid():
        raise ParameterError(f"{path} belongs to user {status.st_uid}, not to you ({os.getuid()}); {_OTHER_PLACE}")
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        raise ParameterError(f"{path} has mode {mode:o}, so others can enter it; mend it with: chmod 700 '{path}'")
    if writable and mode != _OWNER_ONLY:
        raise ParameterError(f"{path} has mode {mode:o}, so we cannot write there; mend it with: chmod 700 '{path}'")


def _temporary(purpose: str) -> Path:
    return _temporary_root() / purpose


def _temporary_root() -> Path:
    return Path(tempfile.gettempdir()).absolute() / f"panjoin-{os.getuid()}"


def _ours_above(path: Path) -> tuple[Path, ...]:
    """The shared temporary directory lets others own `panjoin-<uid>` before us, so that one is checked as well."""
    root = _temporary_root()
    return (root,) if root in path.parents else ()
