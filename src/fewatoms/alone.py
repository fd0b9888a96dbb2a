"""Whether compiled loops keep to the thread that calls them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_here: ContextVar[bool] = ContextVar("fewatoms_alone", default=False)


@contextmanager
def single_thread() -> Iterator[None]:
    """Keep loops called from this thread to it: others have work of their own."""
    token = _here.set(True)
    try:
        yield
    finally:
        _here.reset(token)


def asked() -> bool:
    """Whether that is so here."""
    return _here.get()


__all__ = ["asked", "single_thread"]
