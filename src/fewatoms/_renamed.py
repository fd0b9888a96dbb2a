"""Words of version 0.1 that are spelled otherwise now: each is refused with its new spelling."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

WORDS = {
    "include": "atoms=atoms.restricted(include=...)",
    "exclude": "atoms=atoms.restricted(exclude=...)",
    "biases": 'free="biases" or free=fa.Biases(ridge=...)',
    "nonnegative": "atoms=RankOne(p, q, nonnegative=True)",
    "joint": "atoms=Joint(atoms)",
    "oracle": "method=General(oracle, retrieval), or method=Paper() for the paper's",
    "retrieval": "method=General(oracle, retrieval)",
}


def renamed(door: Callable[P, R]) -> Callable[P, R]:
    """A door that says the new spelling of a word that it does not know any more."""

    @wraps(door)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for word in kwargs.keys() & WORDS.keys():
            raise TypeError(f"{word} is spelled {WORDS[word]} since version 0.2")
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
}


def moved(module: str) -> Callable[[str], object]:
    """A module's `__getattr__` that says where a name has gone."""

    def missing(name: str) -> object:
        where = NAMES.get(module, {}).get(name)
        told = "" if where is None else f": it is {where} since version 0.2"
        raise AttributeError(f"module {module!r} has no attribute {name!r}{told}")

    return missing
