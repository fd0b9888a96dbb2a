"""Words of version 0.1 that are spelled otherwise now: each is refused with its new spelling."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

WORDS = {
    "include": "atoms=atoms.restricted(include=...)",
    "exclude": "atoms=atoms.restricted(exclude=...)",
    "biases": 'free="biases" or free=fa.Biases(ridge=...)',
    "nonnegative": "atoms=RankOne(p, q, nonnegative=True)",
    "joint": "atoms=Joint(atoms)",
    "oracle": "method=General(oracle, retrieval) (the paper's own way: method=Paper())",
    "retrieval": "method=General(oracle, retrieval)",
}


# What other packages call it.
ELSEWHERE = {
    "fit_intercept": 'free="intercept"',
    "intercept": 'free="intercept"',
    "max_iter": "max_iterations",
    "maxiter": "max_iterations",
    "random_state": "rng",
    "seed": "rng",
    "weights": "loss=LeastSquares(weights)",
    "sample_weight": "loss=LeastSquares(weights)",
    "groups": "atoms=Groups(labels)",
    "rank": "k",
    "positive": "atoms=NonnegativeOneHot(n)",
}


def unknown(word: str, doors: str, words: Iterable[str]) -> str:
    """Of a word that a door does not know."""
    here = f": it is {ELSEWHERE[word]} here" if word in ELSEWHERE else ""
    return f"{word} is no word of {doors}, which takes {', '.join(words)}{here}"


def renamed(door: Callable[P, R]) -> Callable[P, R]:
    """A door that says the new spelling of a word that it does not know any more."""

    asked = signature(door).parameters.values()
    known = [p.name for p in asked if p.kind is not Parameter.VAR_KEYWORD]
    closed = len(known) == len(asked)  # others hand their words on, to be checked there
    by_place = sum(p.kind is Parameter.POSITIONAL_OR_KEYWORD for p in asked)

    @wraps(door)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for word in kwargs:
            if word in WORDS:
                raise TypeError(f"{word} is spelled {WORDS[word]} since version 0.2")
            if closed and word not in known:
                raise TypeError(unknown(word, door.__name__, known))
        if len(args) > by_place:
            raise TypeError(
                f"{door.__name__} takes {' and '.join(known[:by_place])} by position and the rest by name, atoms=..., "
                f"k=...; got {len(args)} by position"
            )
        if "atoms" not in kwargs:
            raise TypeError("atoms must be given, an atomic set such as SignedOneHot(n)")
        return door(*args, **kwargs)

    return checked


NAMES = {
    "fewatoms.oracles": {
        "Alternating": "fewatoms.methods.Completion",
        "Trimming": "fewatoms.methods.Separation",
        "Splitting": "fewatoms.methods.Separation",
        "Peeling": "fewatoms.methods.Demixing",
        "WorkingSet": "fewatoms.methods.Listed",
    },
    "fewatoms.retrieval": {
        "Splice": "fewatoms.methods.listed.Splice",
        "Fewest": "fewatoms.methods.listed.Fewest",
        "Pursuit": "fewatoms.methods.listed.Pursuit",
        "Alternate": "fewatoms.methods.Completion",
        "default_retrieval": "method=None",
    },
    "fewatoms.solution": {
        "Candidate": "fewatoms.candidates.Candidate",
        "DualPoint": "fewatoms.candidates.DualPoint",
        "Progress": "fewatoms.records.Progress",
        "Solutions": "fewatoms.solutions.Solutions",
    },
    "fewatoms.linalg": {
        "session": "fewatoms.ledger.opened",
        "generator": "fewatoms.ledger.generator",
    },
}


def moved(module: str) -> Callable[[str], object]:
    """A module's `__getattr__` that says where a name has gone."""

    def missing(name: str) -> object:
        where = NAMES.get(module, {}).get(name)
        if where is not None:  # no AttributeError, which `from ... import` would not show
            raise ImportError(f"module {module!r} has no {name!r}: it is {where} since version 0.2")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return missing


def tell_of_names() -> None:
    """Let all modules that have lost names say where those are; for once, when everything is imported."""
    for module in NAMES:
        setattr(sys.modules[module], "__getattr__", moved(module))  # noqa: B010 - mypy must not believe in it


def made_by_of(cls: type[T]) -> type[T]:
    """A class that says `cls.of(...)` where its constructor is called with words of that."""
    plain = cls.__init__
    needed = sum(p.default is Parameter.empty for p in signature(cls).parameters.values())

    @wraps(plain)
    def checked(self: T, *args: object, **kwargs: object) -> None:
        words = kwargs.keys() & {"k", "loss", "M", "b", "free", "ridge", "cap"} or (
            "atoms" in kwargs and len(args) == 2
        )
        if words or len(args) + len(kwargs) < needed:
            name = cls.__name__
            raise TypeError(f"{name}(M, b, ...) is spelled {name}.of(M, b, ...) since version 0.2")
        plain(self, *args, **kwargs)

    setattr(cls, "__init__", checked)  # noqa: B010 - the signature stays
    return cls
