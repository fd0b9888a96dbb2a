"""Whether what a file declares fits into the memory that is free."""

from __future__ import annotations

from fewatoms.io.refused import Refused
from fewatoms.memory import free, told


class TooLarge(Refused):
    """Needs more memory than there is."""


def afford(source: str, needed: int) -> None:
    """Refuse what needs more memory than there is."""
    there = free()
    if there is not None and needed > there:
        raise TooLarge(
            f"{source} needs {told(needed)} of memory and {told(there)} are free: keep fewer rows or columns, or use a "
            "machine with more memory"
        )


__all__ = ["TooLarge", "afford", "free", "told"]
