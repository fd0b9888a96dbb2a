"""Ourselves for clicks and for nonnegative factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Ours
from benchmarks.problems.recommended import Clicked, Clicks, ndcg


def _fitted(problem: Clicks, of: Clicked, k: int, weight: float, **words: Any) -> Any:
    import fewatoms as fa

    M = fa.Sampling(*of, problem.shape, background=1.0)
    loss, rng = fa.LeastSquares(np.full(of.rows.size, weight)), problem.start
    return fa.fit(M, np.ones(of.rows.size), atoms=fa.RankOne(*problem.shape), k=k, loss=loss, rng=rng, **words)


@needs("fewatoms")
def clicks(problem: Clicks, ready: Any, *, factors: Sequence[int], weights: Sequence[float]) -> Ours:
    """The best of all these by the clicks that everybody chooses by; the ridge by others that are held out inside."""
    tried = [(k, weight) for k in factors for weight in weights]
    answers = [_fitted(problem, problem.part, *words, ridge="auto", effort="quick") for words in tried]
    figures = [ndcg(s.left, s.right, problem.part, problem.chosen_by) for s in answers]
    best = int(np.argmax(figures))
    s = _fitted(problem, problem.shown, *tried[best], ridge=answers[best].ridge[0])
    return Ours(s, {"rank": s.cardinality})


@needs("fewatoms")
def nonnegative(problem: Any, ready: Any, **words: Any) -> Ours:
    """Making the operator is charged."""
    import fewatoms as fa

    e = problem.train
    atoms = fa.RankOne(*e.shape, nonnegative=True)
    s = fa.fit(fa.Sampling(e.rows, e.cols, e.shape), e.values, atoms=atoms, k=problem.k, **words)
    return Ours(s, {"rank": s.cardinality, "iterations": s.iterations})
