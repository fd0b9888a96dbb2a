"""skscope: splicing and hard thresholding for any loss; here least squares, with its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Support, Vector
from benchmarks.peers.refits import refit


@needs("skscope", prepare=lambda problem, **words: problem.unit)
def subsets(problem: Any, M: Any, *, solver: str = "ScopeSolver") -> Support:
    """k atoms by one of its searches, fitted anew. Supports are fitted by a decomposition, not by descents."""
    import skscope

    b, k = problem.target, problem.k

    def fitted(objective: Any, gradient: Any, x: Vector, support: Any, data: Any) -> tuple[float, Vector]:
        x = np.zeros(M.shape[1])
        x[support] = refit(M, b, np.asarray(support)).coefficients
        return float(np.sum((b - M @ x) ** 2)), x

    search = getattr(skscope, solver)(M.shape[1], k, numeric_solver=fitted)
    search.solve(lambda x: np.sum((b - M @ x) ** 2), gradient=lambda x: -2 * M.T @ (b - M @ x))
    return refit(M, b, np.flatnonzero(search.params))
