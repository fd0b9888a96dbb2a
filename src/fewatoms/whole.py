"""Files that are written whole or not at all, and the order of their names."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NUMBERS_IN_NAMES = re.compile(r"(\d+)", re.ASCII)


def special(name: str | os.PathLike[str]) -> bool:
    """Whether a pipe, a device or a socket is there, behind links or not: nothing to be replaced by a file."""
    return os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name)


@contextmanager
def replacing(name: str | os.PathLike[str]) -> Iterator[str]:
    """The name of an empty file beside the one that is meant, which takes its place, and who may read and write it,
    when all is written; it is gone if not."""
    if special(name):
        raise FileExistsError(f"{os.fspath(name)!r} must be a file; a pipe, a device or a socket is there")
    target = os.fsdecode(os.path.realpath(name))
    if os.path.isdir(target):
        raise IsADirectoryError(f"{os.fsdecode(name)!r} must be a file; a folder is there")
    if not os.path.isdir(os.path.dirname(target)):
        raise FileNotFoundError(f"{os.fsdecode(name)!r} must lie in a folder that is there")
    beside = f"{target}.{secrets.token_hex(4)}.part"
    mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else None
    # What nobody else may read is not to be read while it is written either.
    os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else 0o600))
    try:
        yield beside
        if mode is not None:
            os.chmod(beside, mode)
        os.replace(beside, target)
    finally:
        with suppress(OSError):
            os.remove(beside)


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """The order of names in which numbers count as numbers."""
    pieces = NUMBERS_IN_NAMES.split(name.casefold())
    return tuple((0, int(piece), "") if place % 2 else (1, 0, piece) for place, piece in enumerate(pieces))


def natural_path(path: Path) -> tuple[tuple[tuple[tuple[int, int, str], ...], ...], str]:
    """The order of files in which numbers in the names of folders and files count as numbers."""
    return tuple(natural(part) for part in path.parts), str(path)
