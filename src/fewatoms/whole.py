"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def replacing(name: str | os.PathLike[str]) -> Iterator[str]:
    """The name of a file beside the one that is meant, which takes its place when all is written; it is gone if not."""
    target = os.path.realpath(name)
    beside = f"{target}.{secrets.token_hex(4)}.part"
    try:
        yield beside
        os.replace(beside, target)
    finally:
        with suppress(OSError):
            os.remove(beside)
