"""Ourselves where k and shrinkage are chosen inside, and on classes: words as a user says them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Linearly, Vector


@dataclass(frozen=True, eq=False)
class Chosen:
    """An answer of ours, asked for predictions: of classes, the logarithm of the odds."""

    solution: Any
    facts: dict[str, float]
    path: Any = None
    proba: bool = False

    @property
    def features(self) -> int:
        return self.solution.cardinality

    def predict(self, X: Any) -> Vector:
        if not self.proba:
            return np.ravel(self.solution.predict(X))
        p = np.asarray(self.solution.predict_proba(X))
        p = p[:, -1] if p.ndim == 2 else p
        with np.errstate(divide="ignore"):
            return np.log(p) - np.log1p(-p)

    def along(self, problem: Any) -> list[Vector]:
        return [problem.y - np.ravel(self.path[k].predict(problem.X)) for k in problem.ks]


def _said(solution: Any) -> dict[str, float]:
    return {"products": solution.products}


@needs("fewatoms")
def path(problem: Any, ready: Any, **words: Any) -> Chosen:
    """k by cross-validation; with ridges, both together."""
    import fewatoms as fa

    atoms = fa.SignedOneHot(problem.X.shape[1])
    found = fa.fit_path(problem.X, problem.y, atoms=atoms, k=problem.ks, free="intercept", **words)
    found.choose_k("cv")
    return Chosen(found.best, {}, found)


@needs("fewatoms")
def classes(problem: Any, ready: Any, **words: Any) -> Chosen:
    import fewatoms as fa

    atoms = fa.SignedOneHot(problem.X.shape[1])
    told = {"atoms": atoms, "k": problem.ks, "loss": fa.Logistic(), "free": "intercept", **words}
    found = fa.fit_path(problem.X, problem.y, **told)
    found.choose_k("cv")
    return Chosen(found.best, {}, proba=True)


@needs("fewatoms")
def separating(problem: Any, ready: Any, **words: Any) -> Chosen:
    import fewatoms as fa

    atoms = fa.SignedOneHot(problem.X.shape[1])
    s = fa.fit(problem.X, problem.t, atoms=atoms, k=problem.k, loss=fa.Logistic(), free="intercept", **words)
    return Chosen(s, _said(s), proba=True)


@needs("fewatoms")
def separating_by_signs(problem: Any, ready: Any, **words: Any) -> Linearly:
    """The paper's form: labels multiplied into M and into the column of the intercept, b = 0."""
    import fewatoms as fa

    M, t = problem.X * problem.t[:, None], problem.t
    atoms = fa.SignedOneHot(M.shape[1])
    s = fa.fit(M, np.zeros(t.size), atoms=atoms, k=problem.k, loss=fa.Logistic(), free=t[:, None], **words)
    return Linearly(s.x, float(np.ravel(s.free_coefficients)[0]), _said(s))
