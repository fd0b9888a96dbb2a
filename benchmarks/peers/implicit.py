"""implicit: alternating least squares over all cells, those without a click as zeros of weight 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.peers import needs
from benchmarks.peers.answers import Factors
from benchmarks.problems.recommended import Clicked, Clicks, ndcg


def _grid(problem: Clicks, of: Clicked) -> Any:
    return sparse.csr_matrix((np.ones(of.rows.size, dtype=np.float32), of), shape=problem.shape)


@needs("implicit", prepare=lambda problem, **words: (_grid(problem, problem.part), _grid(problem, problem.shown)))
def als(
    problem: Clicks, grids: Any, *, factors: Sequence[int], weights: Sequence[float], ridges: Sequence[float] = (0.01,)
) -> Factors:
    """The best of all these by clicks held out; its own number of iterations and, unless something is said, ridge."""
    from implicit.als import AlternatingLeastSquares

    def fitted(grid: Any, k: int, weight: float, ridge: float) -> tuple[Any, Any]:
        model = AlternatingLeastSquares(
            factors=k, alpha=weight, regularization=ridge, random_state=problem.start, num_threads=1
        )
        model.fit(grid, show_progress=False)
        return np.asarray(model.user_factors), np.asarray(model.item_factors)

    tried = [(k, weight, ridge) for k in factors for weight in weights for ridge in ridges]
    figures = [ndcg(*fitted(grids[0], *words), problem.part, problem.chosen_by) for words in tried]
    best = tried[int(np.argmax(figures))]
    return Factors(*fitted(grids[1], *best), facts={"rank": best[0]})
