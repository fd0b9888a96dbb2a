"""Ourselves on tiny problems: what the problem is made of, in a user's words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import aslinearoperator

from benchmarks.peers import needs
from benchmarks.peers.answers import Array


def atoms_of(fa: Any, problem: Any) -> Any:
    n = problem.M.shape[1]
    if problem.labels is not None:
        atoms = fa.Groups(problem.labels, problem.weights)
    else:
        atoms = fa.NonnegativeOneHot(n) if problem.nonnegative else fa.SignedOneHot(n)
    return atoms.restricted(include=list(problem.include)) if problem.include else atoms


@needs("fewatoms")
def tiny(problem: Any, ready: Any, *, signs: bool = False, **words: Any) -> Array:
    """signs : the labels of classes are told as the paper does, multiplied into M with b = 0."""
    import fewatoms as fa

    M, b = aslinearoperator(problem.M) if problem.hidden else problem.M, problem.b
    told = {name: value for name in ("cap", "ridge", "free") if (value := getattr(problem, name))}
    if problem.classes:
        told["loss"] = fa.Logistic()
        M, b = (M * b[:, None], np.zeros_like(b)) if signs else (M, b)
    s = fa.fit(M, b, atoms=atoms_of(fa, problem), k=problem.k, **told, **words)
    intercept = float(np.ravel(s.free_coefficients)[0]) if problem.free else 0.0
    return Array(s.x, {"intercept": intercept})


@dataclass(frozen=True, eq=False)
class Door:
    """Answers with the data that each is for; or why there is none."""

    found: tuple[tuple[Any, Any], ...] = ()
    refused: str = ""


@needs("fewatoms")
def odd(problem: Any, ready: Any) -> Door:
    """Refusals are told by their type: those of the doors are these two, anything else is a crash."""
    import fewatoms as fa

    try:
        return Door(tuple(_asked(fa, problem)))
    except (ValueError, TypeError) as error:
        if isinstance(error, np.linalg.LinAlgError):
            raise
        return Door(refused=str(error))


def _asked(fa: Any, problem: Any) -> Iterator[tuple[Any, Any]]:
    n, b = problem.M.shape[1], problem.b
    atoms = {
        "signed": fa.SignedOneHot, "nonnegative": fa.NonnegativeOneHot, "groups": lambda _: fa.Groups(problem.labels)
    }[problem.kind](n)  # fmt: skip
    if problem.include or problem.exclude:
        atoms = atoms.restricted(include=list(problem.include) or None, exclude=list(problem.exclude) or None)
    words = {**problem.words, "atoms": atoms}
    if problem.logistic:
        words["loss"] = fa.Logistic()
    if problem.door == "many":
        B = np.stack([b, -b, np.roll(b, 1)], axis=1)
        for i, s in enumerate(fa.fit_many(problem.told, B, k=problem.k, **words)):
            yield s, B[:, i]
    elif problem.door == "path":
        path = fa.fit_path(problem.told, b, k=range(1, problem.k + 1), **words)
        if b.size >= 4:
            path.choose_k("cv", folds=2)
        for k in path:
            yield path[k], b
    else:
        yield fa.fit(problem.told, b, k=problem.k, **words), b
