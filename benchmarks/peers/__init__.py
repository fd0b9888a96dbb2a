"""Everybody who solves, one package per module, behind one signature: an `Adapter` for each way to call it.

`adapter.prepare(problem, **words)` brings a problem into the form that a package wants, which is not charged;
`adapter.solve(problem, ready, **words)` solves it, and returns one of `answers`. Packages are imported when they are
called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any


def as_is(problem: Any, **words: Any) -> Any:
    return problem


@dataclass(frozen=True)
class Adapter:
    """How to call somebody, and the package that it needs."""

    solve: Callable[..., Any]
    package: str
    prepare: Callable[..., Any] = as_is

    @property
    def installed(self) -> bool:
        return find_spec(self.package) is not None


def needs(package: str, prepare: Callable[..., Any] = as_is) -> Callable[[Callable[..., Any]], Adapter]:
    """Make an adapter of a function `(problem, ready, **words)`."""
    return lambda solve: Adapter(solve, package, prepare)
