"""What cannot be used, in one line that says what is wrong and what to do; and packages that may not be there."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import ParamSpec, TypeVar

from fewatoms.whole import special

P = ParamSpec("P")
T = TypeVar("T")

EXTRAS = {"pyarrow": "parquet", "PIL": "images", "h5py": "hdf5", "sklearn": "sklearn"}  # what installs which package


class Refused(ValueError):
    """A file that cannot be read, or an output that cannot be written; one line says why, and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


def borrowed(module: str, purpose: str) -> ModuleType:
    """A module of a package that is an extra, refused with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        extra = EXTRAS[module.split(".")[0]]
        raise Refused(f"{purpose} needs a package that is not installed: pip install 'fewatoms[{extra}]'") from error


@contextmanager
def reading(source: str, kind: str) -> Iterator[None]:
    """Whatever goes wrong while others read a file becomes one line."""
    try:
        yield
    except Refused:
        raise
    except MemoryError as error:
        raise Refused(f"{source} does not fit into memory: keep fewer rows or columns") from error
    except Exception as error:
        detail = (" ".join(str(error).split()) or type(error).__name__)[:160]
        raise Refused(
            f"{source} is not {kind}, or not all of it ({detail}): write it again, or give it the ending of what it is"
        ) from error


def fitting(read: Callable[P, T]) -> Callable[P, T]:
    """A door of files, whose first word is a path: what does not fit into memory on the way is refused as well."""

    @wraps(read)
    def within(*args: P.args, **words: P.kwargs) -> T:
        try:
            return read(*args, **words)
        except MemoryError as error:
            source = args[0] if args else words["path"]
            raise Refused(f"{source} does not fit into memory: keep fewer rows or columns") from error

    return within


def found(path: Path, source: str) -> Path:
    """A file that is there, can be opened and is not empty."""
    if path.is_dir():
        raise Refused(f"{source} must be a file; it is a folder: name a file in it")
    if special(path):  # which may keep us waiting, and can be read only once
        raise Refused(f"{source} must be a file; it is a pipe, a device or a socket: save what it says to a file first")
    try:
        with open(path, "rb") as stream:
            empty = not stream.read(1)
    except FileNotFoundError as error:
        raise Refused(f"{source} is not there: check the name and the folder") from error
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or str(error)
        raise Refused(f"{source} cannot be opened ({reason}): check the name and who may read it") from error
    if empty:
        raise Refused(f"{source} is empty: write it again")
    return path
